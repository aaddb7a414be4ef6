//! `outputPath`: files to write results to. Flags replace it.

use std::path::PathBuf;

use crate::model::{Findings, TextOrigin, TrustRequest, TrustSubject};
use crate::plan::OutputPath;
use crate::read::entry::Entry;
use crate::read::files::{Files, is_of_system};
use crate::template::excerpt;

/// Files that a config may write. Each may need folders.
const MAX_PATHS: usize = 64;

/// Parts of a path that a config writes to: each may be a folder that is made, which takes 4 KB of
/// the disk.
const MAX_PARTS: usize = 32;

/// Bytes of a name, on all file systems that are in use.
const MAX_NAME: usize = 255;

/// Absolute paths: those of the config relative to its folder, flags to the current one. `root`
/// is the last config that has the key, and `secret` says whether a text has a secret in it.
pub(crate) fn read(
    root: &Entry<'_>,
    flags: &[PathBuf],
    files: &Files,
    secret: impl Fn(&str) -> bool,
    findings: &Findings,
) -> Vec<OutputPath> {
    if !flags.is_empty() {
        let flag = |path: &PathBuf| OutputPath::new(files.cwd.join(path), TextOrigin::Person);
        return flags.iter().map(flag).collect();
    }
    let Some(entry) = root.get("outputPath") else {
        return Vec::new();
    };
    let folder = files.cwd.join(&files.root);
    let paths = entry.want_texts(findings);
    let too_deep = |text: &&String| text.split(['/', '\\']).count() > MAX_PARTS;
    let refused = if paths.len() > MAX_PATHS {
        Some(format!("names more than {MAX_PATHS} files"))
    } else if let Some(text) = paths.iter().find(too_deep) {
        let excerpt = excerpt(text);
        Some(format!("'{excerpt}' has more than {MAX_PARTS} parts"))
    } else {
        paths.iter().find_map(|text| impossible(text))
    };
    if let Some(message) = refused {
        findings.error(entry.at(), message);
        return Vec::new();
    }
    let of_config = |text: &String| {
        let path = OutputPath::in_folder(files.absolute(text), &folder, entry.origin.clone());
        if is_of_system(&path.path) || is_of_system(&path.place) {
            let message = format!("'{text}' belongs to the system and is never written");
            findings.error(entry.at(), message);
        } else if secret(text) {
            let message = "a secret is part of a path: whoever lists the folder would read it";
            findings.error(entry.at(), message);
        } else if !path.stays_below(&folder) || path.is_hidden_in(&folder) {
            findings.trust_request(TrustRequest {
                subject: TrustSubject::Write {
                    path: path.place.clone(),
                },
                origin: entry.origin.clone(),
                at: entry.at(),
            });
        }
        path
    };
    paths.iter().map(of_config).collect()
}

/// Why no file can be called so, whatever the disk: that would come out when all is paid for.
fn impossible(path: &str) -> Option<String> {
    let excerpt = excerpt(path);
    if path.contains('\0') {
        return Some(format!(
            "'{excerpt}' has the character NUL in it, which no path has"
        ));
    }
    if path.starts_with("~/") {
        return Some(format!(
            "'{excerpt}' begins with `~`, which is not replaced here: a folder would be called so"
        ));
    }
    let mut parts = path.split('/');
    let is_too_long = parts.any(|part| part.len() > MAX_NAME);
    is_too_long
        .then(|| format!("'{excerpt}' has a name of more than {MAX_NAME} bytes, which no file has"))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;
    use crate::read::files::FilesRead;
    use crate::read::yaml;

    use super::*;

    #[test]
    fn paths_are_relative_to_the_config_and_flags_to_the_current_folder() {
        let files = Files::new("/project".into(), "evals".into(), FilesRead::default());
        let cases: [(&str, &[&str], &[&str], TextOrigin); 4] = [
            ("a: 1", &[], &[], TextOrigin::Config),
            (
                "outputPath: out.json",
                &[],
                &["/project/evals/out.json"],
                TextOrigin::Config,
            ),
            (
                "outputPath: [out.json, ../b.csv]",
                &[],
                &["/project/evals/out.json", "/project/b.csv"],
                TextOrigin::Config,
            ),
            (
                "outputPath: out.json",
                &["x.json"],
                &["/project/x.json"],
                TextOrigin::Person,
            ),
        ];
        for (yaml, flags, expected, origin) in cases {
            let node = yaml::parse(yaml).expect("valid YAML");
            let root = Entry::root(&node, "c.yaml".as_ref(), &TextOrigin::Config);
            let flags: Vec<PathBuf> = flags.iter().map(PathBuf::from).collect();
            let paths = read(&root, &flags, &files, |_| false, &Findings::default());
            let said = paths.iter().map(|it| (&it.path, &it.place, &it.origin));
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            let expected = expected.iter().map(|path| (path, path, &origin));
            assert!(said.eq(expected), "{yaml}: {paths:?}");
        }
    }

    #[test]
    fn a_config_asks_before_it_writes_elsewhere_or_to_a_hidden_file() {
        let paths = "[out.json, new/out.csv, ../out.json, .vscode/settings.json, /tmp/o.json]";
        let folder = Folder::new("").file(
            "evals/c.yaml",
            format!("prompts: [p]\nproviders: [echo]\noutputPath: {paths}\n"),
        );
        let mut folder = folder;
        folder.configs = vec!["evals/c.yaml".into()];
        let at = "evals/c.yaml:3:13: outputPath: write the file";
        assert_eq!(
            folder.requests(),
            [
                format!("{at} ~/out.json"),
                format!("{at} ~/evals/.vscode/settings.json"),
                format!("{at} /tmp/o.json"),
            ]
        );
        folder.overrides.output_paths = vec!["../o.json".into()];
        assert_eq!(folder.requests(), [""; 0]);
    }

    /// The line that says what was written had the secret, and so had a listing of the folder.
    #[test]
    fn no_secret_is_part_of_a_path() {
        let folder = |name: &str| {
            Folder::new(&format!(
                "env: {{ {name}: 's3cret-value' }}\nprompts: [p]\nproviders: [echo]\n\
                 outputPath: 'out/{{{{ env.{name} }}}}.json'\n"
            ))
        };
        let problems = folder("MY_KEY").problems();
        assert!(problems[0].contains("a secret is part"), "{problems:?}");
        assert!(!problems[0].contains("s3cret"), "{problems:?}");
        assert_eq!(folder("PLACE").problems(), [""; 0]);
    }

    /// All cases ran, and only then the file could not be made.
    #[test]
    fn a_path_that_no_file_has_is_refused_when_it_is_read() {
        let problems = |path: &str| {
            let config =
                format!("prompts: [p]\nproviders: [echo]\noutputPath: [o.json, \"{path}\"]\n");
            Folder::new(&config).problems()
        };
        assert_eq!(
            problems("a\\0b.json"),
            [
                "promptfooconfig.yaml:3:13: outputPath: 'a\0b.json' has the character NUL in it, which no path has"
            ]
        );
        let name = format!("{}.json", "n".repeat(MAX_NAME - 5));
        assert_eq!(problems(&format!("out/{name}")), [""; 0]);
        let long = problems(&format!("out/n{name}"));
        assert!(
            long[0].ends_with("has a name of more than 255 bytes, which no file has"),
            "{long:?}"
        );
    }

    /// Each part of a path was a folder that was made: a kilobyte of config took megabytes of the disk.
    #[test]
    fn paths_are_few_and_not_deep() {
        let folder = |paths: &str| {
            Folder::new(&format!(
                "prompts: [p]\nproviders: [echo]\noutputPath: {paths}\n"
            ))
        };
        let deep = format!("{}o.json", "a/".repeat(MAX_PARTS));
        let problems = folder(&deep).problems();
        assert!(
            problems[0].contains("has more than 32 parts"),
            "{problems:?}"
        );
        let many = "o.json, ".repeat(MAX_PATHS + 1);
        let problems = folder(&format!("[{many}]")).problems();
        assert!(
            problems[0].contains("names more than 64 files"),
            "{problems:?}"
        );
        assert_eq!(folder(&deep[2..]).problems(), [""; 0]);
    }
}
