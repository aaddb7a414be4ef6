//! Filling in a case's templates: its prompt, the values of its assertions, its metrics.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::order::template_names;
use super::{Assertion, Case, Rendered};
use crate::chat;
use crate::template::{Prepared, RenderError, is_plain, render_once};

impl Case {
    /// The prompt with this case's variables. A test's `prefix` and `suffix` are part of the
    /// template.
    ///
    /// # Errors
    /// When the template can't be filled in, or is a chat in broken YAML.
    pub fn render(&self) -> Result<Rendered, RenderError> {
        let option = |name: &str| {
            self.test
                .options
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (prefix, suffix) = (option("prefix"), option("suffix"));
        let prompt = &self.column.prompt;
        let (text, json) = if prefix.is_empty() && suffix.is_empty() {
            prompt.prepared.render(&self.scope)?
        } else {
            let text = format!("{prefix}{}{suffix}", prompt.raw);
            Prepared::new(&text, Some(&prompt.env))?.render(&self.scope)?
        };
        let messages = chat::messages(&text, json)?;
        let config = Map::new();
        Ok(Rendered {
            text,
            messages,
            config,
        })
    }

    /// The prompt that a function made, filled in like one of the config, with the options that
    /// it made for the provider. A text that is no template after all stays as it is: it may
    /// hold data.
    ///
    /// # Errors
    /// When the template can't be filled in, or is a chat in broken YAML.
    pub fn render_made(
        &self,
        made: &str,
        config: Map<String, Value>,
    ) -> Result<Rendered, RenderError> {
        let (text, json) = match Prepared::new(made, Some(&self.column.prompt.env)) {
            Ok(prepared) => prepared.render(&self.scope)?,
            Err(_) => (made.to_owned(), None),
        };
        let messages = chat::messages(&text, json)?;
        Ok(Rendered {
            text,
            messages,
            config,
        })
    }

    /// Takes the values that code made for variables, and fills in the variables that read them.
    pub fn take_made(&mut self, made: Map<String, Value>) {
        let reads_made = |text: &str| template_names(text).any(|name| made.contains_key(&name));
        let late = self.vars.iter().filter_map(|(name, value)| {
            let text = value.as_str().filter(|text| reads_made(text))?;
            (!made.contains_key(name)).then(|| (name.clone(), text.to_owned()))
        });
        let late: Vec<(String, String)> = late.collect();
        self.add_vars(made);
        let fill = |(name, text): (String, String)| {
            let filled = render_once(&text, &self.scope).ok()?;
            Some((name, Value::String(filled)))
        };
        let filled: Map<String, Value> = late.into_iter().filter_map(fill).collect();
        self.add_vars(filled);
    }

    /// Adds variables, over those of the same name.
    pub fn add_vars(&mut self, more: Map<String, Value>) {
        Arc::make_mut(&mut self.vars).extend(more.clone());
        Arc::make_mut(&mut self.scope).extend(more);
    }

    /// Takes what earlier cases left to this one, which wins over variables of the same name. A
    /// variable that reads some of it was left as written when the plan was walked, and is
    /// filled in now. What was left is a model's words and never read as a template.
    pub fn follow(&mut self, left: &Map<String, Value>) {
        let mut scope = (*self.vars).clone();
        scope.extend(left.clone());
        let scope = Arc::new(scope);
        let is_late = |text: &str| template_names(text).any(|name| left.contains_key(&name));
        let late = self.vars.iter().filter_map(|(name, value)| {
            let text = value.as_str().filter(|text| is_late(text))?;
            let filled = render_once(text, &scope).ok()?;
            (!left.contains_key(name)).then(|| (name.clone(), Value::String(filled)))
        });
        let late: Map<String, Value> = late.collect();
        let mut scope = scope;
        Arc::make_mut(&mut scope).extend(late);
        self.scope = scope;
    }

    /// A short template such as a metric's name; as written if it can't be filled in.
    pub fn render_text(&self, template: &str) -> String {
        render_once(template, &self.scope).unwrap_or_else(|_| template.to_owned())
    }
}

impl Assertion {
    /// `value` with `vars` filled in: a string, and the strings of a list, are templates. A map
    /// is not, so that a schema can say `{{` and mean it.
    ///
    /// # Errors
    /// When a template can't be filled in.
    pub fn render_value(&self, vars: &Map<String, Value>) -> Result<Option<Value>, RenderError> {
        let is_template = |value: &Value| value.as_str().is_some_and(|text| !is_plain(text));
        let render = |value: &Value, vars: &Arc<Map<String, Value>>| match value {
            Value::String(text) => render_once(text, vars).map(Value::String),
            other => Ok(other.clone()),
        };
        match &self.value {
            Some(value) if is_template(value) => render(value, &Arc::new(vars.clone())).map(Some),
            Some(Value::Array(items)) if items.iter().any(is_template) => {
                let vars = Arc::new(vars.clone());
                items
                    .iter()
                    .map(|item| render(item, &vars))
                    .collect::<Result<Value, _>>()
                    .map(Some)
            }
            plain => Ok(plain.clone()),
        }
    }

    /// `metric` with `vars` filled in; as written if that can't be done.
    pub fn render_metric(&self, vars: &Map<String, Value>) -> Option<String> {
        let metric = self.metric.as_deref()?;
        Some(render_once(metric, &Arc::new(vars.clone())).unwrap_or_else(|_| metric.to_owned()))
    }
}

#[cfg(test)]
mod tests;
