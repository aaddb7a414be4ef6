//! `outputPath`: files to write results to. Flags replace it.

use std::path::PathBuf;

use crate::entry::Entry;
use crate::files::Files;
use crate::problem::Findings;

/// Absolute paths: those of the config relative to its folder, flags to the current one. `root`
/// is the last config that has the key.
pub(crate) fn read(
    root: &Entry<'_>,
    flags: &[PathBuf],
    files: &Files,
    findings: &Findings,
) -> Vec<PathBuf> {
    if !flags.is_empty() {
        return flags.iter().map(|path| files.cwd.join(path)).collect();
    }
    let Some(entry) = root.get("outputPath") else {
        return Vec::new();
    };
    entry
        .want_texts(findings)
        .iter()
        .map(|path| files.absolute(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::files::FilesRead;
    use crate::trust::Origin;
    use crate::yaml;

    use super::*;

    #[test]
    fn paths_are_relative_to_the_config_and_flags_to_the_current_folder() {
        let files = Files::new("/project".into(), "evals".into(), FilesRead::default());
        let cases: [(&str, &[&str], &[&str]); 4] = [
            ("a: 1", &[], &[]),
            ("outputPath: out.json", &[], &["/project/evals/out.json"]),
            (
                "outputPath: [out.json, ../b.csv]",
                &[],
                &["/project/evals/out.json", "/project/b.csv"],
            ),
            ("outputPath: out.json", &["x.json"], &["/project/x.json"]),
        ];
        for (yaml, flags, expected) in cases {
            let node = yaml::parse(yaml).expect("valid YAML");
            let root = Entry::root(&node, "c.yaml".as_ref(), &Origin::Config);
            let flags: Vec<PathBuf> = flags.iter().map(PathBuf::from).collect();
            let paths = read(&root, &flags, &files, &Findings::default());
            assert_eq!(
                paths,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{yaml}"
            );
        }
    }
}
