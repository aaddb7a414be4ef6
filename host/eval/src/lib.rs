//! The run: the only place where things happen at once.
//!
//! `eval` takes a plan from `runner-config`, components from `runner-sandbox`, and a store, and
//! carries the run out. Its rooms:
//!
//! | module | what it holds |
//! |---|---|
//! | [`plugins`] | which component serves which provider prefix and assertion type, with what grants |
//! | [`gateway`] | the one stack through which every outbound request goes |
//! | `case`, `judge` | the life of one case: render, call, grade |
//! | `script` | code of the config: what it gets, and what its results mean |
//! | [`grading`] | how grades of assertions become the grade of a case (pure) |
//! | [`dispatch`], `order` | which case starts when, and what an interrupt does (pure) |
//! | `strands` | what cases leave to later ones: turns of conversations, registers |
//! | [`run`], `prepare` | the loop that carries out what `dispatch` decides, and the end of a run |
//! | `comparison` | which answers wait for the others of their row, and who wins |
//! | [`resume`], `identity` | which rows of a kept run stay, and which cases are run |
//! | `recorder`, `rescue` | rows to the store, or to a plain file when it fails |
//! | [`event`] | the stream that every consumer reads: recorder, reporters, viewer |
//! | [`record`] | a finished case as it is stored and exported |
//! | [`question`] | what became of a question, and what a task adds up to |
//! | [`trust`] | what a run needs the person's agreement for |
//! | [`summary`], [`repeats`] | what a run adds up to, in bounded memory |
//!
//! Decisions are synchronous and pure ([`dispatch`], [`grading`], the gateway's grants, the
//! scheduler); the async code around them only waits and reports.

mod answer;
mod call;
mod case;
mod comparison;
mod context;
pub mod dispatch;
pub mod event;
pub mod gateway;
pub mod grading;
mod identity;
mod judge;
mod masking;
mod order;
pub mod plugins;
mod prepare;
mod private;
pub mod question;
pub mod record;
mod recorder;
pub mod repeats;
mod request;
mod rescue;
pub mod resume;
pub mod run;
mod script;
mod strands;
pub mod summary;
pub mod trust;

pub use masking::without_secrets;
pub use prepare::{
    Preparation, PrepareErrors, Prepared, RunError, RunRequest, Settled, Unsettled, prepare,
};
pub use script::Ahead;
