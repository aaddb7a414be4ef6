//! Track 0.1 of the plugin API: its names, what its imports do, and what is checked beyond types.
//!
//! One such module per track. A later track brings its own folder, converts to the newest
//! [`crate::abi`] records here, and nothing above this module learns of it. The alternative, a
//! match over version and function at each call, grows with the product of both.

pub(crate) mod check;
pub(crate) mod description;
mod imports;
pub(crate) mod signatures;

use wasmtime::component::{Component, ComponentExportIndex, HasSelf, Linker};

use crate::bindings::runner::plugin::{http, http_stream, llm, log};
use crate::call::CallState;

/// The WIT package of every track.
pub(crate) const PACKAGE: &str = "runner:plugin";

/// The version this track's bindings are written against. Lookups by it find any `0.1.x`.
pub(crate) const VERSION: &str = "0.1.2";

/// The newest version of the contract that plugins can be built for.
pub const API: &str = VERSION;

/// Interfaces that a guest of this track can import. `types` has no functions.
pub(crate) const IMPORTS: [&str; 5] = ["http", "http-stream", "llm", "log", "types"];

/// Interfaces of which a plugin exports at least one, beside `meta`.
pub(crate) const KINDS: [&str; 3] = ["provider", "assertion", "script"];

/// Links everything that a guest of this track can import.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    log::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    http::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    http_stream::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    llm::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

/// Where a component keeps the functions that are called: looked up once at load, by index at each call.
/// What is `None` is not exported.
#[derive(Debug, Clone)]
pub(crate) struct Exports {
    pub(crate) describe: Option<ComponentExportIndex>,
    pub(crate) check_config: Option<ComponentExportIndex>,
    pub(crate) complete: Option<ComponentExportIndex>,
    pub(crate) embed: Option<ComponentExportIndex>,
    pub(crate) evaluate: Option<ComponentExportIndex>,
    pub(crate) run: Option<ComponentExportIndex>,
}

impl Exports {
    pub(crate) fn of(component: &Component) -> Self {
        let find = |interface: &str, function: &str| {
            let name = format!("{PACKAGE}/{interface}@{VERSION}");
            let instance = component.get_export_index(None, name.as_str())?;
            component.get_export_index(Some(&instance), function)
        };
        Self {
            describe: find("meta", "describe"),
            check_config: find("meta", "check-config"),
            complete: find("provider", "complete"),
            embed: find("provider-embed", "embed"),
            evaluate: find("assertion", "evaluate"),
            run: find("script", "run"),
        }
    }
}
