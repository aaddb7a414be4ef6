//! What reading the configs of a run has found so far, each thing once: code, the programs that run it, what it looks
//! up, and filters. Whoever reads a key writes here; nothing here reads a key.

mod code;
mod filters;
mod looked;
mod processes;
mod syntax;

pub(crate) use code::CodeBook;
pub(crate) use filters::FilterBook;
pub(crate) use looked::Piece;
pub(crate) use processes::{digest, request, shown};
pub(crate) use syntax::{GRADED, Inline, form_of};
