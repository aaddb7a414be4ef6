//! Names that have too little room, cut so that they can still be told apart: what they have in common gives way
//! to `…`, and the words in which they differ stay.

use std::collections::{HashMap, HashSet};

use crate::visible;

/// Characters of a name that are looked at.
const MOST_CHARS: usize = 300;

/// What stands between a model and its prompt.
const BETWEEN: &str = " · ";

/// Each name in at most `max` characters.
pub fn names(names: &[&str], max: usize) -> Vec<String> {
    let long: Vec<_> = names
        .iter()
        .map(|name| visible::cut_middle(name, MOST_CHARS))
        .collect();
    let too_long = |name: &str| name.chars().count() > max;
    // Those that have room are told whole and mistaken for nothing.
    let cut: Vec<&str> = long
        .iter()
        .map(|it| &**it)
        .filter(|it| too_long(it))
        .collect();
    if cut.len() < 2 {
        return long
            .iter()
            .map(|name| visible::cut(name, max).into_owned())
            .collect();
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for name in &cut {
        let mut words: Vec<&str> = words(name).into_iter().filter(|it| is_word(it)).collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            *seen.entry(word).or_default() += 1;
        }
    }
    // One name that is quite another makes nothing of the others less common.
    let is_common = |part: &str| !is_word(part) || seen[part] * 4 >= cut.len() * 3;
    let shorter = |name: &str| {
        let (number, rest) = numbered(name);
        let room = max.saturating_sub(number.len());
        (number.to_owned(), shortened(rest, room, &is_common))
    };
    let told = |cut: &dyn Fn(&str, usize) -> String| -> Vec<String> {
        let told = |name: &str| {
            if !too_long(name) {
                return name.to_owned();
            }
            let (number, rest) = shorter(name);
            let room = max.saturating_sub(number.len());
            visible::cut(&(number + &cut(&rest, room)), max).into_owned()
        };
        long.iter().map(|name| told(name)).collect()
    };
    // What differs stands in front more often than behind: the model before the prompt, its first words.
    let begun = told(&|rest, room| visible::cut(rest, room).into_owned());
    let distinct = |names: &[String]| names.iter().collect::<HashSet<_>>().len();
    let middle = told(&|rest, room| visible::cut_middle(rest, room).into_owned());
    if distinct(&begun) < distinct(&middle) {
        middle
    } else {
        begun
    }
}

/// The number that a name begins with, `(12) `, and the rest.
fn numbered(name: &str) -> (&str, &str) {
    let end = name.strip_prefix('(').and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[digits..].starts_with(") ").then_some(digits + 3)
    });
    name.split_at(end.unwrap_or(0))
}

/// Words and what is between them, in turn.
fn words(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let alike = |c: char| c.is_alphanumeric() == first.is_alphanumeric();
        let end = rest.find(|c| !alike(c)).unwrap_or(rest.len());
        let (part, others) = rest.split_at(end);
        parts.push(part);
        rest = others;
    }
    parts
}

fn is_word(part: &str) -> bool {
    part.starts_with(char::is_alphanumeric)
}

/// With what is common cut in its middle, the longest stretch first, until it fits or nothing of them is left.
fn shortened(name: &str, max: usize, is_common: &dyn Fn(&str) -> bool) -> String {
    let mut stretches: Vec<(bool, String)> = Vec::new();
    for part in words(name) {
        let common = is_common(part);
        match stretches.last_mut() {
            Some((is, text)) if *is == common => text.push_str(part),
            _ => stretches.push((common, part.to_owned())),
        }
    }
    let mut room: Vec<usize> = stretches
        .iter()
        .map(|(_, text)| text.chars().count())
        .collect();
    let mut over = room.iter().sum::<usize>().saturating_sub(max);
    while over > 0 {
        let may_go = |at: &usize| stretches[*at].0 && room[*at] > 1 && stretches[*at].1 != BETWEEN;
        let common = (0..room.len()).filter(may_go);
        let Some(longest) = common.max_by_key(|at| room[*at]) else {
            break;
        };
        room[longest] -= 1;
        over -= 1;
    }
    let last = stretches.len().saturating_sub(1);
    let told = stretches.iter().zip(room).enumerate();
    told.map(|(at, ((_, text), room))| {
        if at == last {
            visible::cut(text, room)
        } else {
            visible::cut_middle(text, room)
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(all: &[&str], max: usize) -> Vec<String> {
        let told = names(all, max);
        assert!(told.iter().all(|it| it.chars().count() <= max), "{told:?}");
        told
    }

    #[test]
    fn what_differs_stays() {
        let columns = [
            "(0) acme-support-assistant-small-instruct-v2 · friendly",
            "(1) acme-support-assistant-small-instruct-v2 · chat",
            "(2) acme-support-assistant-large-instruct-v2 · friendly",
            "(3) acme-support-assistant-large-instruct-v2 · chat",
            "all",
        ];
        assert_eq!(
            cut(&columns, 32),
            [
                "(0) acm…ant-small-in… · friendly",
                "(1) acme…tant-small-ins…2 · chat",
                "(2) acm…ant-large-in… · friendly",
                "(3) acme…tant-large-ins…2 · chat",
                "all"
            ]
        );
    }

    /// A prompt without a label is named by its text, of which nothing is common.
    #[test]
    fn a_number_stays_whole_and_a_prompt_ends_early() {
        let columns = [
            "(0) acme-instruct-2026-small · Answer shortly. {{question}}",
            "(1) acme-instruct-2026-small · Think step by step as the customer would. {{question}}",
            "(2) acme-instruct-2026-large · Answer shortly. {{question}}",
            "(3) acme-instruct-2026-large · Think step by step as the customer would. {{question}}",
        ];
        assert_eq!(
            cut(&columns, 32),
            [
                "(0) a…-small · Answer shortly. …",
                "(1) …small · Think step by step…",
                "(2) a…-large · Answer shortly. …",
                "(3) …large · Think step by step…"
            ]
        );
    }

    #[test]
    fn names_that_fit_are_whole() {
        assert_eq!(cut(&["gpt-4", "gpt-5"], 5), ["gpt-4", "gpt-5"]);
        assert_eq!(cut(&[], 5), [""; 0]);
        assert_eq!(cut(&["ab", ""], 1), ["…", ""]);
    }

    #[test]
    fn where_nothing_is_common_the_middle_goes() {
        assert_eq!(cut(&["one-long-name-alone"], 9), ["one-long…"]);
        assert_eq!(
            cut(&["abcdefghijkl", "mnopqrstuvwx"], 7),
            ["abcdef…", "mnopqr…"]
        );
        assert_eq!(
            cut(&["abcdefghijkl", "abcdefghijkm"], 7),
            ["abc…jkl", "abc…jkm"]
        );
        let long = "x".repeat(10_000);
        assert_eq!(cut(&[&long, "y"], 5)[1], "y");
    }

    #[test]
    fn one_strange_name_hides_nothing_of_the_others() {
        let of = |n: u32| format!("openai:company/very/long/path/model-{n}-preview");
        let all = [
            of(1),
            of(2),
            of(3),
            "another-provider-with-a-long-name-of-its-own".to_owned(),
        ];
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let told = cut(&all, 20);
        let mut distinct = told.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 4, "{told:?}");
    }
}
