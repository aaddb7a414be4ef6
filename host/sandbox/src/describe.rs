//! What a plugin says of itself, checked.
//!
//! A plugin's word is trusted for nothing but words. What it exports is known from the binary;
//! here both must agree, and what the rest of the program relies on (names, prefixes, schemas)
//! must be well-formed, so that nobody further on needs to check it again.

mod bounds;
mod schema;
mod words;

use crate::abi::Info;
use crate::notice::{Finding, MessageCode};

pub(crate) use schema::Schemas;
pub use schema::{Problem, problems_of};

/// What the binary exports; `describe` must claim neither more nor less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exported {
    pub(crate) provider: bool,
    pub(crate) assertion: bool,
}

/// `P011` and `P012`.
pub(crate) fn check(info: &Info, exported: Exported) -> Result<Schemas, Finding> {
    words::check(info, exported).map_err(|what| {
        Finding::new(
            MessageCode::P011,
            format!("its `describe` gives an answer that makes no sense: {what}"),
            "report this to the plugin's author",
        )
    })?;
    Schemas::read(info)
}

#[cfg(test)]
mod tests;
