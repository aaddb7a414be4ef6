//! A key of Google's, as `gcloud` and the console write it into a file ("application default
//! credentials"): what a token is asked for with, and where.
//!
//! The file is the person's, yet people share files; so the address of tokens is Google's own,
//! unless the person names another outside of it.

use ring::signature::RsaKeyPair;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::policy::origin::Origin;
use crate::policy::secret::{Secret, TooLong};
use crate::policy::signer::der;

/// Where Google gives tokens.
const TOKENS: &str = "https://oauth2.googleapis.com/token";

/// The origins that are Google's, for this.
const ORIGINS: [&str; 3] = [
    "https://oauth2.googleapis.com",
    "https://accounts.google.com",
    "https://www.googleapis.com",
];

/// What asks for tokens.
#[derive(Serialize, Deserialize)]
pub(crate) struct GoogleKey {
    #[serde(flatten)]
    pub(crate) kind: KeyKind,
    /// Where tokens are asked for.
    #[serde(default = "usual_address")]
    pub(crate) token_uri: String,
    /// The project that pays for a person's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) quota_project_id: Option<String>,
}

/// Whose it is.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum KeyKind {
    /// An account of a program, which says by a signature who it is.
    ServiceAccount {
        client_email: String,
        /// PEM of PKCS #8.
        private_key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        private_key_id: Option<String>,
    },
    /// A person who has signed in with `gcloud auth application-default login`.
    AuthorizedUser {
        client_id: String,
        client_secret: String,
        refresh_token: String,
    },
}

/// A text is no such key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoogleKeyError {
    /// It has another form.
    #[error(
        "is not a Google key that can be used: it must be a service account's, or an \
         authorized user's as `gcloud auth application-default login` writes it"
    )]
    Unreadable,
    /// Its private key is none.
    #[error("has a private key that can't be read")]
    PrivateKey,
    /// Tokens would be asked for elsewhere.
    #[error(
        "asks for tokens at {0}, which is not Google's; if that is meant, export \
         RUNNER_GOOGLE_TOKEN_URL with that address"
    )]
    Elsewhere(String),
    /// It is longer than any.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

fn usual_address() -> String {
    TOKENS.to_owned()
}

impl Secret {
    /// A key of Google's from the text of its file; `tokens_at` is where else than at Google the
    /// person wants tokens to be asked for.
    ///
    /// # Errors
    /// When it is none, or asks for tokens elsewhere.
    pub fn google(text: &str, tokens_at: Option<&str>) -> Result<Self, GoogleKeyError> {
        let read = serde_json::from_str(text);
        let mut key: GoogleKey = read.map_err(|_| GoogleKeyError::Unreadable)?;
        if let KeyKind::ServiceAccount { private_key, .. } = &key.kind
            && pair(private_key).is_none()
        {
            return Err(GoogleKeyError::PrivateKey);
        }
        if let Some(address) = tokens_at {
            address.clone_into(&mut key.token_uri);
        } else if !key.asks_google() {
            return Err(GoogleKeyError::Elsewhere(key.shown_address()));
        }
        let text = serde_json::to_string(&key).map_err(|_| GoogleKeyError::Unreadable)?;
        Ok(Self::credential(text)?)
    }

    /// Who gives tokens for it, if it is a key of Google's, and so sees what stands in it.
    pub fn google_gives(&self) -> Option<Origin> {
        Some(self.google_key()?.address()?.1)
    }

    /// The key of Google's that it is.
    pub(crate) fn google_key(&self) -> Option<GoogleKey> {
        serde_json::from_str(self.reveal()).ok()
    }
}

impl GoogleKey {
    /// Where tokens are asked for.
    pub(crate) fn address(&self) -> Option<(Url, Origin)> {
        let url = Url::parse(&self.token_uri).ok()?;
        let origin = Origin::of(&url)?;
        Some((url, origin))
    }

    /// Whether they are asked for at Google.
    pub(crate) fn asks_google(&self) -> bool {
        let origin = self.address().map(|(_, origin)| origin.to_string());
        origin.is_some_and(|origin| ORIGINS.contains(&origin.as_str()))
    }

    /// The host alone: a file of somebody's may hold anything.
    fn shown_address(&self) -> String {
        let address = self.address();
        address.map_or_else(|| "no address".to_owned(), |(_, origin)| origin.to_string())
    }

    /// Its parts that nobody may see.
    pub(crate) fn secrets(self) -> Vec<Secret> {
        let parts = match self.kind {
            KeyKind::ServiceAccount { private_key, .. } => vec![private_key],
            KeyKind::AuthorizedUser {
                client_secret,
                refresh_token,
                ..
            } => vec![client_secret, refresh_token],
        };
        parts.into_iter().map(Secret::new).collect()
    }
}

/// The key in a PEM of PKCS #8.
pub(crate) fn pair(pem: &str) -> Option<RsaKeyPair> {
    RsaKeyPair::from_pkcs8(&der(pem, "PRIVATE KEY")?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(token_uri: Option<&str>) -> String {
        let mut key = json!({
            "type": "authorized_user", "client_id": "id", "client_secret": "of-a-client",
            "refresh_token": "1//of-a-person", "account": "", "universe_domain": "googleapis.com",
        });
        if let Some(uri) = token_uri {
            key["token_uri"] = json!(uri);
        }
        key.to_string()
    }

    #[test]
    fn tokens_are_asked_for_at_google_or_where_the_person_says() {
        for google in [
            None,
            Some("https://oauth2.googleapis.com/token"),
            Some("https://accounts.google.com/o/oauth2/token"),
        ] {
            assert!(Secret::google(&user(google), None).is_ok(), "{google:?}");
        }
        for other in [
            "https://oauth2.googleapis.com.evil.org/token",
            "http://oauth2.googleapis.com/token",
            "http://169.254.169.254/token",
            "x",
        ] {
            let text = user(Some(other));
            let refused = Secret::google(&text, None);
            assert!(
                matches!(refused, Err(GoogleKeyError::Elsewhere(_))),
                "{other}"
            );
            let meant = Secret::google(&text, Some("http://127.0.0.1:9/token")).expect("meant");
            let key = meant.google_key().expect("a key");
            assert_eq!(key.token_uri, "http://127.0.0.1:9/token");
        }
    }

    #[test]
    fn who_gives_tokens_is_known_before_one_is_asked_for() {
        let gives = |secret: Secret| secret.google_gives().map(|origin| origin.to_string());
        let google = Secret::google(&user(None), None).expect("a key");
        assert_eq!(
            gives(google).as_deref(),
            Some("https://oauth2.googleapis.com")
        );
        let own = Secret::google(&user(None), Some("http://127.0.0.1:9/token")).expect("a key");
        assert_eq!(gives(own).as_deref(), Some("http://127.0.0.1:9"));
        assert_eq!(gives(Secret::new("no key")), None);
    }

    #[test]
    fn what_is_no_key_is_refused_without_a_word_of_it() {
        for text in [
            "",
            "{}",
            "-----BEGIN",
            r#"{"type":"external_account","audience":"of-a-person"}"#,
            r#"{"type":"authorized_user","client_id":"of-a-person"}"#,
        ] {
            let error = Secret::google(text, None).expect_err("none");
            assert_eq!(error, GoogleKeyError::Unreadable);
            assert!(!error.to_string().contains("of-a-person"));
        }
    }

    #[test]
    fn a_private_key_that_is_none_is_found_when_it_is_read() {
        let key = json!({ "type": "service_account", "client_email": "a@b", "private_key": "x" });
        let error = Secret::google(&key.to_string(), None).expect_err("none");
        assert_eq!(error, GoogleKeyError::PrivateKey);
    }

    #[test]
    fn one_key_is_one_credential_however_its_file_is_written() {
        let key = |text: &str| Secret::google(text, None).expect("a key").fingerprint();
        let spread = user(None).replace(',', ",\n  ");
        assert_eq!(key(&user(None)), key(&spread));
        assert_ne!(key(&user(None)), key(&user(None).replace("1//", "2//")));
    }
}
