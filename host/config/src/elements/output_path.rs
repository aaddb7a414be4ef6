//! `outputPath`: files to write results to. Flags replace it.
//!
//! Whose word a path is decides what may be written there, so each keeps its origin, and the
//! place that it means at this moment: whoever writes there later can see whether a link has
//! led elsewhere meanwhile. Nothing is made or written here.

use std::path::{Component, Path, PathBuf};

use crate::entry::Entry;
use crate::files::{Files, is_of_system, real, tidy};
use crate::model::{Findings, Origin, TrustRequest, TrustSubject};

/// A file to write results to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPath {
    /// Its absolute path, as messages call it.
    pub path: PathBuf,
    /// The same with every link resolved, as far as it exists.
    pub place: PathBuf,
    /// Whose word it is.
    pub origin: Origin,
}

impl OutputPath {
    /// The absolute `path` as it is now.
    pub fn new(path: PathBuf, origin: Origin) -> Self {
        Self {
            place: real(&tidy(&path)),
            path,
            origin,
        }
    }

    /// Whether it is in `folder`, which is absolute, or below it, and no link is on the way from
    /// there: not even one that leads back.
    pub fn stays_below(&self, folder: &Path) -> bool {
        let below = tidy(&self.path);
        let below = below.strip_prefix(tidy(folder));
        below.is_ok_and(|below| {
            let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
            below.components().all(is_plain) && real(&tidy(folder)).join(below) == self.place
        })
    }

    /// Whether a part of it below `folder` has a name that begins with a dot: other programs take
    /// such files for their settings.
    fn is_hidden_in(&self, folder: &Path) -> bool {
        let below = tidy(&self.path);
        let below = below.strip_prefix(tidy(folder)).unwrap_or(&below);
        below
            .components()
            .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
    }
}

/// Absolute paths: those of the config relative to its folder, flags to the current one. `root`
/// is the last config that has the key.
pub(crate) fn read(
    root: &Entry<'_>,
    flags: &[PathBuf],
    files: &Files,
    findings: &Findings,
) -> Vec<OutputPath> {
    if !flags.is_empty() {
        let flag = |path: &PathBuf| OutputPath::new(files.cwd.join(path), Origin::Person);
        return flags.iter().map(flag).collect();
    }
    let Some(entry) = root.get("outputPath") else {
        return Vec::new();
    };
    let folder = files.cwd.join(&files.root);
    let of_config = |text: &String| {
        let path = OutputPath::new(files.absolute(text), entry.origin.clone());
        if is_of_system(&path.path) || is_of_system(&path.place) {
            let message = format!("'{text}' belongs to the system and is never written");
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
    entry.want_texts(findings).iter().map(of_config).collect()
}

#[cfg(test)]
mod tests {
    use crate::files::FilesRead;
    use crate::fixture::Folder;
    use crate::yaml;

    use super::*;

    #[test]
    fn paths_are_relative_to_the_config_and_flags_to_the_current_folder() {
        let files = Files::new("/project".into(), "evals".into(), FilesRead::default());
        let cases: [(&str, &[&str], &[&str], Origin); 4] = [
            ("a: 1", &[], &[], Origin::Config),
            (
                "outputPath: out.json",
                &[],
                &["/project/evals/out.json"],
                Origin::Config,
            ),
            (
                "outputPath: [out.json, ../b.csv]",
                &[],
                &["/project/evals/out.json", "/project/b.csv"],
                Origin::Config,
            ),
            (
                "outputPath: out.json",
                &["x.json"],
                &["/project/x.json"],
                Origin::Person,
            ),
        ];
        for (yaml, flags, expected, origin) in cases {
            let node = yaml::parse(yaml).expect("valid YAML");
            let root = Entry::root(&node, "c.yaml".as_ref(), &Origin::Config);
            let flags: Vec<PathBuf> = flags.iter().map(PathBuf::from).collect();
            let paths = read(&root, &flags, &files, &Findings::default());
            let expected = expected.iter().map(|path| OutputPath {
                path: path.into(),
                place: path.into(),
                origin: origin.clone(),
            });
            assert_eq!(paths, expected.collect::<Vec<_>>(), "{yaml}");
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
                format!("{at} {}", real(Path::new("/tmp/o.json")).display()),
            ]
        );
        folder.overrides.output_paths = vec!["../o.json".into()];
        assert_eq!(folder.requests(), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_below_a_folder_without_a_link_stays_there() -> std::io::Result<()> {
        use std::os::unix::fs::symlink;

        let outer = tempfile::tempdir()?;
        let outer = outer.path().canonicalize()?;
        let folder = outer.join("config");
        std::fs::create_dir_all(folder.join("real"))?;
        std::fs::write(outer.join("victim.txt"), "x")?;
        symlink(outer.join("victim.txt"), folder.join("link.txt"))?;
        symlink(&outer, folder.join("out"))?;
        symlink("real", folder.join("inside"))?;
        symlink("nowhere", folder.join("dangling.txt"))?;
        let cases = [
            ("o.json", true, "config/o.json"),
            ("real/../new/o.json", true, "config/new/o.json"),
            ("link.txt", false, "victim.txt"),
            ("out/o.json", false, "o.json"),
            ("out/config/o.json", false, "config/o.json"),
            ("inside/o.json", false, "config/real/o.json"),
            ("../o.json", false, "o.json"),
        ];
        for (path, stays, place) in cases {
            let one = OutputPath::new(folder.join(path), Origin::Config);
            assert_eq!(one.place, outer.join(place), "{path}");
            assert_eq!(one.stays_below(&folder), stays, "{path}");
        }
        // Also where the folder itself is reached through a link.
        symlink(&folder, outer.join("alias"))?;
        let alias = outer.join("alias");
        let one = OutputPath::new(alias.join("o.json"), Origin::Config);
        assert!(one.stays_below(&alias));
        // Whether a link that leads nowhere is refused is found by who writes.
        let one = OutputPath::new(folder.join("dangling.txt"), Origin::Config);
        assert_eq!(one.place, folder.join("dangling.txt"));
        Ok(())
    }
}
