//! What flags give in place of a config's keys: prompts, tests, assertions, saved outputs.
//!
//! Each becomes a config of its own, beside those of files, so that it goes through the same
//! readers and the same checks; the keys that it replaces are taken out of the others. Paths are
//! relative to the current folder, as on any command line. Providers are no such config: a name
//! may mean one of the config's own (`elements/providers`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{LoadRequest, Source};
use crate::model::{COMMAND_LINE, Findings, Position, TextOrigin};
use crate::overrides::{KeyOverrides, MadeConfig};
use crate::read::entry::Entry;
use crate::read::files::{Files, has_extension};
use crate::read::node::{Key, Kind, Mark, Node};

impl KeyOverrides {
    /// Whether a run can be made of them alone.
    pub(super) fn is_enough(&self) -> bool {
        let has_lists = !self.prompts.is_empty() || !self.providers.is_empty();
        has_lists || self.model_outputs.is_some() || self.made.is_some()
    }

    /// Keys of the config that don't count beside them.
    pub(super) fn replaced(&self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        if self.model_outputs.is_some() {
            keys.extend(["prompts", "providers", "targets", "tests", "scenarios"]);
        }
        if !self.prompts.is_empty() {
            keys.push("prompts");
        }
        if self.tests.is_some() {
            keys.push("tests");
        }
        keys
    }

    /// The configs that they make; `None` if one of their files can't be read.
    pub(super) fn sources(
        &self,
        request: &LoadRequest,
        findings: &Findings,
    ) -> Option<Vec<Source>> {
        let mut sources = Vec::new();
        if let Some(made) = &self.made {
            sources.extend(whole(made, request, findings)?);
        }
        if let Some(path) = &self.model_outputs {
            sources.push(outputs(path, request, findings)?);
        }
        if let Some(path) = &self.assertions {
            sources.push(assertions(path, request, findings)?);
        }
        let mut fields = Vec::new();
        if !self.prompts.is_empty() {
            let prompts = self
                .prompts
                .iter()
                .map(|text| Node::text(text.as_str(), Mark::default()));
            fields.push(field("prompts", list(prompts.collect())));
        }
        if let Some(tests) = &self.tests {
            fields.push(field("tests", Node::text(tests.as_str(), Mark::default())));
        }
        if !fields.is_empty() || sources.is_empty() && self.is_enough() {
            sources.push(persons(map(fields), request));
        }
        Some(sources)
    }
}

/// A whole config, and its tests apart.
fn whole(made: &MadeConfig, request: &LoadRequest, findings: &Findings) -> Option<[Source; 2]> {
    let at = made
        .file
        .as_ref()
        .map_or_else(command_line, |file| Position {
            file: file.clone(),
            ..Position::default()
        });
    let tree = |value: &Value| {
        let tree = Node::made(value.clone(), Mark::default());
        if tree.is_none() {
            findings.error(at.clone(), "a value nests too deep");
        }
        tree
    };
    let source = |root: Node| match &made.file {
        None => persons(root, request),
        Some(file) => Source {
            path: file.clone(),
            files: files(request, file),
            origin: TextOrigin::Config,
            ..persons(root, request)
        },
    };
    let config = source(tree(&made.config)?);
    let tests = source(map(vec![field("tests", tree(&made.tests)?)]));
    let origin = tests.files.data(&at.file);
    Some([config, Source { origin, ..tests }])
}

/// A config of the person's own words.
fn persons(root: Node, request: &LoadRequest) -> Source {
    Source {
        path: command_line().file,
        root,
        files: files(request, Path::new("")),
        origin: TextOrigin::Person,
        places: Vec::new(),
    }
}

fn command_line() -> Position {
    Position {
        file: PathBuf::from(COMMAND_LINE),
        ..Position::default()
    }
}

/// `providers` as one of the flags' configs would have it, for the results file.
pub(super) fn names(names: &[String]) -> Value {
    names.iter().map(String::as_str).collect()
}

/// The prompt, provider and tests of a file of saved outputs.
fn outputs(path: &Path, request: &LoadRequest, findings: &Findings) -> Option<Source> {
    let files = files(request, path);
    let tree = read(&files, path, findings)?;
    let file = Entry::root(&tree, path, &TextOrigin::Person);
    if !file.is_list() {
        file.mismatch(findings, "a list of outputs");
        return None;
    }
    let tests: Vec<Node> = file
        .items()
        .filter_map(|item| test(&item, findings))
        .collect();
    if tests.is_empty() {
        findings.error(file.at(), "holds no output");
        return None;
    }
    let prompt = Node::text("{{output}}", Mark::default());
    let root = map(vec![
        field("prompts", list(vec![prompt])),
        field("providers", Node::text("replay", Mark::default())),
        field("tests", list(tests)),
    ]);
    Some(Source {
        path: path.to_owned(),
        root,
        origin: files.data(path),
        files,
        places: Vec::new(),
    })
}

/// The test of one output: text, or a map with `output` and perhaps `tags`.
fn test(item: &Entry<'_>, findings: &Findings) -> Option<Node> {
    let mark = item.node.mark;
    let mut vars = Vec::new();
    if item.is_map() {
        item.report_unknown(findings, &["output", "tags"]);
        let Some(output) = item.get("output") else {
            findings.error_help(
                item.at(),
                "has no `output`",
                "{ \"output\": \"…\", \"tags\": […] }",
            );
            return None;
        };
        vars.push(field("output", output.node.clone()));
        if let Some(tags) = item.get("tags") {
            let tags = tags.want_texts(findings).join(", ");
            vars.push(field("tags", Node::text(tags, mark)));
        }
    } else if item.text().is_some() {
        vars.push(field("output", item.node.clone()));
    } else {
        item.mismatch(findings, "an output: text, or a map with `output`");
        return None;
    }
    let raw = Node {
        kind: Kind::Bool(true),
        mark,
    };
    let mut test = map(vec![
        field("vars", map(vars)),
        field("options", map(vec![field("rawVars", raw)])),
    ]);
    test.mark = mark;
    Some(test)
}

/// A file of assertions as what every test has.
fn assertions(path: &Path, request: &LoadRequest, findings: &Findings) -> Option<Source> {
    let files = files(request, path);
    let tree = read(&files, path, findings)?;
    let file = Entry::root(&tree, path, &TextOrigin::Person);
    if !file.is_list() {
        file.mismatch(findings, "a list of assertions");
        return None;
    }
    let root = map(vec![field("defaultTest", map(vec![field("assert", tree)]))]);
    Some(Source {
        path: path.to_owned(),
        root,
        files,
        origin: TextOrigin::Config,
        places: Vec::new(),
    })
}

/// Reads files relative to the folder of `file`.
fn files(request: &LoadRequest, file: &Path) -> Files {
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    Files::new(request.cwd.clone(), folder, request.files_read.clone())
}

fn read(files: &Files, path: &Path, findings: &Findings) -> Option<Node> {
    let whole = Position {
        file: path.to_owned(),
        ..Position::default()
    };
    if !has_extension(path, &["json", "yaml", "yml"]) {
        findings.error_help(whole, "is no JSON or YAML file", "save the list as .json");
        return None;
    }
    files.tree(path, &whole, &TextOrigin::Person, findings)
}

fn field(name: &str, value: Node) -> (Key, Node) {
    let key = Key {
        name: name.into(),
        mark: value.mark,
    };
    (key, value)
}

fn map(fields: Vec<(Key, Node)>) -> Node {
    Node {
        kind: Kind::Map(fields),
        mark: Mark::default(),
    }
}

fn list(items: Vec<Node>) -> Node {
    Node {
        kind: Kind::List(items),
        mark: Mark::default(),
    }
}

#[cfg(test)]
mod tests;
