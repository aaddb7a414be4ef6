//! What a plugin's answers can depend on, proven from its imports.

use wasmtime::Engine;
use wasmtime::component::types::{Component, ComponentItem};

/// What an answer can depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purity {
    /// Imports no function: its answer is a function of its input. May be cached by the
    /// component's digest and the input.
    Pure,
    /// Imports only logging and virtual WASI, which answer the same everywhere; or `wasi:http`, too,
    /// which answers nothing unless `permissions.wasi_http` grants it.
    Virtualised,
    /// Can reach the network or models.
    Impure,
}

impl Purity {
    /// `pure`, `virtualised` or `impure`, as results record it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Virtualised => "virtualised",
            Self::Impure => "impure",
        }
    }
}

/// Which groups of functions a component imports. An interface of which it imports only types
/// does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// `log`.
    pub log: bool,
    /// `http`.
    pub http: bool,
    /// `llm`.
    pub llm: bool,
    /// Anything of WASI.
    pub wasi: bool,
    /// `wasi:http`, which toolchains import whether it is used or not.
    pub wasi_http: bool,
}

impl Capabilities {
    pub(crate) fn of(component: &Component, engine: &Engine) -> Self {
        let mut capabilities = Self::default();
        for (name, item) in component.imports(engine) {
            let ComponentItem::ComponentInstance(instance) = item.ty else {
                continue;
            };
            let has_function = instance
                .exports(engine)
                .any(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)));
            if !has_function {
                continue;
            }
            let name = name.split('@').next().unwrap_or(name);
            match name {
                "runner:plugin/log" => capabilities.log = true,
                "runner:plugin/http" => capabilities.http = true,
                "runner:plugin/llm" => capabilities.llm = true,
                "wasi:http/outgoing-handler" => capabilities.wasi_http = true,
                _ => capabilities.wasi = true,
            }
        }
        capabilities
    }

    pub(crate) const fn purity(self) -> Purity {
        if self.http || self.llm {
            Purity::Impure
        } else if self.log || self.wasi || self.wasi_http {
            Purity::Virtualised
        } else {
            Purity::Pure
        }
    }
}
