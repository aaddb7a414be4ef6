//! How a component is called: the only crate that names the WebAssembly engine.
//!
//! A plugin is a stranger's program. Here is everything that stands between it and the
//! machine: what file it is ([`Sandbox::load`], [`Sandbox::inspect`]), what it may use
//! ([`limits`]), what it sees of the world ([`Host`]), and what its failures are called
//! ([`Notice`]). What it is *granted* is not decided here but behind [`Host`], so that there is
//! one place for that.
//!
//! ```text
//! file ── preflight ── compiled (cache) ── v0_1 (link) ── describe ──> Plugin
//!                                                                        │ one store per call
//! Host <── v0_1::imports (counts, sizes) <── guest <── call (limits) <───┘
//!                                                 └──> trap ──> Notice
//! ```
//!
//! `README.md` beside this crate has the tables of limits and messages and the roads not taken.

pub mod abi;
mod bindings;
mod call;
mod carried;
mod compiled;
mod crashes;
mod describe;
mod effects;
mod engine;
mod host;
mod inspect;
pub mod limits;
mod log;
mod meter;
mod notice;
mod pack;
mod plugin;
mod preflight;
mod purity;
mod sandbox;
mod script;
mod trap;
mod v0_1;
mod wasi;

pub use call::{Call, CallOutcome, CallUsage};
pub use carried::{CarriedError, CarriedSet, ComponentHeader};
pub use crashes::InputOf;
pub use describe::{Problem, problems_of};
pub use engine::target;
pub use host::{DenyingHost, Host, PiecesOfResponse, StreamedExchange};
pub use inspect::Inspection;
pub use limits::CallLimits;
pub use notice::{CallError, Explanation, Label, LoadError, MessageCode, Notice};
pub use pack::{PackError, Packed, Packing, pack};
pub use plugin::Plugin;
pub use purity::{Capabilities, Purity};
pub use sandbox::{OnLongCompile, OnUntrustedCode, Options, Sandbox, SandboxError};
pub use script::ScriptLanguage;
pub use v0_1::API;
