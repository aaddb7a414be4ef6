//! A world for the scheduler: servers with limits, a client, a clock, all in virtual time.
//!
//! The client drives the real [`Scheduler`](runner_scheduler::Scheduler) as the program's shell
//! does, against servers that count and refuse as those of model APIs do and that say
//! as much about it. The same draws are then given to an *oracle*, a client that knows each
//! server's state, and the two are compared. Time jumps from event to event, so that ten
//! minutes take milliseconds.
//!
//! It is not a test itself. `tests/proofs` holds the scheduler against gates and invariants
//! with it, and `examples/sim.rs` prints the table.

pub(crate) mod busy;
pub(crate) mod catalogue;
pub(crate) mod client;
pub(crate) mod gate;
pub(crate) mod grid;
pub(crate) mod idle;
pub(crate) mod oracle;
pub(crate) mod plan;
pub(crate) mod quota;
pub(crate) mod random;
pub(crate) mod score;
pub(crate) mod server;
pub(crate) mod service;
pub(crate) mod speech;
pub(crate) mod table;
pub(crate) mod watch;
