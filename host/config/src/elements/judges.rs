//! Judges: the models that model-graded assertions ask.
//!
//! An assertion's `provider` wins over its test's `options.provider` (that of `defaultTest` lies
//! under it), and what neither says comes from the keys that the environment holds. A provider
//! may be an id, an object, the label of a provider of the run, or a map with one for each kind
//! of question; what else an object with an `id` says by kind wins over that id. One that is given for all kinds is taken for vectors only if its id says that
//! it makes vectors, and for text only if it doesn't: a chat model for `llm-rubric` is no reason
//! for `answer-relevance` to fail.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::limits::Groups;
use super::providers;
use super::reading::{Document, Reading};
use crate::model::{Position, Role, TextOrigin, TrustRequest, TrustSubject};
use crate::plan::{Column, JudgeId, Judges, Provider};
use crate::read::entry::Entry;
use crate::read::node::{Key, Kind, Node};

mod shown;

/// Kinds of questions, as a map under `provider` names them.
const KINDS: [&str; 4] = ["text", "embedding", "classification", "moderation"];

/// Who judges where nobody is named: the first whose key is set. From what each vendor recommends
/// for judging at a moderate price; embeddings where the vendor has them.
const DEFAULTS: [(&str, Default); 4] = [
    (
        "OPENAI_API_KEY",
        Default {
            text: Some("openai:gpt-4.1"),
            embedding: Some("openai:embedding:text-embedding-3-large"),
            moderation: Some("openai:moderation:omni-moderation-latest"),
        },
    ),
    (
        "ANTHROPIC_API_KEY",
        Default {
            text: Some("anthropic:messages:claude-sonnet-4-5"),
            embedding: None,
            moderation: None,
        },
    ),
    (
        "GEMINI_API_KEY",
        Default {
            text: Some("google:gemini-2.5-pro"),
            embedding: Some("google:embedding:gemini-embedding-001"),
            moderation: None,
        },
    ),
    (
        "MISTRAL_API_KEY",
        Default {
            text: Some("mistral:mistral-large-latest"),
            embedding: Some("mistral:embedding:mistral-embed"),
            moderation: None,
        },
    ),
];

struct Default {
    text: Option<&'static str>,
    embedding: Option<&'static str>,
    moderation: Option<&'static str>,
}

/// Every judge of a plan, each once.
pub(crate) struct JudgeBook<'a> {
    of_run: OfRun<'a>,
    groups: &'a Groups,
    found: RefCell<KnownJudges>,
}

/// The providers of the run by what they are called; of several, the first.
struct OfRun<'a> {
    by_label: HashMap<&'a str, &'a Arc<Provider>>,
    /// By label or id, those that no data brought.
    declared: HashMap<&'a str, &'a Arc<Provider>>,
}

impl<'a> OfRun<'a> {
    fn new(columns: &'a [Arc<Column>]) -> Self {
        let (mut by_label, mut declared) = (HashMap::new(), HashMap::new());
        for provider in columns.iter().map(|column| &column.provider) {
            let label = provider.label.as_deref();
            if let Some(label) = label {
                by_label.entry(label).or_insert(provider);
            }
            let names = label.into_iter().chain([provider.id.as_str()]);
            for name in names.filter(|_| !provider.origin.is_data()) {
                declared.entry(name).or_insert(provider);
            }
        }
        Self { by_label, declared }
    }
}

#[derive(Default)]
struct KnownJudges {
    judges: Vec<Arc<Provider>>,
    /// Places of those that no data brought, by label or id; of several, the first.
    declared: HashMap<String, usize>,
    /// By what is said of it, and whether data says it: whoever comes first does not decide whose it is.
    known: BTreeMap<(bool, String), Option<JudgeId>>,
    /// Places of judges without an id that were reported.
    nameless: HashSet<Position>,
}

/// Whether a `provider` of options says how somebody is asked, but not who.
pub(crate) fn is_nameless(entry: &Entry<'_>) -> bool {
    // A map of kinds and a map of ids to objects name somebody by their keys.
    let mut kinds = entry
        .fields()
        .filter(|(key, _)| KINDS.contains(key))
        .peekable();
    let ids = |(key, value): (&str, Entry<'_>)| !providers::KNOWN.contains(&key) && value.is_map();
    let names_by_keys = if kinds.peek().is_some() {
        kinds.any(|(_, judge)| !is_nameless(&judge))
    } else {
        entry.fields().next().is_some() && entry.fields().all(ids)
    };
    entry.is_map() && entry.get("id").is_none() && !names_by_keys
}

impl<'a> JudgeBook<'a> {
    pub(crate) fn new(columns: &'a [Arc<Column>], groups: &'a Groups) -> Self {
        Self {
            of_run: OfRun::new(columns),
            groups,
            found: RefCell::default(),
        }
    }

    pub(crate) fn into_judges(self) -> Vec<Arc<Provider>> {
        self.found.into_inner().judges
    }

    /// Reads the key `provider` of an assertion or of a test's options.
    pub(crate) fn read(&self, entry: &Entry<'_>, reading: Reading<'_>) -> Judges {
        let Kind::Map(fields) = &entry.node.kind else {
            return self.of_all_kinds(self.one(entry, Role::Judge, reading));
        };
        let is_kind = |(key, _): &&(Key, Node)| KINDS.contains(&&*key.name);
        if !fields.iter().any(|field| is_kind(&field)) {
            return self.of_all_kinds(self.one(entry, Role::Judge, reading));
        }
        let others = if entry.get("id").is_some() {
            let node = Node {
                kind: Kind::Map(fields.iter().filter(|it| !is_kind(it)).cloned().collect()),
                mark: entry.node.mark,
            };
            let rest = Entry {
                node: &node,
                ..entry.clone()
            };
            self.of_all_kinds(self.one(&rest, Role::Judge, reading))
        } else {
            entry.report_unknown(reading.findings, &KINDS);
            Judges::default()
        };
        let kind = |name| self.one(&entry.get(name)?, Role::Judge, reading);
        Judges {
            text: kind("text").or(others.text),
            embedding: kind("embedding").or(others.embedding),
            classification: kind("classification").or(others.classification),
            moderation: kind("moderation").or(others.moderation),
        }
    }

    /// The key `provider` of one assertion. What is asked for vectors alone takes it for that,
    /// whatever it is called: nobody else is to get the answer.
    pub(crate) fn of_assertion(&self, entry: &Entry<'_>, reading: Reading<'_>) -> Judges {
        let Some(judge) = entry.get("provider") else {
            return Judges::default();
        };
        let mut judges = self.read(&judge, reading);
        let kind = entry.get("type");
        let kind = kind.as_ref().and_then(Entry::text).unwrap_or_default();
        let kind = kind.strip_prefix("not-").unwrap_or(kind);
        if kind == "similar" || kind.starts_with("similar:") {
            judges.embedding = judges.embedding.or(judges.text);
        }
        judges
    }

    /// `--grader`: an id, or the label of a provider of the run.
    pub(crate) fn by_flag(&self, name: &str, reading: Reading<'_>) -> Judges {
        let at = Position {
            key: "--grader".to_owned(),
            ..Position::default()
        };
        let provider = self
            .labelled(name)
            .or_else(|| providers::plain(name, &at, &TextOrigin::Person, reading).map(Arc::new));
        self.of_all_kinds(provider.map(|provider| self.found.borrow_mut().add(provider)))
    }

    /// The provider behind a name by which a plugin asks: one that the config declares, by its label or id, else
    /// one by its id alone. What data brings is nobody's here.
    pub(crate) fn of_plugin(
        &self,
        name: &str,
        at: &Position,
        document: &Document<'_>,
    ) -> Option<JudgeId> {
        let declared = self.of_run.declared.get(name).copied().cloned();
        let Document { root, reading } = document;
        let plain = || providers::plain(name, at, root.origin, *reading).map(Arc::new);
        let provider = declared.or_else(plain)?;
        Some(self.found.borrow_mut().add(provider))
    }

    /// One that was named for no kind of question in particular.
    fn of_all_kinds(&self, judge: Option<JudgeId>) -> Judges {
        let Some(judge) = judge else {
            return Judges::default();
        };
        let embeds = self.found.borrow().judges[judge.0 as usize]
            .id
            .contains("embed");
        Judges {
            text: (!embeds).then_some(judge),
            embedding: embeds.then_some(judge),
            classification: Some(judge),
            moderation: Some(judge),
        }
    }

    /// The provider of the run with this label.
    fn labelled(&self, name: &str) -> Option<Arc<Provider>> {
        self.of_run.by_label.get(name).copied().cloned()
    }

    /// The provider that a text means: one of the run by its label; for data, which brings none
    /// of its own, also one by its id, and the judges that the config named before.
    fn named(&self, name: &str, origin: &TextOrigin) -> Option<Arc<Provider>> {
        let known = || {
            let declared = self.of_run.declared.get(name).copied().cloned();
            let found = self.found.borrow();
            declared.or_else(|| Some(found.judges[*found.declared.get(name)?].clone()))
        };
        let labelled = self.labelled(name);
        labelled.or_else(|| origin.is_data().then(known).flatten())
    }

    /// Notes a provider that data brings and the config does not name.
    fn brought(&self, judge: Option<JudgeId>, entry: &Entry<'_>, role: Role, reading: Reading<'_>) {
        let found = self.found.borrow();
        let made = judge.map(|id| &found.judges[id.0 as usize]);
        let Some(made) = made.filter(|made| made.origin.is_data()) else {
            return;
        };
        // What files gave it counts, and not their names: those can be written anew.
        let made = json!({ "id": made.id, "config": made.config, "env": made.env });
        let whole = json!([entry.node.json(), made]);
        reading.findings.trust_request(TrustRequest {
            subject: TrustSubject::Provider {
                id: made["id"].as_str().unwrap_or_default().to_owned(),
                role,
                config: shown::in_short(&made),
                sha256: HEXLOWER.encode(&Sha256::digest(whole.to_string())),
            },
            origin: entry.origin.clone(),
            at: entry.at(),
        });
    }

    /// The `provider` of a test, which is asked instead of its columns'. It is kept with the judges:
    /// both are providers beside those of the columns.
    pub(crate) fn target(&self, entry: &Entry<'_>, reading: Reading<'_>) -> Option<JudgeId> {
        self.one(entry, Role::Case, reading)
    }

    /// One provider, by the label of a provider of the run, or in any form of `providers`.
    fn one(&self, entry: &Entry<'_>, role: Role, reading: Reading<'_>) -> Option<JudgeId> {
        let key = (entry.origin.is_data(), entry.as_written().to_string());
        let known = self.found.borrow().known.get(&key).copied();
        if let Some(known) = known {
            self.brought(known, entry, role, reading);
            return known;
        }
        let named = entry.text().and_then(|name| self.named(name, entry.origin));
        let provider = named.or_else(|| providers::single(entry, reading, self.groups));
        let judge = provider.map(|provider| self.found.borrow_mut().add(provider));
        self.found.borrow_mut().known.insert(key, judge);
        self.brought(judge, entry, role, reading);
        judge
    }

    /// Reports, once, a judge without an id where an assertion of this type has nobody else to ask.
    pub(crate) fn needs_id(&self, at: &Position, chosen: Judges, kind: &str, reading: Reading<'_>) {
        let asks = reading.catalog.asking_types.contains(kind);
        let mut found = self.found.borrow_mut();
        if !asks || chosen != Judges::default() || !found.nameless.insert(at.clone()) {
            return;
        }
        let message = format!("has no `id`, and '{kind}' asks it");
        let help = "for example: id: openai:gpt-4o";
        reading.findings.error_help(at.clone(), message, help);
    }

    /// `chosen`, and what it lacks of what an assertion of this type asks from the defaults. Says
    /// so where nobody is there to ask.
    pub(crate) fn complete(
        &self,
        chosen: Judges,
        kind: &str,
        at: &Position,
        reading: Reading<'_>,
    ) -> Judges {
        if !reading.catalog.asking_types.contains(kind) {
            return Judges::default();
        }
        let mut judges = chosen;
        let asks = JudgeKinds::of(kind);
        let wanted: [(bool, &mut Option<JudgeId>, Pick); 3] = [
            (asks.text, &mut judges.text, |default| default.text),
            (asks.embedding, &mut judges.embedding, |default| {
                default.embedding
            }),
            (asks.moderation, &mut judges.moderation, |default| {
                default.moderation
            }),
        ];
        for (is_asked, judge, pick) in wanted {
            if is_asked && judge.is_none() {
                *judge = self.default(pick, at, reading);
                if judge.is_none() && reading.findings.is_clean() {
                    Self::nobody(kind, at, reading);
                }
            }
        }
        if asks.classification && judges.classification.is_none() {
            Self::nobody(kind, at, reading);
        }
        judges
    }

    fn default(&self, pick: Pick, at: &Position, reading: Reading<'_>) -> Option<JudgeId> {
        let has_key = |name: &str| {
            let value = reading.process.get(name).map(String::as_str);
            value
                .or_else(|| reading.declared.value(name))
                .is_some_and(|key| !key.is_empty())
        };
        let prefixes = &reading.catalog.provider_prefixes;
        let id = DEFAULTS.iter().find_map(|(key, default)| {
            let id = pick(default)?;
            let prefix = id.split(':').next()?;
            (has_key(key) && prefixes.contains_key(prefix)).then_some(id)
        })?;
        let key = (false, format!("default {id}"));
        if let Some(known) = self.found.borrow().known.get(&key) {
            return *known;
        }
        // The program's own choice, for which the person set the key.
        let provider = providers::plain(id, at, &TextOrigin::Person, reading)?;
        let mut found = self.found.borrow_mut();
        let judge = found.add(Arc::new(provider));
        found.known.insert(key, Some(judge));
        Some(judge)
    }

    fn nobody(kind: &str, at: &Position, reading: Reading<'_>) {
        let keys: Vec<&str> = DEFAULTS.iter().map(|(key, _)| *key).collect();
        let message = format!("'{kind}' asks a model, and there is none to ask");
        let help = format!(
            "name one, for example `defaultTest: {{ options: {{ provider: openai:gpt-4.1 }} }}`, or set one of {}",
            keys.join(", ")
        );
        reading.findings.error_help(at.clone(), message, help);
    }
}

type Pick = fn(&Default) -> Option<&'static str>;

impl KnownJudges {
    fn add(&mut self, provider: Arc<Provider>) -> JudgeId {
        let place = self.judges.len();
        let id = JudgeId(place as u32);
        let names = provider.label.iter().chain([&provider.id]);
        for name in names.filter(|_| !provider.origin.is_data()) {
            self.declared.entry(name.clone()).or_insert(place);
        }
        self.judges.push(provider);
        id
    }
}

/// What an assertion asks for.
struct JudgeKinds {
    text: bool,
    embedding: bool,
    classification: bool,
    moderation: bool,
}

impl JudgeKinds {
    fn of(kind: &str) -> Self {
        let is = |kinds: &[&str]| kinds.iter().any(|one| kind.split(':').next() == Some(one));
        Self {
            text: !is(&["similar", "classifier", "moderation"]),
            embedding: is(&["similar", "answer-relevance"]),
            classification: is(&["classifier"]),
            moderation: is(&["moderation"]),
        }
    }
}

#[cfg(test)]
mod tests;
