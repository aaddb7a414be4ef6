//! What Google is asked for an access token with: a signed statement of who an account is, or what
//! a person has signed in for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::RSA_PKCS1_SHA256;
use serde_json::json;
use url::form_urlencoded;

use crate::policy::google::{GoogleKey, KeyKind, pair};
use crate::wire::fault::WireFault;

/// What a token is for: everything in the cloud that the key's owner may do.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// How long a signed statement holds, in seconds: the most that Google takes.
const STATEMENT_SECONDS: i64 = 3600;

/// The body of the request for a token.
pub(crate) fn form(key: &GoogleKey, now: Timestamp) -> Result<String, WireFault> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    match &key.kind {
        KeyKind::ServiceAccount {
            client_email,
            private_key,
            private_key_id,
        } => {
            let statement = statement(key, client_email, private_key_id.as_deref(), now);
            let signed = signed(private_key, &statement).ok_or_else(|| {
                WireFault::Invalid(
                    "the private key of the Google service account can't be used".to_owned(),
                )
            })?;
            form.append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
                .append_pair("assertion", &signed);
        }
        KeyKind::AuthorizedUser {
            client_id,
            client_secret,
            refresh_token,
        } => {
            form.append_pair("grant_type", "refresh_token")
                .append_pair("client_id", client_id)
                .append_pair("client_secret", client_secret)
                .append_pair("refresh_token", refresh_token);
        }
    }
    Ok(form.finish())
}

/// A JSON Web Token without its signature.
fn statement(key: &GoogleKey, email: &str, key_id: Option<&str>, now: Timestamp) -> String {
    let mut head = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(key_id) = key_id {
        head["kid"] = json!(key_id);
    }
    let now = now.as_second();
    let claims = json!({
        "iss": email, "scope": SCOPE, "aud": key.token_uri,
        "iat": now, "exp": now + STATEMENT_SECONDS,
    });
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(&head), part(&claims))
}

/// A statement with its signature (RS256); `None` where the key is none.
fn signed(pem: &str, statement: &str) -> Option<String> {
    let pair = pair(pem)?;
    let mut signature = vec![0; pair.public().modulus_len()];
    let random = SystemRandom::new();
    pair.sign(
        &RSA_PKCS1_SHA256,
        &random,
        statement.as_bytes(),
        &mut signature,
    )
    .ok()?;
    Some(format!("{statement}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests;
