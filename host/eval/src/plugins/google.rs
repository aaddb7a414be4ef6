//! Where a key of Google's is found: in the config, in the file that `GOOGLE_APPLICATION_CREDENTIALS`
//! names, or in the one that `gcloud auth application-default login` writes.
//!
//! A file is read where the person's own environment names it, and where gcloud keeps it; a path that
//! a config's `env` says is a file of whoever runs the config, and is not read. Google's metadata
//! server, which gives tokens on machines of theirs, is not asked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runner_config::plan::{EnvRead, Provider};
use runner_gateway::{Credential, OriginPattern, Secret};
use runner_sandbox::abi::CredentialWant;
use serde_json::{Map, Value};

use super::aws::{FoundKey, home, small_file};
use super::binder::{Binder, take};
use super::ways::{AddressSource, ReachableOrigin};

/// The variable by which the person names another server of tokens than Google's.
const TOKENS_AT: &str = "RUNNER_GOOGLE_TOKEN_URL";

/// The variable by which the person names the file of a key. A config could name any other one, and learn
/// by what is said of it what that holds and which files there are.
const KEY_FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// The file's name in gcloud's folder.
const FILE: &str = "application_default_credentials.json";

/// The config key of the project, which a key may know.
const PROJECT: &str = "projectId";

impl Binder<'_> {
    /// The key that the config says or that stands in a file; with the variable that it counts as.
    pub(super) fn google_key(
        &self,
        provider: &Provider,
        want: &CredentialWant,
        env: &str,
        config: &mut Map<String, Value>,
    ) -> FoundKey {
        let key = want.value_config_key.as_ref();
        match key.and_then(|key| take(config, key)) {
            Some(Value::String(text)) if !text.is_empty() => {
                return (
                    Some(self.google(&text, "`credentials`", config)),
                    Vec::new(),
                );
            }
            Some(object @ Value::Object(_)) => {
                let text = object.to_string();
                return (
                    Some(self.google(&text, "`credentials`", config)),
                    Vec::new(),
                );
            }
            _ => {}
        }
        let takes = vec![env.to_owned()];
        let persons = self.env.get(env).filter(|path| !path.is_empty());
        let Some(found) = self.variable(provider, env) else {
            let path = self.gcloud().map(|folder| folder.join(FILE));
            let text = path.and_then(|path| Some((small_file(&path)?, path)));
            return match text {
                Some((text, path)) => {
                    let place = path.display().to_string();
                    (Some(self.google(&text, &place, config)), takes)
                }
                None => (None, Vec::new()),
            };
        };
        if persons != Some(&found.value) {
            let problem = format!("{env} names a file in your own environment alone; export it");
            return (Some(Err(problem)), Vec::new());
        }
        (Some(self.google_file(env, &found.value, config)), takes)
    }

    /// The way to whoever gives tokens for a key, which sees the variables that the config wrote into
    /// it: another address than the one that gets the token.
    pub(super) fn way_to_google(
        &self,
        provider: &Provider,
        want: &CredentialWant,
        credential: &Credential,
        takes: &[EnvRead],
    ) -> Option<ReachableOrigin> {
        let to = credential.secret.as_ref()?.google_gives()?;
        let pointer = format!("/{}", want.value_config_key.as_ref()?);
        let is_inside = |read: &&EnvRead| provider.places.may_hold(&pointer, &read.at);
        let at = provider.places.of(&pointer);
        let is_persons = self.env.get(TOKENS_AT).is_some_and(|url| !url.is_empty());
        Some(ReachableOrigin {
            to: OriginPattern::exactly(to),
            named: if is_persons {
                AddressSource::Person
            } else {
                AddressSource::Vendor
            },
            author: provider.origin.clone(),
            at: at.unwrap_or(&provider.at).clone(),
            own: BTreeSet::from([want.env.clone()]),
            takes: takes.iter().filter(is_inside).cloned().collect(),
            named_by: Vec::new(),
        })
    }

    /// The key in a file that the person's `env` names. What it knows of a project fills the config's. Nothing
    /// that is said of it has the variable's value.
    pub(super) fn google_file(
        &self,
        env: &str,
        path: &str,
        config: &mut Map<String, Value>,
    ) -> Result<Secret, String> {
        if env != KEY_FILE {
            let problem = format!("a key of Google's is found by {KEY_FILE} alone, not by {env}");
            return Err(problem);
        }
        let place = format!("the file that {env} names");
        match small_file(Path::new(path)) {
            Some(text) => self.google(&text, &place, config),
            None => Err(format!("{place} can't be read")),
        }
    }

    fn google(
        &self,
        text: &str,
        place: &str,
        config: &mut Map<String, Value>,
    ) -> Result<Secret, String> {
        let tokens_at = self.env.get(TOKENS_AT).filter(|url| !url.is_empty());
        let secret = Secret::google(text, tokens_at.map(String::as_str))
            .map_err(|why| format!("{place} {why}"))?;
        if !config.contains_key(PROJECT)
            && let Some(project) = project(text)
        {
            config.insert(PROJECT.to_owned(), Value::String(project));
        }
        Ok(secret)
    }

    /// Where gcloud keeps its files.
    fn gcloud(&self) -> Option<PathBuf> {
        let folder = |name: &str| {
            let value = self.env.get(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        folder("CLOUDSDK_CONFIG")
            .or_else(|| Some(folder("APPDATA")?.join("gcloud")))
            .or_else(|| Some(home(self.env)?.join(".config").join("gcloud")))
    }
}

/// The project of a key: its own, or who pays for the person's requests.
fn project(text: &str) -> Option<String> {
    let key: Value = serde_json::from_str(text).ok()?;
    let mut names = ["project_id", "quota_project_id"].iter();
    names.find_map(|name| key[name].as_str().map(str::to_owned))
}
