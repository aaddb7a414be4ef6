//! Which files a Python file imports, of those that are there.
//!
//! As for JavaScript a scan and no parser: it knows texts, comments and lines that go on, finds
//! `import` and `from … import`, and hands over what exists as a file. What is not there may be the
//! standard library's, so only a relative import that leads nowhere is told.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::read::files::tidy;

/// Dots and names of one import. More than any program has: each is a folder to look into.
const MAX_PARTS: usize = 32;

/// One import.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Import {
    /// Leading dots: 0 counts from the folder of the script's main file, 1 from the importing
    /// file's, each more from one above.
    dots: usize,
    /// `a.b`.
    module: Vec<String>,
    /// What `from` takes out of it; files, perhaps.
    names: Vec<String>,
    /// It stands under `try:`, so that the code can do without.
    is_guarded: bool,
}

impl Import {
    /// As a message shows it, cut to size.
    pub(crate) fn written(&self) -> String {
        let parts = &self.module[..self.module.len().min(MAX_PARTS)];
        let dots = ".".repeat(self.dots.min(MAX_PARTS));
        format!("{dots}{}", parts.join("."))
    }

    /// What `from` takes out of it.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether `from` takes something out of it.
    pub(crate) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether the code can do without.
    pub(crate) const fn is_guarded(&self) -> bool {
        self.is_guarded
    }

    /// Whether it can only mean a file.
    pub(crate) const fn is_relative(&self) -> bool {
        self.dots > 0
    }

    /// The files that it means; `is_file` and `is_folder` look. `main` and `own` are the folders of
    /// the main file and of the importing one.
    pub(crate) fn files(
        &self,
        main: &Path,
        own: &Path,
        is_file: &dyn Fn(&Path) -> bool,
        is_folder: &dyn Fn(&Path) -> bool,
    ) -> Vec<PathBuf> {
        if self.dots + self.module.len() > MAX_PARTS {
            return Vec::new();
        }
        let mut folder = if self.is_relative() { own } else { main }.to_owned();
        for _ in 1..self.dots {
            folder = tidy(&folder.join(".."));
        }
        let mut found = Vec::new();
        for part in &self.module {
            let file = folder.join(format!("{part}.py"));
            folder = folder.join(part);
            if is_folder(&folder) {
                found.extend(Some(folder.join("__init__.py")).filter(|path| is_file(path)));
            } else {
                found.extend(Some(file).filter(|path| is_file(path)));
                return found;
            }
        }
        for name in &self.names {
            let file = folder.join(format!("{name}.py"));
            let package = folder.join(name).join("__init__.py");
            found.extend([file, package].into_iter().find(|path| is_file(path)));
        }
        found
    }
}

/// The imports of a source, in order, each once.
pub(crate) fn imports(source: &str) -> Vec<Import> {
    let code = bare(source);
    let mut known = HashSet::new();
    let mut found = Vec::new();
    // How far the innermost `try:` is indented under which lines stand.
    let mut tries: Vec<usize> = Vec::new();
    for line in code.split('\n') {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if !text.is_empty() {
            while tries.last().is_some_and(|outer| indent <= *outer) {
                tries.pop();
            }
        }
        let opens = text.starts_with("try:");
        if opens {
            tries.push(indent);
        }
        for part in line.split(';') {
            // `if x: import y`: what follows the colon is a statement, too.
            for one in [Some(part), part.split_once(": ").map(|it| it.1)] {
                found.extend(one.into_iter().flat_map(statement).map(|import| Import {
                    is_guarded: !tries.is_empty(),
                    ..import
                }));
            }
        }
    }
    found.retain(|import| known.insert(import.clone()));
    found
}

/// The imports of one statement.
fn statement(text: &str) -> Vec<Import> {
    let text = text.trim();
    if let Some(modules) = text.strip_prefix("import ") {
        let modules = modules.split(',').filter_map(dotted);
        let import = |(dots, module)| Import {
            dots,
            module,
            ..Import::default()
        };
        return modules.map(import).collect();
    }
    let from = text.strip_prefix("from").filter(|rest| {
        let next = rest.chars().next();
        next.is_some_and(|c| c.is_whitespace() || c == '.')
    });
    // A relative import may stand close: `from .import x`.
    let parts = from.and_then(|rest| {
        let at = rest.find("import")?;
        Some((&rest[..at], &rest[at + "import".len()..]))
    });
    let Some((module, names)) = parts else {
        return Vec::new();
    };
    let Some((dots, module)) = dotted(module) else {
        return Vec::new();
    };
    let names = names.trim().trim_matches(['(', ')']).split(',');
    let names = names.filter_map(|name| Some(dotted(name)?.1.join(".")));
    let names = names.filter(|name| !name.is_empty()).collect();
    vec![Import {
        dots,
        module,
        names,
        is_guarded: false,
    }]
}

/// `..a.b as c`: the dots and the parts; `None` if it is no name.
fn dotted(text: &str) -> Option<(usize, Vec<String>)> {
    let name = text.split_whitespace().next()?;
    let module = name.trim_start_matches('.');
    let dots = name.len() - module.len();
    let word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts: Vec<&str> = module.split('.').filter(|part| !part.is_empty()).collect();
    (parts.iter().all(|part| word(part)) && dots + parts.len() > 0)
        .then(|| (dots, parts.into_iter().map(str::to_owned).collect()))
}

/// The source with texts emptied, comments gone, and each statement on one line.
pub(crate) fn bare(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    let mut open = 0_usize;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                length = quoted(rest, first);
                code.push_str("''");
            }
            '\\' if rest[1..].starts_with('\n') || rest[1..].starts_with("\r\n") => {
                length += rest[1..].find('\n').map_or(0, |at| at + 1);
                code.push(' ');
            }
            '\n' if open > 0 => code.push(' '),
            _ => {
                match first {
                    '(' | '[' | '{' => open += 1,
                    ')' | ']' | '}' => open = open.saturating_sub(1),
                    _ => {}
                }
                code.push(first);
            }
        }
        rest = &rest[length..];
    }
    code
}

/// How long the text is that `rest` begins with, quotes included; of one line, unless it has three
/// quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let three: String = std::iter::repeat_n(quote, 3).collect();
    let is_long = rest.starts_with(&three);
    let begin = if is_long { 3 } else { 1 };
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(begin) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if !is_long => return at,
            _ if is_long && rest[at..].starts_with(&three) => return at + 3,
            _ if !is_long && c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(source: &str) -> Vec<String> {
        let show = |import: &Import| match import.names.as_slice() {
            [] => import.written(),
            names => format!("{} < {}", import.written(), names.join(" ")),
        };
        imports(source).iter().map(show).collect()
    }

    #[test]
    fn every_form_of_import_is_seen() {
        let cases: [(&str, &[&str]); 14] = [
            ("import a", &["a"]),
            ("import a.b as c, d", &["a.b", "d"]),
            ("from a import b as c, d", &["a < b d"]),
            ("from . import b", &[". < b"]),
            ("from .import b", &[". < b"]),
            (
                "from ..a.b import (\n  c,  # why\n  d,\n)\nimport e",
                &["..a.b < c d", "e"],
            ),
            ("from a import *", &["a"]),
            ("import a; import b", &["a", "b"]),
            ("def f():\n    import a\n", &["a"]),
            ("try: import a\nexcept: pass", &["a"]),
            ("from a import \\\n  b", &["a < b"]),
            ("# import a\n'''\nimport b\n'''\nimport c", &["c"]),
            ("x = 'import a'; s = \"it's\"\nimport b", &["b"]),
            ("important = 1\nfromage = 2\nimported.b", &[]),
        ];
        for (source, expected) in cases {
            assert_eq!(written(source), expected, "{source}");
        }
    }

    #[test]
    fn an_import_is_told_once_and_has_no_more_parts_than_a_program() {
        assert_eq!(written("import a\nimport b\nimport a"), ["a", "b"]);
        // Each dot was a path of all dots before it.
        let dots = ".".repeat(1 << 20);
        let found = imports(&format!("from {dots} import a"));
        let files = found[0].files(Path::new("m"), Path::new("m/p"), &|_| true, &|_| true);
        assert!(files.is_empty());
        assert_eq!(found[0].written(), &dots[..MAX_PARTS]);
    }

    #[test]
    fn files_are_found_from_the_main_folder_or_the_importing_one() {
        let there = [
            "m/a.py",
            "m/p/__init__.py",
            "m/p/q.py",
            "m/p/s/t.py",
            "m/x.py",
        ];
        let is_file = |path: &Path| there.iter().any(|it| Path::new(it) == path);
        let is_folder = |path: &Path| {
            let mut all = there.iter();
            !is_file(path) && all.any(|it| Path::new(it).starts_with(path))
        };
        let found = |source: &str, own: &str| -> Vec<String> {
            let files = imports(source).into_iter().flat_map(|import| {
                import.files(Path::new("m"), Path::new(own), &is_file, &is_folder)
            });
            files.map(|path| path.display().to_string()).collect()
        };
        let cases: [(&str, &str, &[&str]); 10] = [
            ("import a", "m", &["m/a.py"]),
            ("import a", "m/p", &["m/a.py"]),
            ("import json, numpy.linalg", "m", &[]),
            ("import p.q", "m", &["m/p/__init__.py", "m/p/q.py"]),
            ("from p import q, r", "m", &["m/p/__init__.py", "m/p/q.py"]),
            ("from p.s import t", "m", &["m/p/__init__.py", "m/p/s/t.py"]),
            ("from a import thing", "m", &["m/a.py"]),
            ("from .q import thing", "m/p", &["m/p/q.py"]),
            ("from ..x import thing", "m/p", &["m/x.py"]),
            ("from . import x", "m", &["m/x.py"]),
        ];
        for (source, own, expected) in cases {
            assert_eq!(found(source, own), expected, "{source} in {own}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_scanned(source in "(import|from|[ -~\\n'\"\\\\.é()#:;]){0,80}") {
            for import in imports(&source) {
                prop_assert!(import.dots + import.module.len() > 0);
            }
        }
    }
}
