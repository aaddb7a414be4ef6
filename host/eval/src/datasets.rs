//! Fetches rows of Hugging Face's data sets while a plan is made, through a gateway of their own.
//!
//! The one server that is asked is Hugging Face's, or the one that the person's own environment names in its place; the
//! person's token for it goes there alone, whatever the config says. Answers are remembered as those of models are.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use runner_config::Dataset;
use runner_gateway::{
    CacheMode, Credential, DiskCache, Exchange, ExchangeScope, Gateway, Grants, Masker, Origin,
    OriginPattern, Scheme, Secret, Settings,
};
use runner_store::Cache;
use serde_json::Value;
use url::Url;

/// Serves the rows of data sets.
const SERVER: &str = "https://datasets-server.huggingface.co";

/// Names another one.
const SERVER_VARIABLE: &str = "HF_DATASETS_SERVER";

/// Hold the token, by precedence. Public data sets need none.
const TOKENS: [&str; 3] = ["HF_TOKEN", "HF_API_TOKEN", "HUGGING_FACE_HUB_TOKEN"];

/// The name of the token among the grants.
const CREDENTIAL: &str = "token";

/// How a plan's data sets are fetched.
pub struct Fetching<'a> {
    /// Servers may be asked: a run from a recording asks none.
    pub is_allowed: bool,
    /// Opens what remembers answers, where they are remembered.
    pub cache: Box<dyn Fn() -> Result<Option<Cache>, String> + 'a>,
}

impl Default for Fetching<'_> {
    /// Nothing is fetched.
    fn default() -> Self {
        Self {
            is_allowed: false,
            cache: Box::new(|| Ok(None)),
        }
    }
}

impl fmt::Debug for Fetching<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Fetching");
        shown
            .field("is_allowed", &self.is_allowed)
            .finish_non_exhaustive()
    }
}

/// A server of data sets that can be asked.
pub(crate) struct DatasetServer {
    address: Url,
    gateway: Gateway,
    grants: Arc<Grants>,
    has_token: bool,
}

impl DatasetServer {
    /// The one that the person's environment names.
    pub(crate) fn new(
        env: &BTreeMap<String, String>,
        fetching: &Fetching<'_>,
    ) -> Result<Self, String> {
        if !fetching.is_allowed {
            return Err("a run from a recording asks no server".to_owned());
        }
        let named = |name: &str| {
            env.get(name)
                .map(String::as_str)
                .filter(|text| !text.is_empty())
        };
        let unusable = |why: &dyn fmt::Display| format!("{SERVER_VARIABLE} is no address: {why}");
        let address = named(SERVER_VARIABLE).unwrap_or(SERVER);
        let address = Url::parse(address).map_err(|why| unusable(&why))?;
        let origin = Origin::of(&address).ok_or_else(|| unusable(&"it names no server"))?;
        let hosts = vec![OriginPattern::exactly(origin.clone())];
        let token = TOKENS.iter().find_map(|name| Some((name, named(name)?)));
        let credential = token
            .map(|(name, token)| {
                let secret = Secret::credential(token).map_err(|why| format!("{name} {why}"))?;
                Ok::<_, String>(Credential {
                    scheme: Scheme::Bearer,
                    secret: Some(secret),
                    env: (*name).to_owned(),
                    hosts: hosts.clone(),
                })
            })
            .transpose()?;
        let has_token = credential.is_some();
        let credentials = credential.map(|it| (CREDENTIAL.to_owned(), it));
        let grants = Grants::new("huggingface", hosts, credentials.into_iter().collect());
        let masker = Masker::new(&grants.secrets());
        let cache = (fetching.cache)()?.map(|cache| DiskCache::new(cache, &masker));
        let gateway = Gateway::new(Settings {
            // The variable is the person's word.
            private: named(SERVER_VARIABLE).map(|_| origin).into_iter().collect(),
            cache: cache.map(|cache| Box::new(cache) as _),
            masker,
            ..Settings::default()
        });
        Ok(Self {
            address,
            gateway,
            grants: Arc::new(grants),
            has_token,
        })
    }

    /// Reads a data set to its end.
    pub(crate) async fn read(&self, dataset: &mut Dataset) -> Result<(), String> {
        while let Some(query) = dataset.query() {
            let mut url = self.address.clone();
            url.path_segments_mut()
                .map_err(|()| format!("{SERVER_VARIABLE} names no folder of a server"))?
                .pop_if_empty()
                .push("rows");
            url.query_pairs_mut().extend_pairs(query);
            let page = self.get(url).await?;
            dataset.take(&page)?;
        }
        Ok(())
    }

    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        let exchange = Exchange {
            method: "GET".to_owned(),
            url: url.into(),
            headers: vec![("accept".to_owned(), "application/json".to_owned())],
            body: None,
            credential: self.has_token.then(|| CREDENTIAL.to_owned()),
            bucket: None,
            timeout: None,
            cache: CacheMode::Auto,
        };
        let scope = ExchangeScope::default();
        let reply = self.gateway.send(&self.grants, exchange, &scope).await;
        let reply = reply.map_err(|error| error.message)?;
        if reply.status == 200 {
            return Ok(reply.body);
        }
        let said: Option<Value> = serde_json::from_slice(&reply.body).ok();
        let why = said.as_ref().and_then(|said| said.get("error")?.as_str());
        let why = why.map_or_else(String::new, |why| format!(": {}", first_line(why)));
        let without = if !self.has_token && matches!(reply.status, 401 | 403 | 404) {
            "; if the data set is not public, set HF_TOKEN"
        } else {
            ""
        };
        let status = reply.status;
        Err(format!("the server answered HTTP {status}{why}{without}"))
    }
}

/// As much of a server's words as a message takes.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line: String = line.chars().take(200).collect();
    line.trim_end_matches('.').to_owned()
}
