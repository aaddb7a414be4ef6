//! Write a plugin for `runner`: a provider, which answers prompts, a grader, which scores
//! answers, or a script plugin, which runs the code in configs. A plugin is a WebAssembly component; it runs in a sandbox and gets from the outside
//! world what the user grants, through [`http`], [`llm`] and [`log`].
//!
//! Implement [`Provider`], [`Assertion`] or [`Script`], name the type in [`export_provider!`],
//! [`export_assertion!`] or [`export_script!`] ([`export_both!`] for a component that is both a
//! provider and a grader), and build for a wasm target. The code is straight-line: no async, no state between calls, no retries, all of
//! which is the host's part. Tests run natively against a scripted host ([`testing`]).
//!
//! The crate is a thin layer over the contract in `wit/v0_1` and holds no opinion beyond it:
//! the records are the contract's own, with helpers where nearly every plugin would write the
//! same lines. See the README for a first provider and a first grader.

pub mod export;
pub mod http;
pub mod info;
pub mod json;
pub mod llm;
pub mod log;
pub mod script;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
#[doc(hidden)]
pub mod wire;

mod assertion;
mod error;
mod model;
mod provider;

pub use assertion::{Assertion, Component, Grade, Input};
pub use error::{Error, ErrorCode};
pub use info::{AssertionType, CredentialWant, Info, Inputs};
pub use model::{
    CallContext, Completion, FinishReason, Media, Message, Part, Request, Role, ToolCall,
    ToolResult, Usage,
};
pub use provider::{Provider, Target};
pub use script::Script;

/// The README's code, so that it compiles and runs with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
