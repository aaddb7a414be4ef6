//! Paths, patterns, limits.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::model::TextOrigin;

fn folder() -> (tempfile::TempDir, Files) {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        "evals/b.txt",
        "evals/a.txt",
        "evals/.hidden.txt",
        "shared/s.txt",
    ] {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "\u{feff}text").unwrap();
    }
    let cwd = directory.path().to_owned();
    let files = Files::new(cwd, "evals".into(), FilesRead::default());
    (directory, files)
}

/// What the person names may be read.
fn by_person(files: &Files, shown: &Path) -> Permitted {
    files.permit_own(shown, &TextOrigin::Person).unwrap()
}

#[test]
fn paths_are_relative_to_the_config_and_shown_as_the_user_would_write_them() {
    let (directory, files) = folder();
    let cases = [
        ("a.txt", "evals/a.txt"),
        ("file://./a.txt", "evals/a.txt"),
        ("../shared/s.txt", "shared/s.txt"),
    ];
    for (written, shown) in cases {
        assert_eq!(files.shown(written), Path::new(shown), "{written}");
    }
    assert_eq!(files.shown("/etc/x"), Path::new("/etc/x"));
    assert_eq!(
        files.absolute("a.txt"),
        directory.path().join("evals/a.txt")
    );
}

#[test]
fn patterns_match_sorted_and_without_hidden_files() {
    let (_directory, files) = folder();
    let findings = Findings::default();
    let at = Position::default();
    let expand = |written| files.expand(written, (&at, &TextOrigin::Person, &findings));
    assert_eq!(
        expand("*.txt").unwrap(),
        [Path::new("evals/a.txt"), Path::new("evals/b.txt")]
    );
    assert_eq!(expand("../shared/*").unwrap(), [Path::new("shared/s.txt")]);
    assert_eq!(expand("none.txt").unwrap(), [Path::new("evals/none.txt")]);
    assert_eq!(expand("*.md"), Err("matches no file".to_owned()));
    assert!(expand("[").unwrap_err().starts_with("is not a pattern: "));
}

#[test]
fn reading_says_what_is_wrong() {
    let (directory, files) = folder();
    std::fs::write(directory.path().join("evals/bytes.txt"), b"ab\xff").unwrap();
    let read = |shown: &str, max| files.read(&by_person(&files, Path::new(shown)), max);
    assert_eq!(read("evals/a.txt", 100).unwrap(), "text");
    assert_eq!(
        read("evals/none.txt", 100).unwrap_err(),
        "there is no such file"
    );
    assert_eq!(read("evals", 100).unwrap_err(), "is a folder, not a file");
    assert_eq!(
        read("evals/bytes.txt", 100).unwrap_err(),
        "is not UTF-8 text (byte 3)"
    );
    assert_eq!(read("evals/a.txt", 1).unwrap_err(), "is larger than 0 MiB");
}

#[test]
fn json_files_take_comments_and_tabs_when_they_are_almost_json() {
    let tree = |text| parse_tree(text, true).map(|node| node.json());
    assert_eq!(
        tree("{\n\t\"a\": 1, # one\n}").unwrap(),
        serde_json::json!({"a": 1})
    );
    assert_eq!(
        tree("{\"a\" 1}").unwrap_err().message,
        "not valid JSON: expected ':'"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn what_leads_through_the_system_is_never_read_wherever_it_ends() {
    let (directory, files) = folder();
    let evals = directory.path().join("evals");
    let outside = directory.path().join("shared/s.txt");
    std::os::unix::fs::symlink("/proc/self/root", evals.join("link")).unwrap();
    let up = "../".repeat(evals.components().count());
    let rest = outside.strip_prefix("/").unwrap().display().to_string();
    for written in [
        format!("link/{rest}"),
        format!("/proc/self/root/{rest}"),
        format!("{up}proc/self/root/{rest}"),
        "/dev/stdin".to_owned(),
    ] {
        let shown = files.shown(&written);
        let refused = "belongs to the system and is never read";
        assert_eq!(
            files.read(&by_person(&files, &shown), 100).unwrap_err(),
            refused,
            "{written}"
        );
        for origin in [TextOrigin::Config, TextOrigin::Person] {
            let findings = Findings::default();
            let at = Position::default();
            let named = (&at, &origin, &findings);
            let is_beyond = files.beyond(&shown, &origin).is_some();
            let there = files.there(&shown, is_beyond, named);
            assert_eq!(there, PathKind::Nothing, "{written}");
            let pattern = format!("{written}*");
            assert_eq!(
                files.expand(&pattern, named),
                Err(refused.to_owned()),
                "{pattern}"
            );
        }
    }
    assert_eq!(tidy(Path::new("/../a/../../b")), Path::new("/b"));
}

/// Where people put what shall not reach a disk.
#[test]
#[cfg(target_os = "linux")]
fn files_in_shared_memory_are_ordinary_files() {
    assert!(!is_by_system(Path::new("/dev/shm/config.yaml")));
    for system in ["/dev", "/dev/null", "/dev/shm/../null", "/dev/fd/0"] {
        assert!(is_by_system(Path::new(system)), "{system}");
    }
}

#[test]
#[cfg(unix)]
fn links_that_lead_back_end() {
    let (directory, files) = folder();
    for link in ["a", "b"] {
        std::os::unix::fs::symlink(".", directory.path().join("evals").join(link)).unwrap();
    }
    let findings = Findings::default();
    let at = Position::default();
    let expand = |written: &str| files.expand(written, (&at, &TextOrigin::Person, &findings));
    assert_eq!(expand("**/*.csv"), Err("matches no file".to_owned()));
    assert_eq!(
        expand("**/*.txt").unwrap(),
        [Path::new("evals/a.txt"), Path::new("evals/b.txt")]
    );
    assert_eq!(
        expand(&("*/".repeat(40) + "*.csv")),
        Err("follows too many links, counting those of earlier patterns".to_owned())
    );
}

#[test]
fn what_patterns_look_at_is_counted_for_all_of_them() {
    let (directory, files) = folder();
    let folder = directory.path().join("evals");
    std::fs::create_dir_all(folder.join("d/".repeat(50))).unwrap();
    let findings = Findings::default();
    let at = Position::default();
    let expand = |written: &str| files.expand(written, (&at, &TextOrigin::Person, &findings));
    let none = Err("matches no file".to_owned());
    // One after the other they are one; apart they multiply the ways to a folder.
    let again = "**/".repeat(40) + "*.csv";
    assert!((0..100).all(|_| expand(&again) == none));
    for number in 0..2000 {
        std::fs::write(folder.join(number.to_string()), "").unwrap();
    }
    let refused = "looks at more than 2000000 files, counting those of earlier patterns";
    let refused = Err(refused.to_owned());
    assert!((0..1000).any(|_| expand("*.csv") == refused));
    assert_eq!(expand("*.txt"), refused);
    files.read.begin();
    assert_eq!(expand("*.txt").map(|found| found.len()), Ok(2));
}

#[test]
fn what_lies_beyond_a_texts_rights_is_read_only_once_it_is_agreed_to() {
    let (_directory, files) = folder();
    let (findings, at) = (Findings::default(), Position::default());
    let permit = |shown| files.permit(Path::new(shown), &at, &TextOrigin::Config, &findings);
    let own = |shown| files.permit_own(Path::new(shown), &TextOrigin::Config);
    assert!(permit("evals/a.txt").is_some() && own("evals/a.txt").is_some());
    for beyond in ["evals/.hidden.txt", "shared/s.txt"] {
        assert!(own(beyond).is_none(), "{beyond}");
    }
    assert_eq!(findings.refusals(), 0, "nothing was asked for");
    assert!(permit("shared/s.txt").is_none());
    assert_eq!(findings.refusals(), 1);
}

/// Who shares a folder may exchange a file for a link between the question and the reading.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_exchanged_for_a_link_after_it_was_permitted_is_not_read() {
    let (directory, files) = folder();
    let findings = Findings::default();
    let permitted =
        |shown: &Path| files.permit(shown, &Position::default(), &TextOrigin::Config, &findings);
    let evals = directory.path().join("evals");
    // A link to what is never read needs no agreement, and may be an ordinary file when that is
    // looked at.
    let opened = std::fs::File::open("/proc/self/environ").unwrap();
    assert!(files.read.is_another(&evals.join("a.txt"), &opened));
    std::fs::create_dir(evals.join("d")).unwrap();
    std::fs::write(evals.join("d/s.txt"), "text").unwrap();
    for (shown, exchanged, link) in [
        ("evals/a.txt", "a.txt", "../shared/s.txt"),
        ("evals/d/s.txt", "d", "../shared"),
    ] {
        let (shown, exchanged) = (Path::new(shown), evals.join(exchanged));
        let file = permitted(shown).unwrap();
        assert_eq!(files.read(&file, 100).unwrap(), "text");
        std::fs::rename(&exchanged, evals.join("away")).unwrap();
        std::os::unix::fs::symlink(link, &exchanged).unwrap();
        assert_eq!(
            files.read(&file, 100).unwrap_err(),
            "was replaced by another file while it was read"
        );
        assert!(permitted(shown).is_none());
        std::fs::remove_file(&exchanged).unwrap();
        std::fs::rename(evals.join("away"), &exchanged).unwrap();
        let file = permitted(shown).unwrap();
        assert_eq!(files.read(&file, 100).unwrap(), "text");
    }
}

/// A name takes a few bytes, and the system's time also where it leads nowhere.
#[test]
fn files_are_read_only_so_often_for_a_config() {
    let (_directory, files) = folder();
    let shown = files.shown("a.txt");
    let file = by_person(&files, &shown);
    assert!((1..read::MAX_OPENED).all(|_| files.read.open()));
    assert_eq!(files.read(&file, 100).unwrap(), "text");
    let refused = "the files of a config are read more than 250000 times";
    assert_eq!(files.read(&file, 100).unwrap_err(), refused);
    files.read.begin();
    assert!(files.read(&file, 100).is_ok());
}

#[test]
fn a_data_file_that_may_name_none_does_not_name_itself_to_begin_anew() {
    let (_directory, files) = folder();
    let path = Path::new("evals/a.json");
    let again = |origin: &TextOrigin| files.origin_of(path, FileContents::Tests, origin);
    let nameless = files.data(path).nameless();
    assert_eq!(again(&nameless), nameless);
    assert_eq!(again(&files.data(path)), files.data(path));
}

#[test]
fn a_file_that_data_names_counts_for_the_one_that_the_config_named() {
    let (_directory, files) = folder();
    let named =
        |path: &str, by: &TextOrigin| files.origin_of(Path::new(path), FileContents::Tests, by);
    let first = named("evals/index.json", &TextOrigin::Config);
    let third = named("evals/b.jsonl", &named("evals/a.json", &first));
    let [first, third] = [&first, &third].map(|origin| origin.data_file().expect("data"));
    assert_eq!((&third.root, &first.root), (&first.real, &first.real));
    assert_ne!(third.real, first.real);
}

/// What a flag names in another project is that one's word; a folder beside the config's is the person's own.
#[test]
fn tests_that_the_person_names_elsewhere_are_data() {
    let (_directory, files) = folder();
    let named =
        |path: &str| files.origin_of(Path::new(path), FileContents::Tests, &TextOrigin::Person);
    assert_eq!(named("evals/t.yaml"), TextOrigin::Config);
    assert_eq!(named("beside/t.yaml"), TextOrigin::Config);
    assert!(named("../dl/t.yaml").is_data());
    let config = files.origin_of(
        Path::new("../dl/p.yaml"),
        FileContents::Providers,
        &TextOrigin::Person,
    );
    assert_eq!(config, TextOrigin::Config);
}
