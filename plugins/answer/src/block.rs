//! Finding the last `<answer>…</answer>` of an output, and reading it.
//!
//! Not an XML parser: what a model writes around its answer is prose and may hold any `<`. Only
//! the tags count, in lower case as the prompt shows them; within the block the five entities of
//! XML and numbers of characters are read, since models that are shown tags write `&amp;`.

/// Why there is no answer to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is no complete block.
    Missing,
    /// Something other than blank space follows the last block.
    Trailing,
    /// There is nothing, or only blank space, in it.
    Empty,
}

const OPEN: &str = "<answer>";
const CLOSE: &str = "</answer>";

/// The longest entity that is read: `&#x10FFFF;` without `&` and `;`.
const ENTITY: usize = 8;

/// What the last block holds, entities read, blank space around it taken off.
pub(crate) fn last(output: &str) -> Result<String, Unread> {
    let (before, after) = output.rsplit_once(CLOSE).ok_or(Unread::Missing)?;
    let (_, inside) = before.rsplit_once(OPEN).ok_or(Unread::Missing)?;
    // `<answer>a</answer> b</answer>`: the second end has no beginning of its own.
    if inside.contains(CLOSE) || !after.trim().is_empty() {
        return Err(Unread::Trailing);
    }
    let answer = unescaped(inside);
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(Unread::Empty);
    }
    Ok(answer.to_owned())
}

/// The text with its entities read; an `&` that begins none stays.
pub(crate) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('&') {
        out.push_str(plain);
        let end = after.bytes().take(ENTITY + 1).position(|byte| byte == b';');
        let read = end.and_then(|end| Some((entity(&after[..end])?, end)));
        if let Some((character, end)) = read {
            out.push(character);
            rest = &after[end + 1..];
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The character that an entity stands for, without its `&` and `;`.
fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}
