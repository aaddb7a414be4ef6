//! Programs on the user's machine: how one is started, asked, and ended with all that it started.
//!
//! A run asks a program either once for each call ([`once`], a command with its arguments), or keeps
//! it and asks it again and again ([`Workers`], an interpreter with a driver of ours inside). Either
//! way:
//!
//! - It runs in a process group of its own, below a *supervisor*: this program once more, which does
//!   nothing but wait ([`supervised`]). It ends the whole group when the run is gone, however that
//!   ended, and when the group takes more memory than it may.
//! - Its environment is what it is given, and nothing else.
//! - Every call has a limit on its time and on its answer. Who passes it, crashes or says what nobody
//!   understands costs its own call.
//!
//! Not here: whether a program may be started at all (`runner-eval` asks the person), when a call
//! goes and what is kept of it (`runner-gateway`), what the code is told and what its answer means.

#[cfg(target_os = "linux")]
mod below;
mod command;
mod ended;
mod group;
mod line;
mod lines;
mod once;
mod path;
mod printed;
mod supervisor;
#[cfg(target_os = "linux")]
mod terminal;
mod worker;
mod workers;

pub use command::{Program, Supervisor};
pub use ended::Fault;
pub use group::memory_of_all;
pub use line::{CodeFailure, Level, LogLine};
pub use once::{Output, once};
pub use path::find;
pub use printed::printed;
pub use supervisor::supervised;
pub use workers::{Answer, Log, Service, Workers};

/// The driver that runs a config's Python, for `python -c`.
pub const PYTHON_DRIVER: &str = include_str!("drivers/python.py");

/// The driver that runs a config's JavaScript, for `node --input-type=module -e`.
pub const NODE_DRIVER: &str = include_str!("drivers/node.mjs");

/// What that driver has Node.js load the config's TypeScript by: the `hooks` of its setup.
pub const NODE_HOOKS: &str = include_str!("drivers/typed.mjs");
