//! What a component says about itself: its name, what it serves, what it asks for.
//!
//! The records are the contract's own ([`Info`], [`Wants`]), with a constructor for what every
//! plugin has and a method for each thing it may add. What is asked for here is text for the
//! person who grants it; it grants nothing.

use serde_json::{Map, Value, json};

use crate::wire::meta::exports::runner::plugin::meta as wire;

pub use wire::{AssertionType, CredentialWant, Info, Inputs, SettingWant, Wants};

/// An [`Info`] with the version and the licence of the package that says it.
#[macro_export]
macro_rules! package_info {
    ($name:expr, $description:expr $(,)?) => {
        $crate::Info::new($name, env!("CARGO_PKG_VERSION"), $description)
            .license(env!("CARGO_PKG_LICENSE"))
    };
}

impl Info {
    /// A plugin that serves nothing and wants nothing yet. `name` is lower-case kebab and the
    /// default alias in configs; `version` is usually `env!("CARGO_PKG_VERSION")`.
    pub fn new(name: &str, version: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            description: description.to_owned(),
            homepage: None,
            license: None,
            provider_prefixes: Vec::new(),
            assertion_types: Vec::new(),
            wants: Wants {
                hosts: Vec::new(),
                host_config_key: None,
                credentials: Vec::new(),
                settings: Vec::new(),
                llm: Vec::new(),
            },
            config_schema_json: None,
            metadata_json: None,
        }
    }

    /// Adds a homepage.
    #[must_use]
    pub fn homepage(mut self, url: &str) -> Self {
        self.homepage = Some(url.to_owned());
        self
    }

    /// Adds a licence, as an SPDX expression.
    #[must_use]
    pub fn license(mut self, license: &str) -> Self {
        self.license = Some(license.to_owned());
        self
    }

    /// Serves provider ids that are `prefix` alone or begin with it and a colon.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.provider_prefixes.push(prefix.to_owned());
        self
    }

    /// Serves an assertion type that takes any value and reads the answer alone.
    #[must_use]
    pub fn assertion(self, name: &str) -> Self {
        self.assertion_type(AssertionType::new(name))
    }

    /// Serves an assertion type.
    #[must_use]
    pub fn assertion_type(mut self, kind: AssertionType) -> Self {
        self.assertion_types.push(kind);
        self
    }

    /// Wants to reach an origin, for example `https://api.example.com`.
    #[must_use]
    pub fn host(mut self, origin: &str) -> Self {
        self.wants.hosts.push(origin.to_owned());
        self
    }

    /// Says at which address of a wanted origin the API is, for example `https://api.example.com/v1`.
    /// Where a config names another path there, the secret goes to it if the user agrees.
    ///
    /// # Panics
    /// If `metadata_json` was set to something else than a JSON object.
    #[must_use]
    pub fn base(self, address: &str) -> Self {
        self.listed("bases", address)
    }

    /// Names the config key whose URL replaces the wanted origins.
    #[must_use]
    pub fn host_from(mut self, config_key: &str) -> Self {
        self.wants.host_config_key = Some(config_key.to_owned());
        self
    }

    /// Wants a secret to be added to its requests.
    #[must_use]
    pub fn credential(mut self, want: CredentialWant) -> Self {
        self.wants.credentials.push(want);
        self
    }

    /// Wants an environment variable to fill a config key that the config leaves out.
    #[must_use]
    pub fn setting(mut self, env: &str, config_key: &str) -> Self {
        self.wants.settings.push(SettingWant {
            env: env.to_owned(),
            config_key: config_key.to_owned(),
        });
        self
    }

    /// Wants to ask a model of the run under this alias.
    #[must_use]
    pub fn llm(mut self, alias: &str, reason: &str) -> Self {
        self.wants.llm.push((alias.to_owned(), reason.to_owned()));
        self
    }

    /// Sets the JSON Schema (2020-12) of a provider's `config`.
    #[must_use]
    pub fn config_schema(mut self, schema: &Value) -> Self {
        self.config_schema_json = Some(schema.to_string());
        self
    }

    /// Names another variable that may hold a wanted secret. It is looked at where those named
    /// before it are not set.
    #[must_use]
    pub fn further_env(self, credential: &str, env: &str) -> Self {
        self.extra("credentialEnvs", json!({}), |envs| {
            if let Some(envs) = envs.as_object_mut() {
                let list = envs.entry(credential).or_insert(json!([]));
                list.as_array_mut()
                    .expect("only made here")
                    .push(json!(env));
            }
        })
    }

    /// Lets a wanted secret be missing. Where it has no value the plugin finds its name in the
    /// list `$without` of its config, and must not name it in requests.
    #[must_use]
    pub fn credential_if_set(self, credential: &str) -> Self {
        self.listed("credentialsIfSet", credential)
    }

    /// Lets another wanted secret, named before it, take the place of this one: where that has a
    /// value, this one is neither needed nor granted.
    #[must_use]
    pub fn credential_unless(self, credential: &str, other: &str) -> Self {
        self.extra("credentialsUnless", json!({}), |unless| {
            unless[credential] = json!(other);
        })
    }

    /// Says which of the wanted hosts, credentials and settings (by their variables) a provider
    /// of this prefix uses. All others are kept from it: they are neither asked for nor granted.
    /// A prefix of which nothing is said gets everything that is wanted. `prefix:first` says it
    /// of targets whose name begins with that part alone.
    #[must_use]
    pub fn wants_of(
        self,
        prefix: &str,
        hosts: &[&str],
        credentials: &[&str],
        settings: &[&str],
    ) -> Self {
        let part = json!({ "hosts": hosts, "credentials": credentials, "settings": settings });
        self.extra("wantsOf", json!({}), |all| all[prefix] = part)
    }

    /// Says which of the wanted hosts, credentials and models (by their aliases) a grade of this type uses. All
    /// others are kept from it: they are neither asked for nor granted. A type of which nothing is said gets
    /// everything that is wanted.
    #[must_use]
    pub fn wants_of_type(
        self,
        assertion_type: &str,
        hosts: &[&str],
        credentials: &[&str],
        llm: &[&str],
    ) -> Self {
        let part = json!({ "hosts": hosts, "credentials": credentials, "llm": llm });
        let key = format!("assertion:{assertion_type}");
        self.extra("wantsOf", json!({}), |all| all[key] = part)
    }

    /// Says at which address a provider whose id begins with `first` (`prefix:part`) is asked, where the
    /// wanted origin is shared by strangers: `{key}` in it stands for a text of the config. Nothing
    /// beside it can be reached. `lends` says that the secrets are another company's than the origin:
    /// they go there if the user agrees to that address.
    ///
    /// # Panics
    /// If `metadata_json` was set to something else than a JSON object.
    #[must_use]
    pub fn shared(self, first: &str, address: &str, lends: bool) -> Self {
        let shared = json!({ "address": address, "lends": lends });
        self.extra("shared", json!({}), |all| all[first] = shared)
    }

    /// Lets the host hand over the id of a provider with the config that is checked. Whatever
    /// exports a [`Provider`](crate::Provider) says it by itself.
    pub(crate) fn checks_targets(self) -> Self {
        self.listed("checks", "target")
    }

    /// Lets the host hand over the values of assertions before the run: see
    /// [`Assertion::check_value`](crate::Assertion::check_value).
    #[must_use]
    pub fn checks_values(self) -> Self {
        self.listed("checks", "values")
    }

    /// Runs code in a language, which files with one of these extensions (without dot) hold.
    /// For a [`crate::Script`].
    ///
    /// # Panics
    /// If `metadata_json` was set to something else than a JSON object.
    #[must_use]
    pub fn script_language(self, name: &str, extensions: &[&str]) -> Self {
        self.extra("script-languages", json!([]), |languages| {
            if let Some(list) = languages.as_array_mut() {
                list.push(json!({ "name": name, "extensions": extensions }));
            }
        })
    }

    /// Adds a name to a list in `metadata_json`, once.
    fn listed(self, key: &str, name: &str) -> Self {
        self.extra(key, json!([]), |list| {
            if let Some(list) = list.as_array_mut()
                && !list.contains(&json!(name))
            {
                list.push(json!(name));
            }
        })
    }

    /// Edits a member of `metadata_json`, which is `empty` before.
    fn extra(mut self, key: &str, empty: Value, edit: impl FnOnce(&mut Value)) -> Self {
        let mut metadata: Map<String, Value> = self
            .metadata_json
            .map(|text| serde_json::from_str(&text).expect("the metadata is a JSON object"))
            .unwrap_or_default();
        edit(metadata.entry(key).or_insert(empty));
        self.metadata_json = Some(Value::Object(metadata).to_string());
        self
    }

    /// Both halves of a component that is a provider and a grader: the first names it, what
    /// they serve and want is joined.
    ///
    /// A type of the grader's has the grader's wants alone.
    pub(crate) fn joined(mut self, other: Self) -> Self {
        let said = other.metadata_json.as_deref();
        let said: Value = said
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let aliases: Vec<&String> = other.wants.llm.iter().map(|(alias, _)| alias).collect();
        let names: Vec<&String> = other.wants.credentials.iter().map(|it| &it.name).collect();
        let all = json!({ "hosts": other.wants.hosts, "credentials": names, "llm": aliases });
        for served in &other.assertion_types {
            let key = format!("assertion:{}", served.name);
            let part = said["wantsOf"].get(&key).unwrap_or(&all).clone();
            self = self.extra("wantsOf", json!({}), |all| all[key] = part);
        }
        add(&mut self.provider_prefixes, other.provider_prefixes);
        add(&mut self.assertion_types, other.assertion_types);
        self.wants.join(other.wants);
        self.config_schema_json = self.config_schema_json.or(other.config_schema_json);
        self
    }
}

/// Adds what is new: both halves may be one type that says everything twice.
fn add<T: PartialEq>(to: &mut Vec<T>, from: Vec<T>) {
    for item in from {
        if !to.contains(&item) {
            to.push(item);
        }
    }
}

impl Wants {
    fn join(&mut self, other: Self) {
        add(&mut self.hosts, other.hosts);
        add(&mut self.credentials, other.credentials);
        add(&mut self.settings, other.settings);
        add(&mut self.llm, other.llm);
        self.host_config_key = self.host_config_key.take().or(other.host_config_key);
    }
}

impl AssertionType {
    /// A type that takes any value and reads the answer alone. The host adds `not-`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            value_schema_json: None,
            reads: Inputs::empty(),
        }
    }

    /// Sets the JSON Schema (2020-12) of the assertion's `value`. It is checked when the
    /// config is loaded, before templates are filled in: let it accept a string wherever a
    /// template may stand.
    #[must_use]
    pub fn value_schema(mut self, schema: &Value) -> Self {
        self.value_schema_json = Some(schema.to_string());
        self
    }

    /// Asks for parts of the input beyond the answer; what is not asked for arrives empty.
    #[must_use]
    pub fn reads(mut self, inputs: Inputs) -> Self {
        self.reads = self.reads | inputs;
        self
    }
}

impl CredentialWant {
    /// A secret sent as `Authorization: Bearer …`, usually held by the variable `env`.
    pub fn bearer(name: &str, env: &str, reason: &str) -> Self {
        Self::new(name, env, "bearer", reason)
    }

    /// A secret sent as a header of its own.
    pub fn header(name: &str, env: &str, header: &str, reason: &str) -> Self {
        Self::new(name, env, &format!("header:{header}"), reason)
    }

    /// A secret with any scheme: "bearer", "basic", "header:NAME", "query:NAME",
    /// "aws-sigv4:SERVICE" or "google-adc".
    pub fn new(name: &str, env: &str, scheme: &str, reason: &str) -> Self {
        Self {
            name: name.to_owned(),
            reason: reason.to_owned(),
            env: env.to_owned(),
            env_config_key: None,
            value_config_key: None,
            scheme: scheme.to_owned(),
        }
    }

    /// Names the config key by which a user may name another variable.
    #[must_use]
    pub fn env_key(mut self, config_key: &str) -> Self {
        self.env_config_key = Some(config_key.to_owned());
        self
    }

    /// Names the config key by which a user may give the value itself. The host takes it out
    /// of the config before the plugin sees it.
    #[must_use]
    pub fn value_key(mut self, config_key: &str) -> Self {
        self.value_config_key = Some(config_key.to_owned());
        self
    }
}
