//! The script plugin `javascript`: runs the JavaScript of configs in QuickJS-ng.
//!
//! ```text
//! program ── erase (types) ── shape (one line or a body?) ──> machine (context, prelude) ──> value ──> json
//!                        modules (import, require) ──┘            failure <── exception
//! ```
//!
//! The code sees its arguments and the files that were handed over. There is no environment,
//! file system, network, timer or package; whoever reaches for one is told so by name. The
//! component imports no function: console lines are part of the outcome, the clock is an
//! argument, pseudo-random numbers follow from the call's id. So equal calls give equal
//! outcomes, and the host can prove that from the binary. That holds of code that may send requests,
//! too: what it asks is an outcome, and the answers are an argument of the next call (`network`).
//!
//! Every call gets a context of its own. The first call of an instance finds one prepared; if
//! the component was pre-initialised at build time, that preparation costs nothing at run time.

mod call;
mod clock;
mod collation;
mod context;
mod erase;
mod failure;
mod json;
mod machine;
mod modules;
mod needed;
mod network;
mod run;
mod shape;
mod syntax;
mod web;

use runner_plugin::script::{Argument, Outcome, Program};
use runner_plugin::{CallContext, Info, Script};

/// The plugin.
pub struct JavaScript;

impl Script for JavaScript {
    fn describe() -> Info {
        runner_plugin::package_info!(
            "javascript",
            "Runs the JavaScript of configs, and nothing else."
        )
        .script_language("javascript", &["js", "cjs", "mjs", "ts", "cts", "mts"])
    }

    fn run(program: &Program, arguments: &[Argument], context: &CallContext) -> Outcome {
        run::run(program, arguments, &context.call_id)
    }
}

runner_plugin::export_script!(JavaScript);

/// Prepares the instance. Called by the build, never by the host: makes the context of the first
/// call and runs it up, after which the instance's memory becomes the component's initial memory.
#[cfg(target_arch = "wasm32")]
#[expect(
    unsafe_code,
    reason = "an export with a name of its own; it is called once, alone"
)]
#[unsafe(export_name = "wizer-initialize")]
pub extern "C" fn initialize() {
    machine::prepare();
}
