//! The harness of the end-to-end tests: a model API to talk to, and a program to run.
//!
//! Both are real. [`ModelApi`] is an HTTP server on the loopback interface that answers
//! as it is told and remembers what it saw; [`QuotaServer`] is one that enforces a limit in
//! real time and keeps the books; a [`Client`] speaks to either, a [`RealServer`] stands before either; [`readings`] are all that bytes can
//! be taken for; [`peak`] is what something takes in memory, an [`archive`] what it may have
//! to read; a [`Misbehaviour`] is what the hostile guest does. [`Viewed`] is a browser. [`Run`] starts the built
//! program in an empty home with nothing in its environment but what the test gives it. What
//! is tested is therefore what a user gets, sockets and signals included. [`crash_cycles`]
//! kills it again and again and looks at what is left.
//!
//! Nothing here waits by sleeping. Tests wait for conditions, and a condition that does
//! not come about fails the test with what was seen until then. Mistakes in a test are
//! panics: the harness has no errors to handle.

mod answer;
mod archive;
mod built;
mod chance;
mod client;
pub mod compat;
mod crash;
mod memory;
mod misbehaviours;
mod model_api;
mod quota;
mod readings;
mod real_server;
mod run;
mod starting;
mod viewed;

pub use answer::{Answer, Gate};
pub use archive::{Packing, archive};
pub use built::guest;
pub use chance::Chance;
pub use client::{Client, Reply};
pub use crash::{CrashTally, crash_cycles, crash_storm};
pub use memory::{Counting, peak};
pub use misbehaviours::Misbehaviour;
pub use model_api::{ModelApi, Seen, View};
pub use quota::{Limit, Phase, Quota, QuotaServer, Says, Traffic, TrafficCall};
pub use readings::{inflated, readings};
pub use real_server::RealServer;
pub use run::{Finished, Run, Running, built_program, target_folder, workspace_root};
pub use viewed::Viewed;
