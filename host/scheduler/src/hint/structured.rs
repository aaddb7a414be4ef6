//! Structured field values (RFC 9651), as far as rate limits need them.
//!
//! A line is a list of members, or a dictionary, whose members have a key. A member is an item
//! with parameters. Strings may hold commas and semicolons, so splitting at them would not do:
//! every item is stepped over by its own grammar, also the types that nobody here asks for.
//!
//! **All or nothing.** As the RFC demands, one mistake makes the whole line absent: guessing
//! where it goes on would mean believing numbers out of place. Lists in lists are such a
//! mistake here; no header of ours has them.
//!
//! **Leniency**, each seen in the wild and without a second meaning: tabs for spaces, space
//! before a semicolon, tokens where a string should be.
//!
//! Lines are parsed twice, to check and to read, instead of once into memory: they are short,
//! and this way there is nothing to size.

use super::cursor::{self, Cursor};

/// Parameters of one item that are kept; the drafts know seven.
const MAX_PARAMS: usize = 8;

/// Digits of an integer, by the RFC.
pub(super) const MAX_DIGITS: usize = 15;

/// An item without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare<'a> {
    /// A non-negative integer.
    Integer(u64),
    /// A string or a token. Escapes stand as they were written, which is fine for comparing:
    /// there is one way to write each character.
    Text(&'a [u8]),
    /// Anything else.
    Other,
}

/// One member of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a> {
    /// Its key, in a dictionary.
    pub(super) key: Option<&'a [u8]>,
    /// Its item.
    pub(super) value: Bare<'a>,
    params: [Option<(&'a [u8], Bare<'a>)>; MAX_PARAMS],
}

impl<'a> Member<'a> {
    /// The parameter `name`.
    pub(super) fn param(&self, name: &str) -> Option<Bare<'a>> {
        let mut params = self.params.iter().flatten();
        let (_, value) = params.find(|(key, _)| *key == name.as_bytes())?;
        Some(*value)
    }

    /// The parameter `name`, if it is a non-negative integer.
    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        match self.param(name)? {
            Bare::Integer(value) => Some(value),
            Bare::Text(_) | Bare::Other => None,
        }
    }

    /// Keeps a parameter. Of two with one name the later counts, as the RFC says.
    fn keep(&mut self, key: &'a [u8], value: Bare<'a>) {
        let mut places = self.params.iter_mut();
        let place = places.find(|place| place.is_none_or(|(known, _)| known == key));
        if let Some(place) = place {
            *place = Some((key, value));
        }
    }
}

/// The members of a line; `None` if there is a mistake in it, or nothing.
pub(super) fn members(line: &[u8]) -> Option<impl Iterator<Item = Member<'_>>> {
    let sound = !line.is_empty() && Members::new(line).all(|member| member.is_some());
    sound.then(|| Members::new(line).flatten())
}

/// Steps through a line; `None` among its items is a mistake, and the last.
struct Members<'a> {
    at: Cursor<'a>,
    done: bool,
}

impl<'a> Members<'a> {
    fn new(line: &'a [u8]) -> Self {
        let mut at = Cursor::new(line);
        at.skip_space();
        Self { at, done: false }
    }

    /// One member and the comma behind it.
    fn step(&mut self) -> Option<Member<'a>> {
        let member = member(&mut self.at)?;
        self.at.skip_space();
        if self.at.is_done() {
            self.done = true;
        } else {
            self.at.eat(b',')?;
            self.at.skip_space();
        }
        Some(member)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Option<Member<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let member = self.step();
        self.done |= member.is_none();
        Some(member)
    }
}

/// A member with its key and parameters.
fn member<'a>(at: &mut Cursor<'a>) -> Option<Member<'a>> {
    let mut ahead = at.clone();
    let key = ahead.run(is_key);
    let keyed = key.first().copied().is_some_and(starts_key) && ahead.eat(b'=').is_some();
    if keyed {
        *at = ahead;
    }
    let mut member = Member {
        key: keyed.then_some(key),
        value: bare(at)?,
        params: [None; MAX_PARAMS],
    };
    loop {
        let mut ahead = at.clone();
        ahead.skip_space();
        if ahead.eat(b';').is_none() {
            return Some(member);
        }
        *at = ahead;
        at.skip_space();
        let key = at.run(is_key);
        if !key.first().copied().is_some_and(starts_key) {
            return None;
        }
        let value = if at.eat(b'=').is_some() {
            bare(at)?
        } else {
            Bare::Other
        };
        member.keep(key, value);
    }
}

/// An item of any type.
fn bare<'a>(at: &mut Cursor<'a>) -> Option<Bare<'a>> {
    match at.peek()? {
        b'"' => string(at).map(Bare::Text),
        b'-' | b'0'..=b'9' => number(at),
        b'*' | b'a'..=b'z' | b'A'..=b'Z' => Some(Bare::Text(at.run(is_token))),
        b'?' => {
            at.eat(b'?')?;
            at.eat(b'0').or_else(|| at.eat(b'1')).map(|()| Bare::Other)
        }
        b':' => {
            at.eat(b':')?;
            at.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
            at.eat(b':').map(|()| Bare::Other)
        }
        b'@' => {
            at.eat(b'@')?;
            number(at).map(|_| Bare::Other)
        }
        b'%' => {
            at.eat(b'%')?;
            string(at).map(|_| Bare::Other)
        }
        _ => None,
    }
}

/// A quoted string, without its quotes.
fn string<'a>(at: &mut Cursor<'a>) -> Option<&'a [u8]> {
    at.eat(b'"')?;
    let start = at.clone();
    let mut length = 0;
    loop {
        length += at
            .run(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
            .len();
        if at.eat(b'"').is_some() {
            return start.first(length);
        }
        at.eat(b'\\')?;
        at.eat(b'"').or_else(|| at.eat(b'\\'))?;
        length += 2;
    }
}

/// An integer or a decimal.
fn number<'a>(at: &mut Cursor<'a>) -> Option<Bare<'a>> {
    let negative = at.eat(b'-').is_some();
    let digits = at.run(|byte| byte.is_ascii_digit());
    if digits.len() > MAX_DIGITS {
        return None;
    }
    let value = cursor::value(digits)?;
    if at.peek() == Some(b'.') {
        return at.fraction().map(|_| Bare::Other);
    }
    Some(if negative {
        Bare::Other
    } else {
        Bare::Integer(value)
    })
}

const fn starts_key(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'*'
}

const fn is_key(byte: u8) -> bool {
    starts_key(byte) || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_'
        )
        || matches!(byte, b'`' | b'|' | b'~' | b':' | b'/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys and items of a line, for reading.
    fn shape(line: &str) -> Option<Vec<(Option<&str>, Bare<'_>)>> {
        let text = |bytes| std::str::from_utf8(bytes).expect("members are ASCII");
        let members = members(line.as_bytes())?;
        Some(
            members
                .map(|member| (member.key.map(text), member.value))
                .collect(),
        )
    }

    #[test]
    fn a_string_may_hold_commas_and_semicolons() {
        let line = r#""a,b;r=1 \" \\";r=50;t=30, "c";t=5;r=7"#;
        let all: Vec<_> = members(line.as_bytes()).expect("sound").collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].value, Bare::Text(br#"a,b;r=1 \" \\"#));
        assert_eq!(
            (all[0].integer("r"), all[0].integer("t")),
            (Some(50), Some(30))
        );
        assert_eq!(
            (all[1].integer("r"), all[1].integer("t")),
            (Some(7), Some(5))
        );
        assert_eq!(all[1].integer("q"), None);
    }

    #[test]
    fn a_dictionary_has_keys() {
        assert_eq!(
            shape("limit=100, remaining=50,reset=5"),
            Some(vec![
                (Some("limit"), Bare::Integer(100)),
                (Some("remaining"), Bare::Integer(50)),
                (Some("reset"), Bare::Integer(5)),
            ])
        );
    }

    #[test]
    fn every_type_of_item_is_stepped_over() {
        let line = "1;w=60 , -1, 1.5, tok/en:x, ?1, :aGk=:, @1659578233, %\"f%c3%bc\", *;a;b=\"x\"";
        let values: Vec<_> = members(line.as_bytes())
            .expect("sound")
            .map(|m| m.value)
            .collect();
        let text = |text: &'static str| Bare::Text(text.as_bytes());
        let other = Bare::Other;
        assert_eq!(
            values,
            [
                Bare::Integer(1),
                other,
                other,
                text("tok/en:x"),
                other,
                other,
                other,
                other,
                text("*")
            ]
        );
    }

    #[test]
    fn the_later_of_two_parameters_counts() {
        let mut all = members(b"\"p\";r=1;r=2").expect("sound");
        assert_eq!(all.next().and_then(|member| member.integer("r")), Some(2));
    }

    #[test]
    fn a_mistake_makes_the_whole_line_absent() {
        for line in [
            "",
            " ",
            ",",
            "\"p\";r=1,",
            "\"p\";r=1 \"q\"",
            "\"p",
            "\"p\\x\"",
            "\"p\";",
            "\"p\";=1",
            "\"p\";R=1",
            "\"p\";r=",
            "(\"p\" \"q\")",
            "1.",
            "-",
            "?2",
            ":x",
            "\"ä\"",
            "=1",
            "1234567890123456",
            "\"p\";r=1\0",
        ] {
            assert_eq!(shape(line), None, "{line}");
        }
        assert!(shape("123456789012345").is_some());
    }

    proptest! {
        #[test]
        fn a_written_line_reads_as_itself(
            items in prop::collection::vec(("[ -!#-\\[\\]-~]{0,12}", 0..1_000_000_000_000_000_u64), 1..6),
        ) {
            let line: Vec<_> = items.iter().map(|(name, r)| format!("\"{name}\";r={r}")).collect();
            let line = line.join(", ");
            let read: Vec<_> = members(line.as_bytes()).expect("sound").collect();
            prop_assert_eq!(read.len(), items.len());
            for (member, (name, r)) in read.iter().zip(&items) {
                prop_assert_eq!(member.value, Bare::Text(name.as_bytes()));
                prop_assert_eq!(member.integer("r"), Some(*r));
            }
        }

        #[test]
        fn no_bytes_are_a_danger(line in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(members) = members(&line) {
                prop_assert!(members.count() >= 1);
            }
        }
    }
}
