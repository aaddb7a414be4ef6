//! `auth` of a provider's config, as promptfoo's `http` has it: the credential in words, from which
//! the host makes a header, a parameter or a token that it asks for.
//!
//! The guest learns that there is one, and its kind; nothing of its value.

use std::collections::BTreeSet;

use runner_config::plan::{EnvRead, Provider};
use runner_gateway::{Credential, OriginPattern, Scheme, Secret, TokenClient};
use serde_json::{Map, Value, json};

use super::bind_error::BindError;
use super::config_key::ConfigKey;
use super::ways::{AddressSource, ReachableOrigin};

/// The key of the config.
const KEY: &str = "auth";

/// What `auth` says.
pub(super) struct Auth {
    scheme: Scheme,
    secret: Secret,
    /// Who is asked for tokens, and so sees what stands in `auth`.
    asks: Option<OriginPattern>,
}

/// An `auth` as it is written.
struct Written<'a>(ConfigKey<'a>);

impl Auth {
    /// Takes it out of a config and leaves its kind there.
    pub(super) fn take(
        provider: &Provider,
        config: &mut Map<String, Value>,
    ) -> Result<Option<Self>, BindError> {
        let Some(key) = ConfigKey::take(provider, config, KEY)? else {
            return Ok(None);
        };
        let headers = config.get("headers").and_then(Value::as_object);
        let mut names = headers.into_iter().flat_map(Map::keys);
        if names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            let problem = "stands beside `headers: { Authorization: … }`; keep one of the two";
            return Err(key.problem("", problem));
        }
        let (auth, kind) = Written(key).read()?;
        config.insert(KEY.to_owned(), json!({ "type": kind }));
        Ok(Some(auth))
    }

    /// The credential, for these hosts.
    pub(super) fn credential(self, hosts: &[OriginPattern]) -> Credential {
        Credential {
            scheme: self.scheme,
            secret: Some(self.secret),
            env: format!("`{KEY}`"),
            hosts: hosts.to_vec(),
        }
    }

    /// The way to the server of tokens, which sees the variables in `auth`. They count as going to the
    /// provider's address as well, since what they give does.
    pub(super) fn way(&self, provider: &Provider, takes: &[EnvRead]) -> Option<ReachableOrigin> {
        let to = self.asks.clone()?;
        let pointer = format!("/{KEY}");
        let is_inside = |read: &&EnvRead| provider.places.may_hold(&pointer, &read.at);
        let there: Vec<EnvRead> = takes.iter().filter(is_inside).cloned().collect();
        let at = provider.places.of(&format!("{pointer}/tokenUrl"));
        Some(ReachableOrigin {
            to,
            named: AddressSource::Text,
            author: provider.origin.clone(),
            at: at.unwrap_or(&provider.at).clone(),
            own: BTreeSet::new(),
            takes: there.clone(),
            named_by: there,
        })
    }
}

impl Written<'_> {
    fn read(&self) -> Result<(Auth, &'static str), BindError> {
        let (scheme, value, kind) = match self.text("type")?.as_str() {
            "bearer" => (Scheme::Bearer, self.text("token")?, "bearer"),
            "basic" => {
                let value = format!("{}:{}", self.text("username")?, self.text("password")?);
                (Scheme::Basic, value, "basic")
            }
            "api_key" => (self.place_of_key()?, self.text("value")?, "api_key"),
            "oauth" | "oauth2" => return Ok((self.oauth()?, "oauth")),
            _ => {
                let problem = "must be bearer, basic, api_key or oauth";
                return Err(self.0.problem("type", problem));
            }
        };
        let secret = Secret::credential(value).map_err(|why| self.0.problem("", why))?;
        let auth = Auth {
            scheme,
            secret,
            asks: None,
        };
        Ok((auth, kind))
    }

    /// A header or a parameter of the address.
    fn place_of_key(&self) -> Result<Scheme, BindError> {
        let name = self.text("keyName")?;
        let scheme = match self.text("placement")?.as_str() {
            "header" => Scheme::parse(&format!("header:{name}")),
            "query" => Scheme::parse(&format!("query:{name}")),
            _ => return Err(self.0.problem("placement", "must be header or query")),
        };
        scheme.map_err(|_| {
            self.0.problem(
                "keyName",
                "is no name of a header or parameter into which a credential may go",
            )
        })
    }

    fn oauth(&self) -> Result<Auth, BindError> {
        let is_persons = match self.text("grantType")?.as_str() {
            "client_credentials" => false,
            "password" => true,
            _ => {
                let problem = "must be client_credentials or password";
                return Err(self.0.problem("grantType", problem));
            }
        };
        let client = TokenClient {
            token_url: self.text("tokenUrl")?,
            client_id: self.optional("clientId", !is_persons)?,
            client_secret: self.optional("clientSecret", !is_persons)?,
            scopes: self.scopes()?,
            person: if is_persons {
                Some((self.text("username")?, self.text("password")?))
            } else {
                None
            },
        };
        let (_, origin) = client.address().ok_or_else(|| {
            self.0.problem(
                "tokenUrl",
                "must be a URL such as https://id.example.com/token",
            )
        })?;
        Ok(Auth {
            scheme: Scheme::OAuth2,
            secret: Secret::oauth(&client).map_err(|why| self.0.problem("", why))?,
            asks: Some(OriginPattern::exactly(origin)),
        })
    }

    fn scopes(&self) -> Result<Vec<String>, BindError> {
        let texts = |list: &Vec<Value>| {
            let each = list.iter().map(|scope| scope.as_str().map(str::to_owned));
            each.collect::<Option<Vec<_>>>()
        };
        match self.0.members.get("scopes") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(scopes)) => Ok(vec![scopes.clone()]),
            Some(Value::Array(list)) if texts(list).is_some() => {
                Ok(texts(list).unwrap_or_default())
            }
            Some(_) => Err(self.0.problem("scopes", "is no list of texts")),
        }
    }

    fn optional(&self, key: &str, is_needed: bool) -> Result<Option<String>, BindError> {
        match self.0.members.get(key) {
            None | Some(Value::Null) if !is_needed => Ok(None),
            _ => self.text(key).map(Some),
        }
    }

    /// A text; a number is one, as passwords may look like that.
    fn text(&self, key: &str) -> Result<String, BindError> {
        let text = match self.0.members.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err(self.0.problem(key, "is missing, or no text")),
        };
        if text.contains("{{") {
            let problem = "has a template that is not of `env`; a credential is one for all cases";
            return Err(self.0.problem(key, problem));
        }
        Ok(text)
    }
}
