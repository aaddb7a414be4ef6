//! The run: the only place where things happen at once.
//!
//! `eval` takes a plan from `runner-config`, components from `runner-sandbox`, the way to the
//! network from `runner-gateway`, and a store, and carries the run out. Its rooms:
//!
//! | module | what it holds |
//! |---|---|
//! | [`plugins`] | which component serves which provider prefix and assertion type, with what grants |
//! | `private_door` | what passes between the host and its own plugins beside the contract |
//! | `script` | code of the config: what it gets, and what its results mean (pure) |
//! | `ahead`, `syntax` | code that runs before there is a run: what makes tests, `beforeAll`; and which texts of code are no programs |
//! | `programs`, `erased` | code that runs outside the sandbox: what each process is started as, and its TypeScript as JavaScript |
//! | `providers` | numbers for the providers of a run, so that slots and memory can be shared out among them |
//! | `context`, `asking` | what all cases of a run share; how far the question of each is |
//! | `call`, `called` | one call of a component, what the component may ask of the host meanwhile, and what it used |
//! | `around` | the code of the config that is called around a case and a run |
//! | `case`, `assertions` | the life of one case: render, call, grade |
//! | `request`, `answer` | what a provider is asked, and its answer as graders and the results see it |
//! | `stop` | a part of a case's life within its limit on time, until the case is cut off |
//! | [`grading`] | how grades of assertions become the grade of a case (pure) |
//! | [`state`] | what a run does next: starts, dependencies, rows that are compared, stops (pure) |
//! | [`run`], `prepare` | the loop that carries out what `state` decides, and the end of a run |
//! | `aside` | work that blocks, beside the runtime |
//! | `finish`, `masking` | the end of a case in its own task: masked, written as JSON, ready for the store |
//! | `comparison` | which answer of a row wins |
//! | [`beginning`], `resume`, `identity` | which rows of a kept run stay, and which cases are run |
//! | `memory` | what cases in flight may hold together |
//! | `recorder`, `rescue` | rows to the store, or to a plain file when it fails |
//! | [`failure`], `error` | why something gave no result; what stops a run |
//! | [`event`] | the stream that every consumer reads: recorder, reporters, viewer |
//! | [`record`] | a finished case as it is stored and exported |
//! | [`question`] | what became of a question, and what a task adds up to |
//! | [`trust`] | what a run needs the person's agreement for |
//! | [`summary`], [`repeats`] | what a run adds up to, in bounded memory |
//! | `forecast` | what a run is likely to send and to cost, before anything is sent (pure) |
//!
//! Decisions are synchronous and pure ([`state`], [`grading`], the gateway's grants, the
//! scheduler); the async code around them only waits and reports.
//!
//! From the bottom up, each knowing only what comes before it: words (`failure`, `record`,
//! `summary`, `event`), decisions and code (`grading`, `script`), `plugins`, what a run's cases
//! share (`context`), `call`, `around`, `assertions`, `case`, `comparison`, `finish`, the rows that are
//! kept (`recorder`, `resume`), `run`, `prepare`.

mod ahead;
mod answer;
mod around;
mod aside;
mod asking;
mod assertions;
pub mod beginning;
mod call;
mod called;
mod case;
mod comparison;
mod context;
mod data_rows;
mod datasets;
mod erased;
mod error;
pub mod event;
pub mod failure;
mod finish;
#[cfg(test)]
mod fixture;
mod forecast;
pub mod grading;
mod human;
mod identity;
mod masking;
mod memory;
mod planned;
pub mod plugins;
mod prepare;
mod private_door;
mod programs;
mod providers;
pub mod question;
pub mod record;
mod recorder;
pub mod repeats;
mod request;
mod rescue;
mod resume;
pub mod run;
mod script;
pub mod state;
mod stop;
pub mod summary;
mod syntax;
pub mod trust;

pub use ahead::ScriptRunner;
pub use called::CalledPlugin;
pub use datasets::Fetching;
pub use error::RunError;
pub use forecast::{ColumnForecast, Forecast, forecast};
pub use masking::without_secrets;
pub use prepare::{Preparation, PreparedRun, RunRequest, SettledRun, UnsettledRun, prepare};
pub use request::text as text_of;
