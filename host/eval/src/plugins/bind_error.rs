//! Why a plugin can't be used as the config has it.

/// Why a plugin can't be used as the config has it.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// It wants what the user did not grant.
    #[error(
        "{plugin}: P009 wants {missing}, which it is not granted\n{yaml}\nhelp: if you trust it with that, put these lines into the config"
    )]
    NotGranted {
        /// Alias, file and digest.
        plugin: String,
        /// What is missing, in words.
        missing: String,
        /// YAML that grants it, together with what is granted already.
        yaml: String,
    },
    /// A credential has no value.
    #[error("{at}: {provider} needs {env}, which is not set\nhelp: export {env}=…{elsewhere}")]
    NoSecret {
        /// Where the provider or the entry stands.
        at: String,
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
        at: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The plugin finds a fault in a provider's config.
    #[error("{plugin}: P013 {at}: {pointer}: {message}\nhelp: {help}")]
    ProviderConfig {
        /// Alias, file and digest.
        plugin: String,
        /// Where the provider stands.
        at: String,
        /// JSON Pointer into the provider's `config`.
        pointer: String,
        /// What is wrong with it.
        message: String,
        /// What to do.
        help: String,
    },
}
