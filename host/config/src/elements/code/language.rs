//! Which language a file is in, and where it has to run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::catalog::Catalog;
use crate::elements::process::Settings;
use crate::elements::programs::PROGRAM_HELP;
use crate::elements::reading::{Reading, Runtime};
use crate::elements::scan::{JAVASCRIPT, PYTHON, TYPED};
use crate::model::Position;
use crate::read::files::has_extension;

/// Languages that an interpreter of the person's machine runs, with the extensions of their files.
/// TypeScript is JavaScript to whoever runs it.
const INTERPRETED: [(&str, &[&str]); 2] = [
    (PYTHON, &["py"]),
    (JAVASCRIPT, &["js", "mjs", "cjs", "ts", "mts", "cts"]),
];

/// What an import may leave out, in the order tried.
pub(super) const ENDINGS: [&str; 10] = [
    "",
    ".js",
    ".mjs",
    ".cjs",
    ".json",
    "/index.js",
    ".ts",
    ".mts",
    ".cts",
    "/index.ts",
];

/// The file with types that is imported by the name that it has once it is compiled.
pub(super) fn compiled_from(path: &OsStr) -> Option<PathBuf> {
    let typed = ["js", "mjs", "cjs"].iter().zip(TYPED);
    let mut typed = typed.filter(|(compiled, _)| has_extension(Path::new(path), &[compiled]));
    let (_, extension) = typed.next()?;
    Some(Path::new(path).with_extension(extension))
}

/// The language of a file, the extensions of its files, and where it has to run, if that is said or
/// there is but one way.
pub(super) fn spoken<'a>(
    path: &str,
    at: &Position,
    reading: Reading<'a>,
    settings: &Settings,
) -> Option<(&'a str, Vec<&'a str>, Option<Runtime>)> {
    let (findings, catalog) = (reading.findings, reading.catalog);
    let speaks = |extensions: &[&str]| has_extension(Path::new(path), extensions);
    let said = settings.runtime.or(reading.runtime);
    let mut known = catalog.script_languages.iter();
    let known = known.find_map(|(language, extensions)| {
        let extensions: Vec<&str> = extensions.iter().map(String::as_str).collect();
        speaks(&extensions).then_some((language.as_str(), extensions, said))
    });
    if known.is_some() {
        return known;
    }
    let mut interpreted = INTERPRETED.iter();
    let interpreted = interpreted.find(|(_, extensions)| speaks(extensions));
    if let Some((language, extensions)) = interpreted
        && said != Some(Runtime::Sandbox)
    {
        return Some((language, extensions.to_vec(), Some(Runtime::Process)));
    }
    let mut absent = catalog.absent_languages.iter();
    let absent = absent.find(|(_, absent)| {
        let extensions: Vec<&str> = absent.extensions.iter().map(String::as_str).collect();
        speaks(&extensions)
    });
    let (message, help) = match absent {
        Some((name, absent)) => (absent.message(name), absent.help.clone()),
        None => (
            "no plugin runs code of this kind".to_owned(),
            languages(catalog),
        ),
    };
    findings.error_help(at.clone(), format!("'{path}': {message}"), help);
    None
}

/// What can be written instead.
pub(super) fn languages(catalog: &Catalog) -> String {
    let languages = catalog.script_languages.iter();
    let list: Vec<String> = languages
        .map(|(name, extensions)| format!("{name} (.{})", extensions.join(", .")))
        .collect();
    if list.is_empty() {
        PROGRAM_HELP.to_owned()
    } else {
        format!("code can be {}", list.join(", "))
    }
}
