//! The provider `echo`: answers every request with the rendered prompt, word for word.
//!
//! For trying a config offline and for grading saved answers. It sends nothing, knows no
//! config and counts no tokens; a `delay` is the host's. `echo:anything` works as well, so that
//! a config can hold several columns of it.

use runner_plugin::{CallContext, Completion, Error, Info, Provider, Request, Target};

/// The provider.
pub struct Echo;

impl Provider for Echo {
    fn describe() -> Info {
        Info::new(
            "echo",
            env!("CARGO_PKG_VERSION"),
            "Answers with the rendered prompt.",
        )
        .license(env!("CARGO_PKG_LICENSE"))
        .prefix("echo")
    }

    fn complete(
        _target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        Ok(Completion::text(&request.prompt))
    }
}

runner_plugin::export_provider!(Echo);
