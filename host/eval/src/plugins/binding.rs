//! What a plugin may do for one provider or assertion type: asked ∩ granted.
//!
//! Made once per provider and type, before anything is spent. A bundled plugin is granted what
//! it asks for: its stated origins, or the one that the user configured as its base address. A
//! foreign one gets what `foreign` says.
//!
//! Secrets are taken out of the config and the environment here. The guest gets the config
//! without them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runner_config::TextOrigin as Author;
use runner_config::plan::{Code, EnvRead, Provider, ProviderProgram};
use runner_gateway::{Credential, Grants, Payers, Scheduling};
use runner_sandbox::CallLimits;
use runner_sandbox::abi::{self, Inputs, Wants};
use serde_json::{Map, Value, json};

use super::auth::Auth;
use super::aws;
use super::bind_error::BindError;
use super::binder::{Binder, Bound, digest, granted_json, patterns, reads};
use super::bounds::{call_limits, scheduling};
use super::configured;
use super::foreign::hide_keys;
use super::held_keys::{HeldKeys, header_secrets};
use super::loaded::{LoadedPlugin, Trust};
use super::price::price;
use super::target::{ByPlugin, ConfigProvider, ExecutionMode, ProviderBackend, Target};
use super::ways::{Address, AddressSource, ReachableOrigin};
use crate::private_door::{self, Extras};

/// An assertion type of the plan, ready to be called.
#[derive(Debug)]
pub(crate) struct Grader {
    pub(crate) plugin: Arc<LoadedPlugin>,
    /// What the plugin calls the type.
    pub(crate) kind: String,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: CallLimits,
    pub(crate) scheduling: Arc<Scheduling>,
    /// What it reads of an input beyond output and value.
    pub(crate) reads: Inputs,
    /// Targets that it may ask.
    pub(crate) llm: Vec<String>,
    /// Whose budgets pay, if any.
    pub(crate) payers: Option<Payers>,
}

impl Binder<'_> {
    /// Binds a provider.
    ///
    /// # Panics
    /// If no plugin serves its prefix; the config was checked against the catalogue.
    pub(crate) fn target(&self, provider: &Provider) -> Result<Target, BindError> {
        if let Some(program) = &provider.program {
            return Ok(self.own(provider, program));
        }
        let (plugin, prefix) = self
            .set
            .by_prefix(&provider.prefix)
            .expect("the plan names only prefixes that exist");
        let plugin = plugin.clone();
        let mut config = provider.config.clone();
        private_door::close(&mut config);
        if provider.code.response.is_some() {
            private_door::ask_for_body(&mut config);
        }
        let extras = Extras::of(plugin.component.info());
        let all = &plugin.component.info().wants;
        let wants = &extras.wants_of(prefix, &provider.name, all);
        let mut takes = provider.env_reads.clone();
        if matches!(plugin.trust, Trust::Bundled) {
            takes.extend(self.settings(provider, wants, &mut config));
        }
        // An id that is itself an address (`https://api.example.com/chat`) is the one meant.
        if let Some(key) = &wants.host_config_key
            && !config.contains_key(key)
            && (provider.id.starts_with("https://") || provider.id.starts_with("http://"))
        {
            config.insert(key.clone(), Value::String(provider.id.clone()));
        }
        let bound = match &plugin.trust {
            Trust::Bundled => self.bundled(&plugin, wants, provider, &mut config, takes)?,
            Trust::Foreign(_) => {
                hide_keys(wants, &mut config);
                self.foreign(&plugin, wants, Some(provider))?
            }
        };
        let config = Value::Object(config);
        let limits = call_limits(&plugin, CallLimits::provider());
        let price = price(provider, self.prices);
        Ok(Target {
            id: provider.id.clone(),
            payers: self.budgets.of_provider(provider, Some(&plugin), price),
            price,
            answers: ProviderBackend::Component(ByPlugin {
                abi: abi::Target {
                    // By its own prefix, whatever the config calls that.
                    id: provider.id.replacen(&provider.prefix, prefix, 1),
                    name: provider.name.clone(),
                    config_json: config.to_string(),
                },
                grants: Arc::new(bound.grants),
                limits,
                code: provider.code.clone(),
                // They hold what is expected, which a stranger could answer with.
                reads_vars: matches!(plugin.trust, Trust::Bundled) && extras.reads("vars"),
                checks_itself: extras.checks_target(),
                may_see_config: bound.may_see_config,
                plugin,
            }),
            grants_digest: bound.digest,
            scheduling: Arc::new(scheduling(Some(provider), self.lanes)),
            delay: provider.delay.or(self.delay),
        })
    }

    /// Puts what the environment sets into a config that leaves it out; gives the variables that were
    /// taken for that.
    fn settings(
        &self,
        provider: &Provider,
        wants: &Wants,
        config: &mut Map<String, Value>,
    ) -> Vec<EnvRead> {
        let mut takes = Vec::new();
        for setting in &wants.settings {
            if !config.contains_key(&setting.config_key)
                && let Some(found) = self.variable(provider, &setting.env)
            {
                takes.extend(reads(found.takes, &provider.at));
                config.insert(setting.config_key.clone(), Value::String(found.value));
            }
        }
        takes
    }

    /// Binds a provider that is code of the config, or a command.
    fn own(&self, provider: &Provider, program: &ProviderProgram) -> Target {
        let env = &provider.env;
        let runs = match program {
            ProviderProgram::Command(process) => {
                ExecutionMode::Command(self.programs.callee(process, None, env))
            }
            ProviderProgram::Code(script) => {
                if let (Some(process), Code::File { files, .. }) = (&script.process, &script.code) {
                    let callee = self.programs.callee(process, Some(files), env);
                    ExecutionMode::Outside(callee, script.clone())
                } else {
                    self.noted.read_by_code(&provider.env_reads);
                    ExecutionMode::Sandboxed(script.clone())
                }
            }
        };
        let usual = scheduling(Some(provider), self.lanes);
        let scheduling = match &runs {
            ExecutionMode::Sandboxed(_) => usual,
            ExecutionMode::Outside(callee, _) | ExecutionMode::Command(callee) => {
                callee.bound(usual)
            }
        };
        let price = price(provider, self.prices);
        let grants_digest = match &runs {
            ExecutionMode::Sandboxed(script) => self.provider_code(provider, script),
            ExecutionMode::Outside(..) | ExecutionMode::Command(_) => String::new(),
        };
        Target {
            id: provider.id.clone(),
            payers: self.budgets.of_provider(provider, None, price),
            price,
            answers: ProviderBackend::Own(ConfigProvider {
                runs,
                label: provider.label.clone(),
                config: provider.config.clone(),
            }),
            grants_digest,
            scheduling: Arc::new(scheduling),
            delay: provider.delay.or(self.delay),
        }
    }

    /// Binds an assertion type.
    ///
    /// # Panics
    /// If no plugin serves it; the config was checked against the catalogue.
    pub(crate) fn grader(&self, assertion_type: &str) -> Result<Grader, BindError> {
        let (plugin, own) = self
            .set
            .by_type(assertion_type)
            .expect("the plan names only types that exist");
        let plugin = plugin.clone();
        let mut types = plugin.component.info().assertion_types.iter();
        let served = types.find(|served| served.name == own);
        let reads = served.expect("the set was made from this list").reads;
        let bound = match &plugin.trust {
            Trust::Bundled => self.bundled_grader(&plugin)?,
            Trust::Foreign(_) => {
                let info = plugin.component.info();
                let wants = Extras::of(info).wants_of_type(own, &info.wants);
                self.foreign(&plugin, &wants, None)?
            }
        };
        let limits = call_limits(&plugin, CallLimits::assertion());
        Ok(Grader {
            kind: own.to_owned(),
            payers: self.budgets.of_grader(&plugin),
            grants: Arc::new(bound.grants),
            limits,
            scheduling: Arc::new(scheduling(None, self.lanes)),
            reads,
            llm: bound.llm,
            plugin,
        })
    }

    /// A grader of the bundle may ask the models that it wants, and reach what the config grants.
    fn bundled_grader(&self, plugin: &LoadedPlugin) -> Result<Bound, BindError> {
        let entry = self.set.granted(&plugin.alias);
        let hosts = match entry {
            Some(entry) => patterns(&entry.permissions.hosts, |at| {
                entry.at_of(&format!("/permissions/hosts/{at}"))
            })?,
            None => Vec::new(),
        };
        if let Some(entry) = entry {
            self.granted_ways(&hosts, &entry.at, &[]);
        }
        let granted = entry.map(|entry| granted_json(&entry.permissions));
        let asks = plugin.component.info().wants.llm.iter();
        Ok(Bound {
            grants: Grants::new(plugin.alias.clone(), hosts, BTreeMap::new()),
            digest: digest(&granted.unwrap_or_else(|| json!({}))),
            llm: asks.map(|(alias, _)| alias.clone()).collect(),
            may_see_config: true,
        })
    }

    fn bundled(
        &self,
        plugin: &LoadedPlugin,
        wants: &Wants,
        provider: &Provider,
        config: &mut Map<String, Value>,
        mut takes: Vec<EnvRead>,
    ) -> Result<Bound, BindError> {
        let extras = Extras::of(plugin.component.info());
        let address = self.address(wants, &extras, provider, config)?;
        // Before the credentials, which are no part of it.
        let named_by = address.named_by(&takes);
        let hosts = &address.patterns;
        let mut credentials = BTreeMap::new();
        let keyless = config.get("apiKeyRequired") == Some(&Value::Bool(false));
        if let Some(name) = extras.of_auth()
            && let Some(auth) = Auth::take(provider, config)?
        {
            if let Some(way) = auth.way(provider, &takes) {
                self.noted.way(way);
            }
            credentials.insert(name.to_owned(), auth.credential(hosts));
        }
        let keys = HeldKeys::take(provider, config, extras.of_auth().is_some())?;
        let settings = wants.settings.iter().map(|setting| setting.env.clone());
        let mut own: BTreeSet<String> = settings.collect();
        for want in &wants.credentials {
            if credentials.contains_key(&want.name) {
                continue;
            }
            let if_set = extras.if_set(&want.name);
            let is_replaced = extras.unless(&want.name).is_some_and(|other| {
                let other = credentials.get(other);
                other.is_some_and(|it: &Credential| it.secret.is_some())
            });
            let may_lack = if_set || is_replaced || extras.can_do_without(&want.name);
            let needed = !keyless && !may_lack;
            let envs: Vec<&str> = [want.env.as_str()]
                .into_iter()
                .chain(extras.further_envs(&want.name))
                .collect();
            let (credential, made_of) =
                self.wanted_credential(provider, want, &envs, config, hosts, needed)?;
            if is_replaced {
                continue;
            }
            if let Some(way) = self.way_to_google(provider, want, &credential, &takes) {
                self.noted.way(way);
            }
            takes.extend(reads(made_of, &address.at));
            if !address.lends {
                own.extend(envs.into_iter().flat_map(aws::beside));
            }
            if if_set && credential.secret.is_none() {
                private_door::without(config, &want.name);
            }
            credentials.insert(want.name.clone(), credential);
        }
        let digest = keys.digest_of(hosts, &credentials);
        self.provider_ways(&address, provider, (&own, &takes, &named_by));
        self.noted.needs(keys.needs(provider, hosts));
        let grants = Grants::new(plugin.alias.clone(), address.patterns, credentials);
        let in_headers = header_secrets(provider, config, &self.filled_in)?;
        Ok(Bound {
            grants: keys.with(grants).with_header_secrets(in_headers),
            digest,
            llm: Vec::new(),
            may_see_config: true,
        })
    }

    /// Where a provider of the bundle sends its requests, and who says so: what the plugin
    /// states, or what was configured.
    fn address(
        &self,
        wants: &Wants,
        extras: &Extras,
        provider: &Provider,
        config: &Map<String, Value>,
    ) -> Result<Address, BindError> {
        let stated = patterns(&wants.hosts, |_| &provider.at)?;
        let key = wants.host_config_key.as_ref();
        let Some((key, address)) = key.and_then(|key| Some((key, config.get(key)?))) else {
            let shared = extras.shared(&provider.prefix, &provider.name);
            let to = shared
                .as_ref()
                .and_then(|it| configured::filled(&it.address, config));
            return Ok(Address {
                lends: shared.is_some_and(|shared| {
                    shared.lends
                        && !self.is_persons(configured::keys(&shared.address), wants, config)
                }),
                patterns: to.map_or(stated, |to| vec![to]),
                named: AddressSource::Vendor,
                at: provider.at.clone(),
                is_exact: false,
            });
        };
        let (to, url) = configured::read(key, address, &provider.at)?;
        let covers = |to| stated.iter().any(|pattern| pattern.covers(to).is_some());
        let is_stated = to
            .exact()
            .is_some_and(|to| covers(to) && !configured::is_shared(to))
            && configured::is_api(&url, extras.bases());
        // The person's own environment names it: a config that says the same adds nothing.
        let is_persons = self.is_persons([key.as_str()].into_iter(), wants, config);
        let is_written = provider.config.contains_key(key) || address == &provider.id;
        let by_flag = provider.origin == Author::Person && is_written;
        let named = if is_stated {
            AddressSource::Vendor
        } else if is_persons || by_flag {
            AddressSource::Person
        } else {
            AddressSource::Text
        };
        let at = provider.places.of(&format!("/{key}"));
        Ok(Address {
            patterns: vec![to],
            named,
            lends: false,
            is_exact: at.is_some(),
            at: at.unwrap_or(&provider.at).clone(),
        })
    }

    /// Whether a config says under each of these keys what a variable that the person exported for it
    /// says.
    fn is_persons<'k>(
        &self,
        mut keys: impl Iterator<Item = &'k str>,
        wants: &Wants,
        config: &Map<String, Value>,
    ) -> bool {
        keys.all(|key| {
            let said = config.get(key).and_then(Value::as_str);
            let mut settings = wants.settings.iter().filter(|it| it.config_key == key);
            said.is_some() && settings.any(|it| self.env.get(&it.env).map(String::as_str) == said)
        })
    }

    /// Notes what a provider of the bundle reaches: with the vendor's own variables, those that it
    /// takes, and those that its address is made of.
    fn provider_ways(
        &self,
        address: &Address,
        provider: &Provider,
        (own, takes, named_by): (&BTreeSet<String>, &[EnvRead], &[EnvRead]),
    ) {
        for to in &address.patterns {
            self.noted.way(ReachableOrigin {
                to: to.clone(),
                named: address.named,
                author: provider.origin.clone(),
                at: address.at.clone(),
                own: own.clone(),
                takes: takes.to_vec(),
                named_by: named_by.to_vec(),
            });
        }
    }
}
