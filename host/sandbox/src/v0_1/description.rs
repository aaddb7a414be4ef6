//! A description as it is kept on disk beside the compiled component.
//!
//! Written and read only here. The names are the contract's; a file that does not read as
//! written (an older form) counts as absent, and the plugin is asked again.

use serde::{Deserialize, Serialize};

use crate::abi::{AssertionType, CredentialWant, Info, Inputs, SettingWant, Wants};

/// Changes whenever the fields below do.
const FORM: u32 = 1;

#[derive(Serialize, Deserialize)]
struct KeptDescription {
    form: u32,
    name: String,
    version: String,
    description: String,
    homepage: Option<String>,
    license: Option<String>,
    provider_prefixes: Vec<String>,
    /// Name, schema, what it reads as bits in the contract's order.
    assertion_types: Vec<(String, Option<String>, u32)>,
    hosts: Vec<String>,
    host_config_key: Option<String>,
    credentials: Vec<KeptCredential>,
    /// Variable, config key.
    settings: Vec<(String, String)>,
    llm: Vec<(String, String)>,
    config_schema_json: Option<String>,
    metadata_json: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct KeptCredential {
    name: String,
    reason: String,
    env: String,
    env_config_key: Option<String>,
    value_config_key: Option<String>,
    scheme: String,
}

/// The flags of `inputs` in the contract's order.
const FLAGS: [Inputs; 6] = [
    Inputs::COMPLETION,
    Inputs::PROMPT,
    Inputs::VARS,
    Inputs::TEST,
    Inputs::LATENCY,
    Inputs::COST,
];

pub(crate) fn write(info: &Info) -> String {
    let info = info.clone();
    let kept = KeptDescription {
        form: FORM,
        name: info.name,
        version: info.version,
        description: info.description,
        homepage: info.homepage,
        license: info.license,
        provider_prefixes: info.provider_prefixes,
        assertion_types: info
            .assertion_types
            .into_iter()
            .map(|assertion| {
                let reads = bits(assertion.reads);
                (assertion.name, assertion.value_schema_json, reads)
            })
            .collect(),
        hosts: info.wants.hosts,
        host_config_key: info.wants.host_config_key,
        credentials: info.wants.credentials.into_iter().map(keep).collect(),
        settings: info
            .wants
            .settings
            .into_iter()
            .map(|setting| (setting.env, setting.config_key))
            .collect(),
        llm: info.wants.llm,
        config_schema_json: info.config_schema_json,
        metadata_json: info.metadata_json,
    };
    serde_json::to_string(&kept).expect("strings and numbers serialise")
}

pub(crate) fn read(text: &str) -> Option<Info> {
    let kept: KeptDescription = serde_json::from_str(text).ok()?;
    if kept.form != FORM {
        return None;
    }
    Some(Info {
        name: kept.name,
        version: kept.version,
        description: kept.description,
        homepage: kept.homepage,
        license: kept.license,
        provider_prefixes: kept.provider_prefixes,
        assertion_types: kept
            .assertion_types
            .into_iter()
            .map(|(name, value_schema_json, reads)| AssertionType {
                name,
                value_schema_json,
                reads: flags(reads),
            })
            .collect(),
        wants: Wants {
            hosts: kept.hosts,
            host_config_key: kept.host_config_key,
            credentials: kept.credentials.into_iter().map(unkeep).collect(),
            settings: kept
                .settings
                .into_iter()
                .map(|(env, config_key)| SettingWant { env, config_key })
                .collect(),
            llm: kept.llm,
        },
        config_schema_json: kept.config_schema_json,
        metadata_json: kept.metadata_json,
    })
}

fn bits(inputs: Inputs) -> u32 {
    let set = FLAGS.iter().enumerate();
    set.fold(0, |bits, (at, flag)| {
        bits | u32::from(inputs.contains(*flag)) << at
    })
}

fn flags(bits: u32) -> Inputs {
    let all = FLAGS.iter().enumerate();
    all.filter(|(at, _)| bits >> at & 1 == 1)
        .fold(Inputs::empty(), |inputs, (_, flag)| inputs | *flag)
}

fn keep(want: CredentialWant) -> KeptCredential {
    KeptCredential {
        name: want.name,
        reason: want.reason,
        env: want.env,
        env_config_key: want.env_config_key,
        value_config_key: want.value_config_key,
        scheme: want.scheme,
    }
}

fn unkeep(kept: KeptCredential) -> CredentialWant {
    CredentialWant {
        name: kept.name,
        reason: kept.reason,
        env: kept.env,
        env_config_key: kept.env_config_key,
        value_config_key: kept.value_config_key,
        scheme: kept.scheme,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let info = Info {
            name: "acme".into(),
            version: "1.2.3".into(),
            description: "d".into(),
            homepage: Some("h".into()),
            license: None,
            provider_prefixes: vec!["acme".into()],
            assertion_types: vec![AssertionType {
                name: "loud".into(),
                value_schema_json: Some("{}".into()),
                reads: Inputs::VARS | Inputs::COST,
            }],
            wants: Wants {
                hosts: vec!["https://a".into()],
                host_config_key: Some("url".into()),
                credentials: vec![CredentialWant {
                    name: "key".into(),
                    reason: "r".into(),
                    env: "KEY".into(),
                    env_config_key: Some("keyEnvar".into()),
                    value_config_key: None,
                    scheme: "bearer".into(),
                }],
                settings: vec![SettingWant {
                    env: "URL".into(),
                    config_key: "url".into(),
                }],
                llm: vec![("grader".into(), "to judge".into())],
            },
            config_schema_json: Some("true".into()),
            metadata_json: None,
        };
        assert_eq!(read(&write(&info)), Some(info));
    }

    #[test]
    fn other_forms_count_as_absent() {
        assert_eq!(read("{}"), None);
        assert_eq!(read(""), None);
    }
}
