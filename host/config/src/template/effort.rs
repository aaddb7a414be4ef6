//! What the filters and operators of one rendering may make and look at.
//!
//! The engine counts steps, but one step may copy megabytes. So whatever makes a text or a list
//! says how large it is, and whatever reads one too; both come to an end.

use minijinja::{Error, ErrorKind, State};

/// Bytes that the expressions of one rendering may make: some times what a prompt may be.
const MAX_MADE: usize = 4 * super::MAX_RENDERED;

/// Bytes that they may look at: a second or so.
const MAX_READ: usize = 64 * super::MAX_RENDERED;

/// What an item of a list counts.
pub(crate) const ITEM: usize = 32;

/// What a rendering has used of it.
#[derive(Default)]
struct Effort {
    made: usize,
    read: usize,
}

/// Counts `bytes` that are about to be made.
pub(crate) fn make(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let effort = state.get_or_insert_extension(Effort::default());
    effort.made = effort.made.saturating_add(bytes);
    if effort.made > MAX_MADE {
        let limit = MAX_MADE >> 20;
        return Err(refuse(format!(
            "makes more than {limit} MiB in its expressions"
        )));
    }
    Ok(())
}

/// Counts `bytes` that are about to be looked at.
pub(crate) fn read(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let effort = state.get_or_insert_extension(Effort::default());
    effort.read = effort.read.saturating_add(bytes);
    if effort.read > MAX_READ {
        return Err(refuse("looks at too much text in its expressions"));
    }
    Ok(())
}

/// An expression that can't be worked out.
pub(crate) fn refuse(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}
