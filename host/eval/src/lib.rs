//! The run: the only place where things happen at once.
//!
//! `eval` takes a plan from `runner-config`, components from `runner-sandbox`, the way to the
//! network from `runner-gateway`, and a store, and carries the run out. Its rooms:
//!
//! | module | what it holds |
//! |---|---|
//! | [`plugins`] | which component serves which provider prefix and assertion type, with what grants |
//! | `case`, `judge` | the life of one case: render, call, grade |
//! | `script` | code of the config: what it gets, and what its results mean |
//! | [`grading`] | how grades of assertions become the grade of a case (pure) |
//! | [`state`] | what a run does next: starts, dependencies, rows that are compared, stops (pure) |
//! | [`run`], `prepare` | the loop that carries out what `state` decides, and the end of a run |
//! | `finish` | the end of a case in its own task: masked, written as JSON, ready for the store |
//! | `comparison` | which answer of a row wins |
//! | [`resume`], `identity` | which rows of a kept run stay, and which cases are run |
//! | `memory` | what cases in flight may hold together |
//! | `recorder`, `rescue` | rows to the store, or to a plain file when it fails |
//! | [`failure`] | why something gave no result |
//! | [`event`] | the stream that every consumer reads: recorder, reporters, viewer |
//! | [`record`] | a finished case as it is stored and exported |
//! | [`question`] | what became of a question, and what a task adds up to |
//! | [`trust`] | what a run needs the person's agreement for |
//! | [`summary`], [`repeats`] | what a run adds up to, in bounded memory |
//!
//! Decisions are synchronous and pure ([`state`], [`grading`], the gateway's grants, the
//! scheduler); the async code around them only waits and reports.

mod answer;
mod call;
mod case;
mod comparison;
mod context;
pub mod event;
pub mod failure;
mod finish;
pub mod grading;
mod identity;
mod judge;
mod masking;
mod memory;
pub mod plugins;
mod prepare;
pub mod question;
pub mod record;
mod recorder;
pub mod repeats;
mod request;
mod rescue;
pub mod resume;
pub mod run;
mod script;
pub mod state;
pub mod summary;
pub mod trust;

pub use masking::without_secrets;
pub use prepare::{
    Preparation, PrepareErrors, Prepared, RunError, RunRequest, Settled, Unsettled, prepare,
};
pub use script::Ahead;
