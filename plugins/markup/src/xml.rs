//! A whole document as XML: well-formed, with namespaces.
//!
//! The parser would read a document type and expand its entities. So the prolog is looked at
//! first: a document type with declarations of its own is refused, one without them is checked
//! and taken out. Where it names an outside one, that might declare entities; their references
//! are then let stand, unread.

use roxmltree::{Document, Error, ParsingOptions};

use crate::Not;
use crate::tags::{self, Forest};

/// The most nodes in a document. One takes about a hundred bytes.
const MAX_NODES: u32 = 400_000;

/// The most attributes of an element, and the most declarations of namespaces. The parser holds
/// each against all the others.
const MAX_ATTRIBUTES: usize = 256;
const MAX_NAMESPACES: usize = 1_000;

/// Checks the document, and that each path leads to an element in it.
///
/// # Errors
/// What is wrong, as a clause.
pub(crate) fn whole(text: &str, paths: &[Vec<String>]) -> Result<(), Not> {
    let body = without_document_type(text)?;
    let forest = Forest::read(&body);
    if forest.most_attributes() > MAX_ATTRIBUTES {
        let why = format!("an element has more than {MAX_ATTRIBUTES} attributes");
        return Err(Not::Read(why));
    }
    if body.matches("xmlns").count() > MAX_NAMESPACES {
        let why = format!("it declares more than {MAX_NAMESPACES} namespaces");
        return Err(Not::Read(why));
    }
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(&body, options).map_err(|error| match error {
        Error::NodesLimitReached
        | Error::AttributesLimitReached
        | Error::NamespacesLimitReached => Not::read(error.to_string()),
        _ => Not::so(error.to_string()),
    })?;
    // Well-formed: so the scanner for tags has read it without a doubt.
    let missing = forest.missing(&forest.roots(), paths);
    tags::all_there(&missing)
}

/// The text with its document type blanked out, if it has one.
fn without_document_type(text: &str) -> Result<String, Not> {
    let Some(start) = document_type(text) else {
        return Ok(text.to_owned());
    };
    let mut quote = None;
    let end = text[start..].char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => return Some(Err(())),
            (None, '>') => return Some(Ok(start + at)),
            _ => {}
        }
        None
    });
    let end = match end {
        Some(Ok(end)) => end,
        Some(Err(())) => return Err(Not::read("a document type with declarations is not read")),
        None => return Err(Not::so("the document type has no end")),
    };
    let outside = read_document_type(&text[start + "<!DOCTYPE".len()..end])?;
    let rest = &text[end + 1..];
    let standalone =
        text[..start].contains("standalone=\"yes\"") || text[..start].contains("standalone='yes'");
    let rest = if outside && !standalone {
        with_entities_as_text(rest)
    } else {
        rest.to_owned()
    };
    Ok(format!("{}{rest}", &text[..start]))
}

/// Where a document type begins: in the prolog, which holds only comments and instructions.
fn document_type(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        let rest = &text[at..];
        if rest.starts_with("<!DOCTYPE") {
            return Some(at);
        }
        let end = if rest.starts_with("<!--") {
            rest.find("-->")? + 3
        } else if rest.starts_with("<?") {
            rest.find("?>")? + 2
        } else {
            return None;
        };
        at += end;
    }
}

/// Checks what stands in a document type, and says whether it names one outside.
fn read_document_type(text: &str) -> Result<bool, Not> {
    let wrong = || Not::so("the document type is malformed");
    let rest = text.strip_prefix(char::is_whitespace).ok_or_else(wrong)?;
    let rest = rest.trim_start();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    if !tags::is_name(&rest[..end]) {
        return Err(wrong());
    }
    let rest = rest[end..].trim();
    if rest.is_empty() {
        return Ok(false);
    }
    let literals = if let Some(rest) = rest.strip_prefix("SYSTEM") {
        literals(rest, 1)
    } else if let Some(rest) = rest.strip_prefix("PUBLIC") {
        literals(rest, 2)
    } else {
        None
    };
    literals.map(|()| true).ok_or_else(wrong)
}

/// So many quoted texts, each after white space, and nothing else.
fn literals(mut text: &str, count: usize) -> Option<()> {
    for _ in 0..count {
        let quoted = text.strip_prefix(char::is_whitespace)?.trim_start();
        let quote = quoted.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let end = quoted[1..].find(quote)?;
        text = &quoted[end + 2..];
    }
    text.trim().is_empty().then_some(())
}

/// References to entities that XML itself does not define, as plain text.
fn with_entities_as_text(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut pieces = text.split('&');
    result.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let name = piece
            .split(';')
            .next()
            .filter(|name| name.len() < piece.len());
        let foreign = name.is_some_and(|name| {
            tags::is_name(name) && !["amp", "lt", "gt", "quot", "apos"].contains(&name)
        });
        result.push_str(if foreign { "&amp;" } else { "&" });
        result.push_str(piece);
    }
    result
}
