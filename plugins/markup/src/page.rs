//! Whether a whole text is HTML: it has an element that HTML knows, and no text outside.
//!
//! A browser makes a page of any text, so what counts is where the text would end up: text
//! that becomes a child of a `body` that nobody wrote stands outside. That needs no tree. A
//! stack of open elements with the rules by which HTML closes and ignores tags is enough;
//! the rules that are left out (nested formatting beyond the first, frames, forms in forms)
//! move text from one element into another, not outside.

/// Elements that HTML knows, obsolete ones excluded; beside these, names with a hyphen are
/// those of custom elements.
const KNOWN: [&str; 107] = [
    "html",
    "head",
    "title",
    "base",
    "link",
    "meta",
    "style",
    "body",
    "article",
    "section",
    "nav",
    "aside",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "footer",
    "address",
    "p",
    "hr",
    "pre",
    "blockquote",
    "ol",
    "ul",
    "li",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "main",
    "div",
    "a",
    "em",
    "strong",
    "small",
    "s",
    "cite",
    "q",
    "dfn",
    "abbr",
    "ruby",
    "rt",
    "rp",
    "data",
    "time",
    "code",
    "var",
    "samp",
    "kbd",
    "sub",
    "sup",
    "i",
    "b",
    "u",
    "mark",
    "bdi",
    "bdo",
    "span",
    "br",
    "wbr",
    "img",
    "iframe",
    "embed",
    "object",
    "param",
    "picture",
    "source",
    "video",
    "audio",
    "track",
    "map",
    "area",
    "svg",
    "math",
    "script",
    "noscript",
    "canvas",
    "ins",
    "del",
    "table",
    "caption",
    "colgroup",
    "col",
    "tbody",
    "thead",
    "tfoot",
    "tr",
    "td",
    "th",
    "form",
    "label",
    "input",
    "button",
    "select",
    "datalist",
    "optgroup",
    "option",
    "textarea",
    "output",
    "progress",
    "meter",
    "fieldset",
    "legend",
];

/// More of them: interactive and scripted ones.
const KNOWN_TOO: [&str; 6] = ["details", "summary", "dialog", "menu", "slot", "template"];

/// Elements without content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements whose content is text up to their closing tag.
const RAW: [&str; 8] = [
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
];

/// Elements that end an open paragraph.
const BLOCKS: [&str; 37] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "ul",
    "li",
    "dd",
];

/// Elements that are opened again after something around them has ended.
const FORMATTING: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Parts of a table: outside a table their tags count for nothing.
const TABLE_PARTS: [&str; 9] = [
    "caption", "col", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr",
];

/// Elements in which text has no place; it goes before the table.
const TABLE_FRAME: [&str; 5] = ["table", "tbody", "tfoot", "thead", "tr"];

/// How many elements may lie in each other; deeper ones count as beside the last. Browsers have
/// the same limit, since every tag is held against all that are open.
const MAX_DEPTH: usize = 512;

/// Whether the whole text is HTML.
///
/// # Errors
/// Why not, as a clause.
pub(crate) fn whole(text: &str) -> Result<(), String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.len() > crate::MAX_BYTES {
        return Err("it is too long".to_owned());
    }
    if text.len() >= 5 && text.as_bytes()[..5].eq_ignore_ascii_case(b"<?xml") {
        return Err("it is XML".to_owned());
    }
    let mut page = Page::default();
    page.read(text);
    if page.outside && !page.body {
        return Err("it has text outside of elements".to_owned());
    }
    if page.known {
        Ok(())
    } else {
        Err("it has no element of HTML".to_owned())
    }
}

/// A tag: where it ends, and what it says.
struct Tag<'t> {
    name: String,
    closing: bool,
    /// It ends in `/>`.
    slashed: bool,
    rest: &'t str,
}

/// A page that is being read.
#[derive(Default)]
struct Page {
    /// Names of the open elements; `html`, `head` and `body` are never among them.
    open: Vec<String>,
    /// Formatting elements that ended with something around them.
    pending: Vec<String>,
    /// There is an element that HTML knows.
    known: bool,
    /// There is text outside of elements.
    outside: bool,
    /// The text itself has a body.
    body: bool,
}

impl Page {
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find('<').unwrap_or(rest.len());
            self.text(&rest[..end]);
            rest = &rest[end..];
            rest = if rest.is_empty() {
                rest
            } else if let Some(after) = comment(rest) {
                after
            } else if begins_tag(rest) {
                let Some(tag) = tag(rest) else {
                    return; // a tag without an end is dropped, with all that follows
                };
                self.tag(tag)
            } else {
                self.text("<");
                &rest[1..]
            };
        }
    }

    fn text(&mut self, text: &str) {
        if self.outside || !self.pending.is_empty() || !is_visible(text) {
            return;
        }
        let Some(last) = self.open.last() else {
            self.outside = true;
            return;
        };
        if TABLE_FRAME.contains(&last.as_str()) {
            // It goes before the table: into what is around it.
            let table = self.open.iter().rposition(|name| name == "table");
            self.outside = table == Some(0);
        }
    }

    /// Takes a tag, and returns what follows it.
    fn tag<'t>(&mut self, tag: Tag<'t>) -> &'t str {
        if tag.closing {
            self.close(&tag.name);
            return tag.rest;
        }
        let name = tag.name.as_str();
        if ["html", "head", "body"].contains(&name) {
            self.known = true;
            self.body |= name == "body";
            return tag.rest;
        }
        let in_table = self.open.iter().any(|open| open == "table");
        if TABLE_PARTS.contains(&name) && !in_table {
            return tag.rest;
        }
        self.known |= KNOWN.contains(&name) || KNOWN_TOO.contains(&name) || name.contains('-');
        let foreign = self.open.iter().any(|open| open == "svg" || open == "math");
        if BLOCKS.contains(&name) && !foreign {
            self.end_paragraph();
        }
        if foreign || name == "svg" || name == "math" {
            if !tag.slashed {
                self.enter(tag.name);
            }
            return tag.rest;
        }
        if VOID.contains(&name) {
            return tag.rest;
        }
        if RAW.contains(&name) {
            return after_raw(tag.rest, name);
        }
        self.enter(tag.name);
        tag.rest
    }

    fn enter(&mut self, name: String) {
        if self.open.len() < MAX_DEPTH {
            self.open.push(name);
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(at) = self.pending.iter().rposition(|pending| pending == name) {
            self.pending.remove(at);
            return;
        }
        let Some(at) = self.open.iter().rposition(|open| open == name) else {
            // These two make an element of their own.
            self.known |= name == "p" || name == "br";
            return;
        };
        let ended = self.open.split_off(at);
        let formatting = |name: &String| FORMATTING.contains(&name.as_str());
        // A formatting element ends alone: what is open in it stays open.
        if FORMATTING.contains(&name) {
            self.open.extend(ended.into_iter().skip(1));
        } else {
            self.pending
                .extend(ended.into_iter().skip(1).filter(formatting));
            self.pending.truncate(MAX_DEPTH);
        }
    }

    /// A block ends the paragraph before it, unless something stands between that keeps it.
    fn end_paragraph(&mut self) {
        let keeps = [
            "table", "td", "th", "caption", "button", "object", "template",
        ];
        let near = self
            .open
            .iter()
            .rposition(|name| name == "p" || keeps.contains(&name.as_str()));
        if near.is_some_and(|at| self.open[at] == "p") {
            self.close("p");
        }
    }
}

/// Whether a text shows anything: spaces don't, nor those written as references.
fn is_visible(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some(after) = ["&nbsp;", "&#160;", "&#xa0;", "&#xA0;"]
        .iter()
        .find_map(|space| rest.strip_prefix(space))
    {
        rest = after.trim_start();
    }
    !rest.is_empty()
}

/// What follows the comment, document type or instruction at the start of a text.
fn comment(text: &str) -> Option<&str> {
    let after = |end: &str| text.find(end).map_or("", |at| &text[at + end.len()..]);
    if let Some(rest) = text.strip_prefix("<!-->") {
        Some(rest)
    } else if text.starts_with("<!--") {
        Some(after("-->"))
    } else if text.starts_with("<!") || text.starts_with("<?") {
        Some(after(">"))
    } else {
        let closes = text.strip_prefix("</")?;
        let strange = closes.starts_with(|c: char| !c.is_ascii_alphabetic());
        strange.then(|| after(">"))
    }
}

/// Whether a tag begins at the start of a text.
fn begins_tag(text: &str) -> bool {
    let inside = text.strip_prefix("</").or_else(|| text.strip_prefix('<'));
    inside.is_some_and(|inside| inside.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The tag that begins at the start of a text, if it has an end.
fn tag(text: &str) -> Option<Tag<'_>> {
    let inside = text.get(1..)?;
    let (closing, inside) = match inside.strip_prefix('/') {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let ends = |c: char| c.is_ascii_whitespace() || c == '/' || c == '>';
    let length = inside.find(ends)?;
    let name = inside[..length].to_ascii_lowercase();
    let (slashed, rest) = after_attributes(&inside[length..])?;
    Some(Tag {
        name,
        closing,
        slashed,
        rest,
    })
}

/// What follows the `>` after the attributes, and whether a `/` stands before it. A `>` in
/// quotes after `=` ends nothing.
fn after_attributes(text: &str) -> Option<(bool, &str)> {
    let mut rest = text;
    let mut slashed = false;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        if let Some(after) = rest.strip_prefix('>') {
            return Some((slashed, after));
        }
        if let Some(after) = rest.strip_prefix('/') {
            (slashed, rest) = (true, after);
            continue;
        }
        slashed = false;
        // A name may begin with `=`.
        let first = rest.chars().next()?.len_utf8();
        let ends = |c: char| c.is_ascii_whitespace() || ['/', '>', '='].contains(&c);
        rest = &rest[first + rest[first..].find(ends)?..];
        let value = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let Some(value) = value.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
        rest = match quote {
            Some(quote) => &value[value[1..].find(quote)? + 2..],
            None => &value[value.find(|c: char| c.is_ascii_whitespace() || c == '>')?..],
        };
    }
}

/// What follows the closing tag of an element whose content is text.
fn after_raw<'t>(text: &'t str, name: &str) -> &'t str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        let found = rest.get(..name.len());
        let ends = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/')
        };
        if found.is_some_and(|found| found.eq_ignore_ascii_case(name) && ends(&rest[name.len()..]))
        {
            return after_attributes(&rest[name.len()..]).map_or("", |(_, rest)| rest);
        }
    }
    ""
}
