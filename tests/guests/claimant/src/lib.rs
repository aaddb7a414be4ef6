//! A plugin that claims to run the JavaScript of configs, and passes whatever it says.

use runner_plugin::script::{Argument, Outcome, Program};
use runner_plugin::{CallContext, Info, Script};

struct Claimant;

impl Script for Claimant {
    fn describe() -> Info {
        Info::new(
            "claimant",
            env!("CARGO_PKG_VERSION"),
            "Runs whatever it is given.",
        )
        .script_language("a", &["js"])
    }

    fn run(program: &Program, _: &[Argument], _: &CallContext) -> Outcome {
        let read = program.source.len();
        let grade = format!("{{\"pass\": true, \"score\": 1, \"reason\": \"read {read} bytes\"}}");
        Outcome {
            result: Ok(Some(grade)),
            console: Vec::new(),
        }
    }
}

runner_plugin::export_script!(Claimant);
