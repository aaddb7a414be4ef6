//! A script's files on the way to being together: the one that is named, and what it imports.
//!
//! What imports say is a stranger's: how many files there are, how large they are and how many names
//! are looked up has a limit for each script, and what is looked up one for the whole config
//! ([`Piece`]).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::language::{ENDINGS, compiled_from};
use crate::elements::books::Piece;
use crate::elements::reading::Reading;
use crate::elements::scan::{self, PYTHON, TYPED};
use crate::model::{CodeFile, CodeFiles, CodeNeeds, Position, TextOrigin};
use crate::read::files::{PathKind, has_extension, tidy};

/// Most files of one script.
pub(super) const MAX_FILES: usize = 256;

/// Most text of one script, all files together, in bytes: what a call can hand over with room
/// for its arguments.
pub(super) const MAX_CODE: usize = 4 << 20;

/// Why a file is not among those of a script.
enum Untaken {
    /// There are too many, or too large ones, for the sandbox.
    TooMuch(String),
    Refused(String),
}

/// A script's files on the way to being together.
pub(super) struct Gathering<'a> {
    reading: Reading<'a>,
    language: &'a str,
    extensions: &'a [&'a str],
    /// Who named the file.
    origin: &'a TextOrigin,
    /// Paths as the user would write them, with their texts.
    found: Vec<(PathBuf, String)>,
    /// Their paths.
    known: HashSet<PathBuf>,
    size: usize,
    /// Whoever names it says that it runs outside the sandbox.
    is_outside: bool,
    /// What it has looked up.
    looked: Piece<'a>,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(
        reading: Reading<'a>,
        language: &'a str,
        extensions: &'a [&'a str],
        origin: &'a TextOrigin,
        is_outside: bool,
    ) -> Self {
        Self {
            reading,
            language,
            extensions,
            origin,
            found: Vec::new(),
            known: HashSet::new(),
            size: 0,
            is_outside,
            looked: reading.code.looked.piece(),
        }
    }

    /// A file and what it imports; `None` if something is wrong, which is reported at `at`.
    pub(super) fn all(mut self, main: &Path, at: &Position) -> Option<CodeFiles> {
        let findings = self.reading.findings;
        let refused = |reason: String| findings.error(at.clone(), reason);
        if let Err(Untaken::TooMuch(reason) | Untaken::Refused(reason)) =
            self.take(main.to_owned(), at)
        {
            refused(reason);
            return None;
        }
        let mut next = 0;
        let mut needs = CodeNeeds::default();
        while next < self.found.len() {
            if needs.beyond_requests.is_none() {
                needs = needs.and(self.needs(next, at));
            }
            for wanted in self.imports(next, at) {
                let is_outside = self.is_outside || needs.first.is_some();
                match self.take(wanted, at) {
                    Ok(()) => {}
                    // Outside the sandbox nobody hands it over: it reads what it wants itself.
                    Err(Untaken::TooMuch(_)) if is_outside => {}
                    Err(Untaken::TooMuch(reason) | Untaken::Refused(reason)) => {
                        refused(reason);
                        return None;
                    }
                }
            }
            if let Some(too_many) = self.looked.too_many() {
                let file = self.found[next].0.display();
                refused(format!("'{file}': {too_many}"));
                return None;
            }
            next += 1;
        }
        let path = tidy(&self.reading.files.cwd.join(&self.found[0].0));
        let named = self.named();
        if named.is_none() {
            let message = format!(
                "'{}': code can't use its path, or that of a file it imports: paths must be Unicode",
                path.display()
            );
            refused(message);
        }
        let mut named = named?.into_iter();
        let main = named.next().expect("the file itself was found first");
        let modules = named.collect();
        Some(CodeFiles::new(path, main, modules, needs))
    }

    /// What of a found file the sandbox can't give.
    fn needs(&self, index: usize, at: &Position) -> CodeNeeds {
        let (path, source) = &self.found[index];
        if has_extension(path, &["json"]) {
            return CodeNeeds::default();
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let language = (self.language, has_extension(path, &TYPED));
        let is_own = |import: &scan::python::Import| !self.own(import, folder, at).is_empty();
        scan::of(language, source, &is_own)
    }

    /// The files that an import of a Python file means.
    fn own(&self, import: &scan::python::Import, folder: &Path, at: &Position) -> Vec<PathBuf> {
        let is_file = |path: &Path| self.there(path, at) == PathKind::File;
        let is_folder = |path: &Path| self.there(path, at) == PathKind::Folder;
        let main = self.found[0].0.parent().unwrap_or(Path::new(""));
        import.files(main, folder, &is_file, &is_folder)
    }

    /// What there is at a path that code imports.
    fn there(&self, path: &Path, at: &Position) -> PathKind {
        let named = (at, self.namer(path), self.reading.findings);
        self.looked.there(path, self.reading.files, named)
    }

    /// Whose word it is that a file is read. The person names the script, and with it what lies
    /// beside it; what it imports from elsewhere is its own wish.
    fn namer(&self, shown: &Path) -> &TextOrigin {
        let files = self.reading.files;
        let is_beside = |main: &Path| files.beyond(shown, &files.data(main)).is_none();
        let is_named = self.found.first().is_none_or(|(main, _)| is_beside(main));
        match self.origin {
            TextOrigin::Person if !is_named => &TextOrigin::Config,
            origin => origin,
        }
    }

    /// Reads a file, unless it is there already.
    fn take(&mut self, shown: PathBuf, at: &Position) -> Result<(), Untaken> {
        if self.known.contains(&shown) {
            return Ok(());
        }
        let named = |reason: &str| format!("'{}': {reason}", shown.display());
        let too_much = |what: String| Untaken::TooMuch(named(&what));
        if self.found.len() == MAX_FILES {
            return Err(too_much(format!(
                "a script has more than {MAX_FILES} files"
            )));
        }
        let Reading {
            files, findings, ..
        } = self.reading;
        let file = files.permit(&shown, at, self.namer(&shown), findings);
        let file = file.ok_or_else(|| Untaken::Refused(named("is not read unless you agree")))?;
        let source = files.read(&file, MAX_CODE as u64);
        let source = source.map_err(|reason| Untaken::Refused(named(&reason)))?;
        if self.size + source.len() > MAX_CODE {
            let mib = MAX_CODE >> 20;
            return Err(too_much(format!(
                "a script's files hold more than {mib} MiB"
            )));
        }
        self.size += source.len();
        self.known.insert(shown.clone());
        self.found.push((shown, source));
        Ok(())
    }

    /// The files that a found one imports. One that is not there is a warning only: the scan may
    /// see an import where there is none, and code that needs it says so itself.
    fn imports(&self, index: usize, at: &Position) -> Vec<PathBuf> {
        let (path, source) = &self.found[index];
        if has_extension(path, &["json"]) {
            return Vec::new();
        }
        if self.language == PYTHON {
            return self.python_imports(path, source, at);
        }
        let mut wanted = Vec::new();
        for specifier in scan::imports::relative(source) {
            let found = self.resolve(path, specifier, at);
            if self.looked.too_many().is_some() {
                break;
            }
            if let Some(path) = found {
                wanted.push(path);
                continue;
            }
            let message = format!(
                "'{}' imports '{specifier}', and there is no such file",
                path.display()
            );
            self.reading.findings.warn(at.clone(), message, None);
        }
        wanted
    }

    /// The files that a Python file imports.
    fn python_imports(&self, path: &Path, source: &str, at: &Position) -> Vec<PathBuf> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut wanted = Vec::new();
        for import in scan::python::imports(source) {
            let files = self.own(&import, folder, at);
            if self.looked.too_many().is_some() {
                break;
            }
            if files.is_empty() && import.is_relative() {
                let message = format!(
                    "'{}' imports '{}', and there is no such file",
                    path.display(),
                    import.written()
                );
                self.reading.findings.warn(at.clone(), message, None);
            }
            wanted.extend(files.iter().map(|path| tidy(path)));
        }
        wanted
    }

    /// Resolves the file that `importer` means.
    fn resolve(&self, importer: &Path, specifier: &str, at: &Position) -> Option<PathBuf> {
        let folder = importer.parent().unwrap_or(Path::new(""));
        let target = tidy(&folder.join(specifier)).into_os_string();
        let compiled = compiled_from(&target);
        // What is named in full is asked for when it is read, unless it may stand for a file with types.
        let is_whole = compiled.is_none() || !has_extension(importer, &TYPED);
        let endings = if is_whole { ENDINGS.len() } else { 1 };
        let candidates = ENDINGS.iter().take(endings).map(|ending| {
            let mut path = target.clone();
            path.push(ending);
            PathBuf::from(path)
        });
        let extensions = [self.extensions, &TYPED, &["json"]].concat();
        let is_named = |path: &Path| {
            is_whole
                && path.as_os_str() == target
                && self
                    .looked
                    .is_beyond(path, self.reading.files, self.namer(path))
        };
        candidates.chain(compiled).find(|path| {
            has_extension(path, &extensions)
                && (is_named(path) || self.there(path, at) == PathKind::File)
        })
    }

    /// The files by their paths in the folder that all of them share.
    fn named(self) -> Option<Vec<CodeFile>> {
        let cwd = &self.reading.files.cwd;
        let whole = |(path, source): (PathBuf, String)| (tidy(&cwd.join(path)), source);
        let files: Vec<(PathBuf, String)> = self.found.into_iter().map(whole).collect();
        let mut shared = files[0].0.parent()?.to_owned();
        for (path, _) in &files {
            while !path.starts_with(&shared) {
                shared = shared.parent()?.to_owned();
            }
        }
        let name = |path: &Path| {
            let parts = path.strip_prefix(&shared).ok()?.components();
            let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
            Some(parts?.join("/"))
        };
        let named = |(path, source): (PathBuf, String)| {
            Some(CodeFile {
                path: name(&path)?,
                source,
            })
        };
        files.into_iter().map(named).collect()
    }
}
