//! The provider `echo`: answers every request with the rendered prompt, word for word.
//!
//! For trying a config offline and for grading saved answers. It sends nothing, knows no
//! config, counts no tokens and costs nothing; a `delay` is the host's. `echo:anything` works as well, so that
//! a config can hold several columns of it.

use runner_plugin::{CallContext, Completion, Error, Info, Provider, Request, Target};

/// The provider.
pub struct Echo;

impl Provider for Echo {
    fn describe() -> Info {
        runner_plugin::package_info!("echo", "Answers with the rendered prompt.").prefix("echo")
    }

    fn complete(
        _target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let mut completion = Completion::text(&request.prompt);
        completion.cost_usd = Some(0.0);
        Ok(completion)
    }
}

runner_plugin::export_provider!(Echo);
