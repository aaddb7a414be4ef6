//! Whose work the program is: notices with the texts of their licences, and a list for machines.
//!
//! What is linked into the program and its plugins, as cargo resolves it for their targets; what only
//! builds or tests them is in neither. Texts are those that the authors put into their packages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::Place;
use crate::step::{self, Failure};

/// The notices as text, and the list (CycloneDX 1.5).
pub(super) fn of(place: &Place, version: &str) -> Result<(String, String), Failure> {
    let mut cargo = step::cargo(&place.root);
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    let text = step::read("asking cargo what the program is made of", &mut cargo)?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))?;
    let linked = linked(&metadata, &roots(&metadata, &place.root.join("plugins")));
    let packages = packages(&metadata, &linked);
    Ok((notices(&packages), list(&packages, version)))
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
fn packages<'a>(metadata: &'a Value, linked: &BTreeSet<String>) -> Vec<&'a Value> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    let mut packages: Vec<&Value> = all
        .filter(|package| package["id"].as_str().is_some_and(|id| linked.contains(id)))
        .filter(|package| !package["source"].is_null())
        .collect();
    let key = |package: &Value| (field(package, "name"), field(package, "version"));
    packages.sort_by_key(|package| key(package));
    packages
}

fn field(package: &Value, name: &str) -> String {
    package[name].as_str().unwrap_or_default().to_owned()
}

/// One entry a package; each text once, with all whose it is.
fn notices(packages: &[&Value]) -> String {
    let mut text =
        "runner is made with the work of many. What is in it, and under which licence:\n\n"
            .to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let name = format!("{} {}", field(package, "name"), field(package, "version"));
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{name}: {}  {}",
            field(package, "license"),
            field(package, "repository")
        );
        let manifest = field(package, "manifest_path");
        for found in licence_texts(Path::new(&manifest).parent().unwrap_or(Path::new("."))) {
            texts.entry(found).or_default().push(name.clone());
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

/// The texts in a package's folder.
fn licence_texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_licence = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    let files = entries.filter(|entry| is_licence(&entry.file_name().to_string_lossy()));
    let mut texts: Vec<String> = files
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    texts.sort();
    texts
}

/// For machines. It has no time and no random number: the same program has the same list.
fn list(packages: &[&Value], version: &str) -> String {
    let component = |package: &&Value| {
        let (name, version) = (field(package, "name"), field(package, "version"));
        json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{ "expression": field(package, "license").replace('/', " OR ") }],
        })
    };
    let components: Vec<Value> = packages.iter().map(component).collect();
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
        let packages = packages(&metadata, &linked(&metadata, &roots));
        let names: Vec<String> = packages.iter().map(|it| field(it, "name")).collect();
        assert_eq!(names, ["engine", "shared"]);
        let list: Value = serde_json::from_str(&list(&packages, "0.1.0")).expect("JSON");
        let first = &list["components"][0];
        assert_eq!(first["purl"], "pkg:cargo/engine@1.0.0");
        assert_eq!(first["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(notices(&packages).contains("shared 1.0.0: MIT/Apache-2.0"));
    }
}
