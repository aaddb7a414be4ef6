//! Where a path in a folder leads.
//!
//! Links in a stranger's folder are a stranger's words: where one leads out, nothing there is looked
//! at, not even whether it is there. So links are followed here one by one, and no further than to
//! the edge of the folder.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::{is_too_long, real, tidy};

/// How many links one path may go through, as in Linux.
const MOST_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathTarget {
    /// To a place in the folder, by a way without links, from there.
    Inside(PathBuf),
    /// Out of it: to this place, if nothing on the way from the edge is a link.
    Outside(PathBuf),
}

/// A step of the way that is left.
enum Step {
    Root,
    Up,
    Down(OsString),
}

/// A way that is gone step by step.
struct PathWalk {
    at: PathBuf,
    left: VecDeque<Step>,
    links: usize,
}

impl PathWalk {
    /// Of `path`, from an absolute path without links.
    fn new(from: &Path, path: &Path) -> Self {
        Self {
            at: from.to_owned(),
            left: steps(path).collect(),
            links: 0,
        }
    }

    /// Goes a step, if there is one left.
    fn step(&mut self) -> bool {
        match self.left.pop_front() {
            None => return false,
            Some(Step::Root) => self.at = PathBuf::from("/"),
            Some(Step::Up) => _ = self.at.pop(),
            Some(Step::Down(name)) => self.at.push(name),
        }
        true
    }

    /// Goes on with the target where this place is a link; says whether that was not one link too many.
    fn enter_link(&mut self) -> bool {
        if self.links == MOST_LINKS {
            return false;
        }
        if let Ok(target) = self.at.read_link() {
            self.links += 1;
            self.at.pop();
            for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                self.left.push_front(step);
            }
        }
        true
    }
}

/// Where `path` leads, which a text of `folder` names; both are absolute, and `folder` may be reached
/// through links. A place inside is one below the folder without links.
pub(crate) fn leads(folder: &Path, path: &Path) -> PathTarget {
    let (written, path) = (tidy(folder), tidy(path));
    if is_too_long(&path) {
        return PathTarget::Outside(path);
    }
    let folder = real(&written);
    let inner = path.strip_prefix(&written);
    match inner.or_else(|_| path.strip_prefix(&folder)) {
        Ok(inner) => follow(&folder, inner),
        Err(_) => PathTarget::Outside(path),
    }
}

/// Follows `inner` from `folder`, an absolute path without links. Neither of them need be there.
fn follow(folder: &Path, inner: &Path) -> PathTarget {
    let mut walk = PathWalk::new(folder, inner);
    while walk.step() {
        // What is above the folder is on the way to it.
        if folder.starts_with(&walk.at) {
            continue;
        }
        if !walk.at.starts_with(folder) || !walk.enter_link() {
            return PathTarget::Outside(rest(folder, walk.at, walk.left));
        }
    }
    match walk.at.strip_prefix(folder) {
        Ok(inner) => PathTarget::Inside(inner.to_owned()),
        Err(_) => PathTarget::Outside(walk.at),
    }
}

/// Whether the way to an absolute path goes through a place that `is` names, wherever it ends:
/// `/proc/self/root/home` is `/home` to whoever resolves all its links at once.
pub(super) fn passes(path: &Path, is: impl Fn(&Path) -> bool) -> bool {
    let mut walk = PathWalk::new(Path::new("/"), path);
    while walk.step() {
        if is(&walk.at) || !walk.enter_link() {
            return true;
        }
    }
    false
}

fn steps(path: &Path) -> impl Iterator<Item = Step> + '_ {
    path.components().filter_map(|component| match component {
        Component::Prefix(_) | Component::CurDir => None,
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
    })
}

/// The place that `left` leads to from `at`, as it is written: what stands before a `..` may be a
/// link, but for what is above the folder.
fn rest(folder: &Path, mut at: PathBuf, left: VecDeque<Step>) -> PathBuf {
    for step in left {
        match step {
            Step::Root => at = PathBuf::from("/"),
            Step::Up if folder.starts_with(&at) => _ = at.pop(),
            Step::Up => at.push(".."),
            Step::Down(name) => at.push(name),
        }
    }
    at
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_to_the_edge_of_the_folder_and_not_beyond() {
        let outer = tempfile::tempdir().unwrap();
        let outer = outer.path().canonicalize().unwrap();
        let folder = outer.join("project");
        std::fs::create_dir_all(folder.join("sub/deep")).unwrap();
        std::fs::create_dir_all(outer.join("there")).unwrap();
        symlink("nothing", outer.join("there/link")).unwrap();
        let above = outer.parent().unwrap();
        let inside = |path: &str| PathTarget::Inside(path.into());
        let outside = |path: &str| PathTarget::Outside(outer.join(path));
        for (name, target, through, expected) in [
            ("a", "sub", "a/deep/x", inside("sub/deep/x")),
            ("b", "../project/sub", "b/x", inside("sub/x")),
            ("c", "nothing", "c", inside("nothing")),
            ("d", "sub/../../there", "d/x", outside("there/x")),
            // Whether it is there, and a link, makes no difference.
            ("e", "../there/link", "e/x", outside("there/link/x")),
            ("f", "../gone/link", "f/x", outside("gone/link/x")),
            ("g", "..", "g", outside("")),
            ("h", "g", "h/project/sub", inside("sub")),
            // What stands after a link goes on from where it leads.
            ("i", "sub/deep", "sub/x", inside("sub/x")),
            ("j", "i/../../..", "j/there", outside("there")),
            (
                "k",
                "d/../project/sub",
                "k",
                outside("there/../project/sub"),
            ),
            (
                "n",
                "../../x/../y",
                "n",
                PathTarget::Outside(above.join("x/../y")),
            ),
        ] {
            symlink(target, folder.join(name)).unwrap();
            assert_eq!(follow(&folder, through.as_ref()), expected, "{name}");
        }
        let absolute = |path: &Path| follow(&folder, path);
        symlink(folder.join("sub"), folder.join("l")).unwrap();
        assert_eq!(absolute("l/x".as_ref()), inside("sub/x"));
        symlink("m", folder.join("m")).unwrap();
        assert!(matches!(absolute("m".as_ref()), PathTarget::Outside(_)));
    }
}
