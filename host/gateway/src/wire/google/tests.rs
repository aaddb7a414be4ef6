//! What is asked with. The exchange itself is in `tests/gateway/google.rs`.

use std::collections::HashMap;

use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use super::*;
use crate::policy::secret::Secret;

/// Made for these tests; it opens nothing.
const RSA_KEY: &str = include_str!("../../../tests/gateway/rsa.pem");

fn key(value: &Value) -> GoogleKey {
    let secret = Secret::google(&value.to_string(), None).expect("a key");
    secret.google_key().expect("it was read")
}

fn pairs(form: &str) -> HashMap<String, String> {
    form_urlencoded::parse(form.as_bytes())
        .into_owned()
        .collect()
}

#[test]
fn a_service_account_says_who_it_is_by_a_signature() {
    let key = key(&json!({
        "type": "service_account", "client_email": "me@p.iam.gserviceaccount.com",
        "private_key": RSA_KEY, "private_key_id": "k1",
        "token_uri": "https://oauth2.googleapis.com/token",
    }));
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
    let form = pairs(&form(&key, now).expect("a form"));
    assert_eq!(
        form["grant_type"],
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
    let (statement, signature) = form["assertion"].rsplit_once('.').expect("three parts");
    let part = |nth: usize| {
        let part = statement.split('.').nth(nth).expect("two parts");
        let text = URL_SAFE_NO_PAD.decode(part).expect("base64");
        serde_json::from_slice::<Value>(&text).expect("JSON")
    };
    assert_eq!(
        part(0),
        json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" })
    );
    assert_eq!(
        part(1),
        json!({
            "iss": "me@p.iam.gserviceaccount.com", "scope": SCOPE,
            "aud": "https://oauth2.googleapis.com/token",
            "iat": 1_767_323_045, "exp": 1_767_326_645,
        })
    );
    let pair = pair(RSA_KEY).expect("a key");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key());
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    assert!(public.verify(statement.as_bytes(), &signature).is_ok());
    assert!(public.verify(b"another", &signature).is_err());
}

#[test]
fn a_person_asks_with_what_they_signed_in_for() {
    let key = key(&json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "a b",
        "refresh_token": "1//x",
    }));
    let form = form(&key, Timestamp::UNIX_EPOCH).expect("a form");
    let expected = "grant_type=refresh_token&client_id=id&client_secret=a+b&refresh_token=1%2F%2Fx";
    assert_eq!(form, expected);
}
