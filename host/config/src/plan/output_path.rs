//! Files to write results to.
//!
//! Whose word a path is decides what may be written there, so each keeps its origin, and the
//! place that it means at this moment: whoever writes there later can see whether a link has
//! led elsewhere meanwhile. Nothing is made or written here.

use std::path::{Component, Path, PathBuf};

use crate::model::TextOrigin;
use crate::read::files::{PathTarget, is_of_system, leads, real, tidy};

/// A file to write results to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPath {
    /// Its absolute path, as messages call it.
    pub path: PathBuf,
    /// Its path with every link resolved, as far as it exists; of one that a config names, no further
    /// than to the edge of the config's folder.
    pub place: PathBuf,
    /// Whether that is beyond the edge, where links are not the config's.
    is_outside: bool,
    /// Whose word it is.
    pub origin: TextOrigin,
}

impl OutputPath {
    /// The absolute `path` as it is now.
    pub fn new(path: PathBuf, origin: TextOrigin) -> Self {
        Self {
            place: real(&tidy(&path)),
            is_outside: false,
            path,
            origin,
        }
    }

    /// The absolute `path` that a config names which stands in `folder`. Nothing outside the folder
    /// is looked at.
    pub(crate) fn in_folder(path: PathBuf, folder: &Path, origin: TextOrigin) -> Self {
        let (place, is_outside) = match leads(folder, &path) {
            PathTarget::Inside(inner) => (real(&tidy(folder)).join(inner), false),
            PathTarget::Outside(place) => (place, true),
        };
        Self {
            path,
            place,
            is_outside,
            origin,
        }
    }

    /// The place to write to, without links; `None` where nothing is ever written. What the person
    /// names means what it means now, and so does what is beyond the edge of a config's folder.
    pub fn now(&self) -> Option<PathBuf> {
        match self.origin {
            TextOrigin::Person => Some(real(&tidy(&self.path))),
            TextOrigin::Config | TextOrigin::Vouched | TextOrigin::Data(_) if self.is_outside => {
                Some(real(&self.place)).filter(|place| !is_of_system(place))
            }
            TextOrigin::Config | TextOrigin::Vouched | TextOrigin::Data(_) => {
                Some(self.place.clone())
            }
        }
    }

    /// Whether it is in `folder`, which is absolute, or below it, and no link is on the way from
    /// there: not even one that leads back.
    pub(crate) fn stays_below(&self, folder: &Path) -> bool {
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
        symlink("dangling.txt", outer.join("other"))?;
        symlink("../other", folder.join("other"))?;
        symlink("../gone", folder.join("gone"))?;
        let cases = [
            ("o.json", true, "config/o.json"),
            ("real/../new/o.json", true, "config/new/o.json"),
            ("link.txt", false, "victim.txt"),
            ("out/o.json", false, "o.json"),
            ("out/config/o.json", false, "config/o.json"),
            ("inside/o.json", false, "config/real/o.json"),
            ("../o.json", false, "o.json"),
            ("dangling.txt", false, "config/nowhere"),
            // Whether it is there, and a link, makes no difference.
            ("other", false, "other"),
            ("gone", false, "gone"),
        ];
        for (path, stays, place) in cases {
            let one = OutputPath::in_folder(folder.join(path), &folder, TextOrigin::Config);
            assert_eq!(one.place, outer.join(place), "{path}");
            assert_eq!(one.stays_below(&folder), stays, "{path}");
        }
        // Also where the folder itself is reached through a link.
        symlink(&folder, outer.join("alias"))?;
        let alias = outer.join("alias");
        let one = OutputPath::in_folder(alias.join("o.json"), &alias, TextOrigin::Config);
        assert!(one.stays_below(&alias));
        // What is written to is known when it is: beyond the edge links are followed then.
        std::fs::remove_file(outer.join("other"))?;
        symlink("victim.txt", outer.join("other"))?;
        let one = OutputPath::in_folder(folder.join("other"), &folder, TextOrigin::Config);
        assert_eq!(one.now(), Some(outer.join("victim.txt")));
        std::fs::remove_file(outer.join("other"))?;
        symlink("/proc/self/comm", outer.join("other"))?;
        assert_eq!(one.now(), None);
        Ok(())
    }
}
