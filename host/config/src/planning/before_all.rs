//! `beforeAll`: code that may change the config before the plan is made.
//!
//! It is called with `{ suite }`: the prompts as written, and every test as its own object, those
//! of data files and generators included. Of what it gives back `prompts`, `tests`, `scenarios`,
//! `defaultTest` and `derivedMetrics` count, as in promptfoo; they go through the same checks as
//! what was written. Environment templates are not filled in when it sees them: no secret of the
//! config reaches it.
//!
//! A test that comes back as it went keeps where it stands, and what its origin lets it name. One
//! that was changed or added stands at the hook; where rows of data were handed over, it may name
//! no more than they may; if they came from several files, or from one outside the config's folder, it
//! names none: the rows may not name files of the config, nor the hook those beside the rows. Where the config's own
//! tests were handed over with rows, what was made of either still speaks in no conversation of the
//! other (`parts`).

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::elements::reading::{Document, last};
use crate::elements::test_case::Form;
use crate::elements::test_sources::{TestEntry, Tree, walk};
use crate::model::{Position, TextOrigin, TrustRequest, TrustSubject};
use crate::plan::{Extension, Hook, weight};
use crate::read::node::{Key, Kind, Mark, Node};
use crate::several::ContentDigest;

mod parts;

use parts::VariableOwners;

/// Keys of a suite that a hook may change, beside its tests.
const KEYS: [&str; 4] = ["prompts", "scenarios", "defaultTest", "derivedMetrics"];

/// Keys that a hook sees and can't change.
const FIXED: [&str; 3] = ["providers", "nunjucksFilters", "env"];

/// What hooks made of a config.
pub(super) struct Changed {
    /// The keys that have another value, in place of those of every config.
    pub(super) keys: Node,
    /// Whose words may be in them.
    pub(super) origin: TextOrigin,
    /// Every test, if there are others now.
    pub(super) tests: Option<Vec<Tree>>,
}

/// Calls the hooks; `None` if there are none, or nothing was changed.
pub(super) fn call(documents: &[Document<'_>], extensions: &[Extension]) -> Option<Changed> {
    let first = documents.first()?;
    let mut hooks = extensions
        .iter()
        .filter(|one| one.is_for(Hook::BeforeAll))
        .peekable();
    let at = hooks.peek()?.at.clone();
    let trees = trees(documents);
    let before = suite(documents, &trees);
    let mut suite = before.clone();
    for hook in hooks {
        suite = called(first, hook, suite)?;
    }
    for key in FIXED {
        let is = |suite: &Value| suite.get(key).cloned().unwrap_or_default();
        if is(&suite) != is(&before) {
            let message = format!("beforeAll changed '{key}', which can't be changed by code");
            let help = "write it into the config";
            first.reading.findings.error_help(at.clone(), message, help);
        }
    }
    // What the person types stands in no folder of a config's.
    let configs = documents
        .iter()
        .filter(|it| *it.root.origin != TextOrigin::Person);
    let mut roots = configs.map(|it| &it.reading.files.root);
    if suite != before && !roots.all(|root| *root == first.reading.files.root) {
        let message = "beforeAll changed something, and the configs are in several folders: nobody can \
                       say whose files that may name";
        let help = "run each config by itself, or put them into one folder";
        first.reading.findings.error_help(at, message, help);
        return None;
    }
    changed(first, &before, suite, trees, &at)
}

/// What one hook makes of the suite.
fn called(document: &Document<'_>, extension: &Extension, suite: Value) -> Option<Value> {
    let name = Hook::BeforeAll.name();
    let context = json!({ "suite": suite });
    let arguments = if extension.hook.is_some() {
        [("context", context), ("hook", json!({ "hookName": name }))]
    } else {
        [("hookName", Value::from(name)), ("context", context)]
    };
    let reading = document.reading;
    let fail = |why: String| {
        let message = format!("the extension failed in {name}: {why}");
        reading.findings.error(extension.at.clone(), message);
        None
    };
    if !reading.may_run(&extension.script, &extension.at) {
        return None;
    }
    match reading.scripts.run(&extension.script, &arguments) {
        Err(why) => fail(why),
        Ok(None | Some(Value::Null | Value::Bool(false))) => Some(suite),
        Ok(Some(Value::Object(mut context))) => match context.remove("suite") {
            Some(suite @ Value::Object(_)) => Some(suite),
            _ => fail("it must return its context with a `suite` in it".to_owned()),
        },
        Ok(Some(_)) => fail("it must return its context, or nothing".to_owned()),
    }
}

/// The tests of all configs.
fn trees(documents: &[Document<'_>]) -> Vec<Tree> {
    let mut trees = Vec::new();
    let mut weight = 0;
    for (config, document) in documents.iter().enumerate() {
        let findings = document.reading.findings;
        if let Some(entry) = document.root.get("tests") {
            walk(&entry, document.reading, &mut |found| match found {
                TestEntry::Test(entry, form) => {
                    weight += weight::of_tree(entry.node);
                    if weight > weight::MAX_HANDED {
                        let message = "there are too many tests to give them to a beforeAll hook";
                        return findings.stop(entry.at(), message, "run them in parts");
                    }
                    trees.push(Tree::of(entry, form, config));
                }
                TestEntry::Questions(path, at, _) => {
                    let message = format!("'{path}' can't be handed to a beforeAll hook");
                    let help = "name the set of questions in `tasks`, or take the hook away";
                    findings.error_help(at.clone(), message, help);
                }
            });
        }
    }
    trees
}

/// The configs as code sees them.
fn suite(documents: &[Document<'_>], trees: &[Tree]) -> Value {
    let mut suite = Map::new();
    for key in KEYS.into_iter().chain(FIXED) {
        if key == "env" {
            continue;
        }
        let written = last(documents, key);
        let value = written.map(|entry| entry.node.json_as_written());
        suite.insert(key.to_owned(), value.unwrap_or_default());
    }
    let tests = trees.iter().map(|tree| tree.node.json_as_written());
    suite.insert("tests".to_owned(), tests.collect());
    // promptfoo has these even where the config has not, and code counts on it.
    for (key, empty) in [("defaultTest", json!({})), ("scenarios", json!([]))] {
        if suite[key].is_null() {
            suite[key] = empty;
        }
    }
    if let Some(Value::Object(default)) = suite.get_mut("defaultTest") {
        let assertions = default.entry("assert").or_insert(Value::Null);
        if assertions.is_null() {
            *assertions = json!([]);
        }
    }
    Value::Object(suite)
}

/// What differs between the suite that was handed over and the one that came back.
fn changed(
    document: &Document<'_>,
    before: &Value,
    mut after: Value,
    trees: Vec<Tree>,
    at: &Position,
) -> Option<Changed> {
    let mark = Mark {
        line: at.line,
        column: at.column,
    };
    let findings = document.reading.findings;
    let origin = origin_of_made(document, &trees);
    let made = |value: Value| {
        document.reading.files.read.count(value.to_string().len());
        let node = Node::made(value, mark);
        if node.is_none() {
            findings.error(
                at.clone(),
                "beforeAll gave something that is nested too deep",
            );
        }
        let mut node = node?;
        // What code makes of rows may hold their words.
        let declared = document.reading.declared;
        let may_fill = origin.is_data() || declared.fill(&mut node, &at.file, findings);
        may_fill.then_some(node)
    };
    let mut keys = Vec::new();
    for key in KEYS {
        let value = after.get_mut(key).map(Value::take).unwrap_or_default();
        if value != before[key] {
            let may_change = !origin.is_data()
                || findings.may_read(TrustRequest {
                    subject: TrustSubject::Change {
                        key: key.to_owned(),
                    },
                    origin: origin.clone(),
                    at: at.clone(),
                });
            if !may_change {
                continue;
            }
            let name = key.into();
            keys.push((Key { name, mark }, made(value)?));
        }
    }
    let tests = after.get_mut("tests").map(Value::take).unwrap_or_default();
    let mut others = None;
    if tests != before["tests"] {
        let Value::Array(tests) = tests else {
            let message = "beforeAll must leave `tests` a list";
            findings.error(at.clone(), message);
            return None;
        };
        others = Some(placed(tests, before, trees, (at, &origin), made)?);
    }
    let keys = Node {
        kind: Kind::Map(keys),
        mark,
    };
    Some(Changed {
        keys,
        origin,
        tests: others,
    })
}

/// Whose word it is what a hook makes of all tests: it names nothing that the hook, or the rows, may not.
fn origin_of_made(document: &Document<'_>, trees: &[Tree]) -> TextOrigin {
    let origin = TextOrigin::mixed(trees.iter().map(|tree| &tree.origin));
    let files = document.reading.files;
    match &origin {
        TextOrigin::Data(file) if files.beyond(&file.shown, &TextOrigin::Config).is_some() => {
            origin.nameless()
        }
        _ => origin,
    }
}

/// The tests that came back, each where it stands.
fn placed(
    tests: Vec<Value>,
    before: &Value,
    trees: Vec<Tree>,
    (at, origin): (&Position, &TextOrigin),
    made: impl Fn(Value) -> Option<Node>,
) -> Option<Vec<Tree>> {
    let mut known: HashMap<ContentDigest, VecDeque<usize>> = HashMap::new();
    for (place, test) in (0..).zip(before["tests"].as_array().into_iter().flatten()) {
        known
            .entry(ContentDigest::of_value(test))
            .or_default()
            .push_back(place);
    }
    let parts = VariableOwners::of(before, &trees);
    let mut trees: Vec<Option<Tree>> = trees.into_iter().map(Some).collect();
    let mut next = 0;
    let mut placed = Vec::new();
    for (index, test) in tests.into_iter().enumerate() {
        // Those that stay do so in their order, nearly always.
        let same = known
            .get_mut(&ContentDigest::of_value(&test))
            .and_then(|same| {
                same.retain(|place| *place >= next);
                same.pop_front()
            });
        if let Some((place, tree)) = same.and_then(|place| Some((place, trees[place].take()?))) {
            next = place + 1;
            placed.push(tree);
            continue;
        }
        let origin = origin.part(parts.of_test(index, &test));
        placed.push(Tree {
            node: made(test)?,
            file: at.file.clone(),
            key: format!("{}: tests[{index}]", at.key),
            origin,
            form: Form::Test,
            config: 0,
        });
    }
    Some(placed)
}

#[cfg(test)]
mod tests;
