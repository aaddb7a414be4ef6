//! `runner plugin inspect`: what a component is, what it wants, and whether it can be loaded.
//!
//! It works on files that can't be loaded, too, and says why; then the exit code is 2.

use std::fmt::Write as _;

use runner_eval::plugins::BundleSource;
use runner_sandbox::abi::{Info, Inputs, Wants};
use runner_sandbox::limits::{
    ASSERTION_FUEL, ASSERTION_GUEST_TIME, DEFAULT_MEMORY_BYTES, MAX_CROSSING_BYTES, MAX_HTTP_CALLS,
    MAX_LLM_CALLS, PROVIDER_GUEST_TIME,
};
use runner_sandbox::{Capabilities, Inspection, Purity};
use serde_json::{Value, json};

use super::CommandContext;
use super::eval::sandbox;
use super::trial::Meant;
use crate::arguments::Inspect;
use crate::bundle;
use crate::exit::{SUCCESS, USAGE};
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::visible;

/// Inspects a component.
pub(super) fn run(arguments: &Inspect, setting: &CommandContext) -> Result<u8, Failure> {
    let meant = Meant::by(&arguments.plugin, setting)?;
    let sandbox = sandbox(1, setting)?;
    let inspection = match meant {
        Meant::File(path) => {
            // As it was named, unless that is a folder.
            let is_named = setting.cwd.join(&arguments.plugin) == path;
            let shown = path.strip_prefix(&setting.cwd).unwrap_or(&path);
            sandbox.inspect(if is_named { &arguments.plugin } else { shown })
        }
        Meant::Bundled(served) => match bundle::plugins(&setting.environment, &setting.cwd)? {
            BundleSource::Folder { directory, .. } => {
                sandbox.inspect(&directory.join(format!("{}.wasm", served.name)))
            }
            BundleSource::Carried(carried) => sandbox.inspect_carried(&carried, &served.name),
        },
    };
    tell(&inspection, arguments.json)
}

/// Prints what was found; gives the exit code.
pub(super) fn tell(inspection: &Inspection, is_json: bool) -> Result<u8, Failure> {
    if is_json {
        stdout::json(&as_json(inspection))?;
    } else {
        stdout::print(&as_text(inspection))?;
    }
    Ok(if inspection.problem.is_none() {
        SUCCESS
    } else {
        USAGE
    })
}

fn as_text(inspection: &Inspection) -> String {
    let mut text = String::new();
    for (name, value) in facts(inspection) {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name:12}{}", visible::line(&value));
    }
    match &inspection.problem {
        None => text.push_str("\nIt can be loaded.\n"),
        Some(problem) => {
            text.push_str("\nIt can't be loaded:\n");
            text.push_str(&visible::block(&problem.to_string()));
            text.push('\n');
        }
    }
    text
}

/// A name and a value per line.
type Properties = Vec<(&'static str, String)>;

fn facts(inspection: &Inspection) -> Properties {
    let mut facts = vec![("file", inspection.path.display().to_string())];
    facts.extend(
        inspection
            .size
            .map(|size| ("size", figures::counted(size, "byte", "bytes"))),
    );
    facts.extend(inspection.sha256.clone().map(|sha256| ("sha256", sha256)));
    facts.extend(inspection.api.clone().map(|api| ("plugin API", api)));
    if let Some(info) = &inspection.info {
        facts.extend(described(info));
        facts.extend(wanted(&info.wants));
    }
    facts.extend(
        inspection
            .capabilities
            .map(|capabilities| ("can use", uses(capabilities))),
    );
    facts.extend(
        inspection
            .purity
            .map(|purity| ("answers", meaning(purity).to_owned())),
    );
    facts.extend(
        inspection
            .exports
            .iter()
            .map(|export| ("exports", export.clone())),
    );
    facts.extend(
        inspection
            .imports
            .iter()
            .map(|import| ("imports", import.clone())),
    );
    if let Some(bytes) = inspection.start_memory {
        let limit = mib(DEFAULT_MEMORY_BYTES);
        facts.push(("memory", format!("{} at start, limit {limit}", mib(bytes))));
    }
    if inspection.info.is_some() {
        facts.push(("limits", limits()));
    }
    facts
}

/// What it says of itself.
fn described(info: &Info) -> Properties {
    let mut facts = vec![("plugin", format!("{} {}", info.name, info.version))];
    facts.push(("description", info.description.clone()));
    facts.extend(info.homepage.clone().map(|homepage| ("homepage", homepage)));
    facts.extend(info.license.clone().map(|license| ("license", license)));
    if !info.provider_prefixes.is_empty() {
        facts.push(("providers", info.provider_prefixes.join(", ")));
    }
    if !info.assertion_types.is_empty() {
        let types: Vec<&str> = info
            .assertion_types
            .iter()
            .map(|kind| kind.name.as_str())
            .collect();
        facts.push(("assertions", types.join(", ")));
    }
    facts
}

/// What it asks for.
fn wanted(wants: &Wants) -> Properties {
    let mut facts = Properties::new();
    let elsewhere = wants.host_config_key.as_ref();
    let elsewhere = elsewhere
        .map(|key| format!(", or the address in config.{key}"))
        .unwrap_or_default();
    facts.extend(
        wants
            .hosts
            .iter()
            .map(|host| ("wants host", format!("{host}{elsewhere}"))),
    );
    facts.extend(wants.credentials.iter().map(|want| {
        (
            "wants key",
            format!(
                "{} as {} ({}): {}",
                want.env, want.name, want.scheme, want.reason
            ),
        )
    }));
    facts.extend(wants.settings.iter().map(|want| {
        (
            "wants value",
            format!("{} for config.{}", want.env, want.config_key),
        )
    }));
    facts.extend(
        wants
            .llm
            .iter()
            .map(|want| ("wants model", format!("{}: {}", want.0, want.1))),
    );
    facts
}

fn uses(capabilities: Capabilities) -> String {
    let Capabilities {
        log,
        http,
        llm,
        wasi,
        wasi_http,
    } = capabilities;
    let all = [
        (log, "log"),
        (http, "network (as granted)"),
        (llm, "models (as granted)"),
        (wasi, "virtual WASI"),
        (wasi_http, "wasi:http (with `permissions.wasi_http`)"),
    ];
    let used: Vec<&str> = all
        .iter()
        .filter(|(used, _)| *used)
        .map(|(_, name)| *name)
        .collect();
    if used.is_empty() {
        "nothing of the host".to_owned()
    } else {
        used.join(", ")
    }
}

fn meaning(purity: Purity) -> &'static str {
    match purity {
        Purity::Pure => "pure: they depend on the input alone",
        Purity::Virtualised => {
            "virtualised: they depend on the input alone, seen through a virtual system"
        }
        Purity::Impure => "impure: they can depend on the network or on models",
    }
}

fn limits() -> String {
    let (provider, assertion) = (
        figures::duration(PROVIDER_GUEST_TIME),
        figures::duration(ASSERTION_GUEST_TIME),
    );
    format!(
        "{provider} of CPU per provider call, {} instructions and {assertion} per grade, {} per exchange with the host, \
         {MAX_HTTP_CALLS} requests and {MAX_LLM_CALLS} model calls per call",
        figures::count(ASSERTION_FUEL),
        mib(MAX_CROSSING_BYTES as u64)
    )
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn as_json(inspection: &Inspection) -> Value {
    let Inspection {
        path,
        size,
        sha256,
        api,
        imports,
        exports,
        start_memory,
        info,
        capabilities,
        purity,
        problem,
    } = inspection;
    json!({
        "file": path,
        "size": size,
        "sha256": sha256,
        "pluginApi": api,
        "imports": imports,
        "exports": exports,
        "startMemory": start_memory,
        "plugin": info.as_ref().map(info_json),
        "capabilities": capabilities.map(|Capabilities { log, http, llm, wasi, wasi_http }| json!({ "log": log, "http": http, "llm": llm, "wasi": wasi, "wasiHttp": wasi_http })),
        "purity": purity.map(Purity::as_str),
        "limits": info.as_ref().map(|_| limits_json()),
        "problem": problem.as_ref().map(|problem| json!({
            "code": problem.code.to_string(), "message": problem.message, "help": problem.help,
        })),
    })
}

/// What it is given beside the answer and the value.
fn reads(inputs: Inputs) -> Vec<&'static str> {
    let all = [
        (Inputs::COMPLETION, "completion"),
        (Inputs::PROMPT, "prompt"),
        (Inputs::VARS, "vars"),
        (Inputs::TEST, "test"),
        (Inputs::LATENCY, "latency"),
        (Inputs::COST, "cost"),
    ];
    let read = all.into_iter().filter(|(input, _)| inputs.contains(*input));
    read.map(|(_, name)| name).collect()
}

/// What holds unless a config says otherwise.
fn limits_json() -> Value {
    json!({
        "memory": DEFAULT_MEMORY_BYTES,
        "providerCpuMs": PROVIDER_GUEST_TIME.as_millis() as u64,
        "assertionCpuMs": ASSERTION_GUEST_TIME.as_millis() as u64,
        "assertionFuel": ASSERTION_FUEL,
        "crossingBytes": MAX_CROSSING_BYTES,
        "httpCalls": MAX_HTTP_CALLS,
        "llmCalls": MAX_LLM_CALLS,
    })
}

fn info_json(info: &Info) -> Value {
    let schema = |text: &Option<String>| {
        text.as_deref()
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
    };
    let Wants {
        hosts,
        host_config_key,
        credentials,
        settings,
        llm,
    } = &info.wants;
    json!({
        "name": info.name,
        "version": info.version,
        "description": info.description,
        "homepage": info.homepage,
        "license": info.license,
        "providerPrefixes": info.provider_prefixes,
        "assertionTypes": info.assertion_types.iter().map(|kind| json!({
            "name": kind.name,
            "reads": reads(kind.reads),
            "valueSchema": schema(&kind.value_schema_json),
        })).collect::<Value>(),
        "configSchema": schema(&info.config_schema_json),
        "metadata": schema(&info.metadata_json),
        "wants": {
            "hosts": hosts,
            "hostConfigKey": host_config_key,
            "credentials": credentials.iter().map(|want| json!({
                "name": want.name, "reason": want.reason, "env": want.env, "scheme": want.scheme,
                "envConfigKey": want.env_config_key, "valueConfigKey": want.value_config_key,
            })).collect::<Value>(),
            "settings": settings.iter().map(|want| json!({ "env": want.env, "configKey": want.config_key })).collect::<Value>(),
            "llm": llm.iter().map(|want| json!({ "alias": want.0, "reason": want.1 })).collect::<Value>(),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use runner_sandbox::{Label, MessageCode, Notice};

    use super::*;

    fn broken() -> Inspection {
        let label = Label {
            name: "x".to_owned(),
            path: PathBuf::from("x.wasm"),
            sha256: None,
        };
        Inspection {
            path: PathBuf::from("x.wasm"),
            size: Some(1_234),
            sha256: Some("ab".repeat(32)),
            api: None,
            imports: vec!["evil:\u{1b}[2J/x".to_owned()],
            exports: Vec::new(),
            start_memory: None,
            info: None,
            capabilities: None,
            purity: None,
            problem: Some(Notice {
                code: MessageCode::P002,
                label,
                message: "damaged or incomplete: ends at byte 1,234".to_owned(),
                help: "build it again".to_owned(),
            }),
        }
    }

    #[test]
    fn a_file_that_cannot_be_loaded_is_described_as_far_as_it_goes() {
        assert_eq!(
            as_text(&broken()),
            format!(
                "\
file        x.wasm
size        1,234 bytes
sha256      {}
imports     evil:␛[2J/x

It can't be loaded:
plugin 'x' (x.wasm): P002 damaged or incomplete: ends at byte 1,234
help: build it again
",
                "ab".repeat(32)
            )
        );
    }

    #[test]
    fn json_says_the_same() {
        let json = as_json(&broken());
        assert_eq!(json["problem"]["code"], "P002");
        assert_eq!(
            (&json["size"], &json["plugin"]),
            (&json!(1_234), &Value::Null)
        );
    }

    #[test]
    fn nothing_used_is_said() {
        assert_eq!(uses(Capabilities::default()), "nothing of the host");
        assert_eq!(
            uses(Capabilities {
                http: true,
                log: true,
                ..Capabilities::default()
            }),
            "log, network (as granted)"
        );
    }
}
