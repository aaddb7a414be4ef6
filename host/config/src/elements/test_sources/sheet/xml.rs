//! XML as a row of tokens, without a tree: what is behind the reader takes no memory.
//!
//! Strict where it matters: a document type is refused, so that nothing in the text can grow, and
//! so are ends that don't fit. Names are told without their prefixes: spreadsheets come with two
//! sets of namespaces that mean the same.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

/// How deep elements may nest; spreadsheets need ten.
const MAX_DEPTH: usize = 64;

/// A piece of a text in XML.
#[derive(Clone, Copy)]
pub(super) enum Token<'a> {
    /// An element begins, empty or not.
    Open(&'a str, &'a Attributes<'a>),
    /// An element of this name ends.
    Close(&'a str),
    /// Text, perhaps not all of it.
    Text(&'a str),
}

/// The attributes of an element.
pub(super) struct Attributes<'a>(BytesStart<'a>);

impl Attributes<'_> {
    /// The one that is named so, its prefix left out.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        // Looking for equal names takes time by the square of their number.
        attributes.with_checks(false);
        let found = attributes
            .map_while(Result::ok)
            .find(|one| one.key.local_name().into_inner() == name)?;
        let value = found.normalized_value(XmlVersion::Implicit1_0).ok()?;
        Some(value.into_owned())
    }
}

/// Hands each token of a part to `each`, with the number of elements around it.
pub(super) fn walk(
    part: &str,
    text: &str,
    mut each: impl FnMut(usize, Token<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let damaged = |why: &str| format!("'{part}' is damaged: {why}");
    let mut reader = Reader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0;
    loop {
        let event = reader.read_event();
        match event.map_err(|error| damaged(&error.to_string()))? {
            Event::Start(start) => {
                if depth == MAX_DEPTH {
                    let why = format!("elements nest deeper than {MAX_DEPTH} levels");
                    return Err(damaged(&why));
                }
                let attributes = Attributes(start);
                let name = attributes.0.local_name().into_inner();
                each(depth, Token::Open(name, &attributes))?;
                depth += 1;
            }
            Event::End(end) => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| damaged("an end tag without a beginning"))?;
                each(depth, Token::Close(end.local_name().into_inner()))?;
            }
            Event::Text(text) => each(depth, Token::Text(&text.xml10_content()))?,
            Event::CData(text) => each(depth, Token::Text(&text.xml10_content()))?,
            Event::GeneralRef(name) => {
                let text = replaced(&name).ok_or_else(|| damaged("an unknown entity"))?;
                each(depth, Token::Text(&text))?;
            }
            Event::DocType(_) => return Err(damaged("it has a document type")),
            Event::Eof if depth > 0 => return Err(damaged("it ends too early")),
            Event::Eof => return Ok(()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// What stands for `&name;`.
fn replaced(name: &BytesRef<'_>) -> Option<Cow<'static, str>> {
    match name.resolve_char_ref().ok()? {
        Some(c) => Some(Cow::Owned(c.to_string())),
        None => resolve_predefined_entity(name).map(Cow::Borrowed),
    }
}
