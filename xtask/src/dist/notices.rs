//! Whose work the program is: notices with the texts of their licences, and a list for machines.
//!
//! What is linked into the program and its plugins, as cargo resolves it for their targets; what only
//! builds or tests them is in neither. Texts are those that the authors put into their packages; `parts` has those of
//! the others, and what is in the program and no package.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::parts::{self, OthersWork};
use crate::place::Place;
use crate::step::{self, Failure};

/// What plugins are built for.
const GUESTS: &str = "wasm32-unknown-unknown";

/// The notices as text, and the list (CycloneDX 1.5).
pub(super) fn of(place: &Place, version: &str, target: &str) -> Result<(String, String), Failure> {
    let mut cargo = step::cargo(&place.root);
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    for target in [target, GUESTS] {
        cargo.args(["--filter-platform", target]);
    }
    let text = step::read("asking cargo what the program is made of", &mut cargo)?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))?;
    let linked = linked(&metadata, &roots(&metadata, &place.root.join("plugins")));
    let mut works = works(&metadata, &linked);
    if let Some(bare) = works.iter().find(|work| work.texts.is_empty()) {
        return Err(Failure::new(format!(
            "{} holds no text of its licence, {}: put one into xtask/src/dist/licences and the table of parts.rs",
            bare.called(),
            bare.licence
        )));
    }
    let mut rustc = Command::new("rustc");
    let rust = step::read("asking rustc its version", rustc.arg("--version"))?;
    let rust = rust.split_whitespace().nth(1).unwrap_or_default();
    works.extend(parts::beside(&works, rust));
    Ok((notices(&works), list(&works, version)))
}

/// The program and its plugins.
fn roots(metadata: &Value, plugins: &Path) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let is_root = |package: &&Value| {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        package["name"] == "runner" || Path::new(manifest).starts_with(plugins)
    };
    let roots = packages.filter(is_root);
    roots
        .filter_map(|package| package["id"].as_str().map(str::to_owned))
        .collect()
}

/// What these are linked with, themselves included.
fn linked(metadata: &Value, roots: &[String]) -> BTreeSet<String> {
    let nodes = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten();
    let nodes: BTreeMap<&str, &Value> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let mut found = BTreeSet::new();
    let mut open = roots.to_vec();
    while let Some(id) = open.pop() {
        if !found.insert(id.clone()) {
            continue;
        }
        let dependencies = nodes.get(id.as_str()).map(|node| &node["deps"]);
        let dependencies = dependencies.and_then(Value::as_array).into_iter().flatten();
        // A kind of null is a dependency of the code itself.
        let is_linked = |dependency: &&Value| {
            let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            kinds.any(|kind| kind["kind"].is_null())
        };
        let linked = dependencies.filter(is_linked);
        open.extend(linked.filter_map(|it| it["pkg"].as_str().map(str::to_owned)));
    }
    found
}

/// Those of other authors, in the order of their names.
fn works(metadata: &Value, linked: &BTreeSet<String>) -> Vec<OthersWork> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    let packages = all
        .filter(|package| package["id"].as_str().is_some_and(|id| linked.contains(id)))
        .filter(|package| !package["source"].is_null());
    let mut works: Vec<OthersWork> = packages.map(of_package).collect();
    works.sort_by_key(OthersWork::called);
    works
}

/// A package of cargo's, with the texts in it, or else the usual text of its licence.
fn of_package(package: &Value) -> OthersWork {
    let field = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let (licence, manifest) = (field("license"), field("manifest_path"));
    let mut texts = Vec::new();
    licence_texts(
        Path::new(&manifest).parent().unwrap_or(Path::new(".")),
        &mut texts,
    );
    texts.sort();
    if texts.is_empty() {
        texts.extend(parts::text_of(&licence));
    }
    OthersWork {
        name: field("name"),
        version: field("version"),
        licence,
        home: field("repository"),
        about: String::new(),
        is_package: true,
        texts,
    }
}

/// One entry each; each text once, with all whose it is.
fn notices(works: &[OthersWork]) -> String {
    let mut text =
        "runner is made with the work of many. What is in it, and under which licence:\n\n"
            .to_owned();
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for work in works {
        let OthersWork {
            licence,
            home,
            about,
            ..
        } = work;
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}: {licence}  {home}  {about}", work.called());
        for found in &work.texts {
            texts.entry(found).or_default().push(work.called());
        }
    }
    for (licence, names) in texts {
        let _ = write!(
            text,
            "\n{}\n{}\n\n{}\n",
            "-".repeat(80),
            names.join(", "),
            licence.trim_end()
        );
    }
    text
}

/// The texts in a package's folder, and in those of others that it holds.
fn licence_texts(folder: &Path, texts: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let named = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().to_ascii_uppercase()
    };
    // Of the two licences of Zstandard the one is chosen that asks for no sources.
    let has_licence = paths.iter().any(|path| named(path).starts_with("LICENSE"));
    let is_text = |path: &Path| {
        let name = named(path);
        let mut begins = [
            "LICENSE",
            "LICENCE",
            "COPYING",
            "COPYRIGHT",
            "NOTICE",
            "UNLICENSE",
        ]
        .iter();
        begins.any(|begin| name.starts_with(begin))
            && ![".RS", ".YML"].iter().any(|end| name.ends_with(end))
            && !(has_licence && name == "COPYING")
    };
    for path in paths {
        if path.is_dir() {
            licence_texts(&path, texts);
        } else if is_text(&path) {
            texts.extend(fs::read_to_string(path));
        }
    }
}

/// For machines. It has no time and no random number: the same program has the same list.
fn list(works: &[OthersWork], version: &str) -> String {
    let component = |work: &OthersWork| {
        let OthersWork {
            name,
            version,
            about,
            ..
        } = work;
        let mut component = json!({
            "type": "library",
            "name": name,
            "licenses": [{ "expression": work.licence.replace('/', " OR ") }],
        });
        if !version.is_empty() {
            component["version"] = json!(version);
        }
        if !about.is_empty() {
            component["description"] = json!(about);
        }
        if work.is_package {
            component["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
        }
        component
    };
    let components: Vec<Value> = works.iter().map(component).collect();
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": { "type": "application", "name": "runner", "version": version },
        },
        "components": components,
    });
    format!("{list:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |name: &str, source: Value| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                    "source": source, "manifest_path": format!("/clone/{name}/Cargo.toml") })
        };
        let other = || json!("registry");
        let needs = |id: &str, kinds: Value| json!({ "pkg": id, "dep_kinds": kinds });
        let code = || json!([{ "kind": null }]);
        json!({
            "packages": [
                package("runner", Value::Null), package("plugins/echo", Value::Null),
                package("engine", other()), package("macros", other()), package("tester", other()),
                package("shared", other()), package("house", Value::Null),
            ],
            "resolve": { "nodes": [
                { "id": "runner", "deps": [
                    needs("engine", code()), needs("house", code()),
                    needs("tester", json!([{ "kind": "dev" }])),
                    needs("macros", json!([{ "kind": "build" }])),
                ] },
                { "id": "engine", "deps": [needs("shared", json!([{ "kind": "dev" }, { "kind": null }]))] },
                { "id": "plugins/echo", "deps": [needs("shared", code())] },
            ] },
        })
    }

    #[test]
    fn what_is_linked_is_listed_and_what_builds_or_tests_is_not() {
        let metadata = metadata();
        let roots = roots(&metadata, Path::new("/clone/plugins"));
        assert_eq!(roots, ["runner", "plugins/echo"]);
        let works = works(&metadata, &linked(&metadata, &roots));
        let names: Vec<&str> = works.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["engine", "shared"]);
        let list: Value = serde_json::from_str(&list(&works, "0.1.0")).expect("JSON");
        let first = &list["components"][0];
        assert_eq!(first["purl"], "pkg:cargo/engine@1.0.0");
        assert_eq!(first["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let notices = notices(&works);
        assert!(notices.contains("shared 1.0.0: MIT/Apache-2.0"));
        // They hold no text, so they share the usual one.
        assert!(
            notices.contains("\nengine 1.0.0, shared 1.0.0\n\nThe MIT License\n"),
            "{notices}"
        );
    }

    #[test]
    fn what_packages_bring_along_is_listed_with_them() {
        let package =
            |name: &str| of_package(&json!({ "name": name, "version": "1.2.0", "license": "MIT" }));
        let works = parts::beside(&[package("rquickjs-sys")], "1.95.0");
        let called: Vec<String> = works
            .iter()
            .map(|it| format!("{} {}", it.called(), it.about))
            .collect();
        assert!(
            called.contains(&"QuickJS in rquickjs-sys 1.2.0".to_owned()),
            "{called:?}"
        );
        assert!(
            called.contains(&"the Rust standard library 1.95.0 ".to_owned()),
            "{called:?}"
        );
        assert!(
            !called.iter().any(|it| it.starts_with("SQLite")),
            "{called:?}"
        );
        for work in works {
            assert!(!work.texts.is_empty(), "{}", work.name);
        }
    }
}
