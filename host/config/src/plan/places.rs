//! Where the keys of a value stand: for messages of whoever reads the value later.
//!
//! A plugin says by JSON Pointer what is wrong with a config. The value itself has no lines any
//! more, so they are kept beside it.

use std::collections::BTreeMap;

use super::Position;

/// Places by JSON Pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    noted: BTreeMap<String, Position>,
    /// Whether there are more than were noted.
    is_partial: bool,
}

impl Places {
    /// The pointer to a key of what is at `pointer`.
    pub fn pointer(pointer: &str, key: &str) -> String {
        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
    }

    /// Notes where `pointer` stands.
    pub(crate) fn note(&mut self, pointer: String, at: Position) {
        self.noted.insert(pointer, at);
    }

    /// Notes that there are more.
    pub(crate) fn leave_out(&mut self) {
        self.is_partial = true;
    }

    /// Where `pointer` stands, or the innermost of what is around it; `None` if nothing of it was
    /// written.
    pub fn of(&self, pointer: &str) -> Option<&Position> {
        let mut pointer = pointer;
        while !pointer.is_empty() {
            if let Some(at) = self.noted.get(pointer) {
                return Some(at);
            }
            pointer = &pointer[..pointer.rfind('/')?];
        }
        None
    }

    /// Whether what stands at `at` is `pointer` or in it, as far as anybody can tell: of a value that was not
    /// noted, nobody can.
    pub fn may_hold(&self, pointer: &str, at: &Position) -> bool {
        self.is_partial || self.within(pointer).any(|noted| noted.is_where(at))
    }

    /// Where `pointer` stands, and everything that was written in it.
    fn within(&self, pointer: &str) -> impl Iterator<Item = &Position> {
        let inner = self.noted.iter().filter(move |(one, _)| {
            let rest = one.strip_prefix(pointer);
            rest.is_some_and(|rest| rest.starts_with('/'))
        });
        let inner = inner.map(|(_, at)| at);
        self.of(pointer).into_iter().chain(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_that_of_the_key_or_of_what_is_around_it() {
        let mut places = Places::default();
        let at = |line| Position {
            line,
            ..Position::default()
        };
        places.note("/a".to_owned(), at(1));
        places.note("/a/b".to_owned(), at(2));
        let line = |pointer: &str| places.of(pointer).map(|at| at.line);
        assert_eq!(line("/a/b"), Some(2));
        assert_eq!(line("/a/c/0"), Some(1));
        let within = |pointer: &str| places.within(pointer).map(|at| at.line).collect::<Vec<_>>();
        assert_eq!(within("/a"), [1, 2]);
        assert_eq!(within("/a/b"), [2]);
        assert_eq!(within("/a/c"), [1]);
        assert!(within("/ab").is_empty());
        assert!(places.may_hold("/a", &at(2)) && !places.may_hold("/a/b", &at(1)));
        for unknown in ["", "/", "/ab", "a"] {
            assert_eq!(line(unknown), None, "{unknown}");
        }
        places.leave_out();
        assert!(places.may_hold("/a/b", &at(3)));
    }
}
