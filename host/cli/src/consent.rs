//! The person's agreement to what a run needs: what they said before, what they say unseen, and
//! what they answer now.
//!
//! Several configs that are read as one are asked for as one, and what is agreed to is remembered
//! for exactly their folders together: a value that one of them has may be sent by what another
//! says, so no need is one config's own, and who agrees to both says nothing about either alone.
//!
//! Which needs there are and what covers them is `runner-eval`'s business, which lets no run begin
//! without; here the person is asked. What the config asks for is one question, what rows of data
//! ask for is another. Where nobody can be asked, the answer is no.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use runner_config::TrustRequest;
use runner_eval::trust::{Agreements, Level, Need};
use runner_eval::{Preparation, SettledRun, UnsettledRun, prepare};
use tokio::runtime::Runtime;

use crate::arguments::TrustFlags;
use crate::excerpt::Excerpts;
use crate::failure::Failure;
use crate::talk::Talk;

mod asking;
mod question;
mod remembered;
mod words;

pub(crate) use asking::Asking;
pub(crate) use question::{Answer, ask};
pub(crate) use remembered::{Entry, Folders, Remembered, canonical, of_folder};
pub(crate) use words::{LaterRequests, told};

/// The variable that trusts unseen.
pub(crate) const TRUST_VARIABLE: &str = "RUNNER_TRUST";

/// What is trusted unseen, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Unseen {
    level: Level,
    said_by: &'static str,
}

impl Unseen {
    /// By the flags of a run and the variable of the process.
    ///
    /// # Errors
    /// When the variable says what it can't.
    pub(crate) fn of(flags: &TrustFlags, variable: Option<&str>) -> Result<Self, Failure> {
        let by_variable = match variable {
            None => Self::default(),
            Some("config") => Self::new(Level::Config, "RUNNER_TRUST=config"),
            Some("data") => Self::new(Level::Data, "RUNNER_TRUST=data"),
            Some(other) => {
                let message = format!("{TRUST_VARIABLE} must be config or data, not '{other}'");
                return Err(Failure::usage(message));
            }
        };
        let by_flag = if flags.trust_data {
            Self::new(Level::Data, "--trust-data")
        } else if flags.trust_config {
            Self::new(Level::Config, "--trust-config")
        } else {
            Self::default()
        };
        Ok(if by_flag.level > by_variable.level {
            by_flag
        } else {
            by_variable
        })
    }

    fn new(level: Level, said_by: &'static str) -> Self {
        Self { level, said_by }
    }
}

/// How a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsentMode {
    /// By a question in the terminal.
    Question,
    /// They said yes already, to what `runner trust --show` shows now: to one stage.
    Yes,
    /// They can't be.
    Nobody,
}

/// What the agreement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A run, which sends.
    Run,
    /// To know what a run would do; nothing is ever sent.
    Look,
}

/// Gets the agreement that a run needs.
#[derive(Debug)]
pub(crate) struct Consent<'a> {
    /// What is trusted unseen.
    pub(crate) unseen: Unseen,
    /// The folders of the config's files.
    pub(crate) folders: &'a BTreeSet<PathBuf>,
    /// What was agreed to before.
    pub(crate) remembered: Remembered,
    /// How the person is asked.
    pub(crate) how: ConsentMode,
    /// The command that asks them.
    pub(crate) command: Asking,
    /// What they are asked for.
    pub(crate) purpose: Purpose,
    /// Where the question is.
    pub(crate) talk: &'a Talk,
    /// What was said yes to without a question.
    pub(crate) said: RefCell<Vec<Need>>,
}

impl Purpose {
    /// The end of a sentence that says that there will be no run.
    fn nothing_sent(self) -> &'static str {
        match self {
            Self::Run => "; nothing was sent",
            Self::Look => "",
        }
    }
}

/// What is agreed to so far: unseen, before, and in this command.
#[derive(Debug)]
pub(crate) struct KnownAgreements {
    pub(crate) agreements: Agreements,
    /// Why what was agreed to before can't be read. It matters once something is needed, and most
    /// runs need nothing.
    damage: Option<Failure>,
}

impl Consent<'_> {
    /// What is agreed to without a question.
    pub(crate) fn known(&self) -> KnownAgreements {
        let (agreed, damage) = match self.remembered.of(self.folders) {
            Ok(agreed) => (agreed, None),
            Err(damage) => (BTreeSet::new(), Some(damage)),
        };
        let level = self.unseen.level;
        KnownAgreements {
            agreements: Agreements { level, agreed },
            damage,
        }
    }

    /// Gets agreement to what has to be read before more is known.
    ///
    /// # Errors
    /// When something is not agreed to.
    pub(crate) fn read(
        &self,
        requests: Vec<TrustRequest>,
        known: &mut KnownAgreements,
    ) -> Result<(), Failure> {
        let open: Vec<Need> = requests.into_iter().map(Need::of).collect();
        self.obtain(&open, LaterRequests::Follows, known)?;
        // What it makes would be known only by running it, which nobody had agreed to.
        if self.how == ConsentMode::Yes && open.iter().any(Need::is_program) {
            return Err(self.one_stage("what else is asked for is known once it has run"));
        }
        Ok(())
    }

    /// Settles the run, prepared anew by `prepare` until everything that it needs is agreed to.
    ///
    /// # Errors
    /// When something is not. Nothing was sent then, and nothing written but what was agreed to.
    pub(crate) fn settle(
        &self,
        mut what: Preparation,
        mut known: KnownAgreements,
        (runtime, excerpts): (&Runtime, &Excerpts),
    ) -> Result<SettledRun, Failure> {
        loop {
            let prepared = runtime.block_on(prepare(what));
            let prepared = prepared.map_err(|errors| Failure::usage_all(excerpts.told(errors)))?;
            let UnsettledRun { prepared, open } = match runtime.block_on(prepared.settle()) {
                Ok(settled) => {
                    self.tell(&settled);
                    return Ok(settled);
                }
                Err(unsettled) => unsettled,
            };
            self.obtain(&open, LaterRequests::Nothing, &mut known)?;
            what = prepared.again(known.agreements.clone());
        }
    }

    /// Gets agreement to all of `open`, which then is known.
    fn obtain(
        &self,
        open: &[Need],
        more: LaterRequests,
        known: &mut KnownAgreements,
    ) -> Result<(), Failure> {
        known.damage.take().map_or(Ok(()), Err)?;
        self.agree(open, more)?;
        known
            .agreements
            .agreed
            .extend(open.iter().map(Need::agreed));
        Ok(())
    }

    /// Says what was trusted unseen, if that made a difference.
    fn tell(&self, settled: &SettledRun) {
        let agreed = self.remembered.of(self.folders).unwrap_or_default();
        let needs = settled.needs().iter();
        let unseen: Vec<&Need> = needs
            .filter(|need| !need.is_persons() && !agreed.contains(&need.agreed()))
            .collect();
        if !unseen.is_empty() {
            let what = words::counted(&unseen);
            let said_by = self.unseen.said_by;
            self.talk.note(&format!("trusted by {said_by}: {what}"));
        }
    }

    /// Gets agreement to all of `open`, one question for each kind of author.
    fn agree(&self, open: &[Need], more: LaterRequests) -> Result<(), Failure> {
        if self.how == ConsentMode::Nobody {
            return Err(words::refusal(open, more, self.purpose, &self.command));
        }
        if self.how == ConsentMode::Yes && !self.said.borrow().is_empty() {
            return Err(self.one_stage("more is asked for"));
        }
        let groups = words::by_author(open);
        let last = groups.len().saturating_sub(1);
        for (index, needs) in groups.into_iter().enumerate() {
            if self.how == ConsentMode::Question {
                let more = if index == last {
                    more
                } else {
                    LaterRequests::Nothing
                };
                let question = words::question(&needs, more, self.folders, &self.command)?;
                match ask(&question)? {
                    Answer::Yes => {}
                    Answer::No => {
                        let (shown, left_out) = (self.command.shown(), self.command.left_out());
                        let help = format!("{shown} asks again{left_out}");
                        let message = format!("not agreed to{}", self.purpose.nothing_sent());
                        return Err(Failure::usage(message).help(help));
                    }
                    Answer::Interrupted => {
                        let message = format!("interrupted{}", self.purpose.nothing_sent());
                        return Err(Failure::interrupted(message));
                    }
                }
            }
            self.remembered.add(self.folders, &needs)?;
            if self.how == ConsentMode::Yes {
                self.said.borrow_mut().extend(needs.into_iter().cloned());
            }
        }
        Ok(())
    }

    /// Says what was said yes to and is remembered, where something else went wrong after it.
    pub(crate) fn tell_said(&self) {
        let said = self.said.take();
        if !said.is_empty() {
            let list = words::list(&said);
            self.talk.note(&format!("agreed to so far:\n{list}"));
        }
    }

    /// Why not more is agreed to than was shown before.
    fn one_stage(&self, why: &str) -> Failure {
        let said = self.said.take();
        let message = format!("{why}; agreed to so far:\n{}", words::list(&said));
        let help = format!(
            "{} shows it, {} agrees to it{}",
            self.command.show(),
            self.command.yes(),
            self.command.left_out()
        );
        Failure::usage(message).help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_the_variable_trust_what_they_name_and_no_other_word_does() {
        let flags = |trust_config, trust_data| TrustFlags {
            trust_config,
            trust_data,
            locked: false,
        };
        let table = [
            (flags(false, false), None, Level::Nothing),
            (flags(false, false), Some("config"), Level::Config),
            (flags(false, false), Some("data"), Level::Data),
            (flags(true, false), None, Level::Config),
            (flags(true, false), Some("data"), Level::Data),
            (flags(false, true), Some("config"), Level::Data),
        ];
        for (flags, variable, expected) in table {
            let unseen = Unseen::of(&flags, variable).map_err(|failure| failure.render());
            assert_eq!(unseen.map(|unseen| unseen.level), Ok(expected), "{flags:?}");
        }
        for other in ["true", "1", "Config", "all", "config,data"] {
            let refused = Unseen::of(&flags(false, false), Some(other)).expect_err(other);
            let told = format!("error: RUNNER_TRUST must be config or data, not '{other}'");
            assert_eq!(refused.render(), told);
        }
    }
}
