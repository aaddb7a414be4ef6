//! No type's name twice in a crate: who reads one of them has to know which is meant.
//!
//! Types of tests are left out, and those within functions. Code is read as lines: enough for code
//! that `cargo fmt` has been over.

use std::collections::{BTreeMap, BTreeSet};

use super::File;
use super::unused::{user, without_tests};

/// Folders whose crates are ours alone; programs of tests are files beside each other.
const CRATES: [&str; 4] = ["host/", "plugins/", "template/", "xtask/"];

/// Every name of several types in a crate, as one line each.
pub(super) fn broken(files: &[File]) -> Vec<String> {
    let mut types: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let is_ours = |file: &&File| {
        let is_below = |folder: &str| file.path.starts_with(folder);
        CRATES.iter().any(|folder| is_below(folder)) && file.path.contains("/src/")
    };
    for file in files.iter().filter(is_ours) {
        for name in without_tests(file).lines().filter_map(declared) {
            let places = types.entry((user(&file.path), name)).or_default();
            places.insert(&file.path);
        }
    }
    types.retain(|_, places| places.len() > 1);
    let several = types.iter().map(|((_, name), places)| {
        let places: Vec<&str> = places.iter().copied().collect();
        let places = places.join(", ");
        format!("several types of a crate are called {name}: {places}; say what each is")
    });
    several.collect()
}

/// The name of the type that a line at the left edge declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest = rest.strip_prefix('(').map_or(rest, |rest| {
            rest.split_once(')').map_or(rest, |(_, rest)| rest)
        });
        rest.trim_start()
    });
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_types_is_found() {
        let files = [
            File::of(
                "host/eval/src/a.rs",
                "pub(super) struct Held<T>(T);\nstruct Own;\nenum Own {}\n",
            ),
            File::of("host/eval/src/b.rs", "trait Held {}\n    type Own = u8;\n"),
            File::of(
                "host/eval/src/c.rs",
                "struct Other;\n#[cfg(test)]\nmod tests {\n}\nstruct Held;\n",
            ),
            File::of("host/cli/src/a.rs", "pub type Held = u8;\nstruct Place;\n"),
            File::of("host/cli/src/b.rs", "pub enum Place {}\n"),
        ];
        assert_eq!(
            broken(&files),
            [
                "several types of a crate are called Place: host/cli/src/a.rs, host/cli/src/b.rs; say what each is",
                "several types of a crate are called Held: host/eval/src/a.rs, host/eval/src/b.rs; say what each is",
            ]
        );
    }
}
