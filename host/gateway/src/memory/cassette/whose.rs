//! Which of the recorded exchanges of equal requests is whose.
//!
//! A credential is no part of a recording, so that two providers which differ in their key alone make
//! equal requests. They are told apart by what the user calls them, and the keys of one name by a
//! number in the order in which they came: nothing that is made of a key is written. Where that
//! doesn't say whose an answer is, none is given: it could be another account's. Of lines of older
//! recordings nothing is known, and any of them is given.

use std::collections::{BTreeSet, HashMap};

use crate::memory::remembered::Caller;
use crate::policy::secret::Fingerprint;

use super::LinePlace;

/// Names in an error.
const SHOWN: usize = 5;

/// A recorded exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) tag: u64,
    pub(super) place: LinePlace,
    /// Who asked; `None` in older recordings, and of requests that are no provider's.
    pub(super) by: Option<NameId>,
    /// Which key of that name.
    pub(super) key: u32,
    pub(super) is_used: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameId(u32);

/// The names of a recording, each once.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    ids: HashMap<String, NameId>,
}

impl NameTable {
    pub(super) fn id(&mut self, name: String) -> NameId {
        let next = NameId(self.ids.len() as u32);
        *self.ids.entry(name).or_insert(next)
    }

    fn all(&self, wanted: &BTreeSet<NameId>) -> String {
        let mut names: Vec<&str> = self
            .ids
            .iter()
            .filter(|(_, id)| wanted.contains(id))
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        let more = names.len().saturating_sub(SHOWN);
        let shown: Vec<String> = names
            .iter()
            .take(SHOWN)
            .map(|it| format!("'{it}'"))
            .collect();
        let shown = shown.join(", ");
        if more == 0 {
            shown
        } else {
            format!("{shown} and {more} more")
        }
    }

    /// Where the answer to `caller` stands among those of equal requests, which is used up then.
    ///
    /// # Errors
    /// When it may be another's, with why.
    pub(super) fn take(
        &self,
        slots: &mut [Slot],
        caller: &Caller<'_>,
    ) -> Result<Option<LinePlace>, String> {
        let me = caller.name.and_then(|name| self.ids.get(name).copied());
        let of = |by: Option<NameId>| slots.iter().filter(move |slot| slot.by == by);
        let by = if me.is_some() && of(me).next().is_some() {
            me
        } else if of(None).next().is_some() {
            None
        } else {
            let others: BTreeSet<NameId> = slots.iter().filter_map(|slot| slot.by).collect();
            if others.len() > 1 {
                return Err(format!(
                    "for {}, which may have different keys, but not for '{}'; give the provider the label that it had",
                    self.all(&others),
                    caller.name.unwrap_or_default()
                ));
            }
            others.first().copied()
        };
        if by.is_some() && of(by).any(|slot| Some(slot.key) != of(by).next().map(|it| it.key)) {
            return Err(format!(
                "with several keys, all for '{}'; give each provider a `label` of its own, and record again",
                self.ids
                    .iter()
                    .find_map(|(name, id)| (Some(*id) == by).then_some(name.as_str()))
                    .unwrap_or_default()
            ));
        }
        Ok(next(slots, by, caller.tag))
    }
}

/// The first unused one of the same case, else of any; when all are used, the last one.
fn next(slots: &mut [Slot], by: Option<NameId>, tag: u64) -> Option<LinePlace> {
    let is_mine = |slot: &Slot| slot.by == by;
    let unused = |same: bool| {
        move |slot: &Slot| is_mine(slot) && !slot.is_used && (!same || slot.tag == tag)
    };
    let place = slots
        .iter()
        .position(unused(true))
        .or_else(|| slots.iter().position(unused(false)))
        .or_else(|| {
            slots
                .iter()
                .rposition(|slot| is_mine(slot) && slot.tag == tag)
        })
        .or_else(|| slots.iter().rposition(is_mine))?;
    slots[place].is_used = true;
    Some(slots[place].place)
}

/// The keys that each name had in a recording that is being made.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<String, Vec<Option<Fingerprint>>>);

impl Keys {
    /// Returns which key of that name it is.
    pub(super) fn number(&mut self, name: &str, key: Option<&Fingerprint>) -> u32 {
        let known = self.0.entry(name.to_owned()).or_default();
        let number = known.iter().position(|one| one.as_ref() == key);
        let number = number.unwrap_or_else(|| {
            known.push(key.cloned());
            known.len() - 1
        });
        number as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::secret::Secret;

    /// Exchanges of equal requests, each with its name and the number of its key; their places are
    /// their numbers.
    fn recorded(lines: &[(Option<&str>, u32)]) -> (NameTable, Vec<Slot>) {
        let mut names = NameTable::default();
        let slots = lines.iter().zip(0..).map(|((name, key), at)| Slot {
            tag: at,
            place: LinePlace {
                offset: at,
                bytes: 1,
            },
            by: name.map(|name| names.id(name.to_owned())),
            key: *key,
            is_used: false,
        });
        let slots = slots.collect();
        (names, slots)
    }

    fn asked(lines: &[(Option<&str>, u32)], name: Option<&str>, tag: u64) -> Result<u64, String> {
        let (names, mut slots) = recorded(lines);
        let taken = names.take(&mut slots, &Caller { tag, name })?;
        Ok(taken.expect("there is one").offset)
    }

    #[test]
    fn whoever_has_a_name_gets_what_that_name_got() {
        let lines = [(Some("A"), 0), (Some("B"), 0)];
        for tag in [0, 1, 9] {
            assert_eq!(asked(&lines, Some("A"), tag), Ok(0));
            assert_eq!(asked(&lines, Some("B"), tag), Ok(1));
        }
    }

    #[test]
    fn what_may_be_another_s_is_given_to_nobody() {
        let two = [(Some("B"), 0), (Some("A"), 0)];
        let told = asked(&two, Some("C"), 0).expect_err("A's or B's");
        assert!(
            told.contains("for 'A', 'B', which may have different keys, but not for 'C'"),
            "{told}"
        );
        let keys = [(Some("A"), 0), (Some("A"), 1)];
        for tag in [0, 1, 9] {
            let told = asked(&keys, Some("A"), tag).expect_err("the first's or the second's");
            assert!(told.contains("with several keys, all for 'A'"), "{told}");
        }
        assert!(asked(&keys, Some("B"), 0).is_err());
    }

    #[test]
    fn where_all_are_one_s_a_new_name_gets_them_too() {
        let lines = [(Some("A"), 0), (Some("A"), 0)];
        assert_eq!(asked(&lines, Some("B"), 1), Ok(1));
        assert_eq!(asked(&lines, None, 1), Ok(1));
    }

    #[test]
    fn of_an_older_recording_any_is_given() {
        let lines = [(None, 0), (None, 0)];
        assert_eq!(asked(&lines, Some("A"), 1), Ok(1));
        assert_eq!(asked(&lines, Some("A"), 9), Ok(0));
        let mixed = [(None, 0), (Some("A"), 0)];
        assert_eq!(asked(&mixed, Some("A"), 0), Ok(1));
        assert_eq!(asked(&mixed, Some("B"), 1), Ok(0));
    }

    #[test]
    fn keys_are_numbered_by_name() {
        let mut keys = Keys::default();
        let (a, b) = (
            Secret::new("a").fingerprint(),
            Secret::new("b").fingerprint(),
        );
        let numbers = [
            keys.number("x", Some(&a)),
            keys.number("x", Some(&b)),
            keys.number("x", None),
            keys.number("y", Some(&b)),
            keys.number("x", Some(&a)),
        ];
        assert_eq!(numbers, [0, 1, 2, 0, 0]);
    }
}
