//! The search for the files that a pattern matches.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use glob::{MatchOptions, Pattern};

use super::{is_hidden, is_pattern};

/// How many files one pattern may match.
const MAX_MATCHES: usize = 100_000;

/// How many entries of folders are looked at for all patterns of a config.
const MAX_SEEN: usize = 2_000_000;

/// How many links are followed that lie behind others, each counted as often as there are links
/// before it: what a path costs that goes through all of them.
const MAX_BEHIND: usize = 100_000;

/// What all searches of a config have looked at.
#[derive(Debug, Default)]
pub(super) struct SearchCounters {
    seen: AtomicUsize,
    behind: AtomicUsize,
}

impl SearchCounters {
    pub(super) fn forget(&self) {
        self.seen.store(0, Ordering::Relaxed);
        self.behind.store(0, Ordering::Relaxed);
    }

    fn entry(&self) -> Result<(), String> {
        if self.seen.fetch_add(1, Ordering::Relaxed) < MAX_SEEN {
            return Ok(());
        }
        Err(format!(
            "looks at more than {MAX_SEEN} files, counting those of earlier patterns"
        ))
    }

    fn link(&self, before: usize) -> Result<(), String> {
        if self.behind.fetch_add(before, Ordering::Relaxed) + before <= MAX_BEHIND {
            return Ok(());
        }
        Err("follows too many links, counting those of earlier patterns".to_owned())
    }
}

/// How a wildcard matches a name.
const AS_A_SHELL: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The files that an absolute pattern matches, sorted; perhaps none. `may_follow` is asked whether
/// a link may be followed, with what is looked for there.
///
/// A wildcard stands for no dot at the beginning of a name, `**` for folders and not for links to
/// them. Links that lead back make many paths of few files, so what is looked at is counted.
pub(super) fn matches(
    pattern: &Path,
    looked: &SearchCounters,
    may_follow: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, String> {
    let (mut root, mut names) = (PathBuf::new(), Vec::new());
    for part in pattern.components() {
        let Component::Normal(name) = part else {
            root.push(part);
            continue;
        };
        let name = Pattern::new(name.to_str().ok_or("is not UTF-8")?);
        names.push(name.map_err(|error| format!("is not a pattern: {}", error.msg))?);
    }
    // Each of several in a row would look at everything once more.
    names.dedup_by(|next, one| next.as_str() == "**" && one.as_str() == "**");
    let mut search = Search {
        found: BTreeSet::new(),
        looked,
        links: 0,
        may_follow,
    };
    search.below(&mut root, &names)?;
    Ok(search.found.into_iter().collect())
}

struct Search<'a> {
    found: BTreeSet<PathBuf>,
    looked: &'a SearchCounters,
    /// How many links are on the way to where it is.
    links: usize,
    may_follow: &'a dyn Fn(&Path) -> bool,
}

impl Search<'_> {
    /// Finds what matches `names` below a folder.
    fn below(&mut self, folder: &mut PathBuf, names: &[Pattern]) -> Result<(), String> {
        let Some((name, rest)) = names.split_first() else {
            return Ok(());
        };
        if name.as_str() == "**" {
            self.below(folder, rest)?;
        } else if !is_pattern(name.as_str()) {
            self.looked.entry()?;
            return self.step(folder, name.as_str().as_ref(), rest);
        }
        // A folder that can't be read matches nothing.
        for entry in std::fs::read_dir(&*folder).into_iter().flatten().flatten() {
            self.looked.entry()?;
            let own = entry.file_name();
            if name.as_str() == "**" {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && !is_hidden(&own) {
                    folder.push(own);
                    self.below(folder, names)?;
                    folder.pop();
                }
            } else if name.matches_with(&own.to_string_lossy(), AS_A_SHELL) {
                self.step(folder, &own, rest)?;
            }
        }
        Ok(())
    }

    /// Goes on with an entry of a folder that matches.
    fn step(&mut self, folder: &mut PathBuf, own: &OsStr, rest: &[Pattern]) -> Result<(), String> {
        folder.push(own);
        let looked_for = || {
            let names = rest.iter().map(Pattern::as_str);
            names.fold(folder.clone(), |path, name| path.join(name))
        };
        let link = usize::from(folder.is_symlink());
        if link > 0 {
            self.looked.link(self.links)?;
        }
        if link > 0 && !(self.may_follow)(&looked_for()) {
            // Where it leads stays unknown.
        } else if !rest.is_empty() {
            self.links += link;
            self.below(folder, rest)?;
            self.links -= link;
        } else if folder.is_file() {
            self.found.insert(folder.clone());
        }
        folder.pop();
        if self.found.len() > MAX_MATCHES {
            return Err(format!("matches more than {MAX_MATCHES} files"));
        }
        Ok(())
    }
}
