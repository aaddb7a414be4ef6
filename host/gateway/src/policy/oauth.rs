//! What a server of OAuth 2.0 is asked for a token with: a program's name and secret, or a person's
//! name and password.
//!
//! Whoever writes the config says where, so that address is one that the run may reach by the same
//! rules as any other.

use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};

use crate::policy::origin::Origin;
use crate::policy::secret::{Secret, TooLong};

/// Who asks a server of OAuth 2.0 for tokens, and where.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenClient {
    /// Where tokens are asked for.
    pub token_url: String,
    /// The name of the program.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// What the token is to be good for.
    pub scopes: Vec<String>,
    /// Name and password of the person in whose name it is asked for, if it is in anybody's.
    pub person: Option<(String, String)>,
}

impl TokenClient {
    /// The address, and the origin that sees the secrets; `None` if it is none.
    pub fn address(&self) -> Option<(Url, Origin)> {
        let url = Url::parse(&self.token_url).ok()?;
        let origin = Origin::of(&url)?;
        Some((url, origin))
    }

    /// The body of the request for a token.
    pub(crate) fn form(&self) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        let kind = match self.person {
            Some(_) => "password",
            None => "client_credentials",
        };
        form.append_pair("grant_type", kind);
        let mut add = |name: &str, value: Option<&String>| {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        };
        add("client_id", self.client_id.as_ref());
        add("client_secret", self.client_secret.as_ref());
        add("username", self.person.as_ref().map(|(name, _)| name));
        add("password", self.person.as_ref().map(|(_, word)| word));
        if !self.scopes.is_empty() {
            form.append_pair("scope", &self.scopes.join(" "));
        }
        form.finish()
    }

    /// Its parts that nobody may see.
    pub(crate) fn secrets(self) -> impl Iterator<Item = Secret> {
        let password = self.person.map(|(_, password)| password);
        let all = [self.client_secret, password];
        all.into_iter().flatten().map(Secret::new)
    }
}

impl Secret {
    /// What asks for tokens, as one credential.
    ///
    /// # Errors
    /// When its parts are longer together than any server takes.
    pub fn oauth(client: &TokenClient) -> Result<Self, TooLong> {
        let text = serde_json::to_string(client).expect("texts become JSON");
        Self::credential(text)
    }

    /// What asks for tokens, if it is that.
    pub(crate) fn token_client(&self) -> Option<TokenClient> {
        serde_json::from_str(self.reveal()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> TokenClient {
        TokenClient {
            token_url: "https://id.test/token".to_owned(),
            client_id: Some("me".to_owned()),
            client_secret: Some("a b&c".to_owned()),
            scopes: vec!["read".to_owned(), "write".to_owned()],
            person: None,
        }
    }

    #[test]
    fn a_program_asks_in_its_own_name_or_in_a_persons() {
        let program =
            "grant_type=client_credentials&client_id=me&client_secret=a+b%26c&scope=read+write";
        assert_eq!(client().form(), program);
        let person = TokenClient {
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            person: Some(("ada".to_owned(), "pass word".to_owned())),
            ..client()
        };
        assert_eq!(
            person.form(),
            "grant_type=password&username=ada&password=pass+word"
        );
    }

    #[test]
    fn it_is_one_credential_whose_secrets_are_known() {
        let secret = Secret::oauth(&client()).expect("short enough");
        let read = secret.token_client().expect("what was written");
        assert!(read == client());
        let secrets: Vec<String> = read.secrets().map(|it| it.reveal().to_owned()).collect();
        assert_eq!(secrets, ["a b&c"]);
    }
}
