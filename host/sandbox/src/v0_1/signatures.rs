//! The signature of every function of the track, to say which one differs.
//!
//! The engine checks types when it links, but says where they differ in words about its own
//! structures. Here each function is compared by name, so that the message can name it.

use wasmtime::Engine;
use wasmtime::component::types::{Component, ComponentFunc, ComponentItem};

use super::PACKAGE;
use crate::bindings::exports::runner::plugin as exported;
use crate::bindings::runner::plugin::{http, llm, log, types};

/// `Err` means: not the published signature.
type Check = fn(&ComponentFunc, &Component) -> wasmtime::Result<()>;

macro_rules! signature {
    (($($param:ty),*) -> $result:ty) => {
        |function, component| {
            function.typecheck::<($($param,)*), ($result,)>(&component.instance_type())
        }
    };
    (($($param:ty),*)) => {
        |function, component| function.typecheck::<($($param,)*), ()>(&component.instance_type())
    };
}

/// A function with a resource among its types, which only the engine can compare.
const BY_ENGINE: Check = |_, _| Ok(());

/// Interface, function, and the check against its published signature. Imports first.
const TABLE: [(&str, &str, Check); 17] = [
    (
        "log",
        "emit",
        signature!((log::Level, String, Vec<types::Pair>)),
    ),
    (
        "http",
        "send",
        signature!((http::Request) -> Result<http::Response, types::Error>),
    ),
    (
        "http",
        "send-all",
        signature!((Vec<http::Request>) -> Vec<Result<http::Response, types::Error>>),
    ),
    ("http-stream", "[constructor]exchange", BY_ENGINE),
    ("http-stream", "[method]exchange.next", BY_ENGINE),
    ("http-stream", "[method]exchange.first-token", BY_ENGINE),
    ("http-stream", "[static]exchange.finish", BY_ENGINE),
    (
        "llm",
        "complete",
        signature!((String, types::Request) -> Result<llm::Answer, types::Error>),
    ),
    (
        "llm",
        "complete-all",
        signature!((String, Vec<types::Request>) -> Vec<Result<llm::Answer, types::Error>>),
    ),
    (
        "llm",
        "embed",
        signature!((String, Vec<String>) -> Result<Vec<Vec<f32>>, types::Error>),
    ),
    ("meta", "describe", signature!(() -> exported::meta::Info)),
    (
        "meta",
        "check-config",
        signature!((String) -> Vec<types::Pair>),
    ),
    (
        "provider",
        "complete",
        signature!(
            (exported::provider::Target, types::Request, types::CallContext)
                -> Result<types::Completion, types::Error>
        ),
    ),
    (
        "provider-embed",
        "embed",
        signature!(
            (exported::provider::Target, Vec<String>, types::CallContext)
                -> Result<exported::provider_embed::Embeddings, types::Error>
        ),
    ),
    (
        "assertion",
        "evaluate",
        signature!(
            (exported::assertion::Input, types::CallContext)
                -> Result<exported::assertion::Grade, types::Error>
        ),
    ),
    (
        "assertion-batch",
        "evaluate-all",
        signature!(
            (Vec<exported::assertion::Input>, types::CallContext)
                -> Vec<Result<exported::assertion::Grade, types::Error>>
        ),
    ),
    (
        "script",
        "run",
        signature!(
            (exported::script::Program, Vec<exported::script::Argument>, types::CallContext)
                -> exported::script::Outcome
        ),
    ),
];

/// How a component departs from the published interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Imports a function that this track does not have, as `http.watch`, from an interface
    /// of this version.
    UnknownImport { function: String, version: String },
    /// A known function with other types.
    OtherSignature { function: String, version: String },
    /// Exports an interface without one of its functions.
    MissingExport { function: String, version: String },
}

/// Compares every function of the package that `component` imports or exports; the first
/// departure, or `None`.
pub(crate) fn departure(component: &Component, engine: &Engine) -> Option<Departure> {
    let imports = component
        .imports(engine)
        .map(|(name, item)| (name, item.ty, true));
    let exports = component
        .exports(engine)
        .map(|(name, item)| (name, item.ty, false));
    imports.chain(exports).find_map(|(name, item, imported)| {
        let (interface, version) = of_package(name)?;
        let ComponentItem::ComponentInstance(instance) = item else {
            return None;
        };
        let functions: Vec<(&str, ComponentFunc)> = instance
            .exports(engine)
            .filter_map(|(name, item)| match item.ty {
                ComponentItem::ComponentFunc(function) => Some((name, function)),
                _ => None,
            })
            .collect();
        in_interface(component, interface, version, &functions, imported)
    })
}

fn in_interface(
    component: &Component,
    interface: &str,
    version: &str,
    functions: &[(&str, ComponentFunc)],
    imported: bool,
) -> Option<Departure> {
    let known = || TABLE.iter().filter(|(of, ..)| *of == interface);
    let version = version.to_owned();
    for (name, function) in functions {
        let full = format!("{interface}.{name}");
        match known().find(|(_, known, _)| known == name) {
            Some((_, _, check)) if check(function, component).is_err() => {
                return Some(Departure::OtherSignature {
                    function: full,
                    version,
                });
            }
            None if imported => {
                return Some(Departure::UnknownImport {
                    function: full,
                    version,
                });
            }
            _ => {}
        }
    }
    let missing = known()
        .filter(|_| !imported)
        .find(|(_, known, _)| functions.iter().all(|(name, _)| name != known));
    missing.map(|(_, name, _)| Departure::MissingExport {
        function: format!("{interface}.{name}"),
        version,
    })
}

/// Interface and version of a name of our package: `runner:plugin/http@0.1.7`.
fn of_package(name: &str) -> Option<(&str, &str)> {
    let (interface, version) = name
        .strip_prefix(PACKAGE)?
        .strip_prefix('/')?
        .split_once('@')?;
    Some((interface, version))
}
