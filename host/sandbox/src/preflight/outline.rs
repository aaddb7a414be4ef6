//! The outline of a component: what it imports and exports by name, and what it starts with.
//!
//! Read section by section without validation; function bodies are skipped. A file that ends
//! early is found here, because the sections say how long they are.

use std::cmp::Ordering;

use wasmparser::{
    Chunk, ComponentExternName, ComponentInstance, ComponentTypeRef, Encoding, Import, Instance,
    Parser, Payload, TypeRef,
};

use super::producers::Toolchain;
use crate::notice::{Finding, MessageCode};
use crate::v0_1;

/// Components inside each other. Reading them takes memory for each that is open.
const MAX_NESTING: usize = 32;

/// WebAssembly's page size.
const PAGE: u64 = 64 << 10;

/// Names and needs of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outline {
    /// What it imports, in its own order.
    pub(crate) imports: Vec<Imported>,
    /// Names of what it exports.
    pub(crate) exports: Vec<String>,
    /// Minimum size of its own memories together, in bytes.
    pub(crate) start_memory: u64,
    /// What it instantiates to begin with.
    pub(crate) instances: Instances,
    /// Functions with a body, of all its modules.
    pub(crate) functions: u64,
    /// What made it, if it says so.
    pub(crate) made_by: Option<Toolchain>,
}

/// What a component instantiates, with the components inside it: an upper bound, since which of
/// those an instantiation means is not followed, the largest before it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Instances {
    /// Core modules.
    pub(crate) core: u64,
    /// Components inside.
    pub(crate) components: u64,
}

impl Instances {
    fn add(&mut self, more: Self) {
        self.core = self.core.saturating_add(more.core);
        self.components = self.components.saturating_add(more.components);
    }

    fn or_larger(&mut self, other: Self) {
        self.core = self.core.max(other.core);
        self.components = self.components.max(other.components);
    }
}

/// One import of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Imported {
    pub(crate) name: String,
    /// It is a function, or an interface: something with behaviour. `false` for a bare type.
    pub(crate) has_items: bool,
}

impl Outline {
    /// Interfaces of our package that it names, imported or exported.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&str, Option<Version>)> {
        let imports = self.imports.iter().map(|import| &import.name);
        imports.chain(&self.exports).filter_map(|name| {
            let (interface, version) = split(name);
            interface.strip_prefix(v0_1::PACKAGE)?.strip_prefix('/')?;
            Some((name.as_str(), version.and_then(Version::of)))
        })
    }

    /// Whether it exports this interface of our package, of any version.
    pub(crate) fn exports_ours(&self, interface: &str) -> bool {
        self.exports.iter().any(|name| is_ours(name, interface))
    }

    /// The version of our package that it was built for: the highest it names.
    pub(crate) fn api(&self) -> Option<Version> {
        self.ours().filter_map(|(_, version)| version).max()
    }
}

/// The highest version of our package among names of imports and exports.
pub(crate) fn highest<'a>(names: impl Iterator<Item = &'a str>) -> Option<Version> {
    let ours = names.filter_map(|name| {
        let (interface, version) = split(name);
        interface.strip_prefix(v0_1::PACKAGE)?.strip_prefix('/')?;
        Version::of(version?)
    });
    ours.max()
}

fn is_ours(name: &str, interface: &str) -> bool {
    split(name)
        .0
        .strip_prefix(v0_1::PACKAGE)
        .and_then(|rest| rest.strip_prefix('/'))
        == Some(interface)
}

/// `wasi:io/poll@0.2.6` into name and version.
pub(crate) fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (name, None),
    }
}

/// A release `major.minor.patch`; what follows a hyphen or plus is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.split(['-', '+']).next()?;
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let version = Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
        };
        numbers.next().is_none().then_some(version)
    }

    /// Semantic versioning: same major, and below 1.0 same minor.
    pub(crate) fn same_track(self, other: Self) -> bool {
        self.major == other.major && (self.major > 0 || self.minor == other.minor)
    }

    /// `0.1` or `2`.
    pub(crate) fn track(self) -> String {
        if self.major > 0 {
            return self.major.to_string();
        }
        format!("0.{}", self.minor)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Reads the outline of a file that begins as WebAssembly does.
pub(super) fn read(file: &[u8]) -> Result<Outline, Finding> {
    let mut reading = Reading::default();
    // Each with where it ends: the file's end, or that of the section it is in. The parser is
    // told only there that nothing follows, since anywhere else the file's end means that
    // something is missing, which it tells apart only while it may hope for more.
    let mut parsers = vec![(Parser::new(0), file.len())];
    let mut at = 0;
    while let Some((parser, end)) = parsers.last_mut() {
        let ends = at == *end;
        let chunk = parser
            .parse(&file[at..], ends)
            .map_err(|error| invalid(error.offset()))?;
        let Chunk::Parsed { consumed, payload } = chunk else {
            return Err(damaged(file.len()));
        };
        at += consumed;
        match payload {
            Payload::End(_) => {
                parsers.pop();
                reading.end();
            }
            Payload::ModuleSection {
                parser,
                unchecked_range,
            }
            | Payload::ComponentSection {
                parser,
                unchecked_range,
            } => {
                if parsers.len() == MAX_NESTING {
                    return Err(too_deep());
                }
                parsers.push((parser, unchecked_range.end));
            }
            Payload::CodeSectionStart { count, size, .. } => {
                reading.outline.functions += u64::from(count);
                at += size as usize;
                if at > file.len() {
                    return Err(damaged(file.len()));
                }
                parser.skip_section();
            }
            Payload::UnknownSection { range, .. } => return Err(invalid(range.start)),
            other => reading
                .take(&other)
                .map_err(|error| invalid(error.offset()))?,
        }
    }
    reading.finish()
}

/// A name with its whole version, of which a part may stand apart.
fn full_name(name: ComponentExternName<'_>) -> String {
    match name.version_suffix {
        Some(suffix) if name.implements.is_none() && name.name.contains('@') => {
            format!("{}{suffix}", name.name)
        }
        _ => name.name.to_owned(),
    }
}

fn too_deep() -> Finding {
    Finding::new(
        MessageCode::P016,
        format!("has components inside each other deeper than {MAX_NESTING} levels"),
        "toolchains nest two or three; build the plugin with a current one",
    )
}

pub(super) fn damaged(end: usize) -> Finding {
    Finding::new(
        MessageCode::P002,
        format!("damaged or incomplete: ends at byte {end}"),
        "build or download the file again",
    )
}

/// `P002` for a file that is whole but wrong at `offset`.
pub(crate) fn invalid(offset: usize) -> Finding {
    Finding::new(
        MessageCode::P002,
        format!("damaged or incomplete: no valid WebAssembly at byte {offset}"),
        "build or download the file again",
    )
}

/// What has been seen so far, across nested modules and components.
#[derive(Default)]
struct Reading {
    outline: Outline,
    /// For each module or component that is open, what it instantiates.
    open: Vec<Instances>,
    /// The most that any component instantiates which has ended.
    largest: Instances,
    is_module: bool,
    /// Modules that the core module at the outermost level imports from, and what.
    core_imports: Vec<(String, String)>,
    has_component_type: bool,
}

impl Reading {
    fn take(&mut self, payload: &Payload<'_>) -> wasmparser::Result<()> {
        let outermost = self.open.len() <= 1;
        match payload {
            Payload::Version { encoding, .. } => {
                self.open.push(Instances::default());
                if self.open.len() == 1 {
                    self.is_module = *encoding == Encoding::Module;
                }
            }
            Payload::ComponentImportSection(section) if outermost => {
                for import in section.clone() {
                    let import = import?;
                    self.outline.imports.push(Imported {
                        name: full_name(import.name),
                        has_items: !matches!(import.ty, ComponentTypeRef::Type(_)),
                    });
                }
            }
            Payload::ComponentExportSection(section) if outermost => {
                for export in section.clone() {
                    self.outline.exports.push(full_name(export?.name));
                }
            }
            Payload::MemorySection(section) => {
                for memory in section.clone() {
                    let pages = memory?.initial;
                    let start = &mut self.outline.start_memory;
                    *start = start.saturating_add(pages.saturating_mul(PAGE));
                }
            }
            Payload::ImportSection(section) if outermost => {
                for import in section.clone().into_imports() {
                    self.core_import(&import?);
                }
            }
            Payload::CustomSection(section) => {
                let is_component_type = section.name().starts_with("component-type");
                self.has_component_type |= outermost && is_component_type;
                self.outline.made_by = self.outline.made_by.max(Toolchain::named(section));
            }
            other => self.instances(other)?,
        }
        Ok(())
    }

    fn instances(&mut self, payload: &Payload<'_>) -> wasmparser::Result<()> {
        let mut more = Instances::default();
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    let is_new = matches!(instance?, Instance::Instantiate { .. });
                    more.core += u64::from(is_new);
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    if matches!(instance?, ComponentInstance::Instantiate { .. }) {
                        more.add(self.largest);
                        more.components = more.components.saturating_add(1);
                    }
                }
            }
            _ => {}
        }
        if let Some(open) = self.open.last_mut() {
            open.add(more);
        }
        Ok(())
    }

    /// Takes in that a module or component has ended.
    fn end(&mut self) {
        let ended = self.open.pop().unwrap_or_default();
        self.largest.or_larger(ended);
        self.outline.instances = ended;
    }

    fn core_import(&mut self, import: &Import<'_>) {
        if matches!(import.ty, TypeRef::Func(_)) {
            self.core_imports
                .push((import.module.into(), import.name.into()));
        }
    }

    fn finish(self) -> Result<Outline, Finding> {
        if self.is_module {
            return Err(self.core_module());
        }
        Ok(self.outline)
    }

    /// `P003`, with the way to a component that suits this module.
    fn core_module(&self) -> Finding {
        let from = |test: fn(&str, &str) -> bool| {
            self.core_imports
                .iter()
                .any(|(module, name)| test(module, name))
        };
        let (what, help) = if from(|module, _| module.starts_with("extism:")) {
            (
                "a core module for Extism, not a component",
                "Extism plugins do not run here; build the code against the runner SDK",
            )
        } else if from(|module, name| module == "env" && name.starts_with("proxy_")) {
            (
                "a core module for proxy-wasm, not a component",
                "proxy-wasm filters do not run here; build the code against the runner SDK",
            )
        } else if let Some(help) = self.outline.made_by.and_then(Toolchain::component) {
            ("a core module, not a component", help)
        } else if self.has_component_type {
            (
                "a core module, not a component",
                "it was built with bindings and lacks the last step: `wasm-tools component new`",
            )
        } else if from(|module, _| module == "wasi_snapshot_preview1") {
            (
                "a core module for WASI preview 1, not a component",
                "build it for the target wasm32-wasip2 with the runner SDK",
            )
        } else {
            (
                "a core module, not a component",
                "build it with the runner SDK and `wasm-component-ld`, or turn it into a component with `wasm-tools component new`",
            )
        };
        Finding::new(MessageCode::P003, what, help)
    }
}
