//! What a plugin says of itself in `info.metadata-json`, where the contract has no word for it.

use serde_json::{Map, Value};

use super::LoadedPlugin;

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

    /// Whether it reads this of a case beyond the request (`reads`: `vars`).
    pub(super) fn reads(&self, what: &str) -> bool {
        self.lists("reads", what)
    }

    fn lists(&self, key: &str, name: &str) -> bool {
        let names = self.0[key].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).any(|listed| listed == name)
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
