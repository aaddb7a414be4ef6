//! `$ref`: a value that stands elsewhere, in this file or another one.
//!
//! `{ $ref: '#/assertionTemplates/polite' }` becomes what the JSON Pointer leads to in the same
//! file, `{ $ref: 'shared.yaml#/tests/0' }` what it leads to in that file; other keys beside
//! `$ref` win over those of a map that it brings. References in what they bring are followed, too.
//!
//! JSON Schemas have a `$ref` of their own that means their own root. What stands below a key
//! that holds a schema is left alone; inside an assertion's `value` and a provider's `config` a
//! local reference that leads nowhere in the config is taken for the schema's own.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::bounds::REFERENCES;
use crate::model::{Findings, Position, TextOrigin};
use crate::read::entry::shortened;
use crate::read::files::{FileContents, Files, names_file};
use crate::read::node::{Key, Kind, Mark, Node, Text};

/// Keys whose values are JSON Schemas, or hold them.
const SCHEMAS: [&str; 8] = [
    "parameters",
    "schema",
    "json_schema",
    "input_schema",
    "inputSchema",
    "response_schema",
    "responseSchema",
    "response_format",
];

/// Keys whose values may be schemas.
const PERHAPS_SCHEMAS: [&str; 2] = ["value", "config"];

/// References that lead to references.
const MAX_CHAIN: usize = 16;

/// What all references together may bring, in bytes; a few lines of them can ask for gigabytes.
/// What is brought is copied once more when the config is kept as JSON.
const MAX_BROUGHT: usize = REFERENCES.base / 3;

/// What a value costs beside its text: a list that grows has room for twice as many.
const VALUE: usize = 2 * size_of::<(Key, Node)>();

/// Replaces every reference in `root`, which is the file `path`.
pub(crate) fn resolve(
    root: &mut Node,
    (document, path): (FileContents, &Path),
    origin: &TextOrigin,
    files: &Files,
    findings: &Findings,
) {
    if !mentions(root) {
        return;
    }
    let mut resolver = Resolver {
        whole: root.clone(),
        document,
        path,
        origin,
        files,
        findings,
        others: HashMap::new(),
        orders: Orders::default(),
        brought: 0,
    };
    let place = WalkState {
        key: String::new(),
        perhaps_schema: false,
        chain: Rc::default(),
    };
    resolver.walk(root, &place);
}

fn mentions(node: &Node) -> bool {
    match &node.kind {
        Kind::List(items) => items.iter().any(mentions),
        Kind::Map(fields) => fields
            .iter()
            .any(|(key, value)| *key.name == *"$ref" || mentions(value)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
    }
}

/// Where the walk is.
#[derive(Clone)]
struct WalkState {
    /// For messages.
    key: String,
    /// Whether a reference may be a schema's own.
    perhaps_schema: bool,
    /// The references that led here; shared, since each value has a place and a reference may be long.
    chain: Rc<Vec<Rc<str>>>,
}

impl WalkState {
    fn below(&self, part: &str, name: &str) -> Self {
        Self {
            key: shortened(format!("{}{part}", self.key)),
            perhaps_schema: self.perhaps_schema || PERHAPS_SCHEMAS.contains(&name),
            chain: self.chain.clone(),
        }
    }
}

struct Resolver<'a> {
    whole: Node,
    document: FileContents,
    path: &'a Path,
    origin: &'a TextOrigin,
    files: &'a Files,
    findings: &'a Findings,
    others: HashMap<PathBuf, Option<Node>>,
    /// Of maps in `whole` and `others`, which stay as they are.
    orders: Orders,
    brought: usize,
}

/// The places of a map's fields in the order of their names, for each map that was looked into; by
/// where its fields are. There may be as many references as fields.
type Orders = HashMap<*const (Key, Node), Vec<u32>>;

impl Resolver<'_> {
    fn walk(&mut self, node: &mut Node, place: &WalkState) {
        if let Some((target, mark)) = reference(node) {
            self.replace(node, &target, mark, place);
            return;
        }
        match &mut node.kind {
            Kind::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.walk(item, &place.below(&format!("[{index}]"), ""));
                }
            }
            Kind::Map(fields) => {
                for (key, value) in fields {
                    let name = &key.name;
                    if SCHEMAS.contains(&&**name) {
                        continue;
                    }
                    let dot = if place.key.is_empty() { "" } else { "." };
                    self.walk(value, &place.below(&format!("{dot}{name}"), name));
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
        }
    }

    fn replace(&mut self, node: &mut Node, target: &str, mark: Mark, place: &WalkState) {
        let too_much = Refusal::pointer("brings more than 64 MiB with those before it");
        // What is beyond that is not even looked up: each may be as large as the file.
        if self.brought > MAX_BROUGHT {
            return self.refuse(target, &too_much, mark, place);
        }
        let found = match self.find(target, mark, place) {
            Ok(Some(found)) => found,
            Ok(None) => return self.refuse(target, &too_much, mark, place),
            Err(_) if place.perhaps_schema && target.starts_with('#') => return,
            Err(refusal) => return self.refuse(target, &refusal, mark, place),
        };
        let mut place = place.clone();
        if place.chain.iter().any(|earlier| **earlier == *target) || place.chain.len() >= MAX_CHAIN
        {
            let circle = Refusal::pointer("leads back to itself");
            return self.refuse(target, &circle, mark, &place);
        }
        Rc::make_mut(&mut place.chain).push(target.into());
        let own = match std::mem::replace(&mut node.kind, Kind::Null) {
            Kind::Map(fields) => fields.into_iter().filter(|(key, _)| *key.name != *"$ref"),
            _ => unreachable!("only a map has a reference"),
        };
        let own: Vec<_> = own.collect();
        *node = found;
        self.walk(node, &place);
        if let Kind::Map(fields) = &mut node.kind {
            let mine: HashSet<&str> = own.iter().map(|(key, _)| &*key.name).collect();
            fields.retain(|(key, _)| !mine.contains(&*key.name));
            fields.extend(own);
        } else if let Some((key, _)) = own.first() {
            let reason = format!(
                "leads to something that is not a map, so '{}' beside it has no meaning",
                key.name
            );
            self.refuse(target, &Refusal::pointer(reason), mark, &place);
        }
    }

    /// Returns a copy of what the reference leads to; `None` if that is too much.
    fn find(
        &mut self,
        target: &str,
        mark: Mark,
        place: &WalkState,
    ) -> Result<Option<Node>, Refusal> {
        let (file, pointer) = target.split_once('#').unwrap_or((target, ""));
        if file.is_empty() {
            let found = look_up(&self.whole, pointer, &mut self.orders);
            let found = found.map_err(Refusal::pointer)?;
            return Ok(copied(found, &mut self.brought));
        }
        if file.contains("://") && !names_file(file) {
            let reason = "is no file; nothing is fetched while a config is read";
            return Err(Refusal::pointer(reason));
        }
        let shown = self.files.shown(file);
        if may_be_rows(self.document, &place.key)
            && self.files.are_data(&shown, FileContents::Tests)
        {
            return Err(Refusal {
                reason: "brings parts of tests out of a file that is no YAML, and so data".into(),
                help: "name the file itself (`tests: file://…`), or write them as YAML",
            });
        }
        if !self.others.contains_key(&shown) {
            let at = self.at(mark, place);
            let tree = self.files.tree(&shown, &at, self.origin, self.findings);
            self.others.insert(shown.clone(), tree);
        }
        let Some(tree) = &self.others[&shown] else {
            // The file was reported.
            return Ok(Some(Node {
                kind: Kind::Null,
                mark,
            }));
        };
        let found = look_up(tree, pointer, &mut self.orders).map_err(Refusal::pointer)?;
        let mut found = copied(found, &mut self.brought);
        // Lines of another file would be read as lines of this one.
        if let Some(found) = &mut found {
            remark(found, mark);
        }
        Ok(found)
    }

    fn refuse(&self, target: &str, refusal: &Refusal, mark: Mark, place: &WalkState) {
        let Refusal { reason, help } = refusal;
        let message = format!("$ref '{target}' {reason}");
        self.findings
            .error_help(self.at(mark, place), message, *help);
    }

    fn at(&self, mark: Mark, place: &WalkState) -> Position {
        Position {
            file: self.path.to_owned(),
            line: mark.line,
            column: mark.column,
            key: place.key.clone(),
        }
    }
}

/// Why a reference is not followed.
struct Refusal {
    /// Goes on after the reference's name.
    reason: Cow<'static, str>,
    help: &'static str,
}

impl Refusal {
    /// Of one that is written wrongly, or leads nowhere.
    fn pointer(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
            help: "write '#/key/0/key' for a place in this file, 'other.yaml#/key' for one in another",
        }
    }
}

/// Whether what stands at this key are tests, or is of them or of all of the config. A file that one of them
/// names may be data; what a reference brings is the config's. Who writes a reference to an assertion means
/// one, but a variable may have that name.
fn may_be_rows(document: FileContents, key: &str) -> bool {
    const ROWS: [&str; 4] = ["tests", "vars", "scenarios", "defaultTest"];
    /// Keys below which a test stands, and not a part of one.
    const TESTS: [&str; 5] = ["", "tests", "scenarios", "config", "defaultTest"];
    let names = || {
        key.split('.')
            .map(|part| part.split('[').next().unwrap_or_default())
    };
    let is_in_rows = match document {
        FileContents::Config => key.is_empty() || names().any(|it| ROWS.contains(&it)),
        FileContents::Providers | FileContents::Prompts => false,
        FileContents::Tests | FileContents::Generator | FileContents::Vouched => true,
    };
    let part_of_test = names().find(|it| !TESTS.contains(it));
    is_in_rows && part_of_test != Some("assert")
}

/// The target of a map that is a reference.
fn reference(node: &Node) -> Option<(String, Mark)> {
    let Kind::Map(fields) = &node.kind else {
        return None;
    };
    let (_, value) = fields.iter().find(|(key, _)| *key.name == *"$ref")?;
    match &value.kind {
        Kind::Text(Text { written, .. }) => Some((written.to_string(), value.mark)),
        _ => None,
    }
}

/// A copy, counted before it is made; `None` if all of them would be too much.
fn copied(node: &Node, brought: &mut usize) -> Option<Node> {
    *brought += size(node);
    (*brought <= MAX_BROUGHT).then(|| node.clone())
}

/// RFC 6901.
fn look_up<'a>(root: &'a Node, pointer: &str, orders: &mut Orders) -> Result<&'a Node, String> {
    let mut node = root;
    let mut parts = pointer.split('/');
    if parts.next() != Some("") {
        return Err("is no JSON Pointer: it begins with '#/'".to_owned());
    }
    for part in parts {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match &node.kind {
            Kind::List(items) => part
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index)),
            Kind::Map(fields) => field(fields, &part, orders),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        };
        node = next.ok_or_else(|| format!("leads nowhere: there is no '{part}'"))?;
    }
    Ok(node)
}

fn field<'a>(fields: &'a [(Key, Node)], name: &str, orders: &mut Orders) -> Option<&'a Node> {
    let named = |place: &u32| &*fields[*place as usize].0.name;
    let order = orders.entry(fields.as_ptr()).or_insert_with(|| {
        let mut order: Vec<u32> = (0..fields.len() as u32).collect();
        order.sort_by_key(named);
        order
    });
    let found = order
        .binary_search_by(|place| named(place).cmp(name))
        .ok()?;
    Some(&fields[order[found] as usize].1)
}

fn size(node: &Node) -> usize {
    VALUE
        + match &node.kind {
            Kind::Text(text) => text.written.len(),
            Kind::List(items) => items.iter().map(size).sum(),
            Kind::Map(fields) => {
                let field = |(key, value): &(Key, Node)| key.name.len() + size(value);
                fields.iter().map(field).sum()
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => 0,
        }
}

fn remark(node: &mut Node, mark: Mark) {
    node.mark = mark;
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(|item| remark(item, mark)),
        Kind::Map(fields) => fields.iter_mut().for_each(|(key, value)| {
            key.mark = mark;
            remark(value, mark);
        }),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
    }
}

#[cfg(test)]
mod tests;
