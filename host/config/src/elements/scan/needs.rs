//! What code wants that the sandbox has not: packages, files, programs, the network, the environment.
//!
//! Found by the same scan as imports, so that it is known before anything runs where the code will
//! run. A wish that the scan does not see (a module whose name is put together at run time) fails in
//! the sandbox by its name, and `runtime: process` says what the scan could not; one that it sees
//! where there is none costs a question, and `runtime: sandbox` answers that.

use super::python::Import;
use super::{imports, python, type_imports};

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

/// What JavaScript says where it reaches out without an import.
const NODE_REACHES: [&str; 9] = [
    "process.env",
    "process.cwd",
    "fetch(",
    "__dirname",
    "__filename",
    "import.meta",
    "crypto.",
    "XMLHttpRequest",
    "WebSocket",
];

/// What of a file, or a text, the sandbox can't give, as the end of a sentence; `is_own` says whether
/// an import of Python means a file of its own, `is_typed` that it is TypeScript.
pub(crate) fn of(
    (language, is_typed): (&str, bool),
    source: &str,
    is_own: &dyn Fn(&Import) -> bool,
) -> Option<String> {
    match language {
        super::PYTHON => of_python(source, is_own),
        super::JAVASCRIPT => of_javascript(source, is_typed),
        _ => None,
    }
}

/// What of a Python file the sandbox can't give: its first import of something that is neither a
/// module there nor a file of its own, or the first word by which it reaches out.
fn of_python(source: &str, is_own: &dyn Fn(&Import) -> bool) -> Option<String> {
    let offers = |module: &str| PYTHON_OFFERS.split(' ').any(|offered| offered == module);
    let is_there = |import: &Import| {
        let module = import.written();
        // `from urllib import parse` names a module as a part of another.
        let parts = import.names().iter();
        let mut parts = parts.map(|name| format!("{module}.{name}"));
        import.is_relative()
            || offers(&module)
            || (import.has_names() && parts.all(|it| offers(&it)))
    };
    let mut wanted = python::imports(source).into_iter();
    let missing =
        wanted.find(|import| !import.is_guarded() && !is_there(import) && !is_own(import));
    missing
        .map(|import| format!("imports {}", import.written()))
        .or_else(|| reaches(&python::bare(source), &PYTHON_REACHES))
}

/// What of a JavaScript file the sandbox can't give.
fn of_javascript(source: &str, is_typed: bool) -> Option<String> {
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
    packages
        .find(|package| !offers(package))
        .map(|package| format!("imports {package}"))
        .or_else(|| reaches(&imports::bare(source), &NODE_REACHES))
}

/// The first of `words` that stands in `code` as a word of its own.
fn reaches(code: &str, words: &[&str]) -> Option<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
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
    fn python_that_wants_more_than_there_is_is_known_by_what_it_wants() {
        let wants = |source: &str| {
            let is_own = |import: &Import| import.written() == "beside";
            of_python(source, &is_own)
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
            assert_eq!(of_javascript(fine, false), None, "{fine}");
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
                of_javascript(source, false).as_deref(),
                Some(expected),
                "{source}"
            );
        }
    }
}
