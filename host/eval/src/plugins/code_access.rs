//! What the config's own code may send from the sandbox: what `plugins:` grants to the component of the
//! program that runs its language.
//!
//! Where such code may go is asked for, but for this machine, though a provider may ask any public
//! server: code reads whatever it is given. Which code that is, is decided when the config is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_config::plan::{Places, Provider, Script};
use runner_config::{PluginEntry, TextOrigin as Author, TrustRequest, TrustSubject};
use runner_gateway::{Grants, OriginPattern, Scheduling};

use super::aws;
use super::bind_error::{BindError, place};
use super::binder::{Binder, digest, granted_json, patterns, reads};
use super::bounds::scheduling;
use super::loaded::Trust;
use super::said::said;
use super::ways::is_loopback;
use crate::trust::Need;

/// What code in one language may send.
#[derive(Debug, Clone)]
pub(crate) struct CodeAccess {
    pub(crate) grants: Arc<Grants>,
    /// How requests of code share quotas that is no provider's.
    pub(crate) scheduling: Arc<Scheduling>,
}

impl Binder<'_> {
    /// Notes what the code of a provider may send of what it is given; the digest of what it is granted,
    /// empty if that is nothing. What is wrong with that is said of the code as a whole.
    pub(super) fn provider_code(&self, provider: &Provider, script: &Script) -> String {
        let entry = script.sends.then(|| self.set.granted(&script.language));
        let Some(PluginEntry { permissions, .. }) = entry.flatten() else {
            return String::new();
        };
        let hosts = patterns(&permissions.hosts, |_| &provider.at).unwrap_or_default();
        self.granted_ways(&hosts, &provider.at, &provider.env_reads);
        digest(&granted_json(permissions))
    }

    /// Binds code in a language; `None`: it is granted nothing.
    pub(crate) fn code_access(&self, language: &str) -> Result<Option<CodeAccess>, BindError> {
        let index = self.set.languages.get(language);
        let Some((entry, index)) = self.set.granted(language).zip(index) else {
            return Ok(None);
        };
        if !matches!(self.set.plugins[*index].trust, Trust::Bundled) {
            return Err(BindError::Config {
                at: place(&entry.at),
                problem: format!(
                    "it grants hosts to code in {language}, and a component that did not come with the program runs that: \
                     such code sends no requests"
                ),
            });
        }
        let at_of = |pointer: &str| entry.at_of(pointer);
        let permissions = &entry.permissions;
        let host_at = |index: usize| entry.at_of(&format!("/permissions/hosts/{index}"));
        let hosts = patterns(&permissions.hosts, host_at)?;
        self.granted_ways(&hosts, &entry.at, &[]);
        let mut credentials = BTreeMap::new();
        for (name, grant) in &permissions.credentials {
            let (credential, mut made_of) = self.granted_credential(name, grant, &at_of, None)?;
            if credential.secret.is_none() {
                return Err(BindError::NoSecret {
                    at: place(&entry.at),
                    provider: format!("credential '{name}' of the config's code in {language}"),
                    env: said(&grant.env),
                    elsewhere: String::new(),
                });
            }
            // No component is asked for with what it is granted, so that each variable is.
            made_of.extend(aws::beside(&grant.env));
            let at = at_of(&format!(
                "{}/env",
                Places::pointer("/permissions/credentials", name)
            ));
            let takes: Vec<_> = reads(made_of, at).collect();
            self.granted_ways(&credential.hosts, at, &takes);
            credentials.insert(name.clone(), credential);
        }
        let is_far = |(_, to): &(usize, &OriginPattern)| !to.exact().is_some_and(is_loopback);
        let far = hosts.iter().enumerate().filter(is_far);
        let asked = far.map(|(index, to)| {
            Need::of(TrustRequest {
                subject: TrustSubject::Requests {
                    code: language.to_owned(),
                    to: to.to_string(),
                },
                origin: Author::Config,
                at: host_at(index).clone(),
            })
        });
        self.noted.needs(asked.collect());
        Ok(Some(CodeAccess {
            grants: Arc::new(Grants::new(language.to_owned(), hosts, credentials)),
            scheduling: Arc::new(scheduling(None, self.lanes)),
        }))
    }
}
