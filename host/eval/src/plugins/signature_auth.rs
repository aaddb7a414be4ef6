//! `signatureAuth` of a provider's config, as promptfoo's `http` has it: a key that signs the requests.
//!
//! The guest learns neither the key nor a signature. Its templates read `signature` and
//! `signatureTimestamp`, which are what stands for them until the request goes.

use runner_config::plan::Provider;
use runner_gateway::{RequestSigner, Secret, SignedDigest, SigningRule};
use serde_json::{Map, Value, json};

use super::bind_error::BindError;
use super::config_key::ConfigKey;
use crate::private_door;

/// The key of the config.
pub(super) const KEY: &str = "signatureAuth";

/// For how long a signature is good where nothing is said, in milliseconds.
const USUAL_VALIDITY: u64 = 300_000;

/// How an archive of keys is to be written.
const AS_PEM: &str = "is not read; write the key as PEM: `openssl pkcs12 -in FILE -nodes -nocerts -out key.pem`, \
                      then `privateKeyPath: key.pem`";

/// Keys of promptfoo's that can't be honoured, and what to do instead.
const REFUSED: [(&str, &str); 8] = [
    ("pfxPath", AS_PEM),
    ("pfxPassword", AS_PEM),
    ("pfxContent", AS_PEM),
    ("keystorePath", AS_PEM),
    ("keystorePassword", AS_PEM),
    ("keystoreContent", AS_PEM),
    ("keyAlias", AS_PEM),
    (
        "keyPassword",
        "is not read; write the key without one: `openssl pkey -in FILE -out key.pem`",
    ),
];

/// Takes it out of a config, and leaves what stands for signature and time.
pub(super) fn take(
    provider: &Provider,
    config: &mut Map<String, Value>,
) -> Result<Option<RequestSigner>, BindError> {
    let Some(written) = ConfigKey::take(provider, config, KEY)? else {
        return Ok(None);
    };
    written.refuse(&REFUSED)?;
    let problem = |member: &str, problem: &str| written.problem(member, problem);
    let members = &written.members;
    let text = |key: &str| match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(problem(key, "must be a text")),
    };
    let count = |key: &str| match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(number) => match number.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(problem(key, "must be a number of milliseconds")),
        },
    };
    let key = text("privateKey")?.ok_or_else(|| {
        problem(
            "privateKey",
            "is missing; or write `privateKeyPath: key.pem`",
        )
    })?;
    let algorithm = text("signatureAlgorithm")?.unwrap_or("SHA256");
    let template = text("signatureDataTemplate")?.unwrap_or("{{signatureTimestamp}}");
    let validity = count("signatureValidityMs")?.unwrap_or(USUAL_VALIDITY);
    let buffer = count("signatureRefreshBufferMs")?.unwrap_or(validity / 10);
    let rule = SigningRule {
        key: Secret::credential(key).map_err(|why| problem("privateKey", &why.to_string()))?,
        digest: digest(algorithm)
            .ok_or_else(|| problem("signatureAlgorithm", "must be SHA256, SHA384 or SHA512"))?,
        data: signed(template, members).ok_or_else(|| {
            let why =
                "knows `{{signatureTimestamp}}` and the texts beside it, and no other variable";
            problem("signatureDataTemplate", why)
        })?,
        reused_ms: validity.saturating_sub(buffer),
    };
    let signer = RequestSigner::new(rule).map_err(|why| problem("privateKey", &why.to_string()))?;
    let stand_ins = signer.stand_ins();
    let vars = json!({
        "signature": stand_ins.signature, "signatureTimestamp": stand_ins.timestamp,
    });
    private_door::add_vars(config, vars);
    Ok(Some(signer))
}

/// The digest that a name of Node.js means.
fn digest(algorithm: &str) -> Option<SignedDigest> {
    let name = algorithm.to_ascii_uppercase();
    match name.trim_start_matches("RSA-").replace('-', "").as_str() {
        "SHA256" => Some(SignedDigest::Sha256),
        "SHA384" => Some(SignedDigest::Sha384),
        "SHA512" => Some(SignedDigest::Sha512),
        _ => None,
    }
}

/// The texts around each time in what is signed; `None` if another variable is in it.
fn signed(template: &str, members: &Map<String, Value>) -> Option<Vec<String>> {
    let mut texts = vec![String::new()];
    let mut rest = template;
    while let Some((before, tag)) = rest.split_once("{{") {
        let (name, behind) = tag.split_once("}}")?;
        texts.last_mut()?.push_str(before);
        match name.trim() {
            "signatureTimestamp" | "timestamp" => texts.push(String::new()),
            name => texts.last_mut()?.push_str(members.get(name)?.as_str()?),
        }
        rest = behind;
    }
    texts.last_mut()?.push_str(rest);
    // In a config in quotes a line's end is often these two signs, which promptfoo takes for one.
    Some(texts.iter().map(|text| text.replace("\\n", "\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_the_text_with_the_time_in_it() {
        let members = json!({ "clientId": "me", "n": 1 });
        let members = members.as_object().expect("a map");
        let texts = |template: &str| signed(template, members);
        let owned = |texts: &[&str]| Some(texts.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(texts("{{signatureTimestamp}}"), owned(&["", ""]));
        assert_eq!(
            texts("{{clientId}}:{{ timestamp }}\\n"),
            owned(&["me:", "\n"])
        );
        assert_eq!(texts("fixed"), owned(&["fixed"]));
        for unknown in ["{{other}}", "{{n}}", "{{signatureTimestamp"] {
            assert_eq!(texts(unknown), None, "{unknown}");
        }
    }
}
