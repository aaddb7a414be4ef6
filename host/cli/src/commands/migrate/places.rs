//! A place of a config, and what can be asked about it.

use serde_json::Value;

/// A value of the config, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigValue<'a> {
    /// The keys above it and its own, outermost first; those of lists are left out.
    pub(super) path: &'a [&'a str],
    /// Its key, or that of the list that it is in.
    pub(super) key: &'a str,
    pub(super) value: &'a Value,
    /// The map that it is in.
    pub(super) beside: Option<&'a Value>,
}

impl ConfigValue<'_> {
    /// It stands under one of these keys, and is not switched off.
    pub(super) fn is_key(&self, keys: &[&str]) -> bool {
        keys.contains(&self.key) && is_set(self.value) && !self.is_variable()
    }

    /// A key above it, or its own.
    pub(super) fn is_below(&self, key: &str) -> bool {
        self.path.contains(&key)
    }

    /// It is the type of an assertion, one of these or its opposite.
    pub(super) fn is_type(&self, types: &[&str]) -> bool {
        let kind = self.text();
        self.key == "type" && types.contains(&kind.strip_prefix("not-").unwrap_or(kind))
    }

    /// It is the value of an assertion of one of these types.
    pub(super) fn is_value_of(&self, types: &[&str]) -> bool {
        self.key == "value" && self.is_beside_type(types)
    }

    /// The assertion that it is in has one of these types.
    pub(super) fn is_beside_type(&self, types: &[&str]) -> bool {
        let kind = self.beside.and_then(|map| map.get("type")?.as_str());
        kind.is_some_and(|kind| types.contains(&kind.strip_prefix("not-").unwrap_or(kind)))
    }

    /// It is a provider's id.
    pub(super) fn is_provider(&self) -> bool {
        let is_there = ["providers", "targets", "provider"];
        let is_id = is_there.contains(&self.key) || self.key == "id";
        is_id && is_there.iter().any(|key| self.is_below(key)) && self.value.is_string()
    }

    /// It is a variable of a test.
    pub(super) fn is_variable(&self) -> bool {
        self.path.len() > 1 && self.path[self.path.len() - 2] == "vars"
    }

    /// It is written in a test, and no file of tests.
    pub(super) fn is_in_test(&self) -> bool {
        let depth = self.path.len();
        depth > 1 && ["tests", "defaultTest"].contains(&self.path[depth - 2])
    }

    pub(super) fn is_exactly(&self, texts: &[&str]) -> bool {
        texts.contains(&self.text())
    }

    pub(super) fn begins(&self, beginnings: &[&str]) -> bool {
        beginnings.iter().any(|it| self.text().starts_with(it))
    }

    pub(super) fn ends(&self, endings: &[&str]) -> bool {
        endings.iter().any(|it| self.text().ends_with(it))
    }

    pub(super) fn contains(&self, parts: &[&str]) -> bool {
        parts.iter().any(|it| self.text().contains(it))
    }

    /// One line that ends in the name of such a file, perhaps with a function.
    pub(super) fn names_file(&self, endings: &[&str]) -> bool {
        let text = self.text();
        let file = text.strip_prefix("file://").unwrap_or(text);
        let file = file.split(['#', '?']).next().unwrap_or_default();
        let (before, after) = file.rsplit_once(':').unwrap_or((file, ""));
        let is_such = |name: &str| endings.iter().any(|it| name.ends_with(it));
        let is_name = !after.contains(['/', '\\', '.', ' ']);
        !text.contains(['\n', ' ']) && (is_such(file) || is_name && is_such(before))
    }

    /// It is a template with one of these in a place that is filled in.
    pub(super) fn fills_in(&self, parts: &[&str]) -> bool {
        let places = self.text().split("{{").skip(1);
        let mut inner = places.filter_map(|it| Some(it.split_once("}}")?.0));
        inner.any(|inner| parts.iter().any(|it| inner.contains(it)))
    }

    fn text(&self) -> &str {
        self.value.as_str().unwrap_or_default()
    }
}

/// Whether a value is worth a look: a key alone says nothing where it is switched off.
fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value != &Value::from(0)
}
