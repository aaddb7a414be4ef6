//! Which toolchain made a file, as its `producers` sections say, and what that is asked for a component that loads.

use wasmparser::{CustomSectionReader, KnownCustom};

/// A toolchain. Of several that had a part in a file the last of these made it: those hold what the others compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Toolchain {
    Clang,
    Rust,
    ComponentizeJs,
    ComponentizePy,
}

impl Toolchain {
    /// The toolchain that a custom section names, if it is one that names some.
    pub(super) fn named(section: &CustomSectionReader<'_>) -> Option<Self> {
        let KnownCustom::Producers(fields) = section.as_known() else {
            return None;
        };
        let values = fields.into_iter().flatten().flat_map(|field| field.values);
        let names = values.flatten().map(|value| value.name);
        names.filter_map(Self::called).max()
    }

    fn called(name: &str) -> Option<Self> {
        Some(match name {
            "clang" | "zig" => Self::Clang,
            "rustc" | "Rust" => Self::Rust,
            "ComponentizeJS" => Self::ComponentizeJs,
            "componentize-py" | "component-init-transform" => Self::ComponentizePy,
            _ => return None,
        })
    }

    /// How it makes a component, where it made a core module.
    pub(super) fn component(self) -> Option<&'static str> {
        match self {
            Self::Clang => Some(
                "build it with `--target=wasm32-wasip2` of wasi-sdk's clang, or turn it into a component with `wasm-tools component new`",
            ),
            Self::Rust => Some(
                "build it with `runner plugin build`, or `cargo build --release --target wasm32-wasip2`",
            ),
            Self::ComponentizeJs | Self::ComponentizePy => None,
        }
    }

    /// How it leaves out what is never offered.
    pub(super) fn without_imports(self) -> &'static str {
        match self {
            Self::Clang => {
                "build it with `--target=wasm32-wasip2`, for a world that imports nothing else"
            }
            Self::Rust => {
                "build it with `cargo build --release --target wasm32-wasip2`, without the crates that import these"
            }
            Self::ComponentizeJs => "build it with `componentize-js --disable all`",
            Self::ComponentizePy => "build it with `componentize-py componentize --stub-wasi`",
        }
    }
}
