//! Which imports of a TypeScript file bring nothing but types, so that they are gone when it runs.
//!
//! A look at the words around each name, not at a tree: an import that only looks as if a value of it
//! were used costs a question about where the code may run, and one that only looks as if none were
//! fails in the sandbox by its name.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::imports::{self, bare};

/// How long a list of imported names is looked at.
const MOST: usize = 4096;

/// The packages that a file with types imports values of.
pub(super) fn packages(source: &str) -> Vec<&str> {
    let typed = Typed::new(source);
    imports::packages(source, |at| typed.is_of_types(at))
}

/// A file with types.
struct Typed<'s> {
    source: &'s str,
    /// Names that stand somewhere as values; looked for once.
    used: OnceCell<HashSet<String>>,
}

impl<'s> Typed<'s> {
    fn new(source: &'s str) -> Self {
        let used = OnceCell::new();
        Self { source, used }
    }

    /// Whether the import whose path begins at `at` brings nothing but types.
    fn is_of_types(&self, at: usize) -> bool {
        let from = self.source.ceil_char_boundary(at.saturating_sub(MOST));
        let before = self.source[from..at].trim_end();
        let Some(before) = before.strip_suffix("from") else {
            return false;
        };
        let keyword = before.rfind("import").max(before.rfind("export"));
        let Some(clause) = keyword.map(|at| before[at + "import".len()..].trim()) else {
            return false;
        };
        if clause.is_empty() || !clause.chars().all(is_of_clause) {
            return false;
        }
        if let Some(rest) = clause.strip_prefix("type") {
            // `import type from 'x'` imports the value `type`.
            return rest.starts_with(|c: char| c.is_whitespace() || c == '{');
        }
        let used = self.used.get_or_init(|| used(&bare(self.source)));
        let mut names = clause
            .split(['{', '}', ','])
            .map(str::trim)
            .filter(|name| !name.is_empty() && !name.starts_with("type "))
            .filter_map(|name| name.split_whitespace().next_back());
        names.all(|name| !used.contains(name))
    }
}

/// The names that stand anywhere as values, but in lists of imported names.
fn used(code: &str) -> HashSet<String> {
    let mut used = HashSet::new();
    let (mut is_importing, mut end, mut last) = (false, 0, "");
    while let Some(start) = code[end..].find(is_name).map(|at| end + at) {
        let between = code[end..start].trim();
        is_importing &= between.chars().all(is_of_clause);
        let length = code[start..].find(|c| !is_name(c));
        let word = &code[start..length.map_or(code.len(), |length| start + length)];
        end = start + word.len();
        let after = code[end..].trim_start().chars().next();
        is_importing = match word {
            "import" => after != Some('(') && after != Some('.'),
            "from" => false,
            _ => is_importing,
        };
        let is_type = match between.chars().next_back() {
            Some('<' | '|' | '&' | '.') => true,
            Some(':') => !matches!(after, Some('(' | '.')),
            Some(_) => false,
            None => matches!(last, "implements" | "as" | "satisfies" | "keyof" | "is"),
        };
        if !is_type && !is_importing {
            used.insert(word.to_owned());
        }
        last = word;
    }
    used
}

/// Whether it may stand in what is imported.
fn is_of_clause(c: char) -> bool {
    is_name(c) || c.is_whitespace() || "{},*".contains(c)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_types_are_told_from_those_of_values() {
        for (source, wanted) in [
            ("import type { A } from 'a'", false),
            ("export type { A } from 'a'", false),
            ("import { type A, type B } from 'a'", false),
            ("import { A } from 'a'; class B implements A {}", false),
            (
                "import {\n  A,\n  B,\n} from 'a';\nfunction f(x: A): Promise<B> {}",
                false,
            ),
            (
                "import A, { B } from 'a'; let c = d as B; let e: A | null",
                false,
            ),
            ("import * as A from 'a'; let b: A.C", true),
            ("import { A } from 'a'; new A()", true),
            ("import { A } from 'a'; class B extends A {}", true),
            ("import { A } from 'a'; f({ b: A() })", true),
            ("import { type A, b } from 'a'; b()", true),
            ("import { a as b } from 'a'; let x: a; b()", true),
            ("import a from 'a'; a``", true),
            ("import 'a'", true),
            ("import type from 'a'; type.b", true),
            ("const a = require('a')", true),
            ("await import('a')", true),
            (
                "import { A } from 'a';\nimport { B } from './b';\nB(); let c: A",
                false,
            ),
        ] {
            let found = packages(source);
            assert_eq!(found == ["a"], wanted, "{source}: {found:?}");
            assert_eq!(imports::packages(source, |_| false), ["a"], "{source}");
        }
    }

    #[test]
    fn many_imports_are_looked_through_once() {
        let source = "import { A } from 'a'; let b: A;".repeat(100_000);
        assert_eq!(packages(&source), [""; 0]);
    }
}
