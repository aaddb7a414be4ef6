//! Who may depend on whom: one table of the rooms, one of the libraries with an owner, one
//! of the libraries that plugins may use.
//!
//! Only direct dependencies are looked at: what a crate *names* decides what its code can
//! say. Leaves don't know each other, so each can be understood and replaced alone.

use std::path::Path;

use serde_json::Value;

use crate::step::Failure;

/// The rooms: what a package of the house may use of the house, and what its tests may use
/// besides. Plugins and guests have rules by folder, further down.
const ROOMS: [Room; 17] = [
    Room {
        name: "runner-files",
        uses: &[],
        tests_use: &[],
    },
    Room {
        name: "runner-scheduler",
        uses: &[],
        tests_use: &[],
    },
    // On neither side: what a template means must not depend on whether the host or a plugin
    // fills it in. So it stands beside `host`, and knows nothing of the house.
    Room {
        name: "runner-template",
        uses: &[],
        tests_use: &[],
    },
    Room {
        name: "runner-config",
        uses: &["runner-template"],
        tests_use: &["runner-tests"],
    },
    Room {
        name: "runner-sandbox",
        uses: &["runner-files", "runner-telling"],
        tests_use: &["runner-tests"],
    },
    Room {
        name: "runner-store",
        uses: &["runner-files"],
        tests_use: &[],
    },
    Room {
        name: "runner-telling",
        uses: &[],
        tests_use: &[],
    },
    // It sees what is kept, and neither configs nor runs.
    Room {
        name: "runner-view",
        uses: &["runner-store", "runner-telling"],
        tests_use: &[],
    },
    Room {
        name: "runner-process",
        uses: &[],
        tests_use: &[],
    },
    Room {
        name: "runner-gateway",
        uses: &[
            "runner-files",
            "runner-process",
            "runner-scheduler",
            "runner-store",
        ],
        tests_use: &["runner-tests"],
    },
    Room {
        name: "runner-eval",
        uses: &[
            "runner-config",
            "runner-files",
            "runner-gateway",
            "runner-process",
            "runner-sandbox",
            "runner-scheduler",
            "runner-store",
        ],
        tests_use: &["runner-tests"],
    },
    Room {
        name: "runner",
        uses: &[
            "runner-config",
            "runner-eval",
            "runner-files",
            "runner-gateway",
            "runner-process",
            "runner-sandbox",
            "runner-store",
            "runner-telling",
            "runner-view",
        ],
        tests_use: &["runner-tests"],
    },
    Room {
        name: "runner-plugin",
        uses: &[],
        tests_use: &[],
    },
    Room {
        name: "runner-plugin-embed",
        uses: &["runner-plugin"],
        tests_use: &[],
    },
    Room {
        name: "runner-tests",
        // What a killed program left is looked at through the store: nobody else knows SQL.
        uses: &["runner-store"],
        tests_use: &["runner-config", "runner-plugin", "runner-sandbox"],
    },
    Room {
        name: "runner-fuzz",
        // It stands where the stranger stands, before each of them.
        uses: &[
            "runner-config",
            "runner-eval",
            "runner-gateway",
            "runner-sandbox",
            "runner-scheduler",
            "runner-template",
            "runner-tests",
        ],
        tests_use: &[],
    },
    Room {
        name: "xtask",
        uses: &[],
        tests_use: &[],
    },
];

/// Libraries that one package alone may name, by the beginning of their names.
const OWNED: [(&str, &str); 6] = [
    ("wasmtime", "runner-sandbox"),
    ("rusqlite", "runner-store"),
    ("libsqlite3-sys", "runner-store"),
    ("reqwest", "runner-gateway"),
    ("clap", "runner"),
    ("anyhow", "runner"),
];

/// Libraries that a pure room may not name: it decides, it does not wait.
const IMPURE: [&str; 4] = ["tokio", "async-trait", "futures-util", "tracing"];

/// Libraries that first-party plugins may use beside the SDK, and what for. A plugin has no
/// door into the host that a stranger's has not.
const FOR_PLUGINS: [(&str, &str); 23] = [
    ("serde", "typed JSON"),
    (
        "base64",
        "the bytes of `plugins/documents` and of files in `plugins/http`",
    ),
    ("pdf-extract", "PDF files"),
    ("serde_json", "JSON"),
    ("regress", "regular expressions as JavaScript has them"),
    (
        "saphyr-parser",
        "JSON as leniently as contains-json reads it",
    ),
    ("strsim", "Levenshtein distance"),
    ("percent-encoding", "texts in addresses"),
    ("html5ever", "HTML, as browsers read it"),
    ("roxmltree", "XML, strictly"),
    ("oxc_allocator", "TypeScript in `plugins/javascript`"),
    ("oxc_ast", "TypeScript in `plugins/javascript`"),
    ("oxc_ast_visit", "TypeScript in `plugins/javascript`"),
    ("oxc_parser", "TypeScript in `plugins/javascript`"),
    ("oxc_span", "TypeScript in `plugins/javascript`"),
    ("oxc_syntax", "TypeScript in `plugins/javascript`"),
    ("rquickjs", "the JavaScript engine of `plugins/javascript`"),
    (
        "sha2",
        "what no variable can hold by intent, in `plugins/http`",
    ),
    ("sqlparser", "SQL"),
    ("icu_collator", "`Intl.Collator` of `plugins/javascript`"),
    ("icu_locale_core", "`Intl.Collator` of `plugins/javascript`"),
    (
        "unicode-segmentation",
        "`Intl.Segmenter` of `plugins/javascript`",
    ),
    ("url", "`URL` of `plugins/javascript`"),
];

/// Packages of the house that plugins and guests may use: the SDK, what first-party providers
/// share on top of it, and the language of templates, which is of neither side.
const OURS_FOR_PLUGINS: [&str; 4] = [
    "runner-plugin",
    "runner-plugin-embed",
    "plugin-model-api",
    "runner-template",
];

/// What a library of neither side may name: what has no system below it.
const FOR_TEMPLATES: [&str; 3] = ["serde", "serde_json", "percent-encoding"];

/// Words that say nothing about what a crate or module is for.
pub(super) const EMPTY_WORDS: [&str; 9] = [
    "common", "core", "helper", "helpers", "manager", "misc", "types", "util", "utils",
];

/// A package of the house.
struct Room {
    name: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
}

/// A package as far as the rules look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    name: String,
    /// Folder from the root, with `/`.
    folder: String,
    uses: Vec<Use>,
}

/// One direct dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    name: String,
    /// By path: a package of this repository.
    ours: bool,
    /// For tests and examples only.
    tests: bool,
}

/// Reads the packages out of `cargo metadata --no-deps`.
pub(super) fn packages(metadata: &Value, root: &Path) -> Result<Vec<Package>, Failure> {
    let unreadable = || Failure::new("cargo metadata does not look as expected");
    let list = metadata["packages"].as_array().ok_or_else(unreadable)?;
    list.iter()
        .map(|value| package(value, root).ok_or_else(unreadable))
        .collect()
}

/// Reads one package.
fn package(value: &Value, root: &Path) -> Option<Package> {
    let folder = Path::new(value["manifest_path"].as_str()?).parent()?;
    let folder = folder
        .strip_prefix(root)
        .unwrap_or(folder)
        .to_str()?
        .replace('\\', "/");
    let uses = value["dependencies"].as_array()?.iter().map(|value| {
        Some(Use {
            name: value["name"].as_str()?.to_owned(),
            ours: value["path"].is_string(),
            tests: value["kind"] == "dev",
        })
    });
    Some(Package {
        name: value["name"].as_str()?.to_owned(),
        folder,
        uses: uses.collect::<Option<_>>()?,
    })
}

/// Every broken rule, as one line each.
pub(super) fn broken(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(of_package).collect()
}

/// The broken rules of one package.
fn of_package(package: &Package) -> Vec<String> {
    let mut findings = Vec::new();
    let here = format!("{}/Cargo.toml", package.folder);
    if let Some(word) = package
        .name
        .split(['-', '_'])
        .find(|word| EMPTY_WORDS.contains(word))
    {
        findings.push(format!(
            "{here}: the name says {word:?}; name what the crate is for"
        ));
    }
    for used in &package.uses {
        if let Some(why) = refused(package, used) {
            findings.push(format!(
                "{here}: {} may not use {}: {why}",
                package.name, used.name
            ));
        }
    }
    let guest = ["plugins/", "tests/"]
        .iter()
        .any(|folder| package.folder.starts_with(folder));
    if !guest && !ROOMS.iter().any(|room| room.name == package.name) {
        findings.push(format!(
            "{here}: {} has no row in xtask/src/house/who.rs",
            package.name
        ));
    }
    findings
}

/// Why `package` may not use this; `None` if it may.
fn refused(package: &Package, used: &Use) -> Option<String> {
    if used.ours {
        return refused_of_ours(package, used);
    }
    let owner = OWNED.iter().find(|(library, _)| {
        let rest = used.name.strip_prefix(library);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    });
    if let Some((_, owner)) = owner.filter(|(_, owner)| *owner != package.name) {
        return Some(format!("only {owner} names it"));
    }
    if package.folder.starts_with("plugins/")
        && !used.tests
        && !FOR_PLUGINS.iter().any(|(library, _)| *library == used.name)
    {
        return Some("plugins use the SDK and the libraries in FOR_PLUGINS".to_owned());
    }
    if used.tests {
        return None;
    }
    match package.name.as_str() {
        "runner-scheduler" => Some("the scheduler depends on nothing".to_owned()),
        "runner-template" if !FOR_TEMPLATES.contains(&used.name.as_str()) => {
            Some("templates are filled in by pure code".to_owned())
        }
        "runner-config" if IMPURE.contains(&used.name.as_str()) => {
            Some("the config is read by pure code".to_owned())
        }
        "xtask" if used.name != "serde_json" => {
            Some("xtask is compiled before anything else; keep it small".to_owned())
        }
        _ => None,
    }
}

/// Why `package` may not use this package of the house.
fn refused_of_ours(package: &Package, used: &Use) -> Option<String> {
    let room = ROOMS.iter().find(|room| room.name == package.name);
    let allowed = match room {
        Some(room) => {
            let by_tests = used.tests && room.tests_use.contains(&used.name.as_str());
            by_tests || room.uses.contains(&used.name.as_str())
        }
        // Plugins and guests meet the host in wit/ only, through the SDK.
        None => OURS_FOR_PLUGINS.contains(&used.name.as_str()),
    };
    (!allowed).then(|| "it is not in its row of xtask/src/house/who.rs".to_owned())
}

#[cfg(test)]
mod tests;
