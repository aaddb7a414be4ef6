//! Files to write results to.
//!
//! Whose word a path is decides what may be written there, so each keeps its origin, and the
//! place that it means at this moment: whoever writes there later can see whether a link has
//! led elsewhere meanwhile. Nothing is made or written here.

use std::path::{Component, Path, PathBuf};

use crate::model::Origin;
use crate::read::files::{real, tidy};

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
    pub(crate) fn is_hidden_in(&self, folder: &Path) -> bool {
        let below = tidy(&self.path);
        let below = below.strip_prefix(tidy(folder)).unwrap_or(&below);
        below
            .components()
            .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
