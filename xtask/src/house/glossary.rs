//! The glossary of types: it names every public type of the host's libraries and of `template`, and
//! nothing that is not there.
//!
//! A type counts as public where it is declared so at the left edge of a line, even if its crate shows
//! it to nobody: whoever reads a room meets it all the same. The glossary has a section for each crate
//! (`## config`) and in it a line for each type (`` - `Case`: … ``); which words explain it is for people
//! to judge.

use std::collections::{BTreeMap, BTreeSet};

use super::File;
use super::unused::{user, without_tests};

/// Where the glossary is.
pub(super) const GLOSSARY: &str = "host/GLOSSARY.md";

/// Folders whose crates are in it.
const CRATES: [&str; 2] = ["host/", "template/"];

/// A crate's name and a type's.
type Name<'a> = (&'a str, &'a str);

/// Every type that the glossary lacks, and every line of it that names none or one that was named
/// before, as one line each.
pub(super) fn broken(glossary: &File, files: &[File]) -> Vec<String> {
    let types = public(files);
    let mut named = BTreeSet::new();
    let mut findings = Vec::new();
    let mut section = "";
    for (number, line) in (1..).zip(glossary.text.lines()) {
        let place = format!("{}:{number}", glossary.path);
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim();
        } else if let Some(name) = entry(line) {
            if !types.contains_key(&(section, name)) {
                findings.push(format!(
                    "{place}: {section:?} has no public type {name}; remove the line"
                ));
            } else if !named.insert((section, name)) {
                findings.push(format!(
                    "{place}: {name} was explained before; keep one line"
                ));
            }
        } else if line.starts_with("- ") {
            findings.push(format!(
                "{place}: not a type and what it is; write \"- `Name`: what it is.\""
            ));
        }
    }
    let missing = types.iter().filter(|(name, _)| !named.contains(*name));
    findings.extend(missing.map(|((of, name), path)| {
        let section = format!("{} under \"## {of}\"", glossary.path);
        format!("{path}: nothing explains the type {name}; give it a line in {section}")
    }));
    findings
}

/// Public types of libraries, each with the file that declares it.
fn public(files: &[File]) -> BTreeMap<Name<'_>, &str> {
    let libraries: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/lib.rs"))
        .filter(|folder| CRATES.iter().any(|start| folder.starts_with(start)))
        .collect();
    let mut types = BTreeMap::new();
    for file in files {
        let Some(of) = libraries.get(user(&file.path)).and_then(|it| name(it)) else {
            continue;
        };
        for line in without_tests(file).lines() {
            if let Some(name) = declared(line) {
                types.insert((of, name), &*file.path);
            }
        }
    }
    types
}

/// The name of the crate whose sources are in a folder: `config` for `host/config/src`.
fn name(sources: &str) -> Option<&str> {
    let folder = sources.strip_suffix("/src")?;
    folder.rsplit('/').next()
}

/// The name of the public type that a line at the left edge declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ")?;
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

/// The type that a line of the glossary explains.
fn entry(line: &str) -> Option<&str> {
    let (name, meaning) = line.strip_prefix("- `")?.split_once("`: ")?;
    let is_explained = !meaning.trim().is_empty();
    is_explained.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> [File; 5] {
        [
            File::of("host/store/src/lib.rs", "pub use row::Row;\n"),
            File::of(
                "host/store/src/row.rs",
                "#[cfg(test)]\nmod tests;\n\npub struct Row<'a>(&'a str);\npub(crate) struct Own;\n\
                 pub fn row() {}\n#[cfg(test)]\nmod more {\npub struct Made;\n}\n",
            ),
            File::of(
                "template/src/lib.rs",
                "pub enum Value {\n}\npub trait Scope {}\n",
            ),
            File::of("host/cli/src/main.rs", "pub struct Shown;\n"),
            File::of("plugins/echo/src/lib.rs", "pub struct Echo;\n"),
        ]
    }

    #[test]
    fn a_glossary_of_every_type_is_whole() {
        let text = "# Glossary\n\n## store\n\n- `Row`: one stored case.\n\n## template\n\n\
                    - `Scope`: names.\n- `Value`: a value.\n";
        let findings = broken(&File::of(GLOSSARY, text), &files());
        assert!(findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn what_is_missing_gone_doubled_or_unexplained_is_found() {
        let text = "## store\n- `Gone`: a type of before.\n- `Value`: a value.\n- a list\n\
                    ## template\n- `Value`: a value.\n- `Value`: again.\n- `Scope`: \n";
        assert_eq!(
            broken(&File::of(GLOSSARY, text), &files()),
            [
                "host/GLOSSARY.md:2: \"store\" has no public type Gone; remove the line",
                "host/GLOSSARY.md:3: \"store\" has no public type Value; remove the line",
                "host/GLOSSARY.md:4: not a type and what it is; write \"- `Name`: what it is.\"",
                "host/GLOSSARY.md:7: Value was explained before; keep one line",
                "host/GLOSSARY.md:8: not a type and what it is; write \"- `Name`: what it is.\"",
                "host/store/src/row.rs: nothing explains the type Row; give it a line in \
                 host/GLOSSARY.md under \"## store\"",
                "template/src/lib.rs: nothing explains the type Scope; give it a line in \
                 host/GLOSSARY.md under \"## template\"",
            ]
        );
    }
}
