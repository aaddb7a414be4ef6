//! `runner plugin new`: a folder with a plugin that works, to change into another.
//!
//! Nothing is fetched: the files are in the program, with the SDK and the contract. They are built with
//! the tools that people of the language use, as the README in the folder says. Nothing is written over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;

use super::CommandContext;
use super::trial::known;
use crate::arguments::{Language, New, PluginKind};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::stdout;
use crate::visible;

/// Set, path and text of each file; see `build.rs`.
const TEMPLATES: &[(&str, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Makes the folder and says what to do next.
pub(super) fn run(arguments: &New, setting: &CommandContext) -> Result<u8, Failure> {
    let New {
        name,
        lang,
        kind,
        json,
    } = arguments;
    check(name)?;
    if (*lang, *kind) == (Language::C, PluginKind::Provider) {
        return Err(Failure::usage("there is no folder for a provider in C")
            .help("--kind assertion, or another language"));
    }
    let folder = setting.cwd.join(name);
    if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        let message = format!("there is a {name} already, and it is not empty");
        return Err(Failure::usage(message).help("give the plugin another name"));
    }
    let words = OwnWords::of(name, *lang, *kind);
    let mut written = Vec::new();
    for (path, text) in files(*lang, *kind) {
        written.push(path.display().to_string());
        let path = folder.join(path);
        write(&path, &words.filled(text))
            .with_context(|| format!("can't write {}", path.display()))?;
    }
    let shown = visible::line(name);
    stdout::told(
        *json,
        &json!({ "folder": folder, "files": written }),
        &format!("written: {shown}\nnext: {shown}/README.md says how it is tested and built\n"),
    )?;
    Ok(SUCCESS)
}

/// A name that the contract allows, and that nobody has who comes with the program.
fn check(name: &str) -> Result<(), Failure> {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if !name.split('-').all(is_part) {
        let message = format!("'{}' can't be the name of a plugin", visible::line(name));
        return Err(Failure::usage(message)
            .help("lower-case letters and digits, words with hyphens between: my-grader"));
    }
    let is_taken = known().into_iter().any(|served| {
        let languages = served.languages.into_iter().map(|(name, _)| name);
        let claims = served
            .prefixes
            .into_iter()
            .chain(served.types)
            .chain(languages);
        served.name == name || claims.into_iter().any(|claim| claim == name)
    });
    if is_taken {
        let message = format!("a plugin that comes with the program claims the name '{name}'");
        return Err(Failure::usage(message).help("give yours another: no two may claim one name"));
    }
    Ok(())
}

/// What stands in the files for the plugin's own words.
struct OwnWords(Vec<(&'static str, String)>);

impl OwnWords {
    fn of(name: &str, language: Language, kind: PluginKind) -> Self {
        let env = format!("{}_API_KEY", name.to_ascii_uppercase().replace('-', "_"));
        let krate = name.replace('-', "_");
        let (world, what) = match kind {
            PluginKind::Assertion => (
                "assertion-plugin",
                "a grader that says whether an answer is short.",
            ),
            PluginKind::Provider => ("provider-plugin", "a provider that asks a server."),
        };
        let built = match language {
            Language::Rust => format!("target/wasm32-wasip2/release/{krate}.wasm"),
            Language::Js | Language::Python | Language::C => format!("{name}.wasm"),
        };
        let call = match kind {
            PluginKind::Assertion => {
                "$ runner plugin call . --value 2 --output 'one two three'".to_owned()
            }
            PluginKind::Provider => format!(
                "$ runner plugin call . --provider {name}:small --prompt 'Say hi' \\\n    \
                 --allow-host https://api.example.com --allow-key {name}-key={env}"
            ),
        };
        let config = match kind {
            PluginKind::Assertion => format!(
                "plugins:\n  {name}: {{ source: {built} }}\ndefaultTest:\n  assert:\n    \
                 - {{ type: {name}, value: 100 }}"
            ),
            PluginKind::Provider => format!(
                "plugins:\n  {name}:\n    source: {built}\n    permissions:\n      \
                 hosts: [\"https://api.example.com\"]\n      credentials: {{ {name}-key: {{ env: {env} }} }}\n\
                 providers:\n  - {name}:small"
            ),
        };
        Self(vec![
            ("@NAME@", name.to_owned()),
            ("@TYPE@", camel(name)),
            ("@CRATE@", krate),
            ("@ENV@", env),
            ("@VERSION@", env!("CARGO_PKG_VERSION").to_owned()),
            ("@WORLD@", world.to_owned()),
            ("@WHAT@", what.to_owned()),
            ("@CALL@", call),
            ("@CONFIG@", config),
        ])
    }

    fn filled(&self, text: &str) -> String {
        let words = self.0.iter();
        words.fold(text.to_owned(), |text, (word, own)| text.replace(word, own))
    }
}

/// `my-grader` as `MyGrader`.
fn camel(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.split('-').map(word).collect()
}

/// The files of a plugin, with their paths in its folder.
fn files(language: Language, kind: PluginKind) -> impl Iterator<Item = (PathBuf, &'static str)> {
    let (language, brings): (_, &[(&str, &str)]) = match language {
        Language::Rust => ("rust", &[("sdk", "sdk")]),
        Language::Js => ("js", &[("wit", "wit"), ("js-sdk", "sdk")]),
        Language::Python => ("python", &[("wit", "wit"), ("python-sdk", "")]),
        Language::C => ("c", &[("wit", "wit"), ("c-sdk", "sdk")]),
    };
    let kind = match kind {
        PluginKind::Assertion => "assertion",
        PluginKind::Provider => "provider",
    };
    let both = format!("{language}-{kind}");
    TEMPLATES.iter().filter_map(move |(set, path, text)| {
        let folder = if *set == language || *set == kind || *set == both {
            Path::new("")
        } else {
            let (_, folder) = brings.iter().find(|(brought, _)| brought == set)?;
            Path::new(*folder)
        };
        let path = path.strip_suffix(".in").unwrap_or(path);
        Some((folder.join(path.replace("dot-", ".")), *text))
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::create_new(path).and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_the_contract_and_nobody_s_else() {
        for name in ["short", "my-grader", "a1"] {
            assert!(check(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "My",
            "1a",
            "a_b",
            "a--b",
            "../a",
            "openai",
            "is-json",
            "javascript",
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    /// Each has what its README names, and no word of a template is left.
    #[test]
    fn every_folder_is_whole() {
        for language in [Language::Rust, Language::Js, Language::Python, Language::C] {
            for kind in [PluginKind::Assertion, PluginKind::Provider] {
                if (language, kind) == (Language::C, PluginKind::Provider) {
                    continue;
                }
                let words = OwnWords::of("my-plugin", language, kind);
                let files: Vec<(PathBuf, String)> = files(language, kind)
                    .map(|(path, text)| (path, words.filled(text)))
                    .collect();
                let has = |name: &str| files.iter().any(|(path, _)| path == Path::new(name));
                assert!(
                    has("README.md") && has(".gitignore"),
                    "{language:?} {kind:?}"
                );
                for (path, text) in &files {
                    let is_left = ["@NAME@", "@CRATE@", "@WORLD@", "@CONFIG@", "@CALL@"]
                        .iter()
                        .any(|word| text.contains(word));
                    assert!(!is_left, "{}", path.display());
                }
                let fixtures = files
                    .iter()
                    .filter(|(path, _)| path.starts_with("fixtures"));
                assert!(fixtures.count() > 1);
            }
        }
    }

    /// The copy of the SDK in such a folder is built with the versions that the SDK is built with here.
    #[test]
    fn the_sdk_has_the_libraries_of_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("it is there");
        let mut sets = TEMPLATES.iter();
        let (.., copy) = sets
            .find(|(set, path, _)| (*set, *path) == ("rust", "sdk/Cargo.toml.in"))
            .expect("it is a template");
        let (_, libraries) = copy.split_once("[dependencies]\n").expect("it has some");
        for line in libraries.lines() {
            assert!(workspace.contains(line), "{line}");
        }
        let sdk = fs::read_to_string(root.join("plugin-sdk/Cargo.toml")).expect("it is there");
        let (_, own) = sdk.split_once("[dependencies]\n").expect("it has some");
        assert_eq!(own.lines().count(), libraries.lines().count());
    }
}
