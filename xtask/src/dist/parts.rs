//! Whose work is in the program and no package of cargo's: what packages bring in C, what Python brings, Rust itself.
//!
//! Also the texts of licences that packages name and do not hold.

use crate::python;

/// What somebody else made and the program holds.
#[derive(Debug)]
pub(super) struct OthersWork {
    pub(super) name: String,
    /// Empty where it is that of a package which holds it.
    pub(super) version: String,
    pub(super) licence: String,
    pub(super) home: String,
    /// What else there is to say of it.
    pub(super) about: String,
    /// It is cargo's.
    pub(super) is_package: bool,
    pub(super) texts: Vec<String>,
}

impl OthersWork {
    /// Name and version.
    pub(super) fn called(&self) -> String {
        format!("{} {}", self.name, self.version)
            .trim_end()
            .to_owned()
    }
}

/// What is in the program.
struct Part {
    name: &'static str,
    /// The package that brings it; none is of the component that runs Python, or of everything.
    within: Option<&'static str>,
    licence: &'static str,
    home: &'static str,
}

const PARTS: [Part; 8] = [
    Part {
        name: "SQLite",
        within: Some("libsqlite3-sys"),
        licence: "blessing",
        home: "https://sqlite.org",
    },
    Part {
        name: "QuickJS",
        within: Some("rquickjs-sys"),
        licence: "MIT",
        home: "https://github.com/quickjs-ng/quickjs",
    },
    Part {
        name: "wasi-libc",
        within: Some("rquickjs-sys"),
        licence: "Apache-2.0 WITH LLVM-exception OR MIT",
        home: "https://github.com/WebAssembly/wasi-libc",
    },
    Part {
        name: "Zstandard",
        within: Some("zstd-sys"),
        licence: "BSD-3-Clause",
        home: "https://github.com/facebook/zstd",
    },
    Part {
        name: "fiat-crypto",
        within: Some("ring"),
        licence: "MIT",
        home: "https://github.com/mit-plv/fiat-crypto",
    },
    Part {
        name: "CPython",
        within: None,
        licence: "PSF-2.0",
        home: "https://github.com/python/cpython",
    },
    Part {
        name: "componentize-py",
        within: None,
        licence: "Apache-2.0 WITH LLVM-exception",
        home: "https://github.com/bytecodealliance/componentize-py",
    },
    Part {
        name: "the Rust standard library",
        within: None,
        licence: "MIT OR Apache-2.0",
        home: "https://github.com/rust-lang/rust",
    },
];

/// Texts by licence. A package that names several leaves the choice.
const TEXTS: [(&str, &str); 4] = [
    ("MIT", include_str!("licences/MIT.txt")),
    (
        "Apache-2.0 WITH LLVM-exception",
        include_str!("licences/Apache-2.0-LLVM.txt"),
    ),
    ("PSF-2.0", include_str!("licences/PSF-2.0.txt")),
    ("blessing", include_str!("licences/blessing.txt")),
];

/// The text of a licence, or of one of those to choose from.
pub(super) fn text_of(licence: &str) -> Option<String> {
    let mut choices = licence.split(" OR ").flat_map(|choice| choice.split('/'));
    choices.find_map(|choice| {
        let found = TEXTS.iter().find(|(name, _)| *name == choice.trim());
        found.map(|(_, text)| (*text).to_owned())
    })
}

/// Those that are in a program made of these packages.
pub(super) fn beside(packages: &[OthersWork], rust: &str) -> Vec<OthersWork> {
    let work = |part: &Part| {
        let carrier = part
            .within
            .map(|name| packages.iter().find(|it| it.name == name));
        let about = match carrier {
            None => String::new(),
            Some(carrier) => format!("in {}", carrier?.called()),
        };
        let version = match part.name {
            "componentize-py" => python::TOOL.rsplit('=').next().unwrap_or_default(),
            "the Rust standard library" => rust,
            _ => "",
        };
        Some(OthersWork {
            name: part.name.to_owned(),
            version: version.to_owned(),
            licence: part.licence.to_owned(),
            home: part.home.to_owned(),
            about,
            is_package: false,
            texts: text_of(part.licence).into_iter().collect(),
        })
    };
    PARTS.iter().filter_map(work).collect()
}
