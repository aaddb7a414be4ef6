//! `{{ env.X }}` where a config says what a provider is.
//!
//! A user writes a variable's name here to say that its value goes to this provider; nothing else
//! has to declare it. Only the variables that a tag names are seen, so no tag prints the whole
//! environment. The tree keeps the text as written beside the filled one; what is filled in and
//! is a secret, by the variable's name or by the key it stands under, is remembered for
//! [`Plan::secrets`](crate::plan::Plan::secrets) and left out of the problems found at load.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Map;

use super::filled_in::FilledIn;
use super::hider::Hider;
use super::{ConfigSection, Declared, Field, Part, is_variable, may_keep, read};
use crate::model::{ConfigError, Findings, LoadError, Position, Problem, Warning};
use crate::redacted::is_secret_variable;
use crate::template::{Template, tolerates_nothing};

impl Part {
    /// The part that `name` begins in a map.
    pub(super) fn below(self, name: &str) -> Self {
        match self {
            Self::Strict => Self::Strict,
            Self::Around(around) => around.below(name),
            Self::Provider { secret, field } => {
                let is_credential =
                    name.eq_ignore_ascii_case("headers") || is_secret_variable(name);
                Self::Provider {
                    secret: secret || is_credential,
                    field: match (field, name) {
                        (Field::Own, "config" | "env")
                        | (Field::Settings, "auth" | "signatureAuth") => Field::Settings,
                        // Deeper there may be keys of any name: a tool has an argument `token`.
                        (Field::Settings, _) if is_credential => Field::Credential,
                        // Of `auth`, whose name says it.
                        (Field::Settings, "value") if secret => Field::Credential,
                        // Plugins read it, so that they need what stands there.
                        (Field::Credential, _) if name.eq_ignore_ascii_case("content-type") => {
                            Field::Part
                        }
                        (Field::Settings, _) => Field::Part,
                        (field, _) => field,
                    },
                }
            }
        }
    }
}

impl ConfigSection {
    fn below(self, name: &str) -> Part {
        let within = match (self, name) {
            (Self::Config, "providers" | "targets")
            | (Self::Tests | Self::Options | Self::Assertions, "provider") => {
                return Part::PROVIDER;
            }
            (Self::Config, "tests" | "defaultTest") | (Self::Scenarios, "config" | "tests") => {
                Self::Tests
            }
            (Self::Config, "scenarios") => Self::Scenarios,
            (Self::Tests, "options") => Self::Options,
            (Self::Tests | Self::Assertions, "assert") => Self::Assertions,
            _ => return Part::Strict,
        };
        Part::Around(within)
    }
}

impl Declared {
    /// The value of a tag that reads nothing but `env`.
    pub(super) fn tag_of_provider(
        &self,
        tag: &str,
        template: &Template,
        (secret, field): (bool, Field),
        at: &Position,
        findings: &Findings,
    ) -> Option<String> {
        let names = self.names_at(template, at, findings)?;
        let mut seen = Map::new();
        let declared = names.iter().filter(|name| self.names.contains(*name));
        let (mut reads, mut asked) = self.taken_at(declared, at, findings);
        for name in &names {
            let value = if self.names.contains(name) {
                self.values.get(name)
            } else {
                let read = read(name, at);
                asked.extend((!at.is_typed()).then(|| read.clone()));
                reads.push(read);
                let value = self.outside.get(name);
                if value.is_none() && !tolerates_nothing(tag) {
                    self.unset(name, at, findings);
                }
                value
            };
            seen.extend(value.map(|value| (name.clone(), value.clone())));
        }
        if names.iter().all(|name| self.names.contains(name)) {
            // Warns of what is declared and not set.
            self.check(template, at, findings);
        }
        self.filled_in().provider_takes(&reads);
        if field == Field::Own {
            // Code of the config sees it, of every provider.
            self.filled_in().by_others.extend(reads.iter().cloned());
        }
        let is_computed =
            !is_variable(tag) || names.iter().any(|name| self.computed.contains(name));
        let is_shown = field != Field::Credential || is_computed;
        if is_shown && !may_keep(&asked, findings) {
            return None;
        }
        let seen = Arc::new(seen);
        let template = Template::new(tag, Some(&seen)).ok()?;
        let filled = template.render_at_load(&self.steps).ok()?;
        if secret || names.iter().any(|name| is_secret_variable(name)) {
            let values = names.iter().filter_map(|name| seen.get(name)?.as_str());
            let values = values.chain([filled.as_str()]).map(str::to_owned);
            let values = values.filter(|value| !value.is_empty());
            self.filled_in().secrets.extend(values);
        }
        Some(filled)
    }

    fn unset(&self, name: &str, at: &Position, findings: &Findings) {
        let help = match findings.did_you_mean(name, self.names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean env.{meant}? Otherwise: export {name}=…"),
            None => format!("export {name}=…"),
        };
        findings.error_help(at.clone(), format!("env.{name} is not set"), help);
    }

    /// The secrets that were filled into provider parts so far.
    pub(crate) fn secrets(&self) -> BTreeSet<String> {
        self.filled_in().secrets.clone()
    }

    /// A text without the secrets that are known so far.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.hider().hide(text)
    }

    /// What leaves out the secrets that are known so far. They are found all at once, and what finds
    /// them is made anew only when there are more.
    fn hider(&self) -> Hider {
        let mut filled_in = self.filled_in();
        let FilledIn { secrets, hider, .. } = &mut *filled_in;
        match hider {
            Some(hider) if hider.is_of(&self.values, secrets.len()) => hider.clone(),
            _ => {
                let declared = self.values.iter().filter(|(name, _)| {
                    let mut sources = self.sources.get(*name).into_iter().flatten();
                    is_secret_variable(name) || sources.any(|source| is_secret_variable(source))
                });
                let declared = declared.filter_map(|(_, value)| value.as_str());
                hider
                    .insert(Hider::new(&self.values, secrets, declared))
                    .clone()
            }
        }
    }

    /// What readers found, without the secrets that they saw.
    pub(crate) fn without_secrets(
        &self,
        found: Result<ConfigError, LoadError>,
    ) -> Result<ConfigError, LoadError> {
        // What is asked for was made of what may be read.
        let mut found = found?;
        let hider = self.hider();
        let warnings = found.warnings.iter_mut().map(|Warning(problem)| problem);
        let all = found.problems.iter_mut().chain(warnings);
        all.for_each(|problem| hide(problem, &hider));
        Ok(found)
    }
}

fn hide(problem: &mut Problem, hider: &Hider) {
    for text in [&mut problem.message].into_iter().chain(&mut problem.help) {
        *text = hider.hide(text);
    }
}

#[cfg(test)]
mod tests;
