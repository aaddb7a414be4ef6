//! Escapes of URLs, HTML, XML, JSON and programming languages, each read as what it stands for.
//!
//! Libraries differ in what they escape and how, so there is no list of spellings to search for.
//! Instead the escapes are decoded, whoever wrote them: a spelling of any character is found.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use entities::ENTITIES;

/// What an escape stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Byte(u8),
    Char(char),
    Text(&'static str),
}

impl Sign {
    /// The bytes of a text that has it.
    pub(super) fn bytes(self, buffer: &mut [u8; 4]) -> &[u8] {
        match self {
            Self::Byte(byte) => {
                buffer[0] = byte;
                &buffer[..1]
            }
            Self::Char(sign) => sign.encode_utf8(buffer).as_bytes(),
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// The longest escape: `&#x` and digits, with zeros before them. Bounds the work at each place.
pub(super) const LONGEST: usize = 24;

/// What an escape begins with.
pub(super) const BEGINS: [u8; 3] = *b"\\%&";

/// How escapes are read that mean one thing to some and another to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Three digits after a backslash are octal, as in C and what came of it; what HTML has ends with `;`.
    Usual,
    /// Digits after a backslash are decimal, as in Haskell, OCaml and Lua; HTML is that of old, whose
    /// numbers and some of whose names need no end.
    Loose,
}

/// Whether an escape in a text depends on how it is read.
pub(super) fn is_ambiguous(text: &[u8]) -> bool {
    let mut pairs = text.array_windows();
    pairs.any(|[sign, next]| match sign {
        b'\\' => next.is_ascii_digit(),
        b'&' => *next == b'#' || next.is_ascii_alphabetic(),
        _ => false,
    })
}

/// Which families of escapes a text may have, in the order of `BEGINS`.
pub(super) fn families(text: &[u8]) -> [bool; 3] {
    BEGINS.map(|family| text.contains(&family))
}

/// Whether an escape may begin with this.
pub(super) fn begins(byte: u8) -> bool {
    BEGINS.contains(&byte)
}

/// Reads the escape at the beginning of a text, and says how long it is.
pub(super) fn read(text: &[u8], reading: Reading) -> Option<(Sign, usize)> {
    match text.first()? {
        b'\\' => match reading {
            Reading::Usual => after_backslash(text),
            Reading::Loose => decimal(text).or_else(|| after_backslash(text)),
        },
        b'%' => match text.get(1)? {
            b'u' => hex(text.get(2..6)?)
                .and_then(char::from_u32)
                .map(|sign| (Sign::Char(sign), 6)),
            _ => byte(text.get(1..3)?, 16).map(|byte| (Sign::Byte(byte), 3)),
        },
        b'&' => entity(text, reading),
        _ => None,
    }
}

/// Reads those of JSON and of most languages. A backslash before anything else only takes away
/// what that means, as in Markdown and in regular expressions.
fn after_backslash(text: &[u8]) -> Option<(Sign, usize)> {
    let next = *text.get(1)?;
    let special = match next {
        b'n' => Some((Sign::Byte(b'\n'), 2)),
        b'r' => Some((Sign::Byte(b'\r'), 2)),
        b't' => Some((Sign::Byte(b'\t'), 2)),
        b'b' => Some((Sign::Byte(8), 2)),
        b'f' => Some((Sign::Byte(12), 2)),
        b'u' => unicode(text),
        b'U' => text
            .get(2..10)
            .and_then(hex)
            .and_then(char::from_u32)
            .map(|sign| (Sign::Char(sign), 10)),
        // Perl's.
        b'x' if text.get(2) == Some(&b'{') => in_braces(text),
        b'x' => text
            .get(2..4)
            .and_then(|digits| byte(digits, 16))
            .map(|byte| (Sign::Byte(byte), 4)),
        b'0'..=b'7' => match text.get(1..4).and_then(|digits| byte(digits, 8)) {
            Some(byte) => Some((Sign::Byte(byte), 4)),
            None => (next == b'0').then_some((Sign::Byte(0), 2)),
        },
        _ => None,
    };
    Some(special.unwrap_or((Sign::Byte(next), 2)))
}

/// Reads what Haskell, OCaml and Lua write: three digits for a byte, or as many as there are for a
/// character. Of Latin-1 a byte is looked for, too.
fn decimal(text: &[u8]) -> Option<(Sign, usize)> {
    // Haskell puts it between an escape and a digit that is not its own.
    if text.starts_with(b"\\&") && text.get(2)?.is_ascii_digit() {
        return Some((Sign::Text(""), 2));
    }
    let digits = text.iter().skip(1).take_while(|it| it.is_ascii_digit());
    let digits = digits.take(LONGEST).count();
    let of_byte = digits.min(3);
    if let Some(byte) = byte(&text[1..=of_byte], 10) {
        return Some((Sign::Byte(byte), 1 + of_byte));
    }
    let sign = char::from_u32(number(&text[1..=digits], 10)?)?;
    Some((Sign::Char(sign), 1 + digits))
}

/// Reads the hexadecimal digits of `\u{X}` and `\x{X}`.
fn in_braces(text: &[u8]) -> Option<(Sign, usize)> {
    let end = text.iter().take(LONGEST).position(|byte| *byte == b'}')?;
    let sign = char::from_u32(hex(&text[3..end])?)?;
    Some((Sign::Char(sign), end + 1))
}

/// Reads `\uXXXX`, of which two may make one character, and `\u{X}`.
fn unicode(text: &[u8]) -> Option<(Sign, usize)> {
    if text.get(2) == Some(&b'{') {
        return in_braces(text);
    }
    let unit = hex(text.get(2..6)?)?;
    if let Some(sign) = char::from_u32(unit) {
        return Some((Sign::Char(sign), 6));
    }
    let low = text.get(6..12).filter(|low| low.starts_with(b"\\u"));
    let low = low.and_then(|low| hex(&low[2..]));
    let pair = low.filter(|low| unit < 0xdc00 && (0xdc00..0xe000).contains(low));
    match pair.and_then(|low| char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))) {
        Some(sign) => Some((Sign::Char(sign), 12)),
        None => Some((Sign::Char(char::REPLACEMENT_CHARACTER), 6)),
    }
}

/// What the names of HTML stand for, by the name as it is and, where no other is called so, in small letters: a
/// server may have changed its letters. Who names all that has a name (`htmlentities` of PHP, npm's `entities` and
/// `he`) names most signs of ASCII and many others, and two letters in one (`&fjlig;`). Old ones need no `;`.
static NAMED: LazyLock<HashMap<Cow<'static, [u8]>, &'static str>> = LazyLock::new(|| {
    let all = || ENTITIES.iter().map(|it| (it.entity, it.characters));
    let mut named: HashMap<Cow<'static, [u8]>, &'static str> = all()
        .map(|(name, sign)| (name.as_bytes().into(), sign))
        .collect();
    for (name, sign) in all() {
        let small = name.to_ascii_lowercase().into_bytes();
        named.entry(small.into()).or_insert(sign);
    }
    named
});

/// The lengths of the names that need no `;`, the longest first, with their `&`.
static OLD: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let old = ENTITIES.iter().filter(|it| !it.entity.ends_with(';'));
    let lengths: BTreeSet<_> = old.map(|it| it.entity.len()).collect();
    lengths.into_iter().rev().collect()
});

/// Reads what HTML and XML have: a number or a name.
fn entity(text: &[u8], reading: Reading) -> Option<(Sign, usize)> {
    if text.get(1)? != &b'#' {
        return name(text, reading);
    }
    let (begin, radix) = match text.get(2)? {
        b'x' | b'X' => (3, 16),
        _ => (2, 10),
    };
    let rest = &text[begin..text.len().min(LONGEST)];
    let digits = rest
        .iter()
        .take_while(|it| char::from(**it).is_digit(radix));
    let end = begin + digits.count();
    let sign = char::from_u32(number(&text[begin..end], radix)?)?;
    let is_closed = text.get(end) == Some(&b';');
    (is_closed || reading == Reading::Loose)
        .then_some((Sign::Char(sign), end + usize::from(is_closed)))
}

/// Reads a name up to its `;`, or one that needs none.
fn name(text: &[u8], reading: Reading) -> Option<(Sign, usize)> {
    let named = |length: usize| {
        let name = text.get(..length)?;
        let small = || NAMED.get(&*name.to_ascii_lowercase());
        let sign = NAMED.get(name).or_else(small)?;
        Some((Sign::Text(sign), length))
    };
    let end = text.iter().take(LONGEST).position(|byte| *byte == b';');
    let whole = end.and_then(|end| named(end + 1));
    let mut old = OLD.iter().filter(|_| reading == Reading::Loose);
    whole.or_else(|| old.find_map(|length| named(*length)))
}

fn hex(digits: &[u8]) -> Option<u32> {
    number(digits, 16)
}

fn byte(digits: &[u8], radix: u32) -> Option<u8> {
    number(digits, radix)?.try_into().ok()
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let mut number = 0_u32;
    for digit in digits {
        let digit = char::from(*digit).to_digit(radix)?;
        number = number.checked_mul(radix)?.checked_add(digit)?;
    }
    (!digits.is_empty()).then_some(number)
}
