//! What a component that somebody else built may do: what its entry under `plugins:` says.
//!
//! Using it at all is the person's to agree to, with everything that it is granted; one that a
//! flag names is agreed to. Where it wants more than it is granted, the same agreement grants the
//! rest; without one the run is refused with the YAML that would grant it.
//!
//! Names and reasons are the component's own words. They are shown on one line and quoted, so
//! that what is pasted grants what was read and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use runner_config::plan::{Places, Plan, Position, Provider};
use runner_config::{
    CredentialGrant, Permissions, PluginEntry, PluginLimits, TextOrigin as Author, TrustRequest,
    TrustSubject,
};
use runner_gateway::{Credential, Grants, OriginPattern, Scheme, Secret};
use runner_sandbox::abi::{Info, Wants};
use serde_json::{Map, Value, json};

use super::aws;
use super::bind_error::{BindError, place};
use super::binder::{Binder, Bound, digest, granted_json, patterns, reads, scheme, secret, take};
use super::bounds::terms;
use super::loaded::{LoadedPlugin, Trust};
use super::pasted::{entry_of, yaml};
use super::said::said;
use super::set::PluginSet;
use crate::private_door::Extras;
use crate::trust::Need;

impl Binder<'_> {
    /// Binds one use of a plugin, which has these wants of all that it has.
    pub(super) fn foreign(
        &self,
        plugin: &LoadedPlugin,
        wants: &Wants,
        provider: Option<&Provider>,
    ) -> Result<Bound, BindError> {
        let entry = plugin.entry();
        let none = Permissions::default();
        let written = entry.map_or(&none, |entry| &entry.permissions);
        let (granted, missing) = widened(wants, written);
        let refusal = (!missing.is_empty()).then(|| BindError::NotGranted {
            // What flags grant has no place in a file.
            at: entry
                .filter(|entry| entry.at.line > 0)
                .map(|entry| place(entry.at_of("/permissions"))),
            plugin: plugin.named(),
            missing: missing.join(", "),
            yaml: entry_of(plugin, &granted, self.set.config_folder.as_deref()),
        });
        let nowhere = Position::default();
        let at_of = |pointer: &str| entry.map_or(&nowhere, |entry| entry.at_of(pointer));
        let at = at_of("").clone();
        let hosts = patterns(&granted.hosts, |index| {
            at_of(&format!("/permissions/hosts/{index}"))
        })?;
        let mut takes = provider.map_or_else(Vec::new, |provider| provider.env_reads.clone());
        // It may answer with whatever its config holds, credentials too.
        let mut needs: Vec<Need> = takes.iter().map(Need::keep).collect();
        let mut credentials = BTreeMap::new();
        let unused = Unused::of(&plugin.component.info().wants, wants);
        let used = granted.credentials.iter();
        for (name, grant) in used.filter(|(name, _)| !unused.credentials.contains(name)) {
            let (credential, made_of) = self.granted_credential(name, grant, &at_of, provider)?;
            takes.extend(reads(made_of, &at));
            if credential.secret.is_none() {
                self.noted.needs(needs);
                // What it may have is the first question.
                return Err(refusal.unwrap_or_else(|| BindError::NoSecret {
                    at: place(&at),
                    provider: format!("credential '{name}' of plugin '{}'", plugin.alias),
                    env: said(&grant.env),
                    elsewhere: String::new(),
                }));
            }
            credentials.insert(name.clone(), credential);
        }
        if entry.is_some() || refusal.is_some() {
            let refusal = refusal.map(|refusal| refusal.to_string());
            needs.push(component(plugin, entry, granted.clone(), refusal));
        }
        let mut agreed = needs.iter().map(|need| need.is_covered(self.agreements));
        let may_see_config = agreed.all(|is_agreed| is_agreed);
        self.noted.needs(needs);
        self.granted_ways(&hosts, &at, &takes);
        Ok(Bound {
            grants: Grants::new(plugin.alias.clone(), hosts, credentials).foreign(),
            digest: digest(&granted_json(&granted)),
            llm: granted
                .llm
                .into_iter()
                .filter(|alias| !unused.llm.contains(&alias))
                .collect(),
            may_see_config,
        })
    }

    /// A credential that is granted, which may have no value, with the variables that it was made of; `at_of`
    /// says where a part of the entry stands.
    pub(super) fn granted_credential<'e>(
        &self,
        name: &str,
        grant: &CredentialGrant,
        at_of: &dyn Fn(&str) -> &'e Position,
        provider: Option<&Provider>,
    ) -> Result<(Credential, Vec<String>), BindError> {
        let pointer = Places::pointer("/permissions/credentials", name);
        let scheme = scheme(&grant.scheme, at_of(&format!("{pointer}/scheme")))?;
        let scheme = match provider {
            Some(provider) => aws::in_region(scheme, &provider.config),
            None => scheme,
        };
        let (value, made_of) = self.granted_secret(grant, &scheme, provider);
        let value = value.transpose().map_err(|problem| BindError::Config {
            at: place(at_of("")),
            problem,
        })?;
        let nothing = || self.offline.then(|| Secret::new(""));
        let hosts = patterns(&grant.hosts, |index| {
            at_of(&format!("{pointer}/hosts/{index}"))
        })?;
        let credential = Credential {
            scheme,
            secret: value.or_else(nothing),
            env: grant.env.clone(),
            hosts,
        };
        Ok((credential, made_of))
    }

    /// What is granted, or what is wrong with it, with the variables that it was made of. The granted
    /// ones of the process's environment are part of the grant.
    fn granted_secret(
        &self,
        grant: &CredentialGrant,
        scheme: &Scheme,
        provider: Option<&Provider>,
    ) -> aws::FoundKey {
        let env = &grant.env;
        let variable = |name: &str| {
            let found = provider.and_then(|provider| self.variable(provider, name));
            let persons = || {
                let value = self.env.get(name).filter(|value| !value.is_empty());
                Some((value?.clone(), Vec::new()))
            };
            found
                .map(|found| (found.value, found.takes))
                .or_else(persons)
        };
        let (value, mut takes) = match scheme {
            Scheme::AwsSigV4 { .. } => aws::of_variables(env, variable),
            Scheme::GoogleAdc => {
                let path = self.env.get(env).filter(|path| !path.is_empty());
                let read = |path: &String| self.google_file(env, path, &mut Map::new());
                (path.map(read), Vec::new())
            }
            _ => variable(env).map_or((None, Vec::new()), |(value, takes)| {
                (Some(secret(value, env)), takes)
            }),
        };
        let granted = aws::beside(env);
        takes.retain(|name| !granted.contains(name));
        (value, takes)
    }
}

/// What a plugin wants, and one use of it does not: it does without that, though it is granted.
struct Unused<'a> {
    credentials: Vec<&'a String>,
    llm: Vec<&'a String>,
}

impl<'a> Unused<'a> {
    fn of(all: &'a Wants, used: &Wants) -> Self {
        let credentials = all.credentials.iter().map(|want| &want.name);
        let llm = all.llm.iter().map(|(alias, _)| alias);
        let has_credential = |name: &String| used.credentials.iter().any(|it| it.name == *name);
        let has_model = |alias: &String| used.llm.iter().any(|(it, _)| it == alias);
        Self {
            credentials: credentials.filter(|name| !has_credential(name)).collect(),
            llm: llm.filter(|alias| !has_model(alias)).collect(),
        }
    }
}

/// Takes the keys out of a config that a stranger's component sees: they are nothing for it, whoever
/// they are granted to.
pub(super) fn hide_keys(wants: &Wants, config: &mut Map<String, Value>) {
    let keys = wants.credentials.iter();
    for key in keys.filter_map(|want| want.value_config_key.as_ref()) {
        drop(take(config, key));
    }
}

/// A component that the config names, as it is pinned. One of the bundle has no file, digest or version of
/// its own, and is named by whoever grants it something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThirdParty {
    /// What the config calls it.
    pub alias: String,
    /// Its file; of one that was added to the machine what the config writes.
    pub source: PathBuf,
    /// The digest of its bytes.
    pub sha256: String,
    /// The version of the plugin API that it was built for.
    pub api: String,
    /// What it asks for, each thing in words of its own.
    pub wants: BTreeSet<String>,
    /// What the config grants.
    pub grants: Permissions,
    /// The limits that the config sets for it, each in words of its own.
    pub limits: BTreeSet<String>,
}

impl ThirdParty {
    fn bundled(entry: &PluginEntry) -> Self {
        Self {
            alias: entry.alias.clone(),
            source: PathBuf::new(),
            sha256: String::new(),
            api: String::new(),
            wants: BTreeSet::new(),
            grants: entry.permissions.clone(),
            limits: BTreeSet::new(),
        }
    }

    pub(super) fn new(plugin: &LoadedPlugin, entry: &PluginEntry) -> Self {
        Self {
            alias: plugin.alias.clone(),
            source: match &entry.added {
                Some(named) => PathBuf::from(named),
                None => entry.source.clone(),
            },
            sha256: plugin.component.sha256().to_owned(),
            api: plugin.component.api().unwrap_or_default().to_owned(),
            wants: wanted(&plugin.component.info().wants),
            grants: entry.permissions.clone(),
            limits: limited(&entry.limits),
        }
    }
}

/// The limits that a config sets, each in words of its own.
fn limited(limits: &PluginLimits) -> BTreeSet<String> {
    let PluginLimits {
        usd,
        requests,
        tokens,
        memory_mb,
        cpu_ms,
    } = limits;
    let counts = [
        ("requests", requests),
        ("tokens", tokens),
        ("memory_mb", memory_mb),
        ("cpu_ms", cpu_ms),
    ];
    let counts = counts
        .iter()
        .filter_map(|(name, limit)| Some(format!("{name} {}", limit.as_ref()?)));
    counts.chain(usd.map(|usd| format!("usd {usd}"))).collect()
}

/// No two things have the same words: what a component says stands at their end, or as JSON.
fn wanted(wants: &Wants) -> BTreeSet<String> {
    let hosts = wants.hosts.iter().map(|host| format!("host {host}"));
    let of_config = wants.host_config_key.iter();
    let of_config = of_config.map(|key| format!("the host in the config's key {key}"));
    let credentials = wants.credentials.iter().map(|want| {
        let said = json!({
            "name": want.name,
            "env": want.env,
            "envConfigKey": want.env_config_key,
            "valueConfigKey": want.value_config_key,
            "scheme": want.scheme,
        });
        format!("credential {said}")
    });
    let settings = wants.settings.iter().map(|want| {
        let said = json!({ "env": want.env, "configKey": want.config_key });
        format!("setting {said}")
    });
    let llm = wants
        .llm
        .iter()
        .map(|(alias, _)| format!("provider {alias}"));
    let given = hosts.chain(of_config).chain(credentials);
    given.chain(settings).chain(llm).collect()
}

impl PluginSet {
    /// The components that the config names.
    pub fn third_party(&self) -> impl Iterator<Item = ThirdParty> {
        let foreign = self
            .plugins
            .iter()
            .filter_map(|plugin| match &plugin.trust {
                Trust::Foreign(Some(entry)) => Some(ThirdParty::new(plugin, entry)),
                Trust::Foreign(None) | Trust::Bundled => None,
            });
        foreign.chain(self.granted.values().map(ThirdParty::bundled))
    }
}

/// What components that run code of the plan need: nothing binds them.
pub(crate) fn interpreters(plan: &Plan, set: &PluginSet) -> Vec<Need> {
    let languages = plan.languages.iter();
    languages
        .filter_map(|name| interpreter(name, set))
        .collect()
}

/// What the component needs that runs this language.
pub(crate) fn interpreter(language: &str, set: &PluginSet) -> Option<Need> {
    let plugin = &set.plugins[*set.languages.get(language)?];
    match &plugin.trust {
        Trust::Foreign(Some(entry)) => {
            let granted = entry.permissions.clone();
            Some(component(plugin, Some(entry), granted, None))
        }
        Trust::Foreign(None) | Trust::Bundled => None,
    }
}

fn component(
    plugin: &LoadedPlugin,
    entry: Option<&PluginEntry>,
    grants: Permissions,
    not_granted: Option<String>,
) -> Need {
    let path = plugin.component.path();
    let named_by_flag = || Position {
        file: path.to_owned(),
        ..Position::default()
    };
    Need {
        request: TrustRequest {
            subject: TrustSubject::Component {
                alias: plugin.alias.clone(),
                source: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
                sha256: plugin.component.sha256().to_owned(),
                grants,
                terms: entry.map(terms).unwrap_or_default(),
            },
            origin: match entry {
                Some(_) => Author::Config,
                None => Author::Person,
            },
            at: entry.map_or_else(named_by_flag, |entry| entry.at.clone()),
        },
        not_granted,
    }
}

/// The entry under `plugins:` that names a component by `source` and grants what it wants.
pub fn entry_yaml(info: &Info, source: &str) -> String {
    let (wanted, _) = widened(&info.wants, &Permissions::default());
    yaml(&info.name, (source, None), &wanted)
}

/// The names by which a grade of this type asks models.
pub fn asked_for(info: &Info, assertion_type: &str) -> Vec<String> {
    let wants = Extras::of(info).wants_of_type(assertion_type, &info.wants);
    wants.llm.into_iter().map(|(alias, _)| alias).collect()
}

/// What is granted together with what the plugin wants beyond it, and that in words.
fn widened(wants: &Wants, granted: &Permissions) -> (Permissions, Vec<String>) {
    let mut missing = Vec::new();
    let mut wide = granted.clone();
    let patterns: Vec<_> = granted
        .hosts
        .iter()
        .map(|it| OriginPattern::parse(it))
        .collect();
    for host in &wants.hosts {
        // As origins: what stands there with another case, a usual port or a slash is the same.
        let is_met = OriginPattern::parse(host).is_ok_and(|wanted| {
            let mut granted = patterns.iter().flatten();
            granted.any(|granted| granted.meets(&wanted))
        });
        if !is_met && !granted.hosts.contains(host) {
            missing.push(format!("the address {}", said(host)));
            wide.hosts.push(host.clone());
        }
    }
    for want in &wants.credentials {
        if !granted.credentials.contains_key(&want.name) {
            let (name, reason) = (said(&want.name), said(&want.reason));
            missing.push(format!("the credential '{name}' ({reason})"));
            let grant = CredentialGrant {
                env: want.env.clone(),
                scheme: want.scheme.clone(),
                hosts: wants.hosts.clone(),
            };
            wide.credentials.insert(want.name.clone(), grant);
        }
    }
    for (alias, reason) in &wants.llm {
        if !granted.llm.contains(alias) {
            let (alias_said, reason) = (said(alias), said(reason));
            missing.push(format!("to ask the provider '{alias_said}' ({reason})"));
            wide.llm.push(alias.clone());
        }
    }
    (wide, missing)
}
