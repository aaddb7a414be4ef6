//! What may happen to a frozen contract: the growth rules of `wit/README.md` over lines.
//!
//! Every frozen line stays. What is new may be an interface or world of its own, a function
//! or type in an interface that the host gives (`import`), or an import of a world; never
//! anything in an interface that plugins give (`export`), because hosts look up all of its
//! functions in components that were built before. Whatever is added needs a version.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// What is not allowed in `now`, one line each: the change, and what to do instead.
pub(crate) fn breaks(frozen: &[&str], now: &[&str]) -> Vec<String> {
    let before: BTreeSet<&str> = lines(frozen);
    let after: BTreeSet<&str> = lines(now);
    let mut found = Vec::new();
    for line in before.difference(&after) {
        let successor = after.iter().find(|other| key(other) == key(line));
        found.push(match successor {
            Some(other) => format!("changed: {line}\n         now: {other}"),
            None => format!("removed: {line}"),
        });
    }
    let new: Vec<&str> = added(frozen, now);
    for line in &new {
        let changed = before.iter().any(|other| key(other) == key(line));
        if !changed && !may_be_added(&before, line) {
            found.push(format!("added to what plugins give: {line}"));
        }
    }
    found.extend(version_break(frozen, now, new.first().copied()));
    found
}

/// The lines in `now` that are not frozen.
pub(crate) fn added<'a>(frozen: &[&str], now: &[&'a str]) -> Vec<&'a str> {
    let before = lines(frozen);
    lines(now)
        .into_iter()
        .filter(|line| !before.contains(line))
        .collect()
}

/// All lines but the package's, which has a rule of its own.
fn lines<'a>(all: &[&'a str]) -> BTreeSet<&'a str> {
    all.iter()
        .copied()
        .filter(|line| !line.is_empty() && version(line).is_none())
        .collect()
}

/// What a line is about: role, owner, kind and name. An interface's role and an item's
/// kind count as its meaning, so they are left out where the rest says enough.
fn key(line: &str) -> (bool, &str, &str) {
    let mut words = line.split(' ');
    let role = words.next().unwrap_or_default();
    let owner = words.next().unwrap_or_default();
    let kind = words.next().unwrap_or_default();
    let name = words.next().unwrap_or(kind);
    (role == "world", owner, name)
}

/// May a line be added to a contract that has these?
fn may_be_added(before: &BTreeSet<&str>, line: &str) -> bool {
    let owner = |line: &str| {
        let (is_world, owner, _) = key(line);
        (is_world, owner.to_owned())
    };
    let owner_is_new = before.iter().all(|other| owner(other) != owner(line));
    let words: Vec<&str> = line.split(' ').collect();
    let given_by_host = match words.as_slice() {
        ["world", _, side, ..] => *side == "import",
        [role, ..] => *role == "import",
        [] => false,
    };
    owner_is_new || given_by_host
}

/// The version in a package's line: name and three numbers.
fn version(line: &str) -> Option<(&str, [u64; 3])> {
    let (name, version) = line.strip_prefix("package ")?.split_once('@')?;
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((name, [numbers.next()??, numbers.next()??, numbers.next()??]))
}

/// What is wrong with the package's line: other package, other track, going back, or
/// standing still although something is added.
fn version_break(frozen: &[&str], now: &[&str], added: Option<&str>) -> Option<String> {
    let find = |lines: &[&str]| {
        let found = lines.iter().find_map(|line| version(line));
        found.map(|(name, numbers)| (name.to_owned(), numbers))
    };
    let (Some((old_name, old)), Some((name, new))) = (find(frozen), find(now)) else {
        return Some("removed: the package's name with its version".to_owned());
    };
    let [major, minor, patch] = new;
    if old_name != name || old[..2] != new[..2] || new < old {
        return Some(format!(
            "changed: package {old_name}@{old:?}\n         now: {name}@{new:?}"
        ));
    }
    if let (Some(line), true) = (added, new == old) {
        let next = patch + 1;
        let goal = format!("{major}.{minor}.{next}");
        return Some(format!(
            "{line}\n  is added, but the version is still the same; make it {goal}"
        ));
    }
    None
}

/// The message for the person who changed the contract.
pub(crate) fn refusal(folder: &Path, breaks: &[String]) -> String {
    let mut text = format!("{} would break components that exist:\n", folder.display());
    for change in breaks {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {change}");
    }
    text.push_str(
        "undo it; or grow where growth is allowed (a function of an imported interface, a new\n\
         exported interface that the host looks for); or start a new track. See wit/README.md.",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROZEN: [&str; 8] = [
        "package a:b@0.1.2",
        "export grader func grade (input: types.input) -> bool",
        "import http func send (request: http.request) -> bool",
        "import http record request { url: string, body: option<string> }",
        "import types enum level { low, high }",
        "import types type json = string",
        "world plugin export grader",
        "world plugin import http",
    ];

    /// The breaks after replacing one line by others, with a grown version.
    fn after(line: &str, by: &[&str]) -> Vec<String> {
        let mut now: Vec<&str> = FROZEN.into_iter().filter(|other| *other != line).collect();
        now.retain(|other| !other.starts_with("package"));
        now.extend(by);
        now.push("package a:b@0.1.3");
        breaks(&FROZEN, &now)
    }

    #[test]
    fn the_same_contract_breaks_nothing() {
        assert_eq!(breaks(&FROZEN, &FROZEN), Vec::<String>::new());
        assert_eq!(after("", &[]), Vec::<String>::new());
    }

    #[test]
    fn whatever_is_frozen_may_not_change_or_go() {
        let cases = [
            (FROZEN[3], "import http record request { url: string }"),
            (
                FROZEN[3],
                "import http record request { body: option<string>, url: string }",
            ),
            (FROZEN[4], "import types enum level { low, high, higher }"),
            (FROZEN[5], "import types type json = list<u8>"),
            (
                FROZEN[2],
                "import http func send (request: http.request) -> u8",
            ),
            (
                FROZEN[2],
                "import http async-func send (request: http.request) -> bool",
            ),
            (
                FROZEN[1],
                "import grader func grade (input: types.input) -> bool",
            ),
        ];
        for (line, by) in cases {
            let found = after(line, &[by]);
            assert!(
                found.len() == 1 && found[0].starts_with("changed: "),
                "{by}: {found:?}"
            );
            assert!(
                found[0].contains(line) && found[0].contains(by),
                "{found:?}"
            );
        }
        for line in &FROZEN[1..] {
            assert_eq!(after(line, &[]), [format!("removed: {line}")]);
        }
    }

    #[test]
    fn what_plugins_give_may_not_grow() {
        for by in [
            "export grader func grade-all (inputs: list<types.input>) -> bool",
            "export grader record more { a: u8 }",
            "world plugin export extra",
        ] {
            assert_eq!(
                after("", &[by]),
                [format!("added to what plugins give: {by}")]
            );
        }
    }

    #[test]
    fn what_the_host_gives_may_grow() {
        let by = [
            "import http func probe (url: string) -> bool",
            "import http record probed { ok: bool }",
            "import types record later { a: u8 }",
            "export extra func more () -> bool",
            "import clock func now () -> u64",
            "world plugin import clock",
            "world other export grader",
        ];
        assert_eq!(after("", &by), Vec::<String>::new());
    }

    #[test]
    fn growth_needs_a_version_and_a_version_needs_its_track() {
        let grown = [
            FROZEN.as_slice(),
            &["import http func probe (url: string) -> bool"],
        ]
        .concat();
        let found = breaks(&FROZEN, &grown);
        assert!(
            found.len() == 1 && found[0].ends_with("make it 0.1.3"),
            "{found:?}"
        );
        for package in [
            "package a:b@0.2.0",
            "package a:b@0.1.1",
            "package a:c@0.1.2",
            "package a:b",
        ] {
            let now = [&[package], &FROZEN[1..]].concat();
            assert_eq!(breaks(&FROZEN, &now).len(), 1, "{package}");
        }
    }
}
