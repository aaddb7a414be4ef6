//! Code in a package of npm: promptfoo's `package:name:export`. It runs on the person's machine:
//! which files a package has is Node's business.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::scan::{JAVASCRIPT, VariableNames};
use crate::elements::process::{self, ProgramSource, Settings};
use crate::elements::reading::{Reading, Runtime};
use crate::model::{Code, CodeFile, CodeFiles, CodeNeeds, Engine, Position, Script, TextOrigin};

const PREFIX: &str = "package:";

/// Most text of a package's manifest that makes one state of it another than the next, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;

/// Whether a text names code in a package.
pub(crate) fn is_package(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// The script that `package:name:export` names; `None`: a mistake, which is reported.
pub(crate) fn package(
    text: &str,
    at: &Position,
    origin: &TextOrigin,
    reading: Reading<'_>,
    settings: &Settings,
) -> Option<Arc<Script>> {
    let refused = |why: &str, help: &str| {
        let line = text.lines().next().unwrap_or_default();
        let message = format!("'{line}': {why}");
        reading.findings.error_help(at.clone(), message, help);
        None
    };
    let Some((name, entry)) = parts(text) else {
        return refused("names no export of a package", "package:name:export");
    };
    if origin.is_data() {
        return refused("a row names no package", "name it in the config");
    }
    if settings.runtime.or(reading.runtime) == Some(Runtime::Sandbox) {
        let help = "leave out `runtime: sandbox`, or name a file: file://node_modules/…";
        return refused("the sandbox has no packages", help);
    }
    let path = format!("{PREFIX}{name}");
    let main = CodeFile {
        path: path.clone(),
        source: manifest(name, origin, reading),
    };
    let reason = "is a package".to_owned();
    let needs = CodeNeeds::outside(&reason);
    let files = CodeFiles::new(PathBuf::from(&path), main, Vec::new(), needs);
    // A package is handed the variables that are called after it.
    let source = format!("import '{name}'");
    let named = (origin, at);
    let variables = VariableNames::of(&source);
    let brought = ProgramSource::code(Engine::Node, &variables);
    let process = process::program(brought, settings, named, reading);
    reading.code.place(path, Some((&process, reason)), &[]);
    Some(Arc::new(Script {
        language: JAVASCRIPT.to_owned(),
        key: at.key.clone(),
        code: Code::File {
            files: Arc::new(files),
            entry: Some(entry.to_owned()),
        },
        process: Some(process),
        sends: false,
    }))
}

/// Name and export.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (name, entry) = text.strip_prefix(PREFIX)?.split_once(':')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '@' | '/' | '.' | '_' | '-');
    let is_export = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$');
    let is_named = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
        && name.chars().all(is_word)
        && !name.contains("..");
    (is_named && !entry.is_empty() && entry.chars().all(is_export)).then_some((name, entry))
}

/// The manifest of a package where it is installed below the config's folder: another version of it
/// is other code. Empty where it is elsewhere.
fn manifest(name: &str, origin: &TextOrigin, reading: Reading<'_>) -> String {
    let files = reading.files;
    let shown = files.shown(
        &Path::new("node_modules")
            .join(name)
            .join("package.json")
            .to_string_lossy(),
    );
    let file = files.permit_own(&shown, origin);
    let text = file.and_then(|file| files.read(&file, MAX_MANIFEST).ok());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_package_is_a_name_and_an_export() {
        assert_eq!(parts("package:@a/b-c:x.Y"), Some(("@a/b-c", "x.Y")));
        assert_eq!(parts("package:a/lib/b.js:run"), Some(("a/lib/b.js", "run")));
        for wrong in [
            "package:a",
            "package::x",
            "package:a:",
            "package:../a:x",
            "package:./a:x",
            "package:a/../../b:x",
            "package:a\nb:x",
            "package:/a:x",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
