//! Configs that are run by promptfoo and by the program: what both say, row by row.
//!
//! `tests/compat/GROUP/NAME.yaml` are the configs; `verdicts.jsonl` beside the groups holds what
//! promptfoo said of each, `differences.jsonl` where the program says otherwise and why, and
//! `pending.json` what it can't do yet. The test `compat` holds the program against the stored
//! verdicts and needs nothing else; `cargo xtask compat` asks promptfoo itself.
//!
//! What is compared is what a user builds upon: whether a config loads, and of each row success,
//! score, failure reason and output. Reasons are wording, which is the program's own.

mod rows;
mod server;
mod suite;
mod theirs;

pub use rows::{Difference, Said};
pub use server::Server;
pub use suite::{Config, Suite};
pub use theirs::Promptfoo;
