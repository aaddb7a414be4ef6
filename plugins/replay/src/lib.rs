//! The provider `replay`: answers with an output that was saved before, so that answers which
//! exist already can be graded without asking anybody.
//!
//! The output is a variable of the test: `replay` gives the one called `output`, `replay:NAME`
//! the one called NAME, so that two columns of one file can be compared. `runner eval
//! --model-outputs` is this provider over a file of outputs. It is given as it is, text as text
//! and other values as JSON; no template in it is filled in, and nothing of the prompt counts.
//!
//! It is no recording of exchanges with a server: those are the host's (`--record`,
//! `--replay`), and replay what providers do with them as well.

use runner_plugin::json::{self, Value};
use runner_plugin::{CallContext, Completion, Error, Info, Provider, Request, Target};

/// The variable that holds the output unless the id names another.
const OUTPUT: &str = "output";

/// The provider.
pub struct Replay;

impl Provider for Replay {
    fn describe() -> Info {
        let mut info =
            runner_plugin::package_info!("replay", "Answers with an output that was saved before.")
                .prefix("replay");
        info.metadata_json = Some(r#"{"reads":["vars"]}"#.to_owned());
        info
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let name = if target.name.is_empty() {
            OUTPUT
        } else {
            &target.name
        };
        let options: Value = match &request.options_json {
            Some(text) => json::read("options", text)?,
            None => Value::Null,
        };
        match &options["vars"][name] {
            Value::Null => Err(Error::invalid_request(format!(
                "the test has no variable '{name}', whose value would be the saved output"
            ))),
            Value::String(text) => Ok(Completion::text(text)),
            other => Ok(Completion::parts(Vec::new()).output(other)),
        }
    }
}

runner_plugin::export_provider!(Replay);
