//! `runner plugin add`, `remove` and `verify`: components that are kept on this machine, for configs to name.
//!
//! Each is a file of its own, called after the component's name and digest, in a folder of this user's. Nothing
//! loads one unasked: a config names it with its digest, and is held to that at each run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use runner_config::added_name;
use runner_eval::plugins::entry_yaml;
use runner_files::{ReadAccess, Replacement, bytes_up_to, make_private};
use runner_sandbox::limits::MAX_FILE_BYTES;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use super::CommandContext;
use super::built::built;
use super::eval::sandbox;
use crate::arguments::{Add, Remove, VerifyAdded};
use crate::exit::{SUCCESS, USAGE};
use crate::failure::Failure;
use crate::stdout;
use crate::visible;

/// One that is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddedPlugin {
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) file: PathBuf,
}

impl AddedPlugin {
    /// How a config names it.
    pub(super) fn source(&self) -> String {
        format!("{}@sha256:{}", self.name, self.sha256)
    }
}

/// Adds one; gives the exit code.
pub(super) fn add(arguments: &Add, setting: &CommandContext) -> Result<u8, Failure> {
    let Add {
        source,
        sha256,
        json,
    } = arguments;
    let (name, bytes) = fetched(source, setting)?;
    let digest = digest(&bytes);
    if let Some(expected) = sha256
        && !expected.trim().eq_ignore_ascii_case(&digest)
    {
        let shown = visible::line(source);
        let message = format!("{shown} is not what was expected: it has the sha256 {digest}");
        return Err(Failure::usage(message).help("check where it comes from"));
    }
    setting.home.make()?;
    // It is looked at where nobody else can change it, and that is what is kept.
    let passing = setting
        .home
        .passing_folder()
        .context("no place to look at it")?;
    let file = passing.path().join(name);
    fs::write(&file, &bytes).with_context(|| format!("can't write {}", file.display()))?;
    let inspection = sandbox(1, setting)?.inspect(&file);
    if let Some(mut problem) = inspection.problem {
        problem.label.path = PathBuf::from(source);
        return Err(Failure::usage(problem));
    }
    let info = inspection
        .info
        .context("a component without a problem describes itself")?;
    let folder = setting.home.added_plugins();
    make_private(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    let added = AddedPlugin {
        file: folder.join(added_name(&info.name, &digest)),
        name: info.name.clone(),
        sha256: digest,
    };
    let word = if all(setting).contains(&added) {
        "added before"
    } else {
        "added"
    };
    // One that was changed since becomes right again.
    Replacement::of(&added.file, ReadAccess::Owner, &bytes)
        .with_context(|| format!("can't write {}", added.file.display()))?;
    let (name, version) = (&added.name, visible::line(&info.version));
    let (sha256, yaml) = (&added.sha256, entry_yaml(&info, &added.source()));
    let told = json!({ "status": word, "name": name, "version": info.version, "sha256": sha256, "config": yaml });
    let text = format!(
        "{word}: {name} {version}, sha256 {sha256}\nno config uses it before it names it:\n\n{yaml}\n"
    );
    stdout::told(*json, &told, &text)?;
    Ok(SUCCESS)
}

/// A file's name for it, and its bytes.
fn fetched(source: &str, setting: &CommandContext) -> Result<(String, Vec<u8>), Failure> {
    if source.contains("://") {
        let runtime = Runtime::new().context("the asynchronous runtime can't start")?;
        let bytes = runtime.block_on(runner_gateway::download(source, MAX_FILE_BYTES as usize));
        let failed = |why| Failure::usage(format!("the component can't be fetched: {why}"));
        return Ok(("fetched.wasm".to_owned(), bytes.map_err(failed)?));
    }
    let mut path: PathBuf = setting.cwd.join(source).components().collect();
    if path.is_dir() {
        path = built(&path)?;
    }
    let unreadable = |error| Failure::usage(format!("{} can't be read: {error}", path.display()));
    let bytes = bytes_up_to(&path, MAX_FILE_BYTES).map_err(unreadable)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok((name.into_owned(), bytes))
}

/// Removes one; gives the exit code.
pub(super) fn remove(arguments: &Remove, setting: &CommandContext) -> Result<u8, Failure> {
    let mut named = all(setting);
    named.retain(|added| added.name == arguments.name || added.source() == arguments.name);
    match named.as_slice() {
        [added] => {
            fs::remove_file(&added.file)
                .with_context(|| format!("can't remove {}", added.file.display()))?;
            let source = added.source();
            let text = format!("removed: {source}\n");
            stdout::told(arguments.json, &json!({ "removed": source }), &text)?;
            Ok(SUCCESS)
        }
        [] => {
            let message = format!("no plugin {} was added", visible::line(&arguments.name));
            Err(Failure::usage(message).help("`runner plugin list` has those that were"))
        }
        several => {
            let sources: Vec<String> = several.iter().map(AddedPlugin::source).collect();
            let message = format!("several plugins {} were added", arguments.name);
            Err(Failure::usage(message).help(format!("name one: {}", sources.join(", "))))
        }
    }
}

/// Holds each against its digest; gives the exit code.
pub(super) fn verify(arguments: &VerifyAdded, setting: &CommandContext) -> Result<u8, Failure> {
    let (mut text, mut told) = (String::new(), Vec::new());
    let mut code = SUCCESS;
    for added in all(setting) {
        let word = match fs::read(&added.file) {
            Ok(bytes) if digest(&bytes) == added.sha256 => "right".to_owned(),
            Ok(_) => "CHANGED: add it again, or remove it".to_owned(),
            Err(error) => format!("CAN'T BE READ: {error}"),
        };
        if word != "right" {
            code = USAGE;
        }
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}  {word}", added.source());
        told.push(json!({ "plugin": added.source(), "isRight": word == "right", "status": word }));
    }
    if text.is_empty() {
        text.push_str("no plugin was added\n");
    }
    stdout::told(arguments.json, &Value::Array(told), &text)?;
    Ok(code)
}

/// Those that are kept, in the order of their names.
pub(super) fn all(setting: &CommandContext) -> Vec<AddedPlugin> {
    let entries = fs::read_dir(setting.home.added_plugins());
    let files = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    // What is no file, as a pipe, may keep who reads it waiting.
    let files = files.filter(|path| path.is_file());
    let mut all: Vec<AddedPlugin> = files.filter_map(|file| of_file(&file)).collect();
    all.sort_by_key(AddedPlugin::source);
    all
}

fn of_file(file: &Path) -> Option<AddedPlugin> {
    let stem = file.file_stem()?.to_str()?;
    let (name, sha256) = stem.split_once('@')?;
    let is_ours = Path::new(&added_name(name, sha256)) == Path::new(file.file_name()?);
    (is_ours && sha256.len() == 64).then(|| AddedPlugin {
        name: name.to_owned(),
        sha256: sha256.to_owned(),
        file: file.to_owned(),
    })
}

/// The digest of a component, in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is() {
        let sha256 = "9f".repeat(32);
        let file = PathBuf::from(format!("/x/acme@{sha256}.wasm"));
        let added = of_file(&file).map(|added| added.source());
        assert_eq!(added, Some(format!("acme@sha256:{sha256}")));
        for other in ["/x/acme.wasm", "/x/acme@9f.wasm", "/x/.acme@.tmp"] {
            assert_eq!(of_file(Path::new(other)), None, "{other}");
        }
    }
}
