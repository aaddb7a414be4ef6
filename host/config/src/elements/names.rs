//! What the filters of tests and providers mean: a name, a group (`x` has `x:…` in it) or a wildcard
//! (`*`, `x*`).
//!
//! Filters can be tens of thousands, and what they choose from too, so names are looked up.

use std::collections::{BTreeSet, HashSet};

use crate::model::{Findings, Position};

/// A filter's names, each with its place.
pub(crate) type Filter = Vec<(String, Position)>;

/// The names of things that filters choose from.
pub(crate) struct NameIndex<'a> {
    /// Each with the place of what has it.
    sorted: Vec<(&'a str, u32)>,
    count: u32,
}

impl<'a> NameIndex<'a> {
    /// Of things in their order, two names each.
    pub(crate) fn of(things: impl Iterator<Item = [&'a str; 2]>) -> Self {
        let (mut sorted, mut count) = (Vec::new(), 0);
        for names in things {
            sorted.extend(names.map(|name| (name, count)));
            count += 1;
        }
        sorted.sort_unstable();
        Self { sorted, count }
    }

    /// The places of all that a filter's names mean. One that means no `what` is reported.
    pub(crate) fn all_meant(
        &self,
        filter: &Filter,
        what: &str,
        findings: &Findings,
    ) -> BTreeSet<u32> {
        let mut known = HashSet::new();
        // Each may mean all of them.
        let names = filter.iter().filter(|(name, _)| known.insert(name));
        let one = |(name, at): &(String, Position)| {
            let meant = self.meant(name);
            if meant.is_empty() {
                findings.error(at.clone(), format!("there is no {what} '{name}'"));
            }
            meant
        };
        names.flat_map(one).collect()
    }

    /// The places of those that a name means.
    pub(crate) fn meant(&self, filter: &str) -> BTreeSet<u32> {
        if filter == "*" {
            return (0..self.count).collect();
        }
        let group = match filter.strip_suffix('*') {
            Some(beginning) => beginning.to_owned(),
            None => format!("{filter}:"),
        };
        let named = self.from(filter).take_while(|(name, _)| *name == filter);
        let in_group = self.from(&group);
        let in_group = in_group.take_while(|(name, _)| name.starts_with(&group));
        named.chain(in_group).map(|(_, place)| *place).collect()
    }

    /// The names that are no less than `name`.
    fn from(&self, name: &str) -> impl Iterator<Item = &(&'a str, u32)> {
        let first = self.sorted.partition_point(|(known, _)| *known < name);
        self.sorted[first..].iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_filter_repeats_is_looked_up_once() {
        const MANY: usize = 100_000;
        let names = NameIndex::of(vec![["x", "y"]; MANY].into_iter());
        let filter = vec![("*".to_owned(), Position::default()); MANY];
        let meant = names.all_meant(&filter, "prompt", &Findings::default());
        assert_eq!(meant.len(), MANY);
    }

    #[test]
    fn filters_name_exactly_as_a_group_or_by_wildcard() {
        let things = [
            ["openai:chat:gpt", "fast"],
            ["openai:chat", "slow"],
            ["x", "x"],
        ];
        let names = NameIndex::of(things.into_iter());
        let cases: [(&str, &[u32]); 12] = [
            ("fast", &[0]),
            ("x", &[2]),
            ("openai:chat:gpt", &[0]),
            ("openai", &[0, 1]),
            ("openai:*", &[0, 1]),
            ("openai:chat", &[0, 1]),
            ("openai:chat:*", &[0]),
            ("*", &[0, 1, 2]),
            ("open", &[]),
            ("open*", &[0, 1]),
            ("fa*", &[0]),
            ("", &[]),
        ];
        for (filter, expected) in cases {
            let meant: Vec<u32> = names.meant(filter).into_iter().collect();
            assert_eq!(meant, expected, "{filter}");
        }
    }
}
