//! Templates: nunjucks as people use it, read by its own grammar and filled in from its tree.
//!
//! One language for the prompts of a config, the requests of the provider `http` and the
//! questions of graders: what `{{ a + b }}` means doesn't depend on where it stands. So it is a
//! library of neither side, pure and without a system below it: `cargo xtask check pure` compiles
//! it to bare WebAssembly.
//!
//! `pieces` cuts a text into tags and what is none, `tokens` and `parser` make a tree of it,
//! `references` says what the tree reads, `render` walks it. Values are JavaScript's (`value`,
//! `numbers`, `operators`, `methods`), filters, and tests nunjucks' (`filters`,
//! `conditions`). `apart` keeps values from breaking a text that becomes JSON. No autoescape; what is undefined prints as nothing, also inside another
//! undefined. Other templates can't be included: a template is one text.
//!
//! A template may be a stranger's. What may nest is counted when it is read, and what it costs
//! when it is filled in (`meter`), so that it ends, and in bounded memory and stack.
//!
//! A place that differs says so in the [`Scope`] that it renders with: filters of a config,
//! escaping in an address, values that are set aside. Nothing else differs.

mod apart;
mod conditions;
mod dump;
mod error;
mod filters;
mod meter;
mod methods;
mod numbers;
mod operators;
mod parser;
mod pieces;
mod references;
mod render;
mod template;
mod tokens;
mod tree;
mod value;

pub use apart::{Apart, Mixed, Strings};
pub use error::Error;
pub use filters::{indented, is_filter, plain_numbers};
pub use meter::{Allowance, Limits};
pub use pieces::{Piece, Pieces, is_plain, pieces, tolerates_nothing, words};
pub use render::{Escape, Filters, Level, Printed, Scope, Variables, seed_of};
pub use template::{Template, text_of};
pub use value::{Answer, Value};

/// The longest template, and the longest text that one makes: what may cross to a plugin.
pub const MAX_TEXT: usize = 16 << 20;

#[cfg(test)]
mod tests;
