//! Filling in a case's templates: its prompt, the values of its assertions, its metrics.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::order::template_names;
use super::variables::{MAX_LEFT, TooMuch, fill_late};
use super::{Assertion, Case, FilterCall, MadePrompt, Rendered, chat, weight};
use crate::model::WEBHOOK;
use crate::template::{
    FilledSize, Prepared, PromptContent, RenderError, Results, render_address, render_once,
};

mod foreign;
mod passed_on;

use foreign::Foreign;

/// Bytes of a name that a template makes.
const MAX_NAME: usize = 4 << 10;

impl Case {
    /// Renders the prompt with this case's variables. A test's `prefix` and `suffix` are part of the
    /// template; those of data are templates of their own, which see no `env`.
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
        let (text, content) = if prefix.is_empty() && suffix.is_empty() {
            prompt.prepared.render(&self.scope, Some(&self.results))?
        } else if self.test.affixes_see_env {
            let text = format!("{prefix}{}{suffix}", prompt.raw);
            let prepared = prompt.prepare(&text)?;
            prepared.render(&self.scope, Some(&self.results))?
        } else {
            let results = Some(&self.text_results);
            let before = render_once(prefix, &self.scope, results)?;
            let after = render_once(suffix, &self.scope, results)?;
            if before.trim().is_empty() && after.trim().is_empty() {
                // Still the messages that the config wrote, whose values are escaped.
                prompt.prepared.render(&self.scope, Some(&self.results))?
            } else {
                let (own, _) = prompt
                    .unescaped()?
                    .render(&self.scope, Some(&self.results))?;
                // What a row puts around a prompt makes no message.
                (format!("{before}{own}{after}"), PromptContent::Text)
            }
        };
        let messages = chat::messages(&text, content)?;
        let config = Map::new();
        Ok(Rendered {
            text,
            messages,
            config,
        })
    }

    /// Renders the prompt that a function made, filled in like one of the config. It may hold data, so it sees no `env`, and a text that is no
    /// template after all stays as it is. So do tags that are an earlier answer's, or of a variable that
    /// is what it says.
    ///
    /// # Errors
    /// When the template can't be filled in, or is a chat in broken YAML.
    pub fn render_made(&self, made: &MadePrompt) -> Result<Rendered, RenderError> {
        let shielded = self.foreign().shield(&made.text);
        let prepare = if self.column.prompt.escapes {
            Prepared::new
        } else {
            Prepared::unescaped
        };
        let prepared = shielded.map(|text| prepare(&text, None));
        let (text, content) = match prepared {
            Some(Ok(prepared)) if self.has_filters(&prepared) => {
                prepared.render(&self.scope, Some(&self.made_results))?
            }
            Some(Ok(_) | Err(_)) | None => (made.text.clone(), PromptContent::Open),
        };
        let may_break = made.is_text && self.column.prompt.escapes;
        let content = if may_break && passed_on::begins(&made.text, &self.scope)? {
            PromptContent::Text
        } else {
            content
        };
        let messages = chat::messages(&text, content)?;
        Ok(Rendered {
            text,
            messages,
            config: made.config.clone(),
        })
    }

    /// Texts among the variables that are never read as templates.
    fn foreign(&self) -> Foreign {
        let mut foreign = Foreign::default();
        let left = self.left.iter().flat_map(|left| left.values());
        left.for_each(|value| foreign.add(value));
        for (name, value) in &*self.scope {
            if self.test.axes.is_literal(name) || self.vars.get(name) != Some(value) {
                foreign.add(value);
            }
        }
        foreign
    }

    /// Takes the values that code made for variables, and fills in the variables that read them.
    pub fn take_made(&mut self, made: Map<String, Value>) {
        let reads_made = |text: &str| template_names(text).any(|name| made.contains_key(&name));
        let axes = &self.test.axes;
        let others = self.vars.iter().filter(|(name, _)| !axes.is_literal(name));
        let late = others.filter_map(|(name, value)| {
            let text = value.as_str().filter(|text| reads_made(text))?;
            (!made.contains_key(name)).then(|| (name.clone(), text.to_owned()))
        });
        let late: Vec<(String, String)> = late.collect();
        self.add_vars(made);
        let late = late.iter().map(|(name, text)| (&**name, &**text));
        let filled = fill_late(late, &self.scope, None);
        let filled = self.unless_refused(filled);
        self.add_vars(filled);
    }

    /// Puts other variables in the place of all; what earlier cases left stays over them.
    pub fn set_vars(&mut self, vars: Map<String, Value>) {
        let left = self.scope.iter();
        let left = left.filter(|(name, value)| self.vars.get(*name) != Some(*value));
        let left: Vec<(String, Value)> = left
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut scope = vars.clone();
        scope.extend(left);
        let same =
            |(name, _): &&(String, Arc<super::Script>)| vars.get(name) == self.vars.get(name);
        self.code_vars = self.code_vars.iter().filter(same).cloned().collect();
        self.vars = Arc::new(vars);
        self.scope = Arc::new(scope);
    }

    /// Adds variables, over those of the same name.
    pub fn add_vars(&mut self, more: Map<String, Value>) {
        Arc::make_mut(&mut self.vars).extend(more.clone());
        Arc::make_mut(&mut self.scope).extend(more);
    }

    /// Whether what earlier cases left is no more than one case is given.
    pub fn can_follow<'a>(left: impl Iterator<Item = &'a Value>) -> bool {
        left.map(weight::of_value).sum::<usize>() <= MAX_LEFT
    }

    /// Takes what earlier cases left to this one, which wins over variables of the same name.
    /// A variable that reads some of it was left as written when the plan was walked, and is filled in
    /// now. What was left is a model's words and never read as a template.
    pub fn follow(&mut self, left: &Map<String, Value>) {
        let mut scope = (*self.vars).clone();
        scope.extend(left.clone());
        let scope = Arc::new(scope);
        let is_late = |text: &str| template_names(text).any(|name| left.contains_key(&name));
        let late = self.vars.iter().filter_map(|(name, value)| {
            let text = value.as_str().filter(|text| is_late(text))?;
            (!left.contains_key(name)).then_some((&**name, text))
        });
        let filled = fill_late(late, &scope, None);
        self.scope = scope;
        self.has_others_words = true;
        // Code may hand them on as variables of its own making.
        self.left = Some(Arc::new(left.clone()));
        let filled = self.unless_refused(filled);
        Arc::make_mut(&mut self.scope).extend(filled);
    }

    /// Returns what was filled in; if that took too much, returns nothing and refuses the case.
    fn unless_refused(
        &mut self,
        filled: Result<Map<String, Value>, TooMuch>,
    ) -> Map<String, Value> {
        filled.unwrap_or_else(|refused| {
            self.refused = Some(refused);
            Map::new()
        })
    }

    /// Renders a short template such as a metric's name; as written if it can't be filled in, or would be
    /// no name any more.
    pub fn render_text(&self, template: &str) -> String {
        let rendered = render_once(template, &self.scope, Some(&self.text_results));
        let short = rendered.ok().filter(|text| text.len() <= MAX_NAME);
        short.unwrap_or_else(|| template.to_owned())
    }

    /// Renders the value of an assertion, filled in.
    ///
    /// # Errors
    /// When a template can't be filled in.
    pub fn render_value(&self, assertion: &Assertion) -> Result<Option<Value>, RenderError> {
        assertion.filled_in(&self.scope, Some(&self.text_results))
    }

    /// Fills in the variables that call filters of the config.
    pub fn fill_late_vars(&mut self) {
        let late = self.late_vars.iter().filter_map(|name| {
            let written = self.vars.get(name)?;
            // What an earlier case left under the name wins.
            let text = written
                .as_str()
                .filter(|_| self.scope.get(name) == Some(written))?;
            Some((&**name, text))
        });
        let filled = fill_late(late, &self.scope, Some(&self.text_results));
        let filled = self.unless_refused(filled);
        self.add_vars(filled);
    }

    /// Whether variables call filters of the config.
    pub fn has_late_vars(&self) -> bool {
        !self.late_vars.is_empty()
    }

    /// The calls of filters that renderings of this case wait for, since this was asked last.
    /// While there are any, nothing that was rendered is the last word: hand in what they give
    /// ([`Self::keep_filtered`]) and render again.
    pub fn wanted_filters(&self) -> Vec<FilterCall> {
        let wanted = self.all_results().map(Results::take_wanted);
        wanted.flatten().collect()
    }

    /// Takes what a filter gave, or why it gave nothing.
    pub fn keep_filtered(&self, call: &FilterCall, given: &Result<Value, String>) {
        for results in self.all_results() {
            results.keep(call, given.clone());
        }
    }

    /// What its texts are filled in with, each once.
    fn all_results(&self) -> impl Iterator<Item = &Results> {
        let all = [&self.results, &self.text_results, &self.made_results];
        let is_new = move |at: usize| !all[..at].iter().any(|other| Arc::ptr_eq(other, all[at]));
        (0..all.len())
            .filter(move |at| is_new(*at))
            .map(move |at| &**all[at])
    }

    /// Takes note that code made texts of the test anew: of others' words, where there are such.
    pub fn made_anew(&mut self) {
        self.text_results = self.made_results.clone();
    }

    /// Whether every filter that a text names exists.
    fn has_filters(&self, prepared: &Prepared) -> bool {
        let templates = prepared.templates();
        let mut named = templates.iter().flat_map(|template| template.custom());
        named.all(|name| self.made_results.has(&name))
    }
}

impl Assertion {
    /// `value` with `vars` filled in: a string, and the strings of a list, are templates. A map
    /// is not, so that a schema can say `{{` and mean it.
    ///
    /// # Errors
    /// When a template can't be filled in.
    pub fn render_value(&self, vars: &Map<String, Value>) -> Result<Option<Value>, RenderError> {
        self.filled_in(vars, None)
    }

    fn filled_in(
        &self,
        vars: &Map<String, Value>,
        results: Option<&Arc<Results>>,
    ) -> Result<Option<Value>, RenderError> {
        let render = |value: &Value| match value {
            // A row must not lead a request of the config elsewhere.
            Value::String(text) if self.kind == WEBHOOK => {
                render_address(text, vars, results).map(Value::String)
            }
            Value::String(text) => render_once(text, vars, results).map(Value::String),
            other => Ok(other.clone()),
        };
        match &self.value {
            Some(Value::Array(items)) => {
                let mut sum = FilledSize::default();
                let item = |item: &Value| match render(item)? {
                    Value::String(text) => sum.add(text).map(Value::String),
                    other => Ok(other),
                };
                let items = items.iter().map(item).collect::<Result<_, _>>()?;
                Ok(Some(Value::Array(items)))
            }
            value => value.as_ref().map(render).transpose(),
        }
    }

    /// `metric` with `vars` filled in; as written if that can't be done.
    pub fn render_metric(&self, vars: &Map<String, Value>) -> Option<String> {
        let metric = self.metric.as_deref()?;
        Some(render_once(metric, vars, None).unwrap_or_else(|_| metric.to_owned()))
    }
}

#[cfg(test)]
mod tests;
