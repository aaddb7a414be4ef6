//! `runner plugin list`: the plugins that come with the program and what each serves, and those that were added.
//!
//! The list is known without looking into a component. Only the JSON has what each says of itself: where the
//! program carries no compiled plugins, that compiles all of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runner_eval::plugins::{BundleSource, PluginServices};
use runner_sandbox::Plugin;
use serde_json::{Value, json};

use super::CommandContext;
use super::added::{self, AddedPlugin};
use super::eval::sandbox;
use super::trial::known;
use crate::arguments::ListPlugins;
use crate::bundle;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::stdout;

/// Characters of a digest that tell one from another.
const DIGEST_CHARS: usize = 12;

/// Lists them.
pub(super) fn run(arguments: &ListPlugins, setting: &CommandContext) -> Result<u8, Failure> {
    let found = bundle::plugins(&setting.environment, &setting.cwd)?;
    let mut served = known();
    served.retain(|served| is_there(&found, &served.name));
    if arguments.json {
        let sandbox = sandbox(1, setting)?;
        let all = served.iter().map(|served| {
            let component = match &found {
                BundleSource::Carried(carried) => sandbox.load_carried(carried, &served.name),
                BundleSource::Folder { directory, .. } => {
                    sandbox.load(&file(directory, &served.name), None)
                }
            };
            component
                .map(|component| as_json(served, &component))
                .map_err(Failure::usage)
        });
        let mut all: Vec<Value> = all.collect::<Result<_, _>>()?;
        all.extend(added::all(setting).iter().map(added_json));
        stdout::json(&Value::Array(all))?;
    } else {
        let mut text = String::new();
        for served in &served {
            text.push_str(&paragraph(served, &digest(&found, &served.name)?));
        }
        for added in added::all(setting) {
            let digest = added.sha256.get(..DIGEST_CHARS).unwrap_or_default();
            let source = added.source();
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "{:14}  sha256 {digest}…\n  {:12}{source}",
                added.name, "added as"
            );
        }
        stdout::print(&text)?;
    }
    Ok(SUCCESS)
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.wasm"))
}

fn is_there(found: &BundleSource, name: &str) -> bool {
    match found {
        BundleSource::Carried(carried) => carried.about(name).is_some(),
        BundleSource::Folder { directory, .. } => file(directory, name).is_file(),
    }
}

/// The digest of a component that is there.
fn digest(found: &BundleSource, name: &str) -> Result<String, Failure> {
    match found {
        BundleSource::Carried(carried) => {
            let about = carried.about(name).context("it was there")?;
            Ok(about.sha256.clone())
        }
        BundleSource::Folder { directory, .. } => {
            let path = file(directory, name);
            let bytes = fs::read(&path);
            let bytes = bytes.with_context(|| format!("can't read {}", path.display()))?;
            Ok(added::digest(&bytes))
        }
    }
}

fn paragraph(served: &PluginServices, digest: &str) -> String {
    let digest = digest.get(..DIGEST_CHARS).unwrap_or(digest);
    let mut text = format!("{:14}  sha256 {digest}…\n", served.name);
    let lists = [
        ("providers", served.prefixes.clone()),
        ("assertions", assertions(served)),
    ];
    for (what, names) in lists {
        if !names.is_empty() {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {what:12}{}", names.join(", "));
        }
    }
    text
}

/// Its assertion types; a language of code is one, too.
fn assertions(served: &PluginServices) -> Vec<String> {
    let languages = served.languages.iter().map(|(name, _)| name);
    served.types.iter().chain(languages).cloned().collect()
}

/// One that was added: what it serves is known when it is loaded, which nobody asked for.
fn added_json(added: &AddedPlugin) -> Value {
    json!({ "name": added.name, "sha256": added.sha256, "source": added.source() })
}

fn as_json(served: &PluginServices, component: &Plugin) -> Value {
    let info = component.info();
    json!({
        "name": served.name,
        "version": info.version,
        "sha256": component.sha256(),
        "description": info.description,
        "providerPrefixes": served.prefixes,
        "assertionTypes": assertions(served),
        "purity": component.purity().as_str(),
    })
}
