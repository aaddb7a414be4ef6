//! Whether a text contains HTML: signs of it are counted, and two are enough.
//!
//! promptfoo counts the same signs with regular expressions. Written as scanners here, because
//! some of those expressions take quadratic time, and a grader's time is limited. [`Scan`]
//! remembers where the next `>` is, which is all that they need to look ahead for.

/// The names that are a sign of their own.
const COMMON: [&str; 30] = [
    "html", "head", "body", "div", "span", "p", "a", "img", "h1", "h2", "h3", "h4", "h5", "h6",
    "ul", "ol", "li", "table", "tr", "td", "th", "form", "input", "button", "script", "style",
    "link", "meta", "br", "hr",
];

/// How many signs make HTML.
const ENOUGH: u32 = 2;

/// Whether a text contains HTML.
pub(crate) fn contains(text: &str) -> bool {
    Scan::of(text).weight() >= ENOUGH
}

/// The signs that a text shows.
#[derive(Default)]
struct Scan {
    opening: bool,
    closing: bool,
    self_closing: bool,
    entity: bool,
    doctype: bool,
    comment: bool,
    attribute: bool,
    common: bool,
}

impl Scan {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut scan = Self::default();
        let last = bytes.iter().rposition(|&byte| byte == b'>');
        // The next `>`, found anew when it has been passed.
        let mut next = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'<' => {
                    if next <= at {
                        let found = bytes[at..].iter().position(|&byte| byte == b'>');
                        next = found.map_or(bytes.len(), |found| at + found);
                    }
                    scan.tag(text, at, next, last);
                }
                b'&' => scan.entity |= is_entity(&bytes[at + 1..]),
                byte if byte.is_ascii_whitespace() => {
                    scan.attribute = scan.attribute || is_attribute(&bytes[at + 1..]);
                }
                _ => {}
            }
        }
        scan
    }

    /// Reads what the `<` at this place begins; `next` is where the next `>` is, `last` the last.
    fn tag(&mut self, text: &str, at: usize, next: usize, last: Option<usize>) {
        let bytes = &text.as_bytes()[at + 1..];
        let name = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
            .count();
        if bytes.first().is_some_and(u8::is_ascii_alphabetic) {
            let spaced = bytes.get(name).is_some_and(u8::is_ascii_whitespace);
            let ends = bytes.get(name) == Some(&b'>');
            let open = ends || (spaced && last.is_some_and(|last| last > at + name));
            self.opening |= open;
            let slash = next > 0 && text.as_bytes().get(next - 1) == Some(&b'/');
            let here = bytes[name..].starts_with(b"/>");
            let slashed = slash && next < text.len() && next - 1 > at + 1 + name;
            self.self_closing |= here || (spaced && slashed);
            let word = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                .count();
            let found = text[at + 1..at + 1 + word].to_ascii_lowercase();
            self.common |= COMMON.contains(&found.as_str());
        } else if let Some(rest) = bytes.strip_prefix(b"/") {
            let letter = rest.first().is_some_and(u8::is_ascii_alphabetic);
            let name = rest
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
                .count();
            let rest = rest[name..].trim_ascii_start();
            self.closing |= letter && rest.first() == Some(&b'>');
        } else if let Some(rest) = bytes.strip_prefix(b"!--") {
            let dashes = rest.windows(2).position(|two| two == b"--");
            self.comment |= dashes.is_some_and(|at| rest.get(at + 2) == Some(&b'>'));
        } else if bytes.len() > 8 && bytes[..8].eq_ignore_ascii_case(b"!doctype") {
            let rest = bytes[8..].trim_ascii_start();
            let spaced = rest.len() < bytes.len() - 8;
            self.doctype |= spaced && rest.len() >= 4 && rest[..4].eq_ignore_ascii_case(b"html");
        }
    }

    fn weight(&self) -> u32 {
        let pair = u32::from(self.opening) + u32::from(self.closing);
        pair + u32::from(self.self_closing)
            + u32::from(self.entity)
            + 2 * u32::from(self.doctype)
            + u32::from(self.comment)
            + u32::from(self.attribute)
            + 2 * u32::from(self.common)
    }
}

/// `name;`, `#1;` or `#x1f;`
fn is_entity(bytes: &[u8]) -> bool {
    let (digits, kind): (&[u8], fn(&u8) -> bool) = match bytes {
        [b'#', b'x', rest @ ..] => (rest, u8::is_ascii_hexdigit),
        [b'#', rest @ ..] => (rest, u8::is_ascii_digit),
        rest => (rest, u8::is_ascii_alphabetic),
    };
    // No entity is longer; a text of letters is not read again and again.
    let count = digits.iter().take(64).take_while(|byte| kind(byte)).count();
    count > 0 && digits.get(count) == Some(&b';')
}

/// `name="value"`, with either quote.
fn is_attribute(bytes: &[u8]) -> bool {
    let name = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-')
        .count();
    let Some(rest) = bytes[name..].strip_prefix(b"=").filter(|_| name > 0) else {
        return false;
    };
    let rest = rest.trim_ascii_start();
    let quoted = rest.first().is_some_and(|byte| b"\"'".contains(byte));
    quoted && rest[1..].iter().any(|byte| b"\"'".contains(byte))
}
