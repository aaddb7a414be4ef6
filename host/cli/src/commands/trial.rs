//! One call of one plugin, as flags or a fixture ask for it: a grade or a completion.
//!
//! As data it is the first half of a fixture; as a config it is one test of one provider, which
//! [`single`] runs. The answer, the prompt and the variables are data: no templates are
//! filled in, and no file is read for them.

use std::path::Path;

use runner_config::MadeConfig;
use runner_gateway::Exchanges;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::CommandContext;
use super::eval::{ImpliedConsent, single};
use crate::failure::Failure;

mod outcome;
mod subject;

pub(super) use outcome::Outcome;
pub(super) use subject::{Meant, Subject, known};

/// What is asked of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Trial {
    /// The assertion type; the plugin's only one unless said.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// The assertion's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Value>,
    /// The assertion's threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) threshold: Option<f64>,
    /// The answer that is graded: text, or another JSON value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Value>,
    /// The id of the provider that is asked; the plugin's only prefix unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<String>,
    /// What the provider is asked, or was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<String>,
    /// The variables of the test.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) vars: Map<String, Value>,
    /// `config` of the provider, or of the assertion.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) config: Map<String, Value>,
    /// Who judges for the aliases that mean the assertion's own judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grader: Option<String>,
    /// What the plugin is granted, as under `plugins:` in a config.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) permissions: Map<String, Value>,
    /// The providers behind the names of `permissions.llm`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) models: Map<String, Value>,
}

impl Trial {
    /// Asks the plugin what a fixture's file says, or flags.
    ///
    /// # Errors
    /// When it can't be asked so. What goes wrong in the plugin is an outcome.
    pub(super) fn carry_out(
        &self,
        (subject, file): (&Subject, Option<&Path>),
        exchanges: Exchanges,
        setting: &CommandContext,
    ) -> Result<Outcome, Failure> {
        let named = ImpliedConsent {
            component: subject.file.as_deref(),
            grants: &subject.grants(),
        };
        let made = self.made(subject, file)?;
        let single = single(made, exchanges, named, setting)?;
        Ok(Outcome::of(single, self.is_grade(subject)))
    }

    /// Whether it asks for a grade. A plugin that is both grades what it is given an answer for.
    fn is_grade(&self, subject: &Subject) -> bool {
        let says_so = self.kind.is_some() || self.output.is_some() || self.value.is_some();
        says_so || subject.prefixes.is_empty() && self.provider.is_none()
    }

    fn made(&self, subject: &Subject, file: Option<&Path>) -> Result<MadeConfig, Failure> {
        let (mut config, test) = if self.is_grade(subject) {
            self.grade_of(subject)?
        } else {
            self.completion_of(subject)?
        };
        config["evaluateOptions"] = json!({ "maxConcurrency": 1 });
        let mut plugin = json!({ "permissions": self.permissions });
        if let Some(file) = &subject.file {
            plugin["source"] = json!(file);
        }
        if subject.file.is_some() || !self.permissions.is_empty() {
            config["plugins"] = json!({ &subject.name: plugin });
        }
        let tests = json!([test]);
        let file = file.map(Path::to_owned);
        Ok(MadeConfig {
            file,
            config,
            tests,
        })
    }

    /// A config that asks a provider, and its test.
    fn completion_of(&self, subject: &Subject) -> Result<(Value, Value), Failure> {
        let id = subject.provider(self.provider.as_deref())?;
        let Some(prompt) = &self.prompt else {
            let message = format!("the provider {id} is asked nothing");
            return Err(
                Failure::usage(message).help("say it with --prompt (`prompt` in a fixture)")
            );
        };
        let config = json!({ "providers": [{ "id": id, "config": self.config }] });
        Ok((config, self.test(prompt)))
    }

    /// A config that grades an answer, and its test.
    fn grade_of(&self, subject: &Subject) -> Result<(Value, Value), Failure> {
        let kind = subject.kind(self.kind.as_deref())?;
        let Some(output) = &self.output else {
            let message = format!("there is no answer for {kind} to grade");
            return Err(
                Failure::usage(message).help("give it with --output (`output` in a fixture)")
            );
        };
        subject.asks_only(&kind, &self.models)?;
        let own = Some(json!(self.config)).filter(|_| !self.config.is_empty());
        let keys = [
            ("type", Some(json!(kind))),
            ("value", self.value.clone()),
            ("threshold", self.threshold.map(Value::from)),
            ("provider", self.grader.clone().map(Value::from)),
            ("config", own),
        ];
        let keys = keys
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let assertion: Map<String, Value> = keys.collect();
        let mut test = self.test(self.prompt.as_deref().unwrap_or_default());
        test["providerOutput"] = output.clone();
        // Nobody is asked for the answer; the first only gives the case its column.
        let models = self.models.iter();
        let models = models.map(|(label, id)| json!({ "id": id, "label": label }));
        let mut providers: Vec<Value> = models.collect();
        match providers.first() {
            Some(first) => test["providers"] = json!([first["label"]]),
            None => providers.push(json!("echo")),
        }
        let config = json!({ "providers": providers, "defaultTest": { "assert": [assertion] } });
        Ok((config, test))
    }

    /// A test whose prompt is its variable `prompt`, as it is.
    fn test(&self, prompt: &str) -> Value {
        let mut vars = self.vars.clone();
        vars.insert("prompt".to_owned(), prompt.into());
        json!({ "vars": vars, "options": { "rawVars": true } })
    }
}
