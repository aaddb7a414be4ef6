//! Why a plugin can't be used as the config has it.

use std::fmt;

use runner_config::on_one_line;
use runner_config::plan::{Position, Provider};

use super::loaded::{LoadedPlugin, Trust};

/// Why a plugin can't be used as the config has it.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// It wants what the user did not grant.
    #[error(
        "{}{plugin}: P009 wants {missing}, which it is not granted\n{yaml}\nhelp: if you trust it with that, put these lines into the config",
        beginning(at.as_ref())
    )]
    NotGranted {
        /// Where the config names it, if it does.
        at: Option<StatedPlace>,
        /// Alias, file and digest.
        plugin: String,
        /// What is missing, in words.
        missing: String,
        /// YAML that grants it, together with what is granted already.
        yaml: String,
    },
    /// A credential has no value.
    #[error(
        "{at}: {provider} needs {env}, which is not set\nhelp: {}{elsewhere}",
        exported(env)
    )]
    NoSecret {
        /// Where the provider or the entry stands.
        at: StatedPlace,
        /// Who needs it.
        provider: String,
        /// The variable.
        env: String,
        /// Another way to give it, if there is one.
        elsewhere: String,
    },
    /// Something in the config can't be used.
    #[error("{at}: {problem}")]
    Config {
        /// Where it stands.
        at: StatedPlace,
        /// What is wrong with it.
        problem: String,
    },
    /// The plugin finds a fault in a provider's config.
    #[error("{at}: {message}\nP013, says {plugin}\nhelp: {help}")]
    ProviderConfig {
        /// Who says so: the alias; of a foreign one also file and digest.
        plugin: String,
        /// Where the key stands, or the provider and the key's path.
        at: StatedPlace,
        /// What is wrong with it.
        message: String,
        /// What to do.
        help: String,
    },
}

impl BindError {
    /// Where in a file of the config it is, if it is there.
    pub fn at(&self) -> Option<&Position> {
        match self {
            Self::NotGranted { at, .. } => at.as_ref()?.at.as_deref(),
            Self::NoSecret { at, .. }
            | Self::Config { at, .. }
            | Self::ProviderConfig { at, .. } => at.at.as_deref(),
        }
    }

    /// Takes secrets out of it: a guest may quote the config that it refuses.
    pub(crate) fn masked(self, clean: &dyn Fn(&str) -> String) -> Self {
        let mask = |text: String| clean(&text);
        match self {
            Self::Config { at, problem } => Self::Config {
                at,
                problem: mask(problem),
            },
            Self::ProviderConfig {
                plugin,
                at,
                message,
                help,
            } => Self::ProviderConfig {
                plugin,
                at: at.masked(clean),
                message: mask(message),
                help: mask(help),
            },
            other @ (Self::NotGranted { .. } | Self::NoSecret { .. }) => other,
        }
    }

    /// What `plugin` says of a key of the provider's `config`, by its JSON Pointer.
    pub(crate) fn of_config(
        plugin: &LoadedPlugin,
        provider: &Provider,
        pointer: &str,
        message: String,
    ) -> Self {
        let (said_by, help) = match plugin.trust {
            Trust::Bundled => (
                format!("plugin '{}'", plugin.alias),
                format!(
                    "`runner plugin docs {}` says what `config` takes",
                    plugin.alias
                ),
            ),
            Trust::Foreign(_) => (
                plugin.named(),
                format!(
                    "the README of plugin '{}' says what `config` takes",
                    plugin.alias
                ),
            ),
        };
        Self::ProviderConfig {
            plugin: said_by,
            at: place_of(provider, pointer),
            message,
            help,
        }
    }
}

/// Where a key of the provider's `config` stands. One that is not written there, since a variable
/// of the environment made it, is named after the provider's place.
pub(super) fn place_of(provider: &Provider, pointer: &str) -> StatedPlace {
    let key = pointer.replace('/', ".");
    match provider.places.of(pointer) {
        Some(at) if at.key.is_empty() => place(at).with(&format!("config{key}")),
        Some(at) => place(at),
        None => place(&provider.at).with(&format!("config{key}")),
    }
}

/// What to do for a variable that is not set. What is no name is not put into a command to paste.
fn exported(env: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if env.chars().all(is_of_name) {
        format!("export {env}=…")
    } else {
        "that is no name of a variable: those have letters, digits and _".to_owned()
    }
}

/// File, line, column and key, as the config's own problems have them.
pub(crate) fn place(at: &Position) -> StatedPlace {
    let text = if at.key.is_empty() {
        at.to_string()
    } else {
        format!("{at}: {}", on_one_line(&at.key))
    };
    StatedPlace {
        text,
        at: Some(Box::new(at.clone())),
    }
}

/// A place as a message begins with it, if it has one.
pub(super) fn beginning(at: Option<&StatedPlace>) -> String {
    at.map_or_else(String::new, |at| format!("{at}: "))
}

/// Where something of a config stands: in words, and in its file, if it is one place there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedPlace {
    text: String,
    at: Option<Box<Position>>,
}

impl StatedPlace {
    fn with(self, more: &str) -> Self {
        Self {
            text: format!("{}: {more}", self.text),
            ..self
        }
    }

    fn masked(self, clean: &dyn Fn(&str) -> String) -> Self {
        Self {
            text: clean(&self.text),
            ..self
        }
    }
}

impl fmt::Display for StatedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// More places than one, or none in a file.
impl From<String> for StatedPlace {
    fn from(text: String) -> Self {
        Self { text, at: None }
    }
}
