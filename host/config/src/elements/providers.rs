//! `providers` (or `targets`): ids, objects, maps of ids, files with any of these.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::limits::Groups;
use super::options::MAX_CONCURRENCY;
use super::programs::program;
use super::reading::{Document, Reading};
use super::{budget, code, http_code, http_files, lane, provider_config, retries};
use crate::catalog::Catalog;
use crate::environment;
use crate::model::{Position, TextOrigin};
use crate::plan::Provider;
use crate::read::entry::Entry;
use crate::read::files::{FileContents, Files, has_extension, names_file, without_scheme};
use crate::read::node::{Mark, Node};
use crate::read::references;
use crate::redacted::without_secrets_of_address;
use crate::several::MergedList;

mod programs;
mod same;

/// How many files of providers may name each other.
const MAX_NESTING: usize = 8;

/// Keys of a provider's object.
pub(crate) const KNOWN: [&str; 14] = [
    "id",
    "label",
    "config",
    "delay",
    "maxRetries",
    "minConcurrency",
    "maxConcurrency",
    "pool",
    "limits",
    "budget",
    "prompts",
    "env",
    "transform",
    "inputs",
];

/// A provider and what its columns are.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) provider: Arc<Provider>,
    /// Its `prompts`, each with where it stands; `None`: all.
    pub(crate) prompts: Option<Vec<(String, Position)>>,
    /// As it was written, if variables were filled in ([`Entry::as_written`]).
    pub(crate) written: Option<Value>,
}

/// Reads the key of every config, at least one. Those that flags give are the only ones, where
/// flags give any: one of the config's by its id or label, else a provider of that id.
pub(crate) fn read(documents: &[Document<'_>], groups: &Groups, given: &[String]) -> Vec<Listed> {
    let Document { root, reading } = &documents[0];
    let bounds = (1, MAX_CONCURRENCY);
    let min_concurrency = environment::count(
        reading.process,
        environment::MIN_CONCURRENCY,
        bounds,
        reading.findings,
    );
    let (mut sum, mut any) = (MergedList::new(), false);
    for document in documents {
        let reader = ProviderReader {
            reading: document.reading,
            groups,
            min_concurrency: min_concurrency.map(|count| count as u32),
            given,
        };
        if let Some(entry) = written(document) {
            any = true;
            let mut more = Vec::new();
            reader.any(&entry, 0, &mut more);
            // One by one, since a provider that stands twice in one config is used once as well:
            // who wants two columns of it gives it two labels.
            for one in more {
                sum.add(vec![one], reading.findings);
            }
        }
    }
    let listed = sum.into_all();
    if !given.is_empty() {
        let reader = ProviderReader {
            reading: *reading,
            groups,
            min_concurrency: min_concurrency.map(|count| count as u32),
            given: &[],
        };
        return reader.chosen(given, &listed);
    }
    let example = "write at least one, for example: providers: [echo]";
    if listed.is_empty() && (!any || reading.findings.is_clean()) {
        let nowhere = Position {
            key: "providers".to_owned(),
            ..root.at()
        };
        let at = documents.iter().find_map(written);
        let at = at.map_or(nowhere, |entry| entry.at());
        reading
            .findings
            .error_help(at, "there are no providers", example);
    }
    listed
}

/// The one provider that `entry` names, in any form of the key.
pub(crate) fn single(
    entry: &Entry<'_>,
    reading: Reading<'_>,
    groups: &Groups,
) -> Option<Arc<Provider>> {
    let reader = ProviderReader {
        reading,
        groups,
        min_concurrency: None,
        given: &[],
    };
    let mut listed = Vec::new();
    reader.any(entry, 0, &mut listed);
    if listed.len() > 1 {
        reading
            .findings
            .error(entry.at(), "names more than one provider");
    }
    listed.pop().map(|one| one.provider)
}

/// A provider by its id alone, on behalf of what stands at `at`.
pub(crate) fn plain(
    id: &str,
    at: &Position,
    origin: &TextOrigin,
    reading: Reading<'_>,
) -> Option<Provider> {
    let mark = Mark {
        line: at.line,
        column: at.column,
    };
    let node = Node::text(id, mark);
    let reader = ProviderReader {
        reading,
        groups: &Groups::default(),
        min_concurrency: None,
        given: &[],
    };
    let entry = Entry {
        key: at.key.clone(),
        ..Entry::root(&node, &at.file, origin)
    };
    let mut provider = reader.provider(id, &entry)?;
    provider.at = at.clone();
    Some(provider)
}

/// The key of one config, by either of its names.
fn written<'a>(document: &Document<'a>) -> Option<Entry<'a>> {
    let Document { root, reading } = document;
    let (providers, targets) = (root.get("providers"), root.get("targets"));
    if let (Some(_), Some(targets)) = (&providers, &targets) {
        reading.findings.warn(
            targets.at(),
            "'targets' is ignored: there is 'providers', which means the same",
            None,
        );
    }
    providers.or(targets)
}

struct ProviderReader<'a> {
    reading: Reading<'a>,
    groups: &'a Groups,
    /// The environment's default for `minConcurrency`.
    min_concurrency: Option<u32>,
    /// The only ones that count, if there are any: names by flag.
    given: &'a [String],
}

/// How well a name by flag means a provider: by its id, its label, or the end of its id.
fn rank(name: &str, id: &str, label: Option<&str>) -> Option<u8> {
    if name == id {
        return Some(0);
    }
    if label == Some(name) {
        return Some(1);
    }
    let ends = id
        .strip_suffix(name)
        .is_some_and(|before| before.ends_with(':'));
    ends.then_some(2)
}

impl ProviderReader<'_> {
    /// The providers that flags give, in their order.
    fn chosen(&self, given: &[String], listed: &[Listed]) -> Vec<Listed> {
        let mut chosen = Vec::new();
        let files = Files {
            base: PathBuf::new(),
            ..self.reading.files.clone()
        };
        let from_here = ProviderReader {
            reading: Reading {
                files: &files,
                ..self.reading
            },
            ..*self
        };
        for name in given {
            let ranked = listed.iter().filter_map(|one| {
                let Provider { id, label, .. } = &*one.provider;
                Some((rank(name, id, label.as_deref())?, one))
            });
            if let Some((_, known)) = ranked.min_by_key(|(rank, _)| *rank) {
                chosen.push(known.clone());
                continue;
            }
            let node = Node::text(name.as_str(), Mark::default());
            let entry = Entry {
                key: "--providers".to_owned(),
                ..Entry::root(&node, Path::new(""), &TextOrigin::Person)
            };
            from_here.any(&entry, 0, &mut chosen);
        }
        chosen
    }

    /// Reads a list, or one item.
    fn any(&self, entry: &Entry<'_>, depth: usize, listed: &mut Vec<Listed>) {
        if entry.is_list() {
            entry
                .items()
                .for_each(|item| self.one(&item, depth, listed));
        } else {
            self.one(entry, depth, listed);
        }
    }

    fn one(&self, entry: &Entry<'_>, depth: usize, listed: &mut Vec<Listed>) {
        if let Some(text) = entry.text() {
            return self.named(text, entry, depth, listed);
        }
        if !entry.is_map() {
            return entry.mismatch(self.reading.findings, "an id or a map with `id`");
        }
        if let Some(id) = entry.get("id") {
            if let Some(id) = id.want_text(self.reading.findings) {
                listed.extend(self.object(&id, entry));
            }
            return;
        }
        // The older form: a map of ids to objects.
        let mut fields = entry.fields().peekable();
        if fields.peek().is_none()
            || entry
                .fields()
                .any(|(key, value)| KNOWN.contains(&key) || !value.is_map())
        {
            return self.reading.findings.error_help(
                entry.at(),
                "has no `id`",
                "for example: id: openai:gpt-4o",
            );
        }
        for (id, entry) in fields {
            // An id within is what the column is called.
            let own = entry
                .get("id")
                .and_then(|id| id.want_text(self.reading.findings));
            let mut one = self.object(id, &entry);
            if let (Some(listed), Some(own)) = (&mut one, own) {
                let provider = Arc::make_mut(&mut listed.provider);
                provider.label.get_or_insert(own);
            }
            listed.extend(one);
        }
    }

    /// Reads an id alone, or a file.
    fn named(&self, text: &str, entry: &Entry<'_>, depth: usize, listed: &mut Vec<Listed>) {
        let path = without_scheme(text);
        if !names_file(text) || program(text).is_some() {
            return listed.extend(self.object(text, entry));
        }
        if !has_extension(Path::new(path), &["yaml", "yml", "json"]) {
            let message = format!("'{text}': providers come from YAML or JSON files");
            return self.reading.findings.error(entry.at(), message);
        }
        if depth >= MAX_NESTING {
            let message =
                format!("files of providers name each other more than {MAX_NESTING} deep");
            return self.reading.findings.error(entry.at(), message);
        }
        let shown = self.reading.files.shown(path);
        if let Some(mut node) =
            self.reading
                .files
                .tree(&shown, &entry.at(), entry.origin, self.reading.findings)
        {
            let findings = self.reading.findings;
            let origin =
                self.reading
                    .files
                    .origin_of(&shown, FileContents::Providers, entry.origin);
            references::resolve(
                &mut node,
                (FileContents::Providers, &shown),
                &origin,
                self.reading.files,
                findings,
            );
            let declared = self.reading.declared;
            if !origin.is_data() && !declared.fill_providers(&mut node, &shown, findings) {
                return;
            }
            let file = Entry::root(&node, &shown, &origin);
            match file.get("providers") {
                Some(inner) => self.any(&inner, depth + 1, listed),
                None => self.any(&file, depth + 1, listed),
            }
        }
    }

    /// A provider by its id and, perhaps, an object with more.
    fn object(&self, id: &str, entry: &Entry<'_>) -> Option<Listed> {
        let findings = self.reading.findings;
        let label = entry.get("label");
        let label = label.as_ref().and_then(Entry::text);
        let counts = |name: &String| rank(name, id, label).is_some();
        if !self.given.is_empty() && !self.given.iter().any(counts) {
            return None;
        }
        entry.report_unknown(findings, &KNOWN);
        entry.refuse(findings, &[("inputs", "remove the key")]);
        let prompts = entry
            .get("prompts")
            .map(|entry| filter(&entry, self.reading));
        let provider = Arc::new(self.provider(id, entry)?);
        let is_filled = !provider.env_reads.is_empty();
        Some(Listed {
            provider,
            prompts,
            written: is_filled.then(|| entry.as_written()),
        })
    }

    /// What its keys say of the provider itself.
    fn provider(&self, id: &str, entry: &Entry<'_>) -> Option<Provider> {
        let findings = self.reading.findings;
        let at = entry.get("id").map_or_else(|| entry.at(), |id| id.at());
        let map = |name| {
            entry
                .get(name)
                .and_then(|entry| entry.want_map(findings))
                .unwrap_or_default()
        };
        let env = map("env");
        let mut config = provider_config::read(entry, self.reading);
        let code = http_code::take(id, entry, &mut config, self.reading);
        http_files::read(id, entry, &mut config, self.reading);
        // An address with a key in it is called by what may be seen of it.
        let label = entry
            .get("label")
            .and_then(|label| label.want_text(findings))
            .or_else(|| without_secrets_of_address(id));
        let delay = entry
            .get("delay")
            .and_then(|delay| delay.want_count(findings, 0, 86_400_000));
        let max_retries = retries::read(entry, &mut config, findings);
        let lane = lane::read(entry, self.min_concurrency, findings);
        let name = label.as_deref().unwrap_or(id);
        let limits = entry
            .get("limits")
            .map(|entry| self.groups.of_provider(&entry, name, findings))
            .unwrap_or_default();
        let budget = entry
            .get("budget")
            .map(|entry| budget::read(&entry, findings));
        let program = programs::read(id, entry, &at, self.reading).ok()?;
        let (prefix, name, plugin) = match &program {
            Some(program) => programs::named(id, program, &mut config),
            None => self.served(id, &at)?,
        };
        Some(Provider {
            id: id.to_owned(),
            label,
            prefix,
            name,
            config,
            delay: delay.map(Duration::from_millis),
            max_retries,
            min_concurrency: lane.min_concurrency,
            max_concurrency: lane.max_concurrency,
            pool: lane.pool,
            limits,
            budget: budget.unwrap_or_default(),
            env,
            transform: entry
                .get("transform")
                .and_then(|it| code::read(&it, self.reading))
                .map(|script| code::meant(script, code::CodePurpose::Transform)),
            code,
            plugin,
            program,
            origin: entry.origin.clone(),
            env_reads: self.reading.declared.reads_of(entry),
            at,
            places: provider_config::places(entry),
        })
    }

    /// Prefix, rest and plugin of an id.
    fn served(&self, id: &str, at: &Position) -> Option<(String, String, String)> {
        let catalog = self.reading.catalog;
        let Some((prefix, name)) = catalog.split_provider(id) else {
            let prefix = id.split(':').next().unwrap_or(id);
            let message = format!("no plugin serves the provider '{id}'");
            let findings = self.reading.findings;
            let help = elsewhere(prefix)
                .or_else(|| Catalog::instead(prefix, &catalog.provider_prefixes, findings));
            findings.error_perhaps(at.clone(), message, help);
            return None;
        };
        let plugin = catalog.provider_prefixes[prefix].clone();
        Some((prefix.to_owned(), name.to_owned(), plugin))
    }
}

/// The way to a provider that promptfoo has and no plugin serves yet.
fn elsewhere(prefix: &str) -> Option<String> {
    const SOCKETS: [&str; 3] = ["ws", "wss", "websocket"];
    /// promptfoo's, by how often its examples use them.
    const THEIRS: [&str; 2] = ["watsonx", "palm"];
    if SOCKETS.contains(&prefix) {
        let way = "websockets are not supported: use the API's HTTP form (`id: https://…`), or write a plugin";
        return Some(way.to_owned());
    }
    if prefix == "github" {
        let gone = "GitHub Models was retired on July 30, 2026: the makers of its models have APIs of their own, and `openrouter:…` has most of them";
        return Some(gone.to_owned());
    }
    THEIRS.contains(&prefix).then(|| {
        "not supported yet: where the API is like OpenAI's, `openai:MODEL` with `config: { apiBaseUrl: … }`; any other over HTTP, `id: https://…`; many models, `openrouter:…`".to_owned()
    })
}

/// A list of names, each with its place.
pub(crate) fn filter(entry: &Entry<'_>, reading: Reading<'_>) -> Vec<(String, Position)> {
    let named = |entry: &Entry<'_>| Some((entry.want_text(reading.findings)?, entry.at()));
    if entry.is_list() {
        entry.items().filter_map(|item| named(&item)).collect()
    } else {
        named(entry).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
