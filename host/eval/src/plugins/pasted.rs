//! An entry for `plugins:` of a config, to be pasted there as it stands.
//!
//! Its words are a component's own. They are quoted, so that what is pasted grants what was read and nothing else.

use std::fmt::Write as _;
use std::path::Path;

use runner_config::{Permissions, relative};

use super::loaded::LoadedPlugin;

/// The entry under `plugins:` that grants `permissions`, for a config of this folder.
pub(super) fn entry_of(
    plugin: &LoadedPlugin,
    permissions: &Permissions,
    folder: Option<&Path>,
) -> String {
    let written = plugin.entry().map(|entry| entry.written.clone());
    let source = written.unwrap_or_else(|| named_from(folder, plugin.component.path()));
    let sha256 = Some(plugin.component.sha256());
    yaml(&plugin.alias, (&source, sha256), permissions)
}

/// What a config of this folder calls a file. One whose whole path somebody wrote keeps it.
fn named_from(folder: Option<&Path>, path: &Path) -> String {
    let whole = std::path::absolute(path).ok();
    let named = match (folder, whole) {
        (Some(folder), Some(whole)) if path.is_relative() => relative(&whole, folder),
        _ => path.to_owned(),
    };
    named.display().to_string()
}

/// Who grants something grants it to the file that was looked at.
pub(super) fn yaml(
    alias: &str,
    (source, sha256): (&str, Option<&str>),
    permissions: &Permissions,
) -> String {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
        format!("[{}]", items.join(", "))
    };
    let mut lines = vec![
        "plugins:".to_owned(),
        format!("  {}:", quoted(alias)),
        format!("    source: {}", quoted(source)),
    ];
    lines.extend(sha256.map(|sha256| format!("    sha256: {sha256}")));
    if *permissions != Permissions::default() {
        lines.push("    permissions:".to_owned());
    }
    if !permissions.hosts.is_empty() {
        lines.push(format!("      hosts: {}", list(&permissions.hosts)));
    }
    if !permissions.credentials.is_empty() {
        lines.push("      credentials:".to_owned());
        lines.extend(permissions.credentials.iter().map(|(name, grant)| {
            let (name, env, scheme) = (quoted(name), quoted(&grant.env), quoted(&grant.scheme));
            let hosts = list(&grant.hosts);
            format!("        {name}: {{ env: {env}, scheme: {scheme}, hosts: {hosts} }}")
        }));
    }
    if !permissions.llm_providers.is_empty() {
        let provider = |name| permissions.llm_providers.get(name).unwrap_or(name);
        let names = permissions.llm.iter();
        let pairs = names.map(|name| format!("{}: {}", quoted(name), quoted(provider(name))));
        let pairs: Vec<String> = pairs.collect();
        lines.push(format!("      llm: {{ {} }}", pairs.join(", ")));
    } else if !permissions.llm.is_empty() {
        lines.push(format!("      llm: {}", list(&permissions.llm)));
    }
    if permissions.wasi_http {
        lines.push("      wasi_http: true".to_owned());
    }
    lines.join("\n")
}

/// A text in YAML's double quotes: printable ASCII as it is, anything else by its number.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            _ => write!(quoted, "\\U{:08x}", u32::from(c)).expect("a string takes everything"),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use runner_config::{CredentialGrant, PluginLimits};

    use super::*;

    #[test]
    fn what_is_pasted_holds_what_was_wanted_and_nothing_else() {
        pasted("k\": { env: X }\n    limits: { memory_mb: 4096 }\n#\u{202e}\u{85}ä🦀\\");
    }

    /// What means something in YAML, and anything.
    fn words() -> impl Strategy<Value = String> {
        let sign = prop::sample::select(vec![
            "\n", "\r\n", "  ", "- ", ": ", "\"", "'", "\\", "{", "}", "[", "]", "&a ", "*a",
            "<<: ", "!!str ", "#", "|", ">-", "%", "? ", "---\n", "limits: ", "\\u0022", "\t",
            "\u{2028}",
        ]);
        let any = any::<char>().prop_map(String::from);
        prop::collection::vec(prop_oneof![sign.prop_map(str::to_owned), any], 1..40)
            .prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn whatever_a_component_says_is_pasted_as_it_is(nasty in words()) {
            pasted(&nasty);
        }
    }

    /// Asserts that these words are read again where they were written, and nowhere else.
    fn pasted(nasty: &str) {
        pasted_with(nasty, BTreeMap::new());
        pasted_with(nasty, [(nasty.to_owned(), format!("x{nasty}"))].into());
    }

    fn pasted_with(nasty: &str, llm_providers: BTreeMap<String, String>) {
        let permissions = Permissions {
            hosts: vec![format!("https://{nasty}"), "https://a.example".to_owned()],
            credentials: [(
                nasty.to_owned(),
                CredentialGrant {
                    env: nasty.to_owned(),
                    scheme: "bearer".to_owned(),
                    hosts: vec![nasty.to_owned()],
                },
            )]
            .into(),
            llm: vec![nasty.to_owned()],
            llm_providers,
            wasi_http: true,
        };
        let text = yaml(nasty, (nasty, Some(&"9f".repeat(32))), &permissions);
        assert!(
            text.lines().count() == 10
                && text
                    .bytes()
                    .all(|b| b.is_ascii_graphic() || b" \n".contains(&b)),
            "{text}"
        );
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("c.yaml");
        std::fs::write(&file, format!("{text}\nprompts: [x]\n")).expect("written");
        let loaded = runner_config::load(&runner_config::LoadRequest {
            config_files: vec![file],
            cwd: folder.path().to_owned(),
            ..runner_config::LoadRequest::default()
        });
        let plugins = loaded.expect("a config").0.plugins;
        assert_eq!(plugins.len(), 1);
        assert_eq!(plugins[0].alias, nasty);
        assert_eq!(plugins[0].permissions, permissions);
        assert_eq!(plugins[0].limits, PluginLimits::default());
    }
}
