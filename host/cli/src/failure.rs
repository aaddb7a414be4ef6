//! What stops a command: a message, its causes, a hint, an exit code.
//!
//! The crates below have an enum of errors each; here they become words. A failure knows only
//! whether it is the user's to mend ([`USAGE`]) or not ([`INTERNAL`]).

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::anyhow;

use crate::exit::{INTERNAL, INTERRUPTED, USAGE};
use crate::job;
use crate::visible;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: anyhow::Error,
    /// Further errors, each complete in itself.
    others: Vec<String>,
    help: Option<String>,
    /// Whether GitHub reads it: then it is an annotation of the job, too.
    job: bool,
}

impl Failure {
    /// The user asked for something that can't be: arguments, config, paths.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self {
            code: USAGE,
            error: anyhow!("{message}"),
            others: Vec::new(),
            help: None,
            job: false,
        }
    }

    /// A message of this kind, with what caused it.
    pub(crate) fn usage_from(error: impl Into<anyhow::Error>) -> Self {
        Self {
            code: USAGE,
            ..Self::from(error.into())
        }
    }

    /// Several such things, found together.
    pub(crate) fn usage_all(messages: impl IntoIterator<Item: Display>) -> Self {
        let mut messages = messages.into_iter().map(|message| message.to_string());
        let first = messages.next().unwrap_or_else(|| "unknown".to_owned());
        Self {
            others: messages.collect(),
            ..Self::usage(first)
        }
    }

    /// The person stopped it before anything was done.
    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self {
            code: INTERRUPTED,
            ..Self::usage(message)
        }
    }

    /// The program panicked, and has said where.
    pub(crate) fn bug() -> Self {
        Self::from(anyhow!("this is a bug in runner, and it has ended")).help(
            "results that were stored are kept, see `runner list` and `eval --resume`; please report the lines above with what you ran",
        )
    }

    /// Adds what to do about it, one sentence.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says it to the job as well, if GitHub reads it.
    pub(crate) fn read_by_job(self, job: bool) -> Self {
        Self { job, ..self }
    }

    /// The exit code it asks for.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// What it says first, where another message says it.
    pub(crate) fn message(&self) -> String {
        self.error.to_string()
    }

    /// Renders the lines for standard error.
    pub(crate) fn render(&self) -> String {
        let mut text = format!("error: {}", visible::block(&self.error.to_string()));
        for cause in self.error.chain().skip(1) {
            text.push_str("\n  because: ");
            text.push_str(&visible::block(&cause.to_string()));
        }
        if let Some(help) = &self.help {
            text.push_str("\nhelp: ");
            text.push_str(&visible::block(help));
        }
        for other in &self.others {
            text.push_str("\nerror: ");
            text.push_str(&visible::block(other));
        }
        text
    }

    /// Says it on standard error; gives the exit code.
    pub(crate) fn print(&self) -> ExitCode {
        if self.job {
            eprintln!("{}", job::harmless(&self.render()));
            let message = visible::block(&self.error.to_string()).into_owned();
            eprintln!("{}", job::annotation("runner", &message));
        } else {
            eprintln!("{}", self.render());
        }
        ExitCode::from(self.code)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self {
            code: INTERNAL,
            error,
            others: Vec::new(),
            help: None,
            job: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_help_stand_below_the_message() {
        let error = anyhow!("disk full").context("can't write results.json");
        let failure = Failure::from(error).help("free some space");
        assert_eq!(
            failure.render(),
            "error: can't write results.json\n  because: disk full\nhelp: free some space"
        );
        assert_eq!(failure.code(), INTERNAL);
    }

    #[test]
    fn errors_found_together_are_told_together() {
        let failure = Failure::usage_all(["a.yaml:1:2: one\nhelp: mend it", "a.yaml:3:4: two"]);
        assert_eq!(
            failure.render(),
            "error: a.yaml:1:2: one\nhelp: mend it\nerror: a.yaml:3:4: two"
        );
    }

    #[test]
    fn a_usage_error_is_shown_without_obeying_it() {
        let failure = Failure::usage("no such file: \u{1b}[2J.yaml");
        assert_eq!(failure.render(), "error: no such file: ␛[2J.yaml");
        assert_eq!(failure.code(), USAGE);
    }
}
