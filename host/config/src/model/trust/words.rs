//! What the person is asked for, in words.
//!
//! Names in them are a stranger's. Whatever could be taken for words of ours stands in quotes,
//! which the name itself can't close.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use url::Url;

use super::{ANY_VARIABLE, Role, Terms, TrustSubject, WEBHOOK};
use crate::model::{COMMAND_LINE, Permissions, Position};

/// A name as it is, or in quotes where it holds more than letters, digits and what paths, addresses
/// and models are written with.
fn named(name: &str) -> String {
    quoted_unless(name, "._-/~+@%:*?[]{}!$^=\\#")
}

/// A path as it is, or in quotes as a name is. Of what is no text its bytes stand in them.
pub fn named_path(path: &Path) -> String {
    if let Some(name) = path.to_str() {
        return named(name);
    }
    let mut name = String::from('\'');
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        escape(chunk.valid(), &mut name);
        let bytes = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
        name.extend(bytes);
    }
    name.push('\'');
    name
}

impl Position {
    /// Says where this is, with the file's name as [`named_path`]. What a flag names has no file.
    pub fn named(&self) -> String {
        if self.is_typed() || self.line == 0 && self.file.as_os_str().is_empty() {
            return COMMAND_LINE.to_owned();
        }
        let file = named_path(&self.file).into();
        let place = Self {
            file,
            ..self.clone()
        };
        place.to_string()
    }
}

/// A list of keys and values as it is, or in quotes where it holds what could end it.
fn listed(text: &str) -> String {
    quoted_unless(text, " ._-/~+@%:*?[]{}!$^=\\#\",&|<>`…")
}

/// A text in quotes: what could close them, and blanks that look like others or like more or less
/// than they are, stand as escapes.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    escape(text, &mut quoted);
    quoted.push('\'');
    quoted
}

fn escape(text: &str, quoted: &mut String) {
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            ' ' if before != ' ' => quoted.push(c),
            c if c.is_whitespace() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
        before = c;
    }
}

fn quoted_unless(text: &str, plain: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || plain.contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.contains("  ") {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// The name of a key.
fn key(name: &str) -> String {
    if named(name) == name {
        format!("`{name}`")
    } else {
        quoted(name)
    }
}

/// Hosts as they are asked: a letter of another alphabet may look like one of this.
fn joined(hosts: &[String]) -> String {
    let asked = |host: &String| match Url::parse(host) {
        Ok(url) if !host.is_ascii() => url.origin().ascii_serialization(),
        _ => host.clone(),
    };
    let hosts: Vec<String> = hosts.iter().map(|host| named(&asked(host))).collect();
    hosts.join(", ")
}

/// By what a server is believed to be the one that is meant.
fn certificates(f: &mut fmt::Formatter<'_>, to: &str, has_own: bool) -> fmt::Result {
    let to = named(to);
    if has_own {
        write!(
            f,
            "take a server for {to} by certificates of the config's own"
        )
    } else {
        write!(f, "take any server for {to}, whatever certificate it shows")
    }
}

/// What the person agrees to, in words that end a sentence: "may …".
impl fmt::Display for TrustSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path: file } => write!(f, "read the file {}", named_path(file)),
            Self::Match { pattern } => {
                write!(f, "find out which files match {}", named_path(pattern))
            }
            Self::Write { path: file } => {
                write!(f, "write the file {}{}", named_path(file), tilde(file))
            }
            Self::Variable { name, to } => {
                let network = network(to).unwrap_or_default();
                write!(f, "send {} to {}{network}", variable(name), named(to))
            }
            Self::Keep { name } => {
                let variable = variable(name);
                write!(f, "let the value of {variable} appear in results and files")
            }
            Self::Address { origin } => {
                // No name leads to a link-local address.
                let network = network(origin).unwrap_or(OWN);
                write!(f, "connect to {}{network}", named(origin))
            }
            Self::Requests { code, to } => requests(f, code, to),
            Self::Certificates { to, sha256 } => certificates(f, to, sha256.is_some()),
            Self::Component {
                alias,
                source,
                sha256,
                grants,
                terms,
            } => {
                component(f, alias, source, sha256, grants)?;
                self::terms(terms, f)
            }
            Self::Provider {
                id,
                role,
                config,
                sha256,
            } => provider(f, id, *role, config, sha256),
            Self::RequestOption { name, value } => {
                write!(f, "set {} of its request to {}", key(name), listed(value))?;
                f.write_str(worked_out(name, value))
            }
            Self::Change { key } => {
                let key = self::key(key);
                write!(
                    f,
                    "let a hook that was given rows change {key} of the config"
                )
            }
            Self::Program {
                command,
                folder,
                variables,
            } => program(f, command, folder, variables),
            Self::Code { path: file } => {
                write!(f, "run the code of {} in the sandbox", named_path(file))
            }
        }
    }
}

/// Requests of the config's own code.
fn requests(f: &mut fmt::Formatter<'_>, code: &str, to: &str) -> fmt::Result {
    let (code, network) = (named(code), network(to).unwrap_or_default());
    let to = named(to);
    write!(
        f,
        "let its own code in {code} send requests to {to}{network}"
    )
}

/// A variable of the environment, or all of them.
fn variable(name: &str) -> String {
    match name {
        ANY_VARIABLE => "any environment variable".to_owned(),
        name => format!("the environment variable {}", named(name)),
    }
}

/// On what terms a component is used.
fn terms(terms: &Terms, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(megabytes) = terms.memory_mb {
        write!(f, "; with up to {megabytes} MiB of memory in each call")?;
    }
    if let Some(ms) = terms.cpu_ms {
        let seconds = ms.div_ceil(1_000);
        write!(f, "; with up to {seconds} s of processor time in each call")?;
    }
    if let Some(requests) = terms.requests {
        write!(f, "; with up to {requests} requests in a run")?;
    }
    if let Some(tokens) = terms.tokens {
        write!(f, "; with up to {tokens} tokens in a run")?;
    }
    if let Some(micros) = terms.cost_microusd {
        write!(f, "; spending up to ${} in a run", micros as f64 / 1e6)?;
    }
    for (own, name) in &terms.renamed {
        write!(f, "; its {} is called {} here", named(own), named(name))?;
    }
    Ok(())
}

/// Said of an address of a private network.
const OWN: &str = " (this machine's network)";
/// Said of a link-local address.
const LINK_LOCAL: &str = " (link-local: a cloud's metadata service)";
/// Said of an address elsewhere at which a cloud answers with the machine's credentials.
const METADATA: &str = " (a cloud's metadata service)";
/// Those of Azure, Alibaba and Oracle, and of EC2, EKS and Google over IPv6 (the gateway has the same list).
const METADATA_SERVICES: [&str; 6] = [
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:ec2::23",
];

/// What is to be said of an origin that is written as a number; nothing of a public one.
fn network(origin: &str) -> Option<&'static str> {
    let (_, host) = origin.split_once("://")?;
    let number = match host.strip_prefix('[') {
        Some(number) => number.split(']').next()?,
        None => host.split(':').next()?,
    };
    let number = number.parse::<IpAddr>().ok()?.to_canonical();
    if METADATA_SERVICES.contains(&number.to_string().as_str()) {
        return Some(METADATA);
    }
    let (is_link_local, is_private) = match number {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.is_private()),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.is_unique_local()),
    };
    is_link_local
        .then_some(LINK_LOCAL)
        .or(is_private.then_some(OWN))
}

/// What is to be said of a path that a shell would have led home.
fn tilde(path: &Path) -> &'static str {
    if path.iter().any(|name| name == "~") {
        " (`~` is not the home folder here)"
    } else {
        ""
    }
}

/// Said of an address that differs from row to row: it is what the row's variables or code make it.
fn worked_out(name: &str, value: &str) -> &'static str {
    let is_template = value.contains("{{") || value.contains("{%");
    // What a file holds stands in its place, but for code.
    let is_code = value.contains("file://");
    if name == WEBHOOK && (is_template || is_code) {
        ", which is worked out for each row: any address"
    } else {
        ""
    }
}

/// A provider that rows bring.
fn provider(
    f: &mut fmt::Formatter<'_>,
    id: &str,
    role: Role,
    config: &str,
    sha256: &str,
) -> fmt::Result {
    let id = quoted(id);
    match role {
        Role::Case => write!(f, "ask the provider {id} (")?,
        Role::Judge => write!(f, "let the provider {id} grade answers (")?,
    }
    if !config.is_empty() {
        write!(f, "{}; ", listed(config))?;
    }
    let sha256 = sha256.get(..12).unwrap_or(sha256);
    write!(f, "sha256 {sha256}…)")
}

/// A program of the person's machine, and what it is given.
fn program(
    f: &mut fmt::Formatter<'_>,
    command: &str,
    folder: &Path,
    variables: &BTreeSet<String>,
) -> fmt::Result {
    let (command, folder) = (quoted(command), named_path(folder));
    write!(
        f,
        "run {command} in {folder} with the code there, outside the sandbox: it can do what you can"
    )?;
    if variables.contains(ANY_VARIABLE) {
        return f.write_str(", with all your environment variables");
    }
    if !variables.is_empty() {
        let names: Vec<String> = variables.iter().map(|name| named(name)).collect();
        write!(f, ", with your environment's {}", names.join(", "))?;
    }
    Ok(())
}

/// A component of somebody else's, with all that it may.
fn component(
    f: &mut fmt::Formatter<'_>,
    alias: &str,
    source: &Path,
    sha256: &str,
    grants: &Permissions,
) -> fmt::Result {
    let sha256 = sha256.get(..12).unwrap_or(sha256);
    let source = if source.as_os_str().is_empty() {
        String::new()
    } else {
        format!("{}, ", named_path(source))
    };
    let alias = quoted(alias);
    write!(f, "use the component {alias} ({source}sha256 {sha256}…)")?;
    granted(grants, f)
}

/// What comes with a component.
fn granted(grants: &Permissions, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut abilities = Vec::new();
    if !grants.hosts.is_empty() {
        let how = if grants.wasi_http {
            " (also through `wasi:http`)"
        } else {
            ""
        };
        abilities.push(format!("reach {}{how}", joined(&grants.hosts)));
    }
    for grant in grants.credentials.values() {
        let (variable, hosts) = (variable(&grant.env), joined(&grant.hosts));
        let how = sent(&grant.scheme);
        abilities.push(format!("send {variable}{how} to {hosts}"));
    }
    if !grants.llm.is_empty() {
        let asked = grants.llm.iter().map(|name| {
            let provider = grants.llm_providers.get(name);
            provider.map_or_else(
                || named(name),
                |it| format!("{} (as {})", named(it), named(name)),
            )
        });
        let asked: Vec<String> = asked.collect();
        abilities.push(format!("ask the providers {}", asked.join(", ")));
    }
    if abilities.is_empty() {
        return f.write_str(", no network, no keys");
    }
    write!(f, ", which may {}", abilities.join("; "))
}

/// How a credential goes along, where that is not the usual way: a header can be one by which a server
/// decides whose request it is.
fn sent(scheme: &str) -> String {
    match scheme.split_once(':') {
        Some(("header", name)) => format!(" in the header {}", named(name)),
        Some(("query", name)) => format!(" in the address, as {},", named(name)),
        _ if scheme == "bearer" => String::new(),
        _ => format!(" by {}", named(scheme)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_credential_goes_along_is_said() {
        for (scheme, expected) in [
            ("bearer", ""),
            ("header:X-Tenant", " in the header X-Tenant"),
            ("query:key", " in the address, as key,"),
            ("aws-sigv4:s3", " by aws-sigv4:s3"),
        ] {
            assert_eq!(sent(scheme), expected);
        }
        assert_eq!(sent("header:a\nb"), r" in the header 'a\u{a}b'");
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_no_text_is_told_from_others() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        for (name, expected) in [
            (&b"a\xff.csv"[..], r"'a\xff.csv'"),
            (b"a\xfe.csv", r"'a\xfe.csv'"),
            (b"a\\xff.csv", r"a\xff.csv"),
            (b"a\\xff'.csv", r"'a\\xff\'.csv'"),
            (b"a\\xff\xff", r"'a\\xff\xff'"),
        ] {
            assert_eq!(named_path(Path::new(OsStr::from_bytes(name))), expected);
        }
    }

    #[test]
    fn what_could_be_taken_for_our_words_is_in_quotes_that_it_cannot_close() {
        for (name, expected) in [
            ("/home/ü/a-b_c.yaml", "/home/ü/a-b_c.yaml"),
            ("https://*.a.example:8443", "https://*.a.example:8443"),
            ("", "''"),
            ("a b", "'a b'"),
            ("t.csv (safe); nothing", "'t.csv (safe); nothing'"),
            ("x', no network, no keys", r"'x\', no network, no keys'"),
            (r"x\' y", r"'x\\\' y'"),
            ("a  b\u{3000}c", r"'a \u{20}b\u{3000}c'"),
        ] {
            assert_eq!(named(name), expected);
            let at = Position {
                file: name.into(),
                line: 1,
                column: 2,
                key: String::new(),
            };
            assert_eq!(at.named(), format!("{expected}:1:2"));
        }
    }
}
