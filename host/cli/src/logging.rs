//! Diagnostics for people who look for a bug: `RUNNER_LOG=debug`.
//!
//! Off unless asked for. They go where all talk goes, so they don't tear the progress bar. The
//! crates below log what they do and never a secret: credentials have no `Debug`.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::talk::Talk;
use crate::visible;

/// Starts the diagnostics that `RUNNER_LOG` asks for.
///
/// # Errors
/// When it is no filter.
pub(crate) fn start(environment: &Environment, talk: &Talk) -> Result<(), Failure> {
    let Some(directives) = environment.get("RUNNER_LOG") else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(directives).map_err(|error| {
        Failure::usage(format!("RUNNER_LOG is `{directives}`: {error}"))
            .help("use error, warn, info, debug or trace, or a crate's own: runner_gateway=debug")
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(LineWriter(talk.clone()))
        .finish();
    // A second start in one process (tests) keeps the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Makes a writer per message.
struct LineWriter(Talk);

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Message;

    fn make_writer(&'a self) -> Message {
        Message {
            talk: self.0.clone(),
            text: Vec::new(),
        }
    }
}

/// Collects one message and says it when it is complete.
struct Message {
    talk: Talk,
    text: Vec<u8>,
}

impl Write for Message {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        self.talk.line(&visible::block(text.trim_end()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_is_refused() {
        let environment = Environment::from_pairs(&[("RUNNER_LOG", "runner=loud")]);
        let failure = start(&environment, &Talk::new(false)).expect_err("refused");
        assert!(
            failure
                .render()
                .starts_with("error: RUNNER_LOG is `runner=loud`: "),
            "{}",
            failure.render()
        );
    }
}
