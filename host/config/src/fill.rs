//! `env`, and `{{ env.X }}` in a config.
//!
//! Templates see only the names that the config's `env` declares, never the whole environment:
//! a prompt from somebody else can't ask for `{{ env.AWS_SECRET_ACCESS_KEY }}`. Inside `env`
//! itself the process's environment is visible, since that is where a user takes a variable in:
//! `KEY: "{{ env.KEY }}"`, or just `KEY:`.
//!
//! Provider parts of the config are the other place where a user says which variable goes where:
//! `providers` (or `targets`), the files that they name, `options.provider` and the `provider` of
//! an assertion, as far as they stand in the config itself or in its `defaultTest`. There every
//! name counts as declared, and one that is not set is an error. Who receives the value is the
//! plugin alone; what is or may be a secret is remembered, so that it is masked wherever it would
//! show (`provider_part`).
//!
//! In the rest of the config only tags that read nothing but `env` are filled in, when it is
//! loaded; all other tags belong to the cases. What stands in the results file is the text as
//! written. Data files (CSV, JSONL, files of variables) are not filled in: they are data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use self::filled_in::FilledIn;
use crate::model::{Findings, Position, TrustRequest};
use crate::plan::EnvRead;
use crate::read::entry::Entry;
use crate::read::node::{Kind, Node};
use crate::template::{LoadSteps, Piece, Template, is_plain, pieces};

mod declared;
mod filled_in;
mod hider;
mod provider_part;

/// What a config declares.
#[derive(Clone, Default)]
pub(crate) struct Declared {
    /// Values of the names that have one. No template is given them all, whatever is known of what
    /// it reads: see [`Self::visible`].
    values: Arc<Map<String, Value>>,
    /// Those of them that may stand anywhere: the config's own words, and what may be kept.
    open: Arc<Map<String, Value>>,
    /// These, and variables under their own names: what a person who types a name means by it.
    typed: Arc<Map<String, Value>>,
    /// Every declared name.
    names: BTreeSet<String>,
    /// The process's environment, which provider parts see.
    outside: Arc<Map<String, Value>>,
    /// The declared names whose values came from the process's environment, each with the
    /// variables that it took.
    sources: BTreeMap<String, BTreeSet<String>>,
    /// What the configs say of the declared names, as it is written. A name that stands alone says
    /// nothing.
    written: BTreeMap<String, String>,
    /// The declared names whose values are worked out, and not just those of variables.
    computed: BTreeSet<String>,
    /// The declared names whose values hold variables of other names, with what they hold.
    borrowed: BTreeMap<String, Vec<EnvRead>>,
    /// What was filled in, by this and by every clone.
    filled_in: Arc<Mutex<FilledIn>>,
    /// What its texts may still cost, those of every clone included.
    steps: Arc<LoadSteps>,
}

/// How many names of `env` all texts may take in, and variables that these stand for: one short tag
/// may stand for all of them.
const MAX_TAKEN: usize = 1_000_000;

/// A part of a config, by what its templates see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Only declared names.
    Strict,
    /// Only declared names, but for provider parts within.
    Around(ConfigSection),
    /// Every variable that is set.
    Provider {
        /// Whether what is filled in is a secret whatever the variable is called.
        secret: bool,
        /// What the text is of the provider.
        field: Field,
    },
}

/// What leads to provider parts. Each is known by the keys on the way to it, since other maps, like the
/// `config` of an assertion, may have keys of any name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConfigSection {
    /// The config itself.
    Config,
    /// Scenarios, which hold tests under `config` and `tests`.
    Scenarios,
    /// Tests.
    Tests,
    /// The options of tests.
    Options,
    /// Assertions.
    Assertions,
}

/// What a text is of a provider.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Its name, its code: what stands in results, or makes them.
    Own,
    /// Its `config` or `env`, or the `auth` of its `config`: what stands directly in it may be a
    /// credential.
    Settings,
    /// A part of these, which its plugin reads and may quote, and graders may see.
    Part,
    /// A credential among them, which leaves the machine or is masked. What it is made of shows
    /// in whether it is there, can be sent and is accepted, so only variables as they are go in
    /// unasked.
    Credential,
}

impl Part {
    /// A whole provider, or several.
    const PROVIDER: Self = Self::Provider {
        secret: false,
        field: Field::Own,
    };

    fn is_credential(self) -> bool {
        matches!(
            self,
            Self::Provider {
                field: Field::Credential,
                ..
            }
        )
    }
}

impl Declared {
    /// What a template at this place sees of `env`. What it reads is found and asked for before
    /// ([`Self::note_reads`]); what was not found there is not seen either.
    pub(crate) fn visible(&self, at: &Position) -> &Arc<Map<String, Value>> {
        if at.is_typed() {
            &self.typed
        } else {
            &self.open
        }
    }

    /// The value of a name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.as_str()
    }

    /// All values, for the plugins, whose settings and credentials they may be; both are asked for
    /// where they are bound.
    pub(crate) fn settings(&self) -> Map<String, Value> {
        (*self.values).clone()
    }

    /// Asks for the variables in values that set up plugins: what such a value is shows in addresses
    /// and in what is wrong with it. A variable that only passes through under its own name is the
    /// person's setting.
    pub(crate) fn permit_settings(&self, settings: &BTreeSet<String>, findings: &Findings) {
        let set = self
            .borrowed
            .iter()
            .filter(|(name, _)| settings.contains(*name));
        set.for_each(|(_, reads)| _ = may_keep(reads, findings));
    }

    /// Fills in every text of a tree but its `env`, with declared names alone; whether it may all be
    /// filled in. If not, what the tree says is not known yet.
    #[must_use]
    pub(crate) fn fill(&self, node: &mut Node, file: &Path, findings: &Findings) -> bool {
        self.walk_root(node, Part::Strict, file, findings)
    }

    /// Fills in a config, whose provider parts see every variable that is set.
    #[must_use]
    pub(crate) fn fill_config(&self, node: &mut Node, file: &Path, findings: &Findings) -> bool {
        self.walk_root(node, Part::Around(ConfigSection::Config), file, findings)
    }

    /// Fills in a file that holds tests or a `defaultTest`, whose provider parts see the same.
    #[must_use]
    pub(crate) fn fill_tests(&self, node: &mut Node, file: &Path, findings: &Findings) -> bool {
        self.walk_root(node, Part::Around(ConfigSection::Tests), file, findings)
    }

    /// Fills in a file of scenarios.
    #[must_use]
    pub(crate) fn fill_scenarios(&self, node: &mut Node, file: &Path, findings: &Findings) -> bool {
        self.walk_root(node, Part::Around(ConfigSection::Scenarios), file, findings)
    }

    /// Fills in a file of providers.
    #[must_use]
    pub(crate) fn fill_providers(&self, node: &mut Node, file: &Path, findings: &Findings) -> bool {
        self.walk_root(node, Part::PROVIDER, file, findings)
    }

    fn walk_root(&self, node: &mut Node, part: Part, file: &Path, findings: &Findings) -> bool {
        let refusals = findings.refusals();
        self.walk_keys(node, part, file, findings);
        findings.refusals() == refusals
    }

    fn walk_keys(&self, node: &mut Node, part: Part, file: &Path, findings: &Findings) {
        let Kind::Map(fields) = &mut node.kind else {
            return self.walk(node, part, file, findings);
        };
        for (key, value) in fields.iter_mut().filter(|(key, _)| *key.name != *"env") {
            self.walk(value, part.below(&key.name), file, findings);
        }
    }

    fn walk(&self, node: &mut Node, part: Part, file: &Path, findings: &Findings) {
        let mark = node.mark;
        match &mut node.kind {
            Kind::Text(text) if !is_plain(&text.written) => {
                let at = Position {
                    file: file.to_owned(),
                    line: mark.line,
                    column: mark.column,
                    key: String::new(),
                };
                let filled = self.filled(&text.written, part, &at, findings);
                text.fill(filled, part.is_credential());
            }
            Kind::List(items) => items
                .iter_mut()
                .for_each(|item| self.walk(item, part, file, findings)),
            Kind::Map(fields) => fields.iter_mut().for_each(|(key, value)| {
                self.walk(value, part.below(&key.name), file, findings);
            }),
            Kind::Text(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
    }

    /// `text` with the tags that read only `env` filled in; `None` if there are none.
    fn filled(&self, text: &str, part: Part, at: &Position, findings: &Findings) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut any = false;
        for piece in pieces(text) {
            let tag = piece.source();
            let filled = matches!(piece, Piece::Expression(_))
                .then(|| self.tag(tag, part, at, findings))
                .flatten();
            any |= filled.is_some();
            out.push_str(filled.as_deref().unwrap_or(tag));
        }
        any.then_some(out)
    }

    /// The value of a tag, if `env` is all it reads.
    fn tag(&self, tag: &str, part: Part, at: &Position, findings: &Findings) -> Option<String> {
        if !tag.contains("env") {
            return None;
        }
        let template = Template::new(tag, Some(self.visible(at))).ok()?;
        let names: BTreeSet<String> = template.names().collect();
        if names.len() != 1 || !names.contains("env") {
            return None;
        }
        if let Part::Provider { secret, field } = part {
            return self.tag_of_provider(tag, &template, (secret, field), at, findings);
        }
        self.check(&template, at, findings);
        let may_fill = self.note_reads(&template, at, findings);
        may_fill
            .then(|| template.render_at_load(&self.steps).ok())
            .flatten()
    }

    /// Notes the variables of the process's environment that a template of no provider takes in;
    /// whether it may.
    pub(crate) fn note_reads(
        &self,
        template: &Template,
        at: &Position,
        findings: &Findings,
    ) -> bool {
        let Some(names) = self.names_at(template, at, findings) else {
            return false;
        };
        let (taken, asked) = self.taken_at(&names, at, findings);
        let may_keep = may_keep(&asked, findings);
        self.filled_in().by_others.extend(taken);
        may_keep
    }

    /// The variables of the process's environment that declared names stand for, and those of them
    /// that need agreement: a person who types a name has agreed to the variable of that name, and
    /// not to what the config puts under it.
    fn taken_at<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
        at: &Position,
        findings: &Findings,
    ) -> (Vec<EnvRead>, Vec<EnvRead>) {
        let (mut taken, mut asked) = (Vec::new(), Vec::new());
        for name in names {
            for source in self.sources.get(name).into_iter().flatten() {
                if !self.has_room(at, findings) {
                    return (taken, asked);
                }
                let read = read(source, at);
                if !(at.is_typed() && source == name) {
                    asked.push(read.clone());
                }
                taken.push(read);
            }
        }
        (taken, asked)
    }

    /// Notes the same of a text that is compiled together with others: what can't be read alone may
    /// read anything. It is filled in where the text around it stands, so that it is asked for also
    /// where the person typed it.
    pub(crate) fn note_reads_of_part(&self, text: &str, at: &Position, findings: &Findings) {
        let template = Template::new(text, None).or_else(|_| Template::new("{{ env }}", None));
        let names = template.ok();
        let names = names.and_then(|template| self.names_at(&template, at, findings));
        let (taken, _) = self.taken_at(&names.unwrap_or_default(), at, findings);
        may_keep(&taken, findings);
        self.filled_in().by_others.extend(taken);
    }

    /// Counts a name that is taken in; whether there is room for it. There will be no plan if not.
    fn has_room(&self, at: &Position, findings: &Findings) -> bool {
        let mut filled_in = self.filled_in();
        filled_in.taken += 1;
        let has_room = filled_in.taken <= MAX_TAKEN;
        if !has_room {
            let message =
                format!("the config's texts take in names of `env` more than {MAX_TAKEN} times");
            let help = "write {{ env.NAME }} with the names that a text needs, not {{ env }}";
            findings.stop(at.clone(), message, help);
        }
        has_room
    }

    /// The names that a template reads from `env`; `None` if that is too much.
    fn names_at(
        &self,
        template: &Template,
        at: &Position,
        findings: &Findings,
    ) -> Option<BTreeSet<String>> {
        let names = self.env_names(template);
        let counted = names.map(|name| self.has_room(at, findings).then_some(name));
        counted.collect()
    }

    /// The names that a template reads from `env`; all of them where it chooses by itself.
    fn env_names(&self, template: &Template) -> impl Iterator<Item = String> {
        let paths: Vec<String> = template.paths().collect();
        let chooses = paths.iter().any(|path| path == "env");
        let named = |path: String| {
            let name = path.strip_prefix("env.")?;
            Some(name.split('.').next().unwrap_or(name).to_owned())
        };
        let all = chooses.then_some(&self.names).into_iter().flatten();
        all.cloned().chain(paths.into_iter().filter_map(named))
    }

    /// The variables that were filled into the provider at `entry`.
    pub(crate) fn reads_of(&self, entry: &Entry<'_>) -> Vec<EnvRead> {
        let filled_in = self.filled_in();
        let mut found = BTreeSet::new();
        entry.node.each_filled(&mut |mark| {
            let at = Position {
                file: entry.file.to_owned(),
                line: mark.line,
                column: mark.column,
                key: String::new(),
            };
            let names = filled_in.by_providers.get(&at).into_iter().flatten();
            found.extend(reads(names, &at));
        });
        found.into_iter().collect()
    }

    /// The variables that were filled into providers, whether or not anybody asks them.
    pub(crate) fn provider_reads(&self) -> Vec<EnvRead> {
        let filled_in = self.filled_in();
        let places = filled_in.by_providers.iter();
        places.flat_map(|(at, names)| reads(names, at)).collect()
    }

    /// The variables that texts of no provider take in, and the declared names that stand for
    /// some of the process's environment.
    pub(crate) fn env_reads(&self) -> (Vec<EnvRead>, BTreeMap<String, BTreeSet<String>>) {
        let reads = self.filled_in().by_others.iter().cloned().collect();
        (reads, self.sources.clone())
    }

    /// What the configs say of the declared names, as it is written.
    pub(crate) fn written(&self) -> &BTreeMap<String, String> {
        &self.written
    }

    fn filled_in(&self) -> MutexGuard<'_, FilledIn> {
        self.filled_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports names that a template reads from `env` and nobody declared.
    pub(crate) fn check(&self, template: &Template, at: &Position, findings: &Findings) {
        for path in template.paths() {
            let Some(name) = path.strip_prefix("env.") else {
                continue;
            };
            let name = name.split('.').next().unwrap_or(name);
            if self.values.contains_key(name) {
                continue;
            }
            if self.names.contains(name) {
                findings.warn(
                    at.clone(),
                    format!("env.{name} is declared, but not set: it is empty"),
                    None,
                );
                continue;
            }
            let meant = findings.did_you_mean(name, self.names.iter().map(String::as_str));
            let help = match meant {
                Some(meant) => format!("did you mean env.{meant}?"),
                None => format!(
                    "templates see only what the config declares; add to the config: env: {{ {name}: \"{{{{ env.{name} }}}}\" }}"
                ),
            };
            findings.error_help(at.clone(), format!("env.{name} is not declared"), help);
        }
    }
}

/// Whether these variables may stand in what is kept, printed or quoted; asks for each at the first
/// such text, all of them together.
fn may_keep(reads: &[EnvRead], findings: &Findings) -> bool {
    let may = |read: &EnvRead| findings.may_read(TrustRequest::keep(&read.name, &read.at));
    reads.iter().filter(|read| !may(read)).count() == 0
}

/// Whether a text is more than variables as they are, with words around them.
fn is_computed(text: &str) -> bool {
    !pieces(text).all(|piece| match piece {
        Piece::Text(_) | Piece::Comment(_) => true,
        Piece::Expression(tag) => is_variable(tag),
        _ => false,
    })
}

/// Whether a tag is a variable as it is: `{{ env.NAME }}`.
pub(crate) fn is_variable(tag: &str) -> bool {
    let inner = tag.trim_start_matches("{{").trim_end_matches("}}");
    let inner = inner.trim_matches(|c: char| c == '-' || c.is_whitespace());
    let name = inner.strip_prefix("env.");
    name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// These variables, read at one place.
fn reads<'a>(names: impl IntoIterator<Item = &'a String>, at: &Position) -> Vec<EnvRead> {
    names.into_iter().map(|name| read(name, at)).collect()
}

fn read(name: &str, at: &Position) -> EnvRead {
    EnvRead {
        name: name.to_owned(),
        // A text is read as part of the config and as a prompt: one place, once with its key.
        at: Position {
            key: String::new(),
            ..at.clone()
        },
    }
}

#[cfg(test)]
mod tests;
