//! Code in a config: a text, or a file with everything that it imports.
//!
//! Files are read here, once each, so that what is missing is said before anything is spent and
//! the code itself never sees a disk. What a file imports is found by a scan
//! (see `scan`) and handed over with it; whatever else it asks for does not exist for it.
//! A script's files have names relative to the lowest folder that holds all of them: nothing
//! above what is needed shows in a message.
//!
//! Rows of data files may hold code, which is harmless where it runs; files of code that they name
//! need the person's agreement: somebody else's data would choose what is run and read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::process::{self, Runtime, Settings};
use super::scan::{self, JAVASCRIPT, PYTHON};
use super::{Reading, program};
use crate::model::{
    Code, CodeFile, CodeFiles, Origin, Position, Process, Script, TrustRequest, TrustSubject,
};
use crate::read::entry::Entry;
use crate::read::files::{has_extension, names_file, real, tidy};
use crate::template::is_plain;

mod book;
mod convention;
mod language;
mod package;
mod syntax;

use language::{ENDINGS, TYPED, compiled_from, languages, spoken};

pub(crate) use book::CodeBook;
pub(crate) use convention::{Use, meant};
pub(crate) use package::is_package;
use syntax::{GRADED, Inline, form_of};

/// Most files of one script.
const MAX_FILES: usize = 256;

/// Most text of one script, all files together, in bytes: what a call can hand over with room
/// for its arguments.
pub(crate) const MAX_CODE: usize = 4 << 20;

/// Whether a text names a file that is a program of whatever language, or code in a package.
pub(crate) fn is_file(text: &str) -> bool {
    is_package(text) || names_file(text) && program(text).is_some()
}

/// Code under a key that takes nothing else: `transform`, `transformVars`, …
pub(crate) fn read(entry: &Entry<'_>, reading: Reading<'_>) -> Option<Arc<Script>> {
    let text = entry.want_text(reading.findings)?;
    if is_package(&text) || names_file(&text) {
        return file(&text, &entry.at(), entry.origin, reading);
    }
    if text.trim().is_empty() {
        reading.findings.error(entry.at(), "holds no code");
        return None;
    }
    if !reading.catalog.script_languages.contains_key(JAVASCRIPT) {
        let message = format!("no plugin runs {JAVASCRIPT}");
        reading
            .findings
            .error_help(entry.at(), message, languages(reading.catalog));
        return None;
    }
    let at = entry.at();
    let process = inline(JAVASCRIPT, &text, (entry.origin, &at), reading);
    let written = Inline {
        language: JAVASCRIPT.to_owned(),
        text: text.clone(),
        form: form_of(&at.key),
        is_outside: process.is_some(),
    };
    reading.code.syntax.text(written, &at);
    Some(Arc::new(Script {
        language: JAVASCRIPT.to_owned(),
        key: at.key,
        code: Code::Inline { text },
        process,
    }))
}

/// An assertion's text of code, and what runs it outside the sandbox, if the sandbox can't.
pub(crate) fn graded(
    language: &str,
    text: &str,
    (origin, at): (&Origin, &Position),
    reading: Reading<'_>,
) -> Option<Arc<Process>> {
    let process = inline(language, text, (origin, at), reading);
    // Templates of it are filled in before it runs.
    if is_plain(text) {
        let text = Inline {
            language: language.to_owned(),
            text: text.to_owned(),
            form: GRADED,
            is_outside: process.is_some(),
        };
        reading.code.syntax.text(text, at);
    }
    process
}

/// What runs a text of code outside the sandbox, if the sandbox can't. Rows of data bring no such
/// text: theirs stays in the sandbox.
fn inline(
    language: &str,
    text: &str,
    (origin, at): (&Origin, &Position),
    reading: Reading<'_>,
) -> Option<Arc<Process>> {
    let settings = Settings::default();
    let reason = outside(reading.runtime, || {
        scan::of((language, false), text, &|_| false)
    });
    let engine = process::engine(language, &settings, reading);
    let code = format!("inline {language}");
    let Some((engine, reason)) = engine.zip(reason).filter(|_| !origin.is_data()) else {
        reading.code.note(language);
        reading.code.place(code, None);
        return None;
    };
    let named = (origin, at);
    let process = process::program(engine, &[text], None, &settings, named, reading);
    reading.code.place(code, Some((&process, reason)));
    Some(process)
}

/// Why code runs outside the sandbox: because its owner says so, or by what it needs.
fn outside(runtime: Option<Runtime>, needs: impl FnOnce() -> Option<String>) -> Option<String> {
    match runtime {
        Some(Runtime::Sandbox) => None,
        Some(Runtime::Process) => Some("runtime: process".to_owned()),
        None => needs(),
    }
}

/// The script that `file://path[:function]` names, or a bare path, or `package:name:export`.
pub(crate) fn file(
    text: &str,
    at: &Position,
    origin: &Origin,
    reading: Reading<'_>,
) -> Option<Arc<Script>> {
    file_with(text, at, origin, reading, &Settings::default())
}

/// The script that such a text names, where its owner says how it runs.
pub(crate) fn file_with(
    text: &str,
    at: &Position,
    origin: &Origin,
    reading: Reading<'_>,
    settings: &Settings,
) -> Option<Arc<Script>> {
    if is_package(text) {
        return package::package(text, at, origin, reading, settings);
    }
    let findings = reading.findings;
    let rest = crate::read::files::without_scheme(text);
    let path = program(text).unwrap_or(rest);
    let entry = rest[path.len()..].strip_prefix(':').map(str::to_owned);
    let (language, extensions, runs) = spoken(path, at, reading, settings)?;
    let shown = reading.files.shown(path);
    let absolute = reading.files.absolute(path);
    let may_run = !origin.is_data()
        || findings.may_read(TrustRequest {
            subject: TrustSubject::Code {
                path: real(&absolute),
            },
            origin: origin.clone(),
            at: at.clone(),
        });
    let may_read = reading.files.permit(&shown, at, origin, findings).is_some();
    if !(may_read && may_run) {
        return None;
    }
    let known = reading.code.files.borrow().get(&absolute).cloned();
    let files = known.unwrap_or_else(|| {
        let is_outside = runs == Some(Runtime::Process);
        let files = Gathering::new(reading, language, &extensions, origin, is_outside);
        let files = files.all(&shown, at).map(Arc::new);
        let mut book = reading.code.files.borrow_mut();
        book.insert(absolute, files.clone());
        files
    })?;
    let reason = outside(runs, || files.needs.clone());
    let engine = process::engine(language, settings, reading);
    let process = engine.zip(reason).map(|(engine, reason)| {
        let all = files.modules.iter().chain([&files.main]);
        let sources: Vec<&str> = all.clone().map(|file| &*file.source).collect();
        let mut all = all.map(|file| Path::new(&file.path));
        let typed = all.any(|path| has_extension(path, &TYPED));
        let typed = typed.then(|| files.clone());
        let process = process::program(engine, &sources, typed, settings, (origin, at), reading);
        (process, reason)
    });
    let named = (&*shown, at);
    let syntax = &reading.code.syntax;
    syntax.files(language, &files, process.is_some(), named);
    let runs = process.as_ref();
    let runs = runs.map(|(process, reason)| (&**process, reason.clone()));
    // Who runs it in the sandbox also makes JavaScript of its TypeScript.
    if process
        .as_ref()
        .is_none_or(|(process, _)| process.typed.is_some())
    {
        reading.code.note(language);
    }
    reading.code.place(shown.display().to_string(), runs);
    Some(Arc::new(Script {
        language: language.to_owned(),
        key: at.key.clone(),
        code: Code::File { files, entry },
        process: process.map(|(process, _)| process),
    }))
}

/// Why a file is not among those of a script.
enum Untaken {
    /// There are too many, or too large ones, for the sandbox.
    TooMuch(String),
    Refused(String),
}

/// A script's files on the way to being together.
struct Gathering<'a> {
    reading: Reading<'a>,
    language: &'a str,
    extensions: &'a [&'a str],
    /// Who named the file.
    origin: &'a Origin,
    /// Paths as the user would write them, with their texts.
    found: Vec<(PathBuf, String)>,
    /// Their paths.
    known: HashSet<PathBuf>,
    size: usize,
    /// Whoever names it says that it runs outside the sandbox.
    is_outside: bool,
}

impl<'a> Gathering<'a> {
    fn new(
        reading: Reading<'a>,
        language: &'a str,
        extensions: &'a [&'a str],
        origin: &'a Origin,
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
        }
    }

    /// A file and what it imports; `None` if something is wrong, which is reported at `at`.
    fn all(mut self, main: &Path, at: &Position) -> Option<CodeFiles> {
        let findings = self.reading.findings;
        let refused = |reason: String| findings.error(at.clone(), reason);
        if let Err(Untaken::TooMuch(reason) | Untaken::Refused(reason)) =
            self.take(main.to_owned(), at)
        {
            refused(reason);
            return None;
        }
        let mut next = 0;
        let mut needs = None;
        while next < self.found.len() {
            needs = needs.or_else(|| self.needs(next, at));
            for wanted in self.imports(next, at) {
                let is_outside = self.is_outside || needs.is_some();
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
            next += 1;
        }
        let path = tidy(&self.reading.files.cwd.join(&self.found[0].0));
        let named = self.named();
        if named.is_none() {
            let message = format!("'{}': has no path that code can read", path.display());
            refused(message);
        }
        let mut named = named?.into_iter();
        let main = named.next().expect("the file itself was found first");
        let modules = named.collect();
        Some(CodeFiles::new(path, main, modules, needs))
    }

    /// What of a found file the sandbox can't give.
    fn needs(&self, index: usize, at: &Position) -> Option<String> {
        let (path, source) = &self.found[index];
        if has_extension(path, &["json"]) {
            return None;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let language = (self.language, has_extension(path, &TYPED));
        let is_own = |import: &scan::python::Import| !self.own(import, folder, at, path).is_empty();
        scan::of(language, source, &is_own)
    }

    /// The files that an import of a Python file means.
    fn own(
        &self,
        import: &scan::python::Import,
        folder: &Path,
        at: &Position,
        path: &Path,
    ) -> Vec<PathBuf> {
        let Reading {
            files, findings, ..
        } = self.reading;
        let named = (at, self.namer(path), findings);
        let is_file = |path: &Path| files.sees(path, Path::is_file, named);
        let is_folder = |path: &Path| files.sees(path, Path::is_dir, named);
        let main = self.found[0].0.parent().unwrap_or(Path::new(""));
        import.files(main, folder, &is_file, &is_folder)
    }

    /// Whose word it is that a file is read. The person names the script, and with it what lies
    /// beside it; what it imports from elsewhere is its own wish.
    fn namer(&self, shown: &Path) -> &Origin {
        let files = self.reading.files;
        let is_beside = |main: &Path| files.beyond(shown, &files.data(main)).is_none();
        let is_named = self.found.first().is_none_or(|(main, _)| is_beside(main));
        match self.origin {
            Origin::Person if !is_named => &Origin::Config,
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
            if let Some(path) = self.resolve(path, specifier, at) {
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
        let Reading {
            files, findings, ..
        } = self.reading;
        let folder = path.parent().unwrap_or(Path::new(""));
        let named = |path: &Path| (at, self.namer(path), findings);
        let is_file = |path: &Path| files.sees(path, Path::is_file, named(path));
        let is_folder = |path: &Path| files.sees(path, Path::is_dir, named(path));
        let main = self.found[0].0.parent().unwrap_or(Path::new(""));
        let mut wanted = Vec::new();
        for import in scan::python::imports(source) {
            let files = import.files(main, folder, &is_file, &is_folder);
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

    /// The file that `importer` means.
    fn resolve(&self, importer: &Path, specifier: &str, at: &Position) -> Option<PathBuf> {
        let Reading {
            files, findings, ..
        } = self.reading;
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
            is_whole && path.as_os_str() == target && files.beyond(path, self.namer(path)).is_some()
        };
        candidates.chain(compiled).find(|path| {
            has_extension(path, &extensions)
                && (is_named(path)
                    || files.sees(path, Path::is_file, (at, self.namer(path), findings)))
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

#[cfg(test)]
mod tests;
