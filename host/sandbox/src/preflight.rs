//! What is this file? Answered from its bytes alone, before the engine sees them.
//!
//! The engine would refuse all of these too, but in its own words, after compiling, and some
//! (another world, another track) only when called. Names decide here; whether a function's
//! *types* are the published ones is asked of the compiled component (`v0_1::signatures`).

mod guess;
mod outline;
mod producers;

pub(crate) use outline::{Outline, Version, highest, invalid};

use crate::limits::{
    MAX_COMPONENT_INSTANCES, MAX_CORE_INSTANCES, MAX_FUNCTIONS, MAX_MEMORIES, MAX_TABLES,
};
use crate::notice::{Finding, MessageCode, bytes};
use crate::v0_1;
use crate::wasi;

/// Reads the outline of a component, or says what the file is instead.
pub(crate) fn read(file: &[u8]) -> Result<Outline, Finding> {
    guess::not_wasm(file)?;
    outline::read(file)
}

/// Checks whether this runner can serve a component of this outline with `memory` bytes.
pub(crate) fn admit(outline: &Outline, memory: u64) -> Result<(), Finding> {
    same_track(outline)?;
    offered(outline)?;
    is_plugin(outline)?;
    fits(outline, memory)
}

/// Checks P005: every interface of ours that it names must be of a track that is served.
fn same_track(outline: &Outline) -> Result<(), Finding> {
    let served = Version::of(v0_1::VERSION).expect("our own version parses");
    let other = outline
        .ours()
        .find(|(_, version)| version.is_none_or(|version| !version.same_track(served)));
    let Some((name, version)) = other else {
        return Ok(());
    };
    let Some(version) = version else {
        return Err(Finding::new(
            MessageCode::P005,
            format!(
                "names `{name}` without a version; this runner supports API {}",
                served.track()
            ),
            "rebuild the plugin with the published WIT",
        ));
    };
    let help = if version > served {
        "upgrade runner, or get a build of the plugin for this API"
    } else {
        "upgrade the plugin, or rebuild it with a current SDK"
    };
    Err(Finding::new(
        MessageCode::P005,
        format!(
            "built for plugin API {}, this runner supports {}",
            version.track(),
            served.track()
        ),
        help,
    ))
}

/// Checks P008 for what is never offered, and P006 for an interface of ours that came later.
fn offered(outline: &Outline) -> Result<(), Finding> {
    for import in &outline.imports {
        let (interface, version) = outline::split(&import.name);
        if let Some(of_ours) = interface
            .strip_prefix(v0_1::PACKAGE)
            .and_then(|rest| rest.strip_prefix('/'))
        {
            if v0_1::IMPORTS.contains(&of_ours) || !import.has_items {
                continue;
            }
            return Err(needs_newer(of_ours, version.unwrap_or_default()));
        }
        let wasi_0_2 = version.is_some_and(|version| version.starts_with("0.2."));
        if wasi_0_2 && wasi::OFFERED.contains(&interface) {
            continue;
        }
        return Err(never_offered(outline));
    }
    Ok(())
}

fn never_offered(outline: &Outline) -> Finding {
    let names: Vec<&str> = outline
        .imports
        .iter()
        .map(|import| import.name.as_str())
        .filter(|name| {
            let (interface, _) = outline::split(name);
            !interface.starts_with(v0_1::PACKAGE) && !wasi::OFFERED.contains(&interface)
        })
        .collect();
    let names = if names.is_empty() {
        outline
            .imports
            .iter()
            .map(|import| import.name.as_str())
            .collect()
    } else {
        names
    };
    Finding::new(
        MessageCode::P008,
        format!("imports {}, which this runner never offers", list(&names)),
        match outline.made_by {
            Some(toolchain) => toolchain.without_imports(),
            None => {
                "plugins reach the network through `runner:plugin/http`; rebuild without these imports"
            }
        },
    )
}

/// P006 for a function or interface of a later version of the same track.
pub(crate) fn needs_newer(what: &str, version: &str) -> Finding {
    Finding::new(
        MessageCode::P006,
        format!(
            "needs `{}` (API {}), this runner has {}",
            what.escape_debug(),
            version.escape_debug(),
            v0_1::VERSION
        ),
        "upgrade runner, or get an older build of the plugin",
    )
}

/// Checks P004: a component must describe itself and export at least one kind of plugin.
fn is_plugin(outline: &Outline) -> Result<(), Finding> {
    let has = |interface: &str| outline.exports_ours(interface);
    if has("meta") && v0_1::KINDS.iter().any(|kind| has(kind)) {
        return Ok(());
    }
    let names: Vec<&str> = outline.exports.iter().map(String::as_str).collect();
    let exports = if names.is_empty() {
        "nothing".to_owned()
    } else {
        list(&names)
    };
    let message = if v0_1::KINDS.iter().any(|kind| has(kind)) {
        format!("exports no `runner:plugin/meta`; it exports {exports}")
    } else {
        format!(
            "exports no `runner:plugin/provider`, `assertion` or `script`; it exports {exports}"
        )
    };
    Err(Finding::new(
        MessageCode::P004,
        message,
        "build it for the world `provider-plugin` or `assertion-plugin` of runner:plugin",
    ))
}

/// Checks P014: what it asks for at start must be below the limits.
fn fits(outline: &Outline, memory: u64) -> Result<(), Finding> {
    if outline.start_memory > memory {
        return Err(needs(
            &bytes(outline.start_memory),
            &bytes(memory),
            "raise `limits.memory_mb` of the plugin, or build it with a smaller stack and heap",
        ));
    }
    if outline.functions > MAX_FUNCTIONS.into() {
        return Err(Finding::new(
            MessageCode::P014,
            format!(
                "has {} functions, limit is {MAX_FUNCTIONS}",
                outline.functions
            ),
            "build it without what it does not use",
        ));
    }
    let instances = outline.instances;
    at_most(instances.core, MAX_CORE_INSTANCES, "core instances")?;
    at_most(
        instances.components,
        MAX_COMPONENT_INSTANCES,
        "components inside it",
    )
}

/// Checks P014 for memories and tables, which are known once it is compiled.
pub(crate) fn has_place(memories: u32, tables: u32) -> Result<(), Finding> {
    at_most(memories.into(), MAX_MEMORIES, "memories")?;
    at_most(tables.into(), MAX_TABLES, "tables")
}

fn at_most(count: u64, limit: u32, what: &str) -> Result<(), Finding> {
    if count <= limit.into() {
        return Ok(());
    }
    Err(needs(
        &format!("{count} {what}"),
        &limit.to_string(),
        "build it as one module with a current toolchain",
    ))
}

fn needs(what: &str, limit: &str, help: &str) -> Finding {
    let message = format!("needs {what} at start, limit is {limit}");
    Finding::new(MessageCode::P014, message, help)
}

/// Up to five names of a component in backquotes, on one line whatever stands in them.
fn list(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let text = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{}`", name.escape_debug()))
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
