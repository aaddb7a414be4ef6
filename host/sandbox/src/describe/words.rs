//! The words of a description: names, addresses and reasons.
//!
//! They are shown where a person decides what a plugin may do, some as YAML to paste. So none can
//! begin a line, end a quotation or look like something else, and none is longer than is read.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use serde_json::Value;

use super::Exported;
use crate::abi::{Info, Wants};
use crate::notice::one_line;

/// Longest name, prefix or type: they are columns in tables.
const MAX_NAME: usize = 64;

/// Longest host (RFC 1035), and more than any name of a variable.
const MAX_HOST: usize = 253;

/// Longest reason: it is read before something is granted.
const MAX_REASON: usize = 300;

/// Longest line of a description, homepage or licence.
const MAX_TEXT: usize = 1_000;

/// Lines of a description.
const MAX_LINES: usize = 32;

/// Prefixes, and types. The plugin for servers that speak as OpenAI does has 30.
const MAX_CLAIMS: usize = 1_024;

/// Hosts, credentials, settings and models each.
const MAX_WANTS: usize = 128;

/// The growth room of the contract.
const MAX_METADATA_BYTES: usize = 64 << 10;

/// Refuses what is nonsense in a plugin's words about itself.
pub(super) fn check(info: &Info, exported: Exported) -> Result<(), String> {
    texts(info)?;
    claims(
        exported.provider,
        "provider",
        "provider-prefixes",
        info.provider_prefixes.len(),
    )?;
    claims(
        exported.assertion,
        "assertion",
        "assertion-types",
        info.assertion_types.len(),
    )?;
    served(info)?;
    wants(&info.wants)?;
    if let Some(text) = &info.metadata_json {
        at_most("bytes in `metadata-json`", text.len(), MAX_METADATA_BYTES)?;
        serde_json::from_str::<serde_json::Map<String, Value>>(text)
            .map_err(|_| "`metadata-json` is not a JSON object".to_owned())?;
    }
    Ok(())
}

/// Checks its name, and what is only read.
fn texts(info: &Info) -> Result<(), String> {
    name("name", &info.name)?;
    if info.version.is_empty() {
        return Err("`version` is empty".into());
    }
    line("version", &info.version, MAX_NAME)?;
    for part in info.description.lines() {
        line("description", part, MAX_TEXT)?;
    }
    at_most(
        "lines of `description`",
        info.description.lines().count(),
        MAX_LINES,
    )?;
    for (what, text) in [("homepage", &info.homepage), ("license", &info.license)] {
        line(what, text.as_deref().unwrap_or_default(), MAX_TEXT)?;
    }
    at_most(
        "provider prefixes",
        info.provider_prefixes.len(),
        MAX_CLAIMS,
    )?;
    at_most("assertion types", info.assertion_types.len(), MAX_CLAIMS)?;
    Ok(())
}

/// Prefixes and types.
fn served(info: &Info) -> Result<(), String> {
    let mut seen = HashSet::new();
    for prefix in &info.provider_prefixes {
        name("a provider prefix", prefix)?;
        if !seen.insert(prefix) {
            return Err(format!("provider prefix `{prefix}` is listed twice"));
        }
    }
    let mut seen = HashSet::new();
    for assertion in &info.assertion_types {
        // Kinds of one type are told apart by a colon: `similar:dot`.
        for word in assertion.name.split(':') {
            name("an assertion type", word)?;
        }
        if assertion.name.starts_with("not-") {
            return Err(format!(
                "assertion type `{}`: `not-` is added by the host",
                assertion.name
            ));
        }
        if !seen.insert(&assertion.name) {
            return Err(format!(
                "assertion type `{}` is listed twice",
                assertion.name
            ));
        }
    }
    Ok(())
}

fn claims(exported: bool, interface: &str, field: &str, count: usize) -> Result<(), String> {
    match (exported, count) {
        (true, 0) => Err(format!("it exports `{interface}` but `{field}` is empty")),
        (false, 1..) => Err(format!(
            "`{field}` has entries but it exports no `{interface}`"
        )),
        _ => Ok(()),
    }
}

/// Checks a name in lower-case kebab: `a-z`, digits and hyphens, beginning with a letter.
fn name(what: &str, text: &str) -> Result<(), String> {
    let kebab = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.len() <= MAX_NAME
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if kebab {
        return Ok(());
    }
    Err(format!(
        "{what} `{}` is not a lower-case kebab name of at most {MAX_NAME} characters",
        one_line(text, MAX_NAME)
    ))
}

/// Checks what the person is asked to grant, each on a line of YAML that they paste.
fn wants(wants: &Wants) -> Result<(), String> {
    let Wants {
        hosts,
        host_config_key,
        credentials,
        settings,
        llm,
    } = wants;
    for (what, count) in [
        ("hosts", hosts.len()),
        ("credentials", credentials.len()),
        ("settings", settings.len()),
        ("models", llm.len()),
    ] {
        at_most(&format!("{what} that it wants"), count, MAX_WANTS)?;
    }
    hosts.iter().try_for_each(|host| origin(host))?;
    host_config_key.iter().try_for_each(|key| config_key(key))?;
    let mut seen = HashSet::new();
    for credential in credentials {
        name("a credential", &credential.name)?;
        if !seen.insert(&credential.name) {
            return Err(format!("credential `{}` is wanted twice", credential.name));
        }
        scheme(&credential.scheme)?;
        variable(&credential.env)?;
        let keys = [&credential.env_config_key, &credential.value_config_key];
        keys.into_iter()
            .flatten()
            .try_for_each(|key| config_key(key))?;
        line(
            "the reason for a credential",
            &credential.reason,
            MAX_REASON,
        )?;
    }
    for setting in settings {
        variable(&setting.env)?;
        config_key(&setting.config_key)?;
    }
    llm.iter().try_for_each(|(alias, reason)| {
        name("the name of a model", alias)?;
        line("the reason for a model", reason, MAX_REASON)
    })
}

fn scheme(text: &str) -> Result<(), String> {
    let kinds: [(&str, &[u8]); 3] = [
        ("header:", b"-_."),
        ("query:", b"-_."),
        ("aws-sigv4:", b"-:"),
    ];
    let named = kinds.iter().any(|(kind, signs)| {
        text.strip_prefix(kind)
            .is_some_and(|name| word(name, signs, MAX_NAME))
    });
    if named || ["bearer", "basic", "google-adc"].contains(&text) {
        return Ok(());
    }
    Err(format!(
        "credential scheme `{}` is not one of bearer, basic, header:<name>, query:<name>, \
         aws-sigv4:<service>, google-adc",
        one_line(text, MAX_NAME)
    ))
}

/// Checks scheme, host and port, as in a grant: the host may begin with `*.`, and a label before its last
/// two may have a `*`; what is left out is `https`.
fn origin(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host_reads = if let Some(address) = address {
        address.parse::<Ipv6Addr>().is_ok()
    } else {
        let name = host.strip_prefix("*.").unwrap_or(host);
        let is_owned = name.rsplit('.').take(2).all(|label| !label.contains('*'));
        is_owned && word(name, b"-.*", MAX_HOST)
    };
    let port_reads = port.is_none_or(|port| port.parse::<u16>().is_ok());
    if ["https", "http"].contains(&scheme) && host_reads && port_reads {
        return Ok(());
    }
    Err(format!(
        "`{}` in `hosts` is no origin such as https://api.example.com",
        one_line(text, MAX_NAME)
    ))
}

fn variable(text: &str) -> Result<(), String> {
    if word(text, b"_", MAX_HOST) {
        return Ok(());
    }
    Err(format!(
        "`{}` is no name of a variable",
        one_line(text, MAX_NAME)
    ))
}

fn config_key(text: &str) -> Result<(), String> {
    if word(text, b"_-.", MAX_NAME) {
        return Ok(());
    }
    Err(format!(
        "`{}` is no key of a config",
        one_line(text, MAX_NAME)
    ))
}

/// Letters and digits of ASCII, and `more` of it.
fn word(text: &str, more: &[u8], most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
    (1..=most).contains(&text.len()) && text.bytes().all(plain)
}

/// Checks something to read, on one line: nothing in it that a terminal would obey.
fn line(what: &str, text: &str, most: usize) -> Result<(), String> {
    at_most(&format!("bytes in {what}"), text.len(), most)?;
    if one_line(text, most) == text {
        return Ok(());
    }
    Err(format!("{what} has characters that are not printed"))
}

fn at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count <= most {
        return Ok(());
    }
    Err(format!("{count} {what}, at most {most} are read"))
}
