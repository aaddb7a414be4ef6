//! The program that people are given: one file, which works wherever it is copied.
//!
//! It is made as `cargo xtask bundle` makes it, of the program that was built and a few plugins.

#![cfg(unix)]

mod action;
mod bare;
mod installed;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use insta::assert_snapshot;
use runner_tests::{Finished, Run, built_program, target_folder};
use tempfile::TempDir;

/// Who may write nowhere.
const NOBODY: u32 = 65_534;

/// The program with the plugins that the config of `init` needs, and one that interprets.
fn one_file() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-file");
        fs::create_dir_all(&folder).expect("the target folder can be written to");
        let to = folder.join("runner");
        let plugin = |name: &str| target_folder().join(format!("release/plugins/{name}.wasm"));
        let packed = Run::new()
            .args(["plugin", "pack", "--level", "1", "--like", "text"])
            .args(["--commit", "0123abcd"])
            .arg("--program")
            .arg(built_program())
            .arg("--to")
            .arg(&to)
            .args(["echo", "text", "json", "javascript"].map(plugin))
            .finish();
        packed.expect_code(0);
        to
    })
}

/// A folder with a copy of it and nothing else.
fn copied() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("the system has a folder for temporary files");
    let program = folder.path().join("runner");
    fs::copy(one_file(), &program).expect("copied");
    (folder, program)
}

/// A run whose home has nothing, not even compiled plugins.
fn anew(program: &Path) -> Run {
    let run = Run::new().program(program);
    let cache = run.home().join("cache");
    fs::remove_file(cache.join("plugins")).expect("a link");
    fs::remove_dir(cache).expect("it is empty");
    run
}

#[test]
fn a_copy_of_it_alone_does_all() {
    let (folder, program) = copied();
    let init = anew(&program).arg("init").finish();
    init.expect_code(0);
    let first = init.again().arg("eval").finish();
    assert_snapshot!("first", first.told());
    let kept = fs::read_dir(first.again().home().join("cache/plugins"));
    assert!(kept.expect("a folder").count() >= 2, "unpacked once");
    let second = init.again().arg("eval").finish();
    assert_eq!(second.told(), first.told());

    // What lies beside it is nobody's.
    fs::create_dir(folder.path().join("plugins")).expect("made");
    fs::write(folder.path().join("plugins/echo.wasm"), "not it").expect("written");
    init.again().arg("eval").finish().expect_code(0);
    // And whoever names a folder gets what is in it.
    let named = init.again().arg("eval");
    let named = named.env("RUNNER_BUNDLED_PLUGINS", folder.path().join("plugins"));
    named.finish().expect_code(2);
}

#[test]
fn code_of_a_config_runs_in_it() {
    let (_folder, program) = copied();
    let config = "prompts: ['one {{n}}']\nproviders: [echo]\ntests:\n  - vars: { n: 1 }\n    assert:\n\
                  \x20     - { type: javascript, value: output.length === 5 }\n";
    let run = anew(&program).config(config).args(["eval", "--no-table"]);
    run.finish().expect_code(0);
}

#[test]
fn code_that_others_could_change_is_not_run() {
    let (_folder, program) = copied();
    let run = anew(&program).arg("init").finish().again();
    let cache = run.home().join("cache/plugins");
    fs::create_dir_all(&cache).expect("made");
    fs::set_permissions(&cache, PermissionsExt::from_mode(0o777)).expect("it is ours");
    let finished = run.clone().args(["eval", "--no-table"]).finish();
    finished.expect_code(0);
    assert!(
        finished.stderr.contains("other users could change"),
        "{}",
        finished.stderr
    );
    // What is not this user's to close is left alone, and nothing is kept.
    if !is_root() {
        return skip("another user's folder needs root");
    }
    for kept in fs::read_dir(&cache).expect("a folder") {
        fs::remove_file(kept.expect("read").path()).expect("it is ours");
    }
    chown(&cache, Some(NOBODY), None).expect("root may");
    run.args(["eval", "--no-table"]).finish().expect_code(0);
    assert_eq!(fs::read_dir(&cache).expect("a folder").count(), 0);
}

#[test]
fn it_says_what_it_is() {
    let (_folder, program) = copied();
    let told = anew(&program).args(["--version", "--verbose"]).finish();
    let target = format!("target      {}\n", target_of(&told));
    assert_snapshot!(
        "version",
        told.told().replace(&target, "target      [target]\n")
    );
    let short = told.again().arg("-V").finish();
    let version = concat!("runner ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!((&*short.stdout, &*short.stderr), (version, ""));
}

fn target_of(told: &Finished) -> String {
    let mut lines = told.stdout.lines();
    let target = lines.find_map(|line| line.strip_prefix("target      "));
    target.expect("it says it").to_owned()
}

#[test]
fn a_file_that_is_not_whole_says_so() {
    let whole = fs::read(one_file()).expect("read");
    let told = |bytes: &[u8]| {
        let (_folder, program) = copied();
        fs::write(&program, bytes).expect("written");
        let told = anew(&program).arg("init").finish().again();
        let told = told.arg("eval").finish().told();
        let told = told.replace(&*program.to_string_lossy(), "[copy]");
        // Which one is found first depends on their sizes.
        let found = |name| format!("the digest of plugin {name} ");
        let names = ["echo", "text", "json", "javascript"].into_iter();
        names.fold(told, |told, name| {
            told.replace(&found(name), &found("[name]"))
        })
    };
    assert_snapshot!("cut off", told(&whole[..whole.len() - 100]));
    // The bytes of a plugin, in the middle of what is behind the program.
    let bare = fs::metadata(built_program()).expect("it is there").len() as usize;
    let mut changed = whole.clone();
    changed[bare..]
        .iter_mut()
        .step_by(1000)
        .for_each(|byte| *byte ^= 1);
    changed[whole.len() - 40_000..].copy_from_slice(&whole[whole.len() - 40_000..]);
    assert_snapshot!("changed", told(&changed));
}

#[test]
fn a_program_carries_plugins_once() {
    let again = Run::new()
        .args(["plugin", "pack", "--to", "x", "--program"])
        .arg(one_file())
        .arg(target_folder().join("release/plugins/echo.wasm"))
        .finish();
    again.expect_code(2);
    assert!(
        again
            .stderr
            .contains("this program carries plugins already"),
        "{}",
        again.stderr
    );
    assert!(!again.again().project().join("x").exists());
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|its| std::os::unix::fs::MetadataExt::uid(&its) == 0)
}

fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// The first two words of each finding.
fn findings(told: &Finished) -> String {
    let lines = told.stdout.lines().filter(|line| !line.starts_with(' '));
    let words = lines.map(|line| {
        line.split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    });
    words.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_stands_in_the_way_is_said_at_once() {
    let (_folder, program) = copied();
    let run = anew(&program).env("HTTPS_PROXY", "http://me:hunter2@proxy.example");
    let good = run.clone().arg("doctor").finish();
    good.expect_code(0);
    assert!(
        good.stdout.contains("4 in the program, as they were built"),
        "{}",
        good.stdout
    );
    assert!(
        good.stdout.contains("proxies     HTTPS_PROXY: "),
        "{}",
        good.stdout
    );
    assert!(!good.stdout.contains("hunter2"), "{}", good.stdout);

    // Others could change what is kept, and code that is run.
    let home = good.again().home().to_owned();
    let set = |folder: &Path, mode| {
        fs::set_permissions(folder, PermissionsExt::from_mode(mode)).expect("it is ours");
    };
    set(&home, 0o777);
    set(&home.join("cache/plugins"), 0o777);
    let open = good.again().arg("doctor").finish();
    open.expect_code(0);
    assert!(
        open.stdout.contains("help: chmod go-w ") && open.stderr.is_empty(),
        "{}{}",
        open.stdout,
        open.stderr
    );
    for problem in ["warning results", "warning sandbox"] {
        assert!(
            findings(&open).contains(problem),
            "{problem}: {}",
            open.stdout
        );
    }
    set(&home, 0o700);
    set(&home.join("cache/plugins"), 0o700);

    // The database is none, and the program's file is not whole.
    fs::write(good.again().home().join("runs.db"), "no database").expect("written");
    let whole = fs::read(&program).expect("read");
    fs::remove_file(&program).expect("it is ours");
    fs::write(&program, &whole[..whole.len() - 100]).expect("written");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let bad = good.again().arg("doctor").finish();
    bad.expect_code(2);
    for problem in ["error program", "error plugins", "error database"] {
        assert!(
            findings(&bad).contains(problem),
            "{problem}: {}",
            bad.stdout
        );
    }
    assert!(findings(&bad).contains("ok sandbox"), "{}", bad.stdout);
}

#[test]
fn what_a_plugin_takes_is_in_the_program() {
    let (_folder, program) = copied();
    let listed = anew(&program).args(["plugin", "docs"]).finish();
    listed.expect_code(0);
    assert!(listed.stdout.contains("\nopenai "), "{}", listed.stdout);
    let shown = listed.again().args(["plugin", "docs", "echo"]).finish();
    let readme = runner_tests::workspace_root().join("plugins/echo/README.md");
    assert_eq!(shown.stdout, fs::read_to_string(readme).expect("read"));
}
