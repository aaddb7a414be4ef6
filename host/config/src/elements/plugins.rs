//! `plugins`: components that the user brings, and what each may do.
//!
//! Only shape is checked here. Whether an address or a scheme means anything is decided by the
//! run, which owns the network.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::budget;
use super::judges::JudgeBook;
use super::provider_config::places_in;
use super::reading::Document;
use super::scan::{JAVASCRIPT, PYTHON};
use crate::model::{CredentialGrant, Findings, Permissions, Position, TrustRequest, TrustSubject};
use crate::plan::{HUMAN, JudgeId, MAX_SCORE, Places};
use crate::read::entry::Entry;
use crate::read::files::{Files, names_file, unreadable};

/// Between the name of a component that was added and its digest.
const ADDED: &str = "@sha256:";

/// One entry of `plugins`.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginEntry {
    /// The user's name for it.
    pub alias: String,
    /// How the config names a component that was added to this machine: `acme@sha256:…`.
    pub added: Option<String>,
    /// Its `source` as the config has it; empty where it has none.
    pub written: String,
    /// The component's file, absolute; empty for a component that comes with the program, whose
    /// entry only grants hosts.
    pub source: PathBuf,
    /// Its expected sha256, 64 lower-case hex digits.
    pub sha256: Option<String>,
    /// Its assertion types and provider prefixes that have another name in the config: its own name of
    /// each, with the new one and where that stands.
    pub renamed: BTreeMap<String, (String, Position)>,
    /// What it may do.
    pub permissions: Permissions,
    /// What it may use.
    pub limits: PluginLimits,
    /// Where it stands.
    pub at: Position,
    /// Where what is in it stands.
    pub places: Places,
}

impl PluginEntry {
    /// Where a part of it stands that a JSON Pointer names; the entry's own place if that was not written.
    pub fn at_of(&self, pointer: &str) -> &Position {
        self.places.of(pointer).unwrap_or(&self.at)
    }
}

/// Adds a later config's plugins; one whose alias is taken takes its place.
pub(crate) fn add(plugins: &mut Vec<PluginEntry>, more: Vec<PluginEntry>) {
    let aliases: HashSet<&str> = more.iter().map(|plugin| plugin.alias.as_str()).collect();
    plugins.retain(|known| !aliases.contains(known.alias.as_str()));
    plugins.extend(more);
}

/// The hosts that are granted to the config's own code, by its language: to the component that runs it.
pub(crate) fn granted_code(plugins: &[PluginEntry]) -> BTreeMap<String, Vec<String>> {
    let runs_code = |entry: &&PluginEntry| {
        entry.source.as_os_str().is_empty() && [JAVASCRIPT, PYTHON].contains(&&*entry.alias)
    };
    let granted = plugins.iter().filter(runs_code);
    let granted = granted.map(|it| (it.alias.clone(), it.permissions.hosts.clone()));
    granted.collect()
}

/// What the names by which plugins ask models stand for (`permissions.llm`), by the plugin's alias and that name.
/// A provider that the config declares is asked as it is declared, any other by its id alone, as a column would be.
pub(crate) fn models(
    plugins: &[PluginEntry],
    documents: &[Document<'_>],
    judges: &JudgeBook<'_>,
) -> BTreeMap<(String, String), JudgeId> {
    let mut models = BTreeMap::new();
    for plugin in plugins {
        let named_by = |document: &&Document<'_>| *document.root.file == *plugin.at.file;
        let document = documents.iter().find(named_by).unwrap_or(&documents[0]);
        for (name, provider) in &plugin.permissions.llm_providers {
            let at = plugin.at_of(&Places::pointer("/permissions/llm", name));
            if let Some(judge) = judges.of_plugin(provider, at, document) {
                models.insert((plugin.alias.clone(), name.clone()), judge);
            }
        }
    }
    models
}

/// `limits`, and `budget`, which says some of them in another way; `None`: the host's default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PluginLimits {
    /// US dollars per run.
    pub usd: Option<f64>,
    /// HTTP requests per run.
    pub requests: Option<u64>,
    /// Tokens per run, in and out together.
    pub tokens: Option<u64>,
    /// Memory per instance, in MiB.
    pub memory_mb: Option<u64>,
    /// Guest time per call, in ms.
    pub cpu_ms: Option<u64>,
}

/// Reads the whole key.
///
/// Components that were added to this machine are in the folder `added`.
pub(crate) fn read(
    root: &Entry<'_>,
    (files, added): (&Files, Option<&Path>),
    findings: &Findings,
) -> Vec<PluginEntry> {
    let Some(entry) = root.get("plugins") else {
        return Vec::new();
    };
    if !entry.is_map() {
        entry.mismatch(findings, "a map of aliases to plugins");
        return Vec::new();
    }
    entry
        .fields()
        .filter_map(|(alias, entry)| plugin(alias, &entry, (files, added), findings))
        .collect()
}

fn plugin(
    alias: &str,
    entry: &Entry<'_>,
    (files, added): (&Files, Option<&Path>),
    findings: &Findings,
) -> Option<PluginEntry> {
    if !entry.is_map() {
        entry.mismatch(findings, "a map with `source`");
        return None;
    }
    let known = ["source", "sha256", "as", "permissions", "limits", "budget"];
    entry.report_unknown(findings, &known);
    let permissions = entry
        .get("permissions")
        .map(|entry| permissions(&entry, findings))
        .unwrap_or_default();
    let limits = entry
        .get("limits")
        .map(|entry| limits(&entry, findings))
        .unwrap_or_default();
    let limits = match entry.get("budget") {
        Some(entry) => with_budget(limits, &entry, findings),
        None => limits,
    };
    let sha256 = entry
        .get("sha256")
        .and_then(|entry| sha256(&entry, findings));
    let renamed = entry
        .get("as")
        .map(|entry| renamed(&entry, findings))
        .unwrap_or_default();
    let Some(source) = entry.get("source") else {
        return bundled(alias, entry, permissions, findings);
    };
    let (added, file, sha256) = located(&source, sha256, (files, added), findings)?;
    let alias = alias.to_owned();
    Some(PluginEntry {
        alias,
        added,
        written: source.want_text(findings)?,
        source: file,
        sha256,
        renamed,
        permissions,
        limits,
        at: entry.at(),
        places: places_in(entry),
    })
}

/// What the config writes for a component that was added, the component's file, and the digest that it must have.
type Located = (Option<String>, PathBuf, Option<String>);

/// Where `source` leads.
fn located(
    source: &Entry<'_>,
    sha256: Option<String>,
    (files, added): (&Files, Option<&Path>),
    findings: &Findings,
) -> Option<Located> {
    let path = source.want_text(findings)?;
    if path.contains(ADDED) {
        let (file, pinned) = added_file(&path, source, added, findings)?;
        if sha256.is_some_and(|sha256| sha256 != pinned) {
            findings.error(source.at(), "names another digest than `sha256`");
        }
        return Some((Some(path), file, Some(pinned)));
    }
    if is_address(&path) && !names_file(&path) {
        let help = if path.starts_with("http") {
            "`runner plugin add` fetches it once, and says what to write here"
        } else {
            "download the component and write its path"
        };
        let message = format!("'{path}': a run fetches no components");
        findings.error_help(source.at(), message, help);
        return None;
    }
    let file = files.absolute(&path);
    if let Some(reason) = unreadable(&file) {
        findings.error(source.at(), format!("'{path}' {reason}"));
        return None;
    }
    // It is looked at before it is agreed to, so that one question covers all that it asks for.
    if let Some(path) = files.beyond(&files.shown(&path), source.origin) {
        findings.trust_request(TrustRequest {
            subject: TrustSubject::Read { path },
            origin: source.origin.clone(),
            at: source.at(),
        });
    }
    Some((None, file, sha256))
}

/// The file of a component that was added to this machine, and its digest.
fn added_file(
    written: &str,
    source: &Entry<'_>,
    added: Option<&Path>,
    findings: &Findings,
) -> Option<(PathBuf, String)> {
    let parts = written.split_once(ADDED);
    let parts = parts.filter(|(name, digest)| is_kebab(name) && is_sha256(digest));
    let Some((name, digest)) = parts else {
        let message = format!("'{written}' must be a name, {ADDED} and 64 hexadecimal digits");
        findings.error_help(
            source.at(),
            message,
            "`runner plugin list` has what was added",
        );
        return None;
    };
    let digest = digest.to_ascii_lowercase();
    let file = added.map(|folder| folder.join(added_name(name, &digest)));
    let Some(file) = file.filter(|file| file.is_file()) else {
        let message = format!("the plugin {name} of this digest was not added to this machine");
        let help = format!("runner plugin add FILE|URL --sha256 {digest}");
        findings.error_help(source.at(), message, help);
        return None;
    };
    Some((file, digest))
}

/// The file in which a component that was added is kept.
pub fn added_name(name: &str, sha256: &str) -> String {
    format!("{name}@{sha256}.wasm")
}

fn is_sha256(digest: &str) -> bool {
    digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// An entry without `source`: it grants hosts to a component that comes with the program, to one that
/// runs code credentials, too, and nothing else. Whether there is one is known when components are loaded.
fn bundled(
    alias: &str,
    entry: &Entry<'_>,
    permissions: Permissions,
    findings: &Findings,
) -> Option<PluginEntry> {
    let Permissions {
        hosts,
        credentials,
        llm,
        llm_providers: _,
        wasi_http,
    } = &permissions;
    let more = ["sha256", "as", "limits", "budget"].map(|key| entry.get(key).is_some());
    let help = "for example: source: ./plugins/acme.wasm";
    if hosts.is_empty() {
        findings.error_help(entry.at(), "has no `source`", help);
        return None;
    }
    let more = more.contains(&true) || *wasi_http;
    let runs_code = [JAVASCRIPT, PYTHON].contains(&alias);
    if (!credentials.is_empty() && !runs_code) || !llm.is_empty() || more {
        let more = if runs_code { " and `credentials`" } else { "" };
        let message = format!(
            "has no `source`, and a plugin that comes with the program can be given `permissions.hosts`{more} and nothing else"
        );
        findings.error_help(entry.at(), message, help);
        return None;
    }
    Some(PluginEntry {
        alias: alias.to_owned(),
        added: None,
        written: String::new(),
        source: PathBuf::new(),
        sha256: None,
        renamed: BTreeMap::new(),
        permissions,
        limits: PluginLimits::default(),
        at: entry.at(),
        places: places_in(entry),
    })
}

/// `as`: what the plugin's types and prefixes are called here. Whether it has them is known when it is loaded.
fn renamed(entry: &Entry<'_>, findings: &Findings) -> BTreeMap<String, (String, Position)> {
    if !entry.is_map() {
        entry.mismatch(findings, "a map of the plugin's own names to new ones");
    }
    let mut renamed = BTreeMap::new();
    for (own, entry) in entry.fields() {
        let Some(name) = entry.want_text(findings) else {
            continue;
        };
        if [HUMAN, MAX_SCORE].contains(&&*name) {
            findings.error(entry.at(), format!("'{name}' is the runner's own"));
        } else if name.starts_with("not-") || !name.split(':').all(is_kebab) {
            findings.error_help(
                entry.at(),
                format!("'{name}' can't be the name of an assertion type or a provider"),
                "lower-case letters, digits and hyphens, for example acme-tone",
            );
        } else {
            renamed.insert(own.to_owned(), (name, entry.at()));
        }
    }
    renamed
}

/// Whether it is what the contract takes for a name.
fn is_kebab(word: &str) -> bool {
    let is_of_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.bytes().all(is_of_name)
        && !word.ends_with('-')
}

fn sha256(entry: &Entry<'_>, findings: &Findings) -> Option<String> {
    let digest = entry.want_text(findings)?.to_ascii_lowercase();
    if is_sha256(&digest) {
        return Some(digest);
    }
    findings.error(
        entry.at(),
        format!("must be 64 hexadecimal digits, not '{digest}'"),
    );
    None
}

fn permissions(entry: &Entry<'_>, findings: &Findings) -> Permissions {
    entry.report_unknown(findings, &["hosts", "credentials", "llm", "wasi_http"]);
    if !entry.is_map() {
        entry.mismatch(findings, "a map");
    }
    let hosts = entry.get("hosts");
    let hosts = hosts.map(|entry| entry.want_texts(findings));
    let hosts = hosts.unwrap_or_default();
    let mut credentials = BTreeMap::new();
    if let Some(entry) = entry.get("credentials") {
        if !entry.is_map() {
            entry.mismatch(findings, "a map of names to credentials");
        }
        for (name, entry) in entry.fields() {
            if let Some(grant) = credential(&entry, &hosts, findings) {
                credentials.insert(name.to_owned(), grant);
            }
        }
    }
    let llm = entry.get("llm").map(|entry| llm(&entry, findings));
    let (llm, llm_providers) = llm.unwrap_or_default();
    Permissions {
        hosts,
        credentials,
        llm,
        llm_providers,
        wasi_http: entry
            .get("wasi_http")
            .and_then(|entry| entry.want_bool(findings))
            .unwrap_or_default(),
    }
}

/// `llm`: names, or a map of names to the providers that they stand for. One that stands for itself is in no map.
fn llm(entry: &Entry<'_>, findings: &Findings) -> (Vec<String>, BTreeMap<String, String>) {
    if !entry.is_map() {
        return (entry.want_texts(findings), BTreeMap::new());
    }
    let fields = entry.fields();
    let mut providers: BTreeMap<String, String> = fields
        .filter_map(|(name, provider)| Some((name.to_owned(), provider.want_text(findings)?)))
        .collect();
    let names = providers.keys().cloned().collect();
    providers.retain(|name, provider| name != provider);
    (names, providers)
}

fn credential(entry: &Entry<'_>, hosts: &[String], findings: &Findings) -> Option<CredentialGrant> {
    if !entry.is_map() {
        entry.mismatch(findings, "a map with `env`");
        return None;
    }
    entry.report_unknown(findings, &["env", "scheme", "hosts"]);
    let Some(env) = entry.get("env") else {
        findings.error_help(
            entry.at(),
            "has no `env`",
            "name the environment variable that holds the value, never the value itself",
        );
        return None;
    };
    let scheme = entry
        .get("scheme")
        .and_then(|entry| entry.want_text(findings));
    let hosts = entry
        .get("hosts")
        .map_or_else(|| hosts.to_vec(), |entry| entry.want_texts(findings));
    Some(CredentialGrant {
        env: env.want_text(findings)?,
        scheme: scheme.unwrap_or_else(|| "bearer".to_owned()),
        hosts,
    })
}

fn limits(entry: &Entry<'_>, findings: &Findings) -> PluginLimits {
    entry.report_unknown(findings, &["usd", "requests", "memory_mb", "cpu_ms"]);
    if !entry.is_map() {
        entry.mismatch(findings, "a map");
    }
    let count = |name, min, max| {
        entry
            .get(name)
            .and_then(|entry| entry.want_count(findings, min, max))
    };
    let usd = entry.get("usd").and_then(|entry| {
        let usd = entry.want_number(findings)?;
        if usd < 0.0 {
            findings.error(entry.at(), format!("must not be negative, not {usd}"));
        }
        Some(usd)
    });
    PluginLimits {
        usd,
        requests: count("requests", 0, u64::from(u32::MAX)),
        tokens: None,
        memory_mb: count("memory_mb", 1, 1024),
        cpu_ms: count("cpu_ms", 1, 3_600_000),
    }
}

/// `budget` of a plugin: the same limits by the names that a run's and a provider's budget have.
fn with_budget(mut limits: PluginLimits, entry: &Entry<'_>, findings: &Findings) -> PluginLimits {
    let budget = budget::read(entry, findings);
    let twice = [
        ("cost", "limits.usd", limits.usd.is_some()),
        ("requests", "limits.requests", limits.requests.is_some()),
    ];
    for (key, limit, said) in twice {
        if let Some(entry) = entry.get(key).filter(|_| said) {
            findings.error(entry.at(), format!("is set by `{limit}` already"));
        }
    }
    let usd = budget.cost_microusd.map(|cost| cost as f64 / 1e6);
    limits.usd = limits.usd.or(usd);
    limits.requests = limits.requests.or(budget.requests);
    limits.tokens = budget.tokens;
    limits
}

/// Whether a text begins with a scheme. A path may have the same signs further on.
fn is_address(text: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(part)
    })
}

#[cfg(test)]
mod tests;
