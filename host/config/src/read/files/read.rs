//! What was read, and whether it is still so: what `--watch` waits for.
//!
//! A file is known by its size and its time of change; a pattern by the files that it matches,
//! so that a new file counts. Looking again is cheap enough to do twice a second, works on every
//! file system (a network's and a container's among them, where notices of changes get lost) and
//! sees a file that an editor replaces rather than writes. That is why nothing here asks the
//! system to be told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::find::{SearchCounters, matches};
use super::{has_extension, is_of_system};

/// What all files of a config may take in memory. Some are read anew each time that they are
/// named, and become part of what names them.
pub(super) const MAX_TAKEN: usize = 2 << 30;

/// How often files may be read for a config, there or not. Looking for one takes the system's time, and
/// its name a few bytes.
pub(super) const MAX_OPENED: usize = 250_000;

/// The files that a config names, as they were when they were read. Copies share the record.
#[derive(Debug, Clone, Default)]
pub struct FilesRead {
    state: Arc<Mutex<FilesState>>,
    /// What they took so far, in bytes of memory.
    taken: Arc<AtomicUsize>,
    /// How often one was read.
    opened: Arc<AtomicUsize>,
    /// What they hold.
    held: Arc<Mutex<Held>>,
    /// What patterns looked at.
    pub(super) looked: Arc<SearchCounters>,
    /// Where each path led when it was decided that it may be read.
    targets: Arc<Mutex<BTreeMap<PathBuf, PathBuf>>>,
}

/// What makes tests and prompts.
#[derive(Debug, Default)]
struct Held {
    /// Files that were counted.
    files: BTreeSet<PathBuf>,
    /// What they hold, each counted once, and what code made.
    bytes: usize,
    /// How often a source of tests was named.
    sources: usize,
    /// What the prompts weigh.
    prompts: usize,
}

/// How files are, or were, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesState {
    files: BTreeMap<PathBuf, Option<Stamp>>,
    /// By the pattern; absolute, as all paths here.
    patterns: BTreeMap<PathBuf, Vec<PathBuf>>,
}

/// Enough to tell that a file was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    len: u64,
    changed: Option<SystemTime>,
}

impl FilesRead {
    /// Remembers what a path led to when it was decided that it may be read.
    pub(super) fn expect(&self, path: PathBuf, target: PathBuf) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        targets.insert(path, target);
    }

    /// Whether a path led elsewhere when it was opened: who shares the folder may exchange a file
    /// for a link after that. Known where the system says what was opened, as Linux does.
    pub(super) fn is_another(&self, path: &Path, opened: &File) -> bool {
        let Some(opened) = path_of(opened) else {
            return false;
        };
        let targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = targets.get(path).is_none_or(|target| *target == opened);
        // Whoever reads these says that they are never read, before they are opened.
        !is_meant || is_of_system(&opened)
    }

    /// Begins to read a config, perhaps once more: what was counted for it before is gone, and
    /// what was noted stays.
    pub(crate) fn begin(&self) {
        self.taken.store(0, Ordering::Relaxed);
        self.opened.store(0, Ordering::Relaxed);
        *self.held() = Held::default();
        self.looked.forget();
    }

    /// Counts a file that is about to be read; `false` when that was too often.
    pub(super) fn open(&self) -> bool {
        self.opened.fetch_add(1, Ordering::Relaxed) < MAX_OPENED
    }

    /// Counts memory that a file takes; `false` when all of them took too much.
    pub(super) fn take(&self, bytes: usize) -> bool {
        self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_TAKEN
    }

    /// Counts what code made that makes tests: what they may weigh depends on it.
    pub(crate) fn count(&self, bytes: usize) {
        self.held().bytes += bytes;
    }

    /// Counts what a file holds, once however often it is read.
    pub(super) fn count_file(&self, path: &Path, bytes: usize) {
        let mut held = self.held();
        if held.files.insert(path.to_owned()) {
            held.bytes += bytes;
        }
    }

    /// Counts a source of tests; how often they were named so far.
    pub(crate) fn count_source(&self) -> usize {
        let mut held = self.held();
        held.sources += 1;
        held.sources
    }

    /// Counts a prompt of so much weight; what all of them weigh so far.
    pub(crate) fn count_prompt(&self, weight: usize) -> usize {
        let mut held = self.held();
        held.prompts += weight;
        held.prompts
    }

    /// What was counted so far.
    pub(crate) fn bytes(&self) -> usize {
        self.held().bytes
    }

    /// Notes a file that is about to be read, there or not.
    pub(super) fn note(&self, path: &Path) {
        let stamp = stamp(path);
        self.lock().files.entry(path.to_owned()).or_insert(stamp);
    }

    /// Notes what a pattern matched.
    pub(super) fn note_pattern(&self, pattern: &Path, found: &[PathBuf]) {
        let found = found.to_vec();
        self.lock().patterns.insert(pattern.to_owned(), found);
    }

    /// Whether a file was read, by whatever path: writing there would destroy it.
    pub fn contains(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else {
            return false;
        };
        let state = self.lock();
        let files = state.files.keys().chain(state.patterns.values().flatten());
        files
            .flat_map(|file| file.canonicalize())
            .any(|file| file == path)
    }

    /// Notes a file that somebody else reads: a plugin's component.
    pub fn add(&self, path: &Path) {
        self.note(path);
        if path.is_dir() {
            // Files in it that change don't change the folder.
            let pattern = path.join("*");
            let found =
                matches(&pattern, &SearchCounters::default(), &|_| true).unwrap_or_default();
            for file in found.iter().filter(|file| has_extension(file, &["wasm"])) {
                self.note(file);
            }
            self.note_pattern(&pattern, &found);
        }
    }

    /// How everything was when it was read.
    pub fn as_read(&self) -> FilesState {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, FilesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FilesState {
    /// How the same files and patterns are now.
    #[must_use]
    pub fn now(&self) -> Self {
        let files = self.files.keys().map(|path| (path.clone(), stamp(path)));
        let patterns = self.patterns.keys().map(|pattern| {
            let found = matches(pattern, &SearchCounters::default(), &|_| true).unwrap_or_default();
            (pattern.clone(), found)
        });
        Self {
            files: files.collect(),
            patterns: patterns.collect(),
        }
    }

    /// A path that is not the same in both, if there is one.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Option<&'a Path> {
        let mut files = self.files.iter();
        let changed = files.find(|(path, stamp)| other.files.get(*path) != Some(stamp));
        let mut patterns = self.patterns.iter();
        let matched = patterns.find(|(path, found)| other.patterns.get(*path) != Some(found));
        let changed = changed.map(|(path, _)| path);
        changed
            .or(matched.map(|(path, _)| path))
            .map(PathBuf::as_path)
    }

    /// Leaves out a file that the run itself writes.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp {
        len: metadata.len(),
        changed: metadata.modified().ok(),
    })
}

/// The path of an open file, without links.
#[cfg(unix)]
fn path_of(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(not(unix))]
fn path_of(_: &File) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use crate::fixture::Folder;
    use crate::load;

    fn folder() -> Folder {
        Folder::new("prompts: [p.txt]\nproviders: [echo]\ntests: ['t/*.yaml']")
            .file("p.txt", "{{q}}")
            .file("t/1.yaml", "[{ vars: { q: file://q.txt } }]")
            .file("q.txt", "why")
            .file("other.txt", "x")
    }

    #[test]
    fn a_file_that_was_read_counts_and_another_does_not() {
        let folder = folder();
        let request = folder.request();
        let config = load(&request).unwrap().0;
        config.plan(&crate::fixture::catalog()).unwrap();
        let read = request.files_read.as_read();
        assert_eq!(read.len(), 4);
        assert_eq!(read.difference(&read.now()), None);
        let changes = [
            ("other.txt", false),
            ("promptfooconfig.yaml", true),
            ("p.txt", true),
            ("t/1.yaml", true),
            ("q.txt", true),
            ("t/2.yaml", true),
            ("t/notes.txt", false),
        ];
        let mut seen = Vec::new();
        for (name, expected) in changes {
            let path = folder.path().join(name);
            let was = fs::read(&path).ok();
            fs::write(&path, "longer than anything that was there").unwrap();
            let now = read.now();
            let mut different = read.clone();
            // What changed before is not what is looked for now.
            different.files.retain(|file, _| !seen.contains(file));
            assert_eq!(different.difference(&now).is_some(), expected, "{name}");
            match was {
                Some(_) => seen.push(path),
                None => fs::remove_file(path).unwrap(),
            }
        }
    }

    #[test]
    fn what_a_broken_config_names_is_known_too() {
        let folder = Folder::new("prompts: [none.txt]\nproviders: [echo]");
        let request = folder.request();
        let config = load(&request).unwrap().0;
        config.plan(&crate::fixture::catalog()).unwrap_err();
        let read = request.files_read.as_read();
        fs::write(folder.path().join("none.txt"), "now it is there").unwrap();
        let now = read.now();
        assert!(read.difference(&now).unwrap().ends_with("none.txt"));
    }

    #[test]
    fn a_file_that_the_run_writes_can_be_left_out() {
        let folder = folder();
        let request = folder.request();
        load(&request).unwrap();
        let mut read = request.files_read.as_read();
        assert_eq!(read.len(), 1);
        read.forget(&folder.path().join("promptfooconfig.yaml"));
        assert!(read.is_empty());
    }
}
