//! A server that speaks OpenAI's shape, as a record: its address, its key, its dialect and the
//! forms of asking that it has. A plugin for such servers is a list of records, see
//! [`crate::client`]; here is what a record means for one request.
//!
//! Only data differs from server to server, and a form that one has alone is a function in its row. A
//! server that needs more code of its own (another body for chats, another way to sign) is no row of
//! such a list but a plugin.

use runner_plugin::{Completion, CredentialWant, Error, Info, Request, Target};
use runner_plugin_embed::Embeddings;

use crate::chat::{self, Dialect};
use crate::knobs::{self, Api, Knobs, Refused};
use crate::path::segment;
use crate::{completions, embeddings, forms};

/// The config key of the address.
const ADDRESS: &str = "apiBaseUrl";

/// Where the model stands in an address.
pub const MODEL: &str = "{model}";

/// A form of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `/chat/completions`; every server has it.
    Chat,
    /// `/completions`.
    Completion,
    /// `/embeddings`.
    Embedding,
}

/// The forms by the words that ids have for them.
pub const WORDS: [(&str, Form); 4] = [
    ("chat", Form::Chat),
    ("completion", Form::Completion),
    ("embedding", Form::Embedding),
    ("embeddings", Form::Embedding),
];

/// Answers a request with these knobs by the model of this name.
pub type Answers = fn(&Knobs, &str, &Request) -> Result<Completion, Error>;

/// Every form that a server of this shape can have beside chat.
pub const ALL_FORMS: &[Form] = &[Form::Completion, Form::Embedding];

/// A server's key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name by which requests refer to it.
    pub name: &'static str,
    /// The variables that may hold it; the first that is set does.
    pub envs: &'static [&'static str],
    /// Whether it must be there. Otherwise it is sent where it is set.
    pub needed: bool,
}

impl Key {
    /// A key that must be there.
    #[must_use]
    pub const fn needed(name: &'static str, envs: &'static [&'static str]) -> Self {
        Self {
            name,
            envs,
            needed: true,
        }
    }

    /// A key that is sent where it is set.
    #[must_use]
    pub const fn if_set(name: &'static str, envs: &'static [&'static str]) -> Self {
        Self {
            name,
            envs,
            needed: false,
        }
    }
}

/// A server.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// What ids of its models begin with; the first stands in messages.
    pub prefixes: &'static [&'static str],
    /// Its address, up to and without `/chat/completions`; empty where every user has another.
    pub base_url: &'static str,
    /// What every address ends with. It is added where it is left out. [`MODEL`] in it stands for
    /// the model.
    pub below: &'static str,
    /// Its key; `None` where it takes none.
    pub key: Option<Key>,
    /// The variable of the address, if it has one.
    pub setting: Option<&'static str>,
    /// In what it differs from OpenAI's.
    pub dialect: Dialect,
    /// Its forms beside chat.
    pub forms: &'static [Form],
    /// Forms that have a function of their own, by the words that ids have for them.
    pub own: &'static [(&'static str, Answers)],
    /// Forms that promptfoo knows and that are not served; no model is called so.
    pub absent: &'static [&'static str],
    /// Config keys that it has at promptfoo and that are not honoured.
    pub refused: &'static [Refused],
    /// Config keys that are sent as headers, each with its header. A value that is no text is sent
    /// as JSON.
    pub headers: &'static [(&'static str, &'static str)],
}

/// A server of which nothing is said: rows begin with it.
pub const PLAIN: Server = Server {
    prefixes: &[],
    base_url: "",
    below: "",
    key: None,
    setting: None,
    dialect: chat::PLAIN,
    forms: &[],
    own: &[],
    absent: &[],
    refused: &[],
    headers: &[],
};

impl Server {
    /// What a plugin wants for this server.
    #[must_use]
    pub fn wants(&self, mut info: Info) -> Info {
        for prefix in self.prefixes {
            info = info.prefix(prefix);
        }
        // Servers of one's own may have one address in common.
        if let Some(host) = self.host()
            && !info.wants.hosts.iter().any(|wanted| wanted == host)
        {
            info = info.host(host);
        }
        if self.host().is_some() {
            info = info.base(self.base_url);
        }
        if let Some(Key { name, envs, needed }) = self.key {
            let (first, others) = envs.split_first().expect("a key has a variable");
            let want = CredentialWant::bearer(name, first, "to call the API in your name")
                .env_key("apiKeyEnvar")
                .value_key("apiKey");
            info = info.credential(want);
            for env in others {
                info = info.further_env(name, env);
            }
            if !needed {
                info = info.credential_if_set(name);
            }
        }
        if let Some(env) = self.setting {
            info = info.setting(env, ADDRESS);
        }
        info
    }

    /// Keeps from each of this server's prefixes what the plugin wants for others.
    #[must_use]
    pub fn keeps_apart(&self, mut info: Info) -> Info {
        let credentials: Vec<&str> = self.key.iter().map(|key| key.name).collect();
        let settings: Vec<&str> = self.setting.into_iter().collect();
        let hosts: Vec<&str> = self.host().into_iter().collect();
        for prefix in self.prefixes {
            info = info.wants_of(prefix, &hosts, &credentials, &settings);
        }
        info
    }

    /// Checks whether a target can be served: form, model, address, and keys of the config.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, target: &Target) -> Result<(), Error> {
        let named = match self.own(target) {
            Some((_, named)) => named,
            None => self.form(target)?.1,
        };
        let config = target.config()?;
        if let Some((_, problem)) = knobs::problems(&config, self.refused).into_iter().next() {
            return Err(Error::invalid_request(problem));
        }
        let knobs = Knobs::read_target(&self.api(), target)?;
        self.addressed(knobs, target, named).map(drop)
    }

    /// Answers a request.
    ///
    /// # Errors
    /// `unsupported` for a form that makes no answers, else what the API reports.
    pub fn complete(&self, target: &Target, request: &Request) -> Result<Completion, Error> {
        if let Some((answers, named)) = self.own(target) {
            let knobs = Knobs::read(&self.api(), target, request)?;
            let (knobs, model) = self.addressed(knobs, target, named)?;
            return answers(&knobs, &model, request);
        }
        let (form, named) = self.form(target)?;
        let knobs = Knobs::read(&self.api(), target, request)?;
        let (knobs, model) = self.addressed(knobs, target, named)?;
        match form {
            Form::Chat => {
                chat::complete(&self.dialect, &knobs, "/chat/completions", &model, request)
            }
            Form::Completion => completions::complete(&knobs, &model, request),
            Form::Embedding => Err(forms::makes_vectors(target)),
        }
    }

    /// Makes one vector for each input.
    ///
    /// # Errors
    /// `unsupported` for a form that makes none, else what the API reports.
    pub fn embed(&self, target: &Target, inputs: &[String]) -> Result<Embeddings, Error> {
        let (form, named) = self.form(target)?;
        if form != Form::Embedding {
            let id = &target.id;
            let instead = if self.forms.contains(&Form::Embedding) {
                format!("; write `{}:embedding:MODEL`", self.prefixes[0])
            } else {
                String::new()
            };
            return Err(Error::unsupported(format!(
                "`{id}` makes no vectors{instead}"
            )));
        }
        let knobs = Knobs::read_target(&self.api(), target)?;
        let (knobs, model) = self.addressed(knobs, target, named)?;
        embeddings::embed(&knobs, "/embeddings", &model, true, inputs)
    }

    /// The form of its own that an id asks for, if it does, and the model.
    fn own<'a>(&self, target: &'a Target) -> Option<(Answers, &'a str)> {
        let (first, named) = target.name.split_once(':').unwrap_or((&target.name, ""));
        let (_, answers) = self.own.iter().find(|(word, _)| *word == first)?;
        Some((*answers, named))
    }

    /// The form that an id asks for, and the model that it names.
    fn form<'a>(&self, target: &'a Target) -> Result<(Form, &'a str), Error> {
        let first = target.name.split(':').next().unwrap_or_default();
        let known = WORDS.iter().find(|(word, _)| *word == first);
        let has = |form: Form| form == Form::Chat || self.forms.contains(&form);
        match known {
            Some((word, form)) if has(*form) => {
                let (_, named) = knobs::kind(&target.name, &[word]);
                Ok((*form, named))
            }
            None if !self.absent.contains(&first) => Ok((Form::Chat, &target.name)),
            _ => {
                let instead = format!("write `{}:MODEL`", self.prefixes[0]);
                Err(forms::absent(target, first, &instead))
            }
        }
    }

    /// The knobs with the whole address, and the model.
    fn addressed(
        &self,
        mut knobs: Knobs,
        target: &Target,
        named: &str,
    ) -> Result<(Knobs, String), Error> {
        if knobs.base_url.is_empty() {
            let or = self.setting.map(|env| format!(", or set {env}"));
            return Err(Error::invalid_request(format!(
                "no address is set; write `{ADDRESS}: https://…` in the provider's config{}",
                or.unwrap_or_default()
            )));
        }
        let model = knobs.model(target, named)?;
        for (key, header) in self.headers {
            knobs.header_from(key, header);
        }
        let mut below = self.below.to_owned();
        if below.contains(MODEL) {
            let parts = model.trim_start_matches('/').split('/').map(segment);
            let parts: Vec<String> = parts.collect::<Result<_, _>>()?;
            below = below.replace(MODEL, &parts.join("/"));
        }
        if !knobs.base_url.ends_with(&below) {
            knobs.base_url.push_str(&below);
        }
        Ok((knobs, model))
    }

    fn api(&self) -> Api {
        Api {
            base_url: self.base_url,
            key: self.key.map(|key| key.name),
            ours: &[],
        }
    }

    /// The origin of its own address.
    fn host(&self) -> Option<&'static str> {
        let (scheme, rest) = self.base_url.split_once("://")?;
        let end = rest.find('/').unwrap_or(rest.len());
        Some(&self.base_url[..scheme.len() + "://".len() + end])
    }
}
