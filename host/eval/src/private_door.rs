//! What a plugin says of itself in `info.metadata-json`, where the contract has no word for it.

use runner_sandbox::abi::Wants;
use serde_json::{Map, Value};

use super::LoadedPlugin;

/// Where a plugin finds the names of credentials that are missing; never the user's to write.
pub(super) const WITHOUT: &str = "$without";

/// The plugin's `metadata-json`.
pub(super) struct Extras(Value);

impl Extras {
    pub(super) fn of(plugin: &LoadedPlugin) -> Self {
        let text = plugin.component.info().metadata_json.as_deref();
        let extras = text.and_then(|text| serde_json::from_str(text).ok());
        Self(extras.unwrap_or_default())
    }

    /// Whether a credential that it wants may be missing (`optionalCredentials`).
    pub(super) fn can_do_without(&self, credential: &str) -> bool {
        self.lists("optionalCredentials", credential)
    }

    /// Whether a credential is sent only where it is set (`credentialsIfSet`). The plugin is told
    /// which are not, see [`without`].
    pub(super) fn if_set(&self, credential: &str) -> bool {
        self.lists("credentialsIfSet", credential)
    }

    /// Further variables that may hold a credential, in order (`credentialEnvs`).
    pub(super) fn further_envs(&self, credential: &str) -> impl Iterator<Item = &str> {
        let envs = self.0["credentialEnvs"][credential].as_array();
        envs.into_iter().flatten().filter_map(Value::as_str)
    }

    /// What of its wants a provider of this prefix uses (`wantsOf`); everything where nothing is
    /// said of the prefix. It only ever takes away.
    pub(super) fn wants_of(&self, prefix: &str, wants: &Wants) -> Wants {
        let mut wants = wants.clone();
        if let Some(part) = self.0["wantsOf"].get(prefix) {
            let lists = |key: &str, name: &str| {
                let mut names = part[key].as_array().into_iter().flatten();
                names.any(|listed| listed.as_str() == Some(name))
            };
            wants.hosts.retain(|host| lists("hosts", host));
            wants
                .credentials
                .retain(|want| lists("credentials", &want.name));
            wants.settings.retain(|want| lists("settings", &want.env));
        }
        wants
    }

    /// Whether its check of a config reads the provider's id, too (`checks`: `target`).
    pub(super) fn checks_target(&self) -> bool {
        self.lists("checks", "target")
    }

    /// Whether it reads this of a case beyond the request (`reads`: `vars`).
    pub(super) fn reads(&self, what: &str) -> bool {
        self.lists("reads", what)
    }

    fn lists(&self, key: &str, name: &str) -> bool {
        let names = self.0[key].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).any(|listed| listed == name)
    }
}

/// Tells the plugin that a credential which may be missing is missing.
pub(super) fn without(config: &mut Map<String, Value>, credential: &str) {
    let names = config
        .entry(WITHOUT)
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(names) = names {
        names.push(Value::from(credential));
    }
}

/// Takes a secret out of the config. A key with a dot is a member of an object, in any case,
/// as names of headers are; there an empty text stays, so that the plugin sees that it was set.
pub(super) fn take(config: &mut Map<String, Value>, key: &str) -> Option<Value> {
    let Some((outer, inner)) = key.split_once('.') else {
        return config.remove(key);
    };
    let members = config.get_mut(outer)?.as_object_mut()?;
    let member = members
        .iter_mut()
        .find(|(name, _)| name.eq_ignore_ascii_case(inner));
    let (_, value) = member?;
    Some(std::mem::replace(value, Value::String(String::new())))
}
