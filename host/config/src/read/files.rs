//! The files that a config names: where they are, what they hold, how large they may be.
//!
//! A path is kept as the user would write it (relative to the current folder, through the
//! config's own folder), so that messages name it that way; only opening joins it with the
//! current folder.
//!
//! Every file that a text names is opened here, and only with a [`Permitted`], which the text's
//! [`TextOrigin`] and what was agreed to give: what lies beyond its rights is noted before it is read.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use crate::model::{Findings, Position, Problem, TextOrigin, TrustRequest, TrustSubject};
use crate::read::node::{Malformed, Mark, Node};
use crate::read::{json, yaml};

mod contents;
mod find;
mod links;
mod names;
mod read;

pub(crate) use contents::FileContents;
use find::matches;
use links::passes;
pub(crate) use links::{PathTarget, leads};
pub use names::relative;
pub(crate) use names::{has_extension, is_pattern, names_file, path_named, tidy, without_scheme};
pub use read::{FilesRead, FilesState};

/// The largest file of any kind: tests are held in memory whole.
pub(crate) const MAX_FILE: u64 = 256 << 20;

/// The largest YAML or JSON file, whose tree takes many times its size.
pub(crate) const MAX_TREE_FILE: u64 = 32 << 20;

/// The longest path that is looked at, as in Linux. Each part of a path is looked at by itself.
const MAX_PATH: usize = 4096;

/// What a value of a tree takes in memory, as long as it is kept.
pub(crate) const VALUE: usize = 200;

/// Reads files relative to a folder.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    /// The current folder.
    pub(crate) cwd: PathBuf,
    /// The folder that names are relative to, as the user would write it.
    pub(crate) base: PathBuf,
    /// The folder of the config, as the user would write it: below it the config may name files.
    pub(crate) root: PathBuf,
    /// Where what is read is noted.
    pub(crate) read: FilesRead,
}

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// Nothing that code could import.
    Nothing,
    File,
    Folder,
}

/// A file that the text which names it may read: made here alone, where that is decided.
#[derive(Debug)]
pub(crate) struct Permitted {
    /// The path as the user would write it.
    shown: PathBuf,
}

impl Files {
    /// Reads relative to `root`, the folder of a config.
    pub(crate) fn new(cwd: PathBuf, root: PathBuf, read: FilesRead) -> Self {
        Self {
            cwd,
            base: root.clone(),
            root,
            read,
        }
    }

    /// The right to read a file that a text names; what is beyond the text's rights is asked for.
    /// What is never read needs no agreement: who reads it says so.
    pub(crate) fn permit(
        &self,
        shown: &Path,
        at: &Position,
        origin: &TextOrigin,
        findings: &Findings,
    ) -> Option<Permitted> {
        let subject = |path| TrustSubject::Read { path };
        let may_read = |beyond| permitted(subject, Some(beyond), (at, origin, findings));
        self.permit_if(shown, origin, may_read)
    }

    /// The right to read a file that a text names, where it has it by itself: nothing is asked for.
    pub(crate) fn permit_own(&self, shown: &Path, origin: &TextOrigin) -> Option<Permitted> {
        self.permit_if(shown, origin, |_| false)
    }

    /// The right to read a file; whether one beyond the text's rights may be read, `may_read` says.
    fn permit_if(
        &self,
        shown: &Path,
        origin: &TextOrigin,
        may_read: impl FnOnce(PathBuf) -> bool,
    ) -> Option<Permitted> {
        if let Some((target, is_beyond)) = self.target(shown, origin) {
            if is_beyond && !may_read(target.clone()) {
                return None;
            }
            // What lies beyond the folder was not resolved before this.
            let target = if is_beyond { real(&target) } else { target };
            self.read.expect(self.cwd.join(shown), target);
        }
        let shown = shown.to_owned();
        Some(Permitted { shown })
    }

    fn permit_as(
        &self,
        subject: impl FnOnce(PathBuf) -> TrustSubject,
        shown: &Path,
        named: (&Position, &TextOrigin, &Findings),
    ) -> bool {
        permitted(subject, self.beyond(shown, named.1), named)
    }

    /// The path of a file or pattern that a text may not name, if it may not.
    pub(crate) fn beyond(&self, shown: &Path, origin: &TextOrigin) -> Option<PathBuf> {
        let (target, is_beyond) = self.target(shown, origin)?;
        is_beyond.then_some(target)
    }

    /// What a path leads to, and whether a text may not name it. The config may
    /// name what lies in its folder, but for files and folders whose name begins with a dot (`.env`,
    /// `.git/config`), few folders excepted ([`OPEN`]); data what lies in the data file's folder, but
    /// for everything whose name begins with a dot. Links count as what they lead to.
    ///
    /// Nothing outside the folder is looked at for this. What no file can be called is never read.
    fn target(&self, shown: &Path, origin: &TextOrigin) -> Option<(PathBuf, bool)> {
        let folder = match origin {
            TextOrigin::Person => return None,
            TextOrigin::Config | TextOrigin::Vouched => self.cwd.join(&self.root),
            // Everything lies outside what is no folder.
            TextOrigin::Data(file) => file.folder().unwrap_or(&file.real).to_owned(),
        };
        let path = tidy(&self.cwd.join(shown));
        if is_too_long(&path) {
            return None;
        }
        match leads(&folder, &path) {
            PathTarget::Outside(path) => Some((path, true)),
            PathTarget::Inside(inner) => {
                // As written, too: a link called `.env` is one, wherever it leads.
                let name = path.file_name().map(Path::new);
                let is_hidden = |path: &Path| is_hidden_path(path, origin);
                let is_beyond = is_hidden(&inner) || name.is_some_and(is_hidden);
                Some((real(&tidy(&folder)).join(inner), is_beyond))
            }
        }
    }

    /// What there is at a path that code imports. Where a text may not look, that is asked for, and
    /// nothing is there meanwhile.
    pub(crate) fn there(
        &self,
        shown: &Path,
        is_beyond: bool,
        named: (&Position, &TextOrigin, &Findings),
    ) -> PathKind {
        let subject = |path: PathBuf| {
            let mut pattern = path.with_extension("").into_os_string();
            pattern.push("*");
            let pattern = pattern.into();
            TrustSubject::Match { pattern }
        };
        if is_beyond && !self.permit_as(subject, shown, named) {
            return PathKind::Nothing;
        }
        let path = self.cwd.join(shown);
        // Most names lead nowhere: whose a place is costs more to know than that nothing is there.
        let there = match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => PathKind::File,
            Ok(found) if found.is_dir() => PathKind::Folder,
            _ => return PathKind::Nothing,
        };
        if is_by_system(&path) {
            PathKind::Nothing
        } else {
            there
        }
    }

    /// `written` relative to the config's folder, as the user would write it.
    pub(crate) fn shown(&self, written: &str) -> PathBuf {
        tidy(&self.base.join(without_scheme(written)))
    }

    /// The path of a file that is named so, to open from anywhere.
    pub(crate) fn absolute(&self, written: &str) -> PathBuf {
        tidy(&self.cwd.join(self.shown(written)))
    }

    /// Reads the bytes of a file.
    pub(crate) fn read_bytes(&self, file: &Permitted, max: u64) -> Result<Vec<u8>, String> {
        let path = self.cwd.join(&file.shown);
        if !self.read.open() {
            let most = read::MAX_OPENED;
            return Err(format!(
                "the files of a config are read more than {most} times"
            ));
        }
        self.read.note(&path);
        let refused = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("can't be read: {error}"),
        };
        if let Some(reason) = unreadable(&path) {
            return Err(reason.to_owned());
        }
        let metadata = std::fs::metadata(&path).map_err(refused)?;
        if metadata.is_dir() {
            return Err("is a folder, not a file".to_owned());
        }
        let too_large = || format!("is larger than {} MiB", max >> 20);
        if metadata.len() > max {
            return Err(too_large());
        }
        let file = std::fs::File::open(&path).map_err(refused)?;
        if self.read.is_another(&path, &file) {
            return Err("was replaced by another file while it was read".to_owned());
        }
        let mut bytes = Vec::new();
        file.take(max + 1)
            .read_to_end(&mut bytes)
            .map_err(refused)?;
        if bytes.len() as u64 > max {
            return Err(too_large());
        }
        self.take(bytes.len())?;
        self.read.count_file(&path, bytes.len());
        Ok(bytes)
    }

    /// Counts what a file takes.
    ///
    /// # Errors
    /// When all files take too much.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), String> {
        let gib = read::MAX_TAKEN >> 30;
        let refused =
            || format!("all files of the config together take more than {gib} GiB of memory");
        self.read.take(bytes).then_some(()).ok_or_else(refused)
    }

    /// Reads the text of a file, without a byte order mark.
    pub(crate) fn read(&self, file: &Permitted, max: u64) -> Result<String, String> {
        let bytes = self.read_bytes(file, max)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            format!(
                "is not UTF-8 text (byte {})",
                error.utf8_error().valid_up_to() + 1
            )
        })?;
        Ok(text
            .strip_prefix('\u{feff}')
            .map(str::to_owned)
            .unwrap_or(text))
    }

    /// Reads the text of a file that `at` names; what is wrong is reported there.
    pub(crate) fn read_named(
        &self,
        shown: &Path,
        at: &Position,
        origin: &TextOrigin,
        findings: &Findings,
    ) -> Option<String> {
        let file = self.permit(shown, at, origin, findings)?;
        self.read(&file, MAX_FILE)
            .map_err(|reason| findings.error(at.clone(), about(shown, at, &reason)))
            .ok()
    }

    /// The tree of a YAML or JSON file that `at` names.
    pub(crate) fn tree(
        &self,
        shown: &Path,
        at: &Position,
        origin: &TextOrigin,
        findings: &Findings,
    ) -> Option<Node> {
        let file = self.permit(shown, at, origin, findings)?;
        match self.read(&file, MAX_TREE_FILE) {
            Err(reason) => findings.error(at.clone(), about(shown, at, &reason)),
            Ok(text) => match parse_tree(&text, has_extension(shown, &["json"])) {
                Ok(node) => match self.take(node.values() * VALUE) {
                    Ok(()) => return Some(node),
                    Err(reason) => findings.error(at.clone(), about(shown, at, &reason)),
                },
                Err(malformed) => findings.problem(malformed_at(shown, malformed)),
            },
        }
        None
    }

    /// Expands the files that a pattern matches, sorted; an ordinary path is itself, there or not.
    /// What else there is in a folder that the text may not name stays unknown until that is agreed
    /// to.
    pub(crate) fn expand(
        &self,
        written: &str,
        named: (&Position, &TextOrigin, &Findings),
    ) -> Result<Vec<PathBuf>, String> {
        let shown = self.shown(written);
        if !is_pattern(written) {
            return Ok(vec![shown]);
        }
        let (_, _, findings) = named;
        let may_match = |path: &Path| {
            let subject = |pattern| TrustSubject::Match { pattern };
            self.permit_as(subject, path, named)
        };
        if !may_match(&shown) {
            return Ok(Vec::new());
        }
        let full = tidy(&self.cwd.join(&shown));
        if let Some(reason) = unreadable(&full) {
            return Err(reason.to_owned());
        }
        let refusals = findings.refusals();
        let may_follow = |path: &Path| {
            let may = if is_pattern(&path.to_string_lossy()) {
                may_match(path)
            } else {
                self.permit_as(|path| TrustSubject::Read { path }, path, named)
            };
            may && !is_by_system(path)
        };
        let found = matches(&full, &self.read.looked, &may_follow)?;
        if found.is_empty() && findings.refusals() > refusals {
            return Ok(found);
        }
        self.read.note_pattern(&full, &found);
        if found.is_empty() {
            return Err("matches no file".to_owned());
        }
        let shown = |path: PathBuf| match path.strip_prefix(&self.cwd) {
            Ok(inside) => inside.to_owned(),
            Err(_) => path,
        };
        Ok(found.into_iter().map(shown).collect())
    }
}

/// Whether what lies beyond a text's rights, if it does, may be read, matched or whatever is asked.
fn permitted(
    subject: impl FnOnce(PathBuf) -> TrustSubject,
    beyond: Option<PathBuf>,
    (at, origin, findings): (&Position, &TextOrigin, &Findings),
) -> bool {
    beyond.is_none_or(|path| {
        let is_never_read = is_of_system(&path);
        is_never_read
            || findings.may_read(TrustRequest {
                subject: subject(path),
                origin: origin.clone(),
                at: at.clone(),
            })
    })
}

/// A path with its links resolved, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    if is_too_long(path) {
        return path.to_owned();
    }
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Why a path must not even be opened, whoever names it: a pipe would wait for a writer, a device
/// has no end, and what the system shows as files is about this machine.
pub(crate) fn unreadable(path: &Path) -> Option<&'static str> {
    if is_too_long(path) {
        return Some("is a longer name than any file has");
    }
    if is_by_system(path) {
        return Some("belongs to the system and is never read");
    }
    let metadata = std::fs::metadata(path).ok()?;
    let is_special = !metadata.is_file() && !metadata.is_dir();
    is_special.then_some("is not an ordinary file")
}

/// Whether a path, or the way to it, is the system's.
fn is_by_system(path: &Path) -> bool {
    // On the way to shared memory, `/dev` is passed by.
    let is_within = |at: &Path| at != Path::new("/dev") && is_of_system(at);
    is_too_long(path) || passes(path, is_within) || is_of_system(&real(path))
}

/// Whether there can be no file of this name.
fn is_too_long(path: &Path) -> bool {
    path.as_os_str().len() > MAX_PATH
}

/// Whether a path, links resolved, is the system's: of `/dev`, files in shared memory are not.
pub(crate) fn is_of_system(real: &Path) -> bool {
    let is_below = |folder: &&str| real.starts_with(folder);
    ["/dev", "/proc", "/sys"].iter().any(is_below) && !real.starts_with("/dev/shm")
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Folders whose names begin with a dot and that hold prompts and code. Others hold keys, or may:
/// each tool has one of its own (`.aws`, `.git`, `.streamlit`).
const OPEN: [&str; 3] = [".github", ".promptfoo", ".vscode"];

/// Whether a path has a part that a text of this origin may not name.
fn is_hidden_path(path: &Path, origin: &TextOrigin) -> bool {
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    match origin {
        TextOrigin::Person => false,
        TextOrigin::Config | TextOrigin::Vouched => {
            let is_open = |name: &OsStr| OPEN.iter().any(|folder| name == *folder);
            path.file_name().is_some_and(is_hidden)
                || names.any(|name| is_hidden(name) && !is_open(name))
        }
        TextOrigin::Data(_) => names.any(is_hidden),
    }
}

/// Names the file unless the place is the file itself.
fn about(shown: &Path, at: &Position, reason: &str) -> String {
    if at.file == shown {
        reason.to_owned()
    } else {
        format!("'{}': {reason}", shown.display())
    }
}

/// JSON where the text is, else YAML (which takes comments and trailing commas in JSON, too).
pub(crate) fn parse_tree(text: &str, is_json: bool) -> Result<Node, Malformed> {
    if is_json {
        return json::parse(text, 1)
            .or_else(|malformed| yaml::parse(&text.replace('\t', " ")).map_err(|_| malformed));
    }
    // JSON is YAML; its own reader takes less time and memory.
    let json = text.starts_with(['{', '[']).then(|| json::parse(text, 1));
    json.and_then(Result::ok)
        .map_or_else(|| yaml::parse(text), Ok)
}

/// A problem of the file as a whole.
pub(crate) fn malformed_at(file: &Path, malformed: Malformed) -> Problem {
    let Mark { line, column } = malformed.mark;
    Problem {
        message: malformed.message,
        at: Position {
            file: file.to_owned(),
            line,
            column,
            key: String::new(),
        },
        help: malformed.help.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
