//! What there is to say of a config, held back until what it may quote is agreed to.
//!
//! A message may quote a file that the config names or a variable that it takes in, and others may
//! read where it is shown: the log of a workflow. So the person is asked first, and told then.

use std::collections::BTreeSet;
use std::fmt::Display;

use runner_config::Sealed;
use runner_eval::trust::{Agreements, Need};

use super::Consent;
use crate::failure::Failure;
use crate::talk::Talk;

/// Something to say that is no problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Warning(String),
    /// What code of the config wrote to its console, safe to show.
    Line(String),
}

/// What waits for agreement, in the order in which it came up.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<Sealed<Vec<Said>>>);

impl Said {
    /// A warning for each.
    pub(crate) fn warnings(warnings: impl IntoIterator<Item: Display>) -> Vec<Self> {
        let warnings = warnings.into_iter();
        warnings.map(|it| Self::Warning(it.to_string())).collect()
    }

    fn tell(&self, talk: &Talk) {
        match self {
            Self::Warning(text) => talk.warning(text),
            Self::Line(text) => talk.line(text),
        }
    }
}

impl Held {
    /// Tells it at once if nothing has to be agreed to for that, else later.
    pub(crate) fn say(&mut self, said: Sealed<Vec<Said>>, talk: &Talk) {
        match said.open(|_| false) {
            Ok(said) => {
                for said in said {
                    said.tell(talk);
                }
            }
            Err(said) if said.count() == 0 => {}
            Err(said) => self.0.push(said),
        }
    }

    /// Tells what waits.
    ///
    /// # Errors
    /// When the person does not agree to what it may quote.
    pub(crate) fn tell(self, consent: &Consent<'_>) -> Result<(), Failure> {
        for said in self.0 {
            for said in consent.open(said)? {
                said.tell(consent.talk);
            }
        }
        Ok(())
    }

    /// Why there will be no run: the problems, after everything that waits; or that the person does
    /// not agree to what they may quote.
    pub(crate) fn refuse(self, problems: Sealed<Vec<String>>, consent: &Consent<'_>) -> Failure {
        let problems = consent.open(problems);
        let told = problems.and_then(|problems| self.tell(consent).map(|()| problems));
        told.map_or_else(|refused| refused, Failure::usage_all)
    }
}

impl Consent<'_> {
    /// Messages, once everything that they may quote is agreed to.
    fn open<T>(&self, messages: Sealed<Vec<T>>) -> Result<Vec<T>, Failure> {
        let mut messages = messages;
        let mut agreements = Agreements {
            level: self.unseen.level,
            agreed: BTreeSet::new(),
        };
        let mut is_read = false;
        loop {
            let is_agreed = |needed: &_| agreements.cover(&Need::of(Clone::clone(needed)));
            messages = match messages.open(is_agreed) {
                Ok(messages) => return Ok(messages),
                Err(sealed) => sealed,
            };
            if is_read {
                let needs = messages.requests().iter().cloned().map(Need::of);
                let open: Vec<Need> = needs.filter(|need| !agreements.cover(need)).collect();
                self.agree(&open, messages.count())?;
                agreements.agreed.extend(open.iter().map(Need::agreed));
            } else {
                agreements.agreed = self.remembered.of(self.folders)?;
                is_read = true;
            }
        }
    }
}
