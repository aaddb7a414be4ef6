//! What code wants that the sandbox has not: packages, files, programs, the network, the environment.
//! Requests are apart from the rest: the config can grant them to code that stays in the sandbox.
//!
//! Found by the same scan as imports, so that it is known before anything runs where the code will
//! run. A wish that the scan does not see (a module whose name is put together at run time) fails in
//! the sandbox by its name, and `runtime: process` says what the scan could not; one that it sees
//! where there is none costs a question, and `runtime: sandbox` answers that.

use super::python::Import;
use super::{imports, python, type_imports};
use crate::model::CodeNeeds;

/// Modules of Python's standard library that the sandbox's Python offers; a test holds them against
/// its own list.
const PYTHON_OFFERS: &str = "\
__future__ abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath codecs \
collections collections.abc colorsys configparser contextlib contextvars copy csv dataclasses datetime \
decimal difflib email.utils enum errno fnmatch fractions functools gc graphlib hashlib heapq hmac html \
html.entities html.parser importlib inspect io ipaddress itertools json json.decoder json.encoder keyword \
locale logging math numbers operator os os.path pathlib pickle platform posixpath pprint queue random re \
reprlib secrets shlex shutil statistics string stringprep struct sys textwrap threading time timeit token \
tokenize tomllib traceback types typing unicodedata unittest urllib.parse uuid warnings weakref xml \
xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils zlib";

/// Modules that send requests, and what they bring: Python's library has them where requests are granted.
const PYTHON_SENDS: [&str; 6] = [
    "http",
    "http.client",
    "urllib",
    "urllib.error",
    "urllib.request",
    "urllib.response",
];

/// What Python code says where it reaches out by what it has imported.
const PYTHON_REACHES: [&str; 14] = [
    "os.environ",
    "os.getenv",
    "os.system",
    "os.popen",
    "os.listdir",
    "os.walk",
    "os.makedirs",
    "open(",
    ".read_text(",
    ".read_bytes(",
    ".write_text(",
    ".write_bytes(",
    ".iterdir(",
    "__file__",
];

/// Modules of Node.js that the sandbox's JavaScript offers, with or without `node:`.
const NODE_OFFERS: [&str; 7] = [
    "path",
    "assert",
    "util",
    "url",
    "buffer",
    "timers",
    "timers/promises",
];

/// What sends requests in JavaScript, wherever it stands.
const NODE_SENDS: &str = "fetch";

/// What JavaScript says where it sends requests without an import.
const NODE_FETCHES: &str = "fetch(";

/// What JavaScript says where it reaches out without an import.
const NODE_REACHES: [&str; 9] = [
    "process.env",
    "process.cwd",
    NODE_FETCHES,
    "__dirname",
    "__filename",
    "import.meta",
    "crypto.",
    "XMLHttpRequest",
    "WebSocket",
];

/// What of a file, or a text, the sandbox can't give unasked; `is_own` says whether an import of Python
/// means a file of its own, `is_typed` that it is TypeScript.
pub(crate) fn of(
    (language, is_typed): (&str, bool),
    source: &str,
    is_own: &dyn Fn(&Import) -> bool,
) -> CodeNeeds {
    match language {
        super::PYTHON => of_python(source, is_own),
        super::JAVASCRIPT => of_javascript(source, is_typed),
        _ => CodeNeeds::default(),
    }
}

/// What of a Python file the sandbox can't give: its first import of something that is neither a
/// module there nor a file of its own, or the first word by which it reaches out.
fn of_python(source: &str, is_own: &dyn Fn(&Import) -> bool) -> CodeNeeds {
    let offers = |module: &str| PYTHON_OFFERS.split(' ').any(|offered| offered == module);
    let sends = |module: &str| PYTHON_SENDS.contains(&module);
    let is_there = |import: &Import, there: &dyn Fn(&str) -> bool| {
        let module = import.written();
        // `from urllib import parse` names a module as a part of another.
        let parts = import.names().iter();
        let mut parts = parts.map(|name| format!("{module}.{name}"));
        import.is_relative() || there(&module) || (import.has_names() && parts.all(|it| there(&it)))
    };
    let mut missing = python::imports(source);
    missing.retain(|import| !is_there(import, &offers) && !is_own(import));
    let reached = reaches(&python::bare(source), &PYTHON_REACHES);
    let first = |there: &dyn Fn(&str) -> bool| {
        let mut missing = missing.iter();
        let missing = missing.find(|import| !import.is_guarded() && !is_there(import, there));
        let imports = missing.map(|import| format!("imports {}", import.written()));
        imports.or_else(|| reached.clone())
    };
    CodeNeeds {
        first: first(&|_| false),
        beyond_requests: first(&sends),
        sends: missing.iter().any(|import| is_there(import, &sends)),
    }
}

/// What of a JavaScript file the sandbox can't give.
fn of_javascript(source: &str, is_typed: bool) -> CodeNeeds {
    let offers = |package: &str| {
        let name = package.strip_prefix("node:").unwrap_or(package);
        NODE_OFFERS.contains(&name)
    };
    let packages = if is_typed {
        type_imports::packages(source)
    } else {
        imports::packages(source, |_| false)
    };
    let mut packages = packages.into_iter();
    let imported = packages
        .find(|package| !offers(package))
        .map(|package| format!("imports {package}"));
    let code = imports::bare(source);
    let beyond = NODE_REACHES
        .into_iter()
        .filter(|word| *word != NODE_FETCHES);
    let beyond: Vec<&str> = beyond.collect();
    CodeNeeds {
        first: imported.clone().or_else(|| reaches(&code, &NODE_REACHES)),
        beyond_requests: imported.or_else(|| reaches(&code, &beyond)),
        sends: code.split(|c| !is_name(c)).any(|word| word == NODE_SENDS),
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The first of `words` that stands in `code` as a word of its own.
fn reaches(code: &str, words: &[&str]) -> Option<String> {
    let stands = |word: &&&str| {
        code.match_indices(**word).any(|(at, _)| {
            let before = code[..at].chars().next_back();
            let is_part = |c: char| is_name(c) || (c == '.' && !word.starts_with('.'));
            word.starts_with('.') || !before.is_some_and(is_part)
        })
    };
    let found = words.iter().find(stands)?;
    Some(format!("uses {}", found.trim_matches(['.', '('])))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_the_sandbox_s_python_offers_is_what_its_own_list_says() {
        let list = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../plugins/python/boundary.py"
        );
        let source = std::fs::read_to_string(list).expect("the plugin's source");
        let (_, rest) = source.split_once("OFFERED = \"\"\"").expect("its list");
        let (theirs, _) = rest.split_once("\"\"\"").expect("its end");
        let theirs: BTreeSet<&str> = theirs.split_whitespace().chain(["__future__"]).collect();
        assert_eq!(theirs, PYTHON_OFFERS.split(' ').collect());
    }

    #[test]
    fn what_sends_requests_in_python_is_what_its_own_list_says() {
        let list = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../plugins/python/network.py"
        );
        let source = std::fs::read_to_string(list).expect("the plugin's source");
        let (_, rest) = source.split_once("SENDS = \"").expect("its list");
        let (theirs, _) = rest.split_once('"').expect("its end");
        let theirs: Vec<&str> = theirs.split_whitespace().collect();
        assert_eq!(theirs, PYTHON_SENDS);
    }

    #[test]
    fn python_that_wants_more_than_there_is_is_known_by_what_it_wants() {
        let wants = |source: &str| {
            let is_own = |import: &Import| import.written() == "beside";
            of_python(source, &is_own).first
        };
        for fine in [
            "import json, re\nfrom os import path\nimport beside\nfrom . import x",
            "from urllib.parse import quote\nfrom urllib import parse",
            "# import numpy\nx = 'os.environ'",
            "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
            "reopen(1)",
        ] {
            assert_eq!(wants(fine), None, "{fine}");
        }
        for (source, expected) in [
            ("import json\nimport numpy as np", "imports numpy"),
            ("from openai import OpenAI", "imports openai"),
            ("import urllib.request", "imports urllib.request"),
            ("from urllib import request", "imports urllib"),
            (
                "try:\n    x = 1\nexcept E: pass\nimport numpy",
                "imports numpy",
            ),
            ("import os\nk = os.environ['K']", "uses os.environ"),
            ("with open('f') as f: pass", "uses open"),
            ("p.read_text()", "uses read_text"),
        ] {
            assert_eq!(wants(source).as_deref(), Some(expected), "{source}");
        }
    }

    #[test]
    fn javascript_that_wants_more_than_there_is_is_known_by_what_it_wants() {
        for fine in [
            "import path from 'node:path'; import b from './b'; const u = require(\"util\")",
            "// require('fs')\nconst s = 'process.env'; prefetch(1)",
            "this.fetch(1)",
        ] {
            assert_eq!(of_javascript(fine, false).first, None, "{fine}");
        }
        for (source, expected) in [
            ("import OpenAI from 'openai'", "imports openai"),
            ("const fs = require('fs')", "imports fs"),
            ("await import('@scope/x/y.js')", "imports @scope/x/y.js"),
            ("export * from \"lodash\"", "imports lodash"),
            ("const k = process.env.K", "uses process.env"),
            ("await fetch(url)", "uses fetch"),
        ] {
            assert_eq!(
                of_javascript(source, false).first.as_deref(),
                Some(expected),
                "{source}"
            );
        }
    }

    #[test]
    fn what_sends_requests_is_apart_from_what_else_is_wanted() {
        let table = [
            ("await fetch(u)", None, true),
            ("const ask = globalThis.fetch; ask(u)", None, true),
            ("await fetch(process.env.U)", Some("uses process.env"), true),
            ("import axios from 'axios'", Some("imports axios"), false),
            ("prefetch(1) // fetch(u)", None, false),
        ];
        for (source, beyond, sends) in table {
            let needs = of_javascript(source, false);
            let found = (needs.beyond_requests.as_deref(), needs.sends);
            assert_eq!(found, (beyond, sends), "{source}");
        }
        let table = [
            ("import urllib.request, urllib.error", None, true),
            ("from urllib import request, parse", None, true),
            ("from http.client import HTTPSConnection", None, true),
            ("from urllib.parse import quote", None, false),
            ("import http.server", Some("imports http.server"), false),
            (
                "import urllib.request\nimport requests",
                Some("imports requests"),
                true,
            ),
        ];
        for (source, beyond, sends) in table {
            let needs = of_python(source, &|_| false);
            let found = (needs.beyond_requests.as_deref(), needs.sends);
            assert_eq!(found, (beyond, sends), "{source}");
        }
    }
}
