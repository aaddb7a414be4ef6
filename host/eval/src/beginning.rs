//! Where a run begins: with the first case, or with what a kept run lacks. Words only: `resume`
//! carries it out.

use std::fmt;

use runner_store::Outcome;

/// Where a run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// With the first case.
    New,
    /// With what a kept run lacks.
    Again(ResumeRequest),
}

/// A kept run, and what of it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeRequest {
    /// Its whole id.
    pub run_id: String,
    /// Which cases.
    pub which: ResumeScope,
    /// Also if more than half of its rows have no case any more, which deletes them.
    pub force: bool,
}

/// Which cases of a kept run are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeScope {
    /// Those that have no row, and those that a budget kept from being run.
    Rest,
    /// Those that ended as an error, and those that a budget kept from being run.
    Errors,
}

impl ResumeScope {
    /// Whether a case is to be run that has a row with this outcome, or none.
    pub(crate) fn runs(self, row: Option<Outcome>) -> bool {
        match (self, row) {
            (_, Some(Outcome::BudgetExceeded))
            | (Self::Rest, None | Some(Outcome::Cancelled))
            | (Self::Errors, Some(Outcome::Error)) => true,
            (_, Some(Outcome::Passed | Outcome::Failed | Outcome::Waiting))
            | (Self::Rest, Some(Outcome::Error))
            | (Self::Errors, None | Some(Outcome::Cancelled)) => false,
        }
    }
}

/// What became of a kept run's rows under the plan of today. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumption {
    /// The run.
    pub run_id: String,
    /// Which cases are run.
    pub which: ResumeScope,
    /// Rows whose case stands where it stood.
    pub kept: u64,
    /// Rows whose case stands elsewhere now.
    pub moved: u64,
    /// Cases without a row.
    pub new: u64,
    /// Rows whose case is gone or was changed.
    pub dropped: u64,
    /// Rows whose case follows one that is run, and therefore is run again.
    pub follow: u64,
}

impl Resumption {
    /// Whether rows that were paid for would be deleted in a way that nobody can have meant: more
    /// than are kept, since then the config is rather another one than an edited one; or any, by
    /// a retry, which does not run what takes their place.
    pub(crate) fn is_doubtful(&self) -> bool {
        match self.which {
            ResumeScope::Rest => self.dropped > self.kept + self.moved,
            ResumeScope::Errors => self.dropped > 0,
        }
    }
}

impl fmt::Display for Resumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            run_id,
            kept,
            moved,
            new,
            dropped,
            follow,
            ..
        } = self;
        let verb = match self.which {
            ResumeScope::Rest => "resuming",
            ResumeScope::Errors => "retrying the errors of",
        };
        write!(
            f,
            "{verb} {run_id}: {kept} {} kept, {moved} moved, {dropped} dropped; {new} {} no row yet",
            if *kept == 1 { "row" } else { "rows" },
            if *new == 1 { "case has" } else { "cases have" },
        )?;
        match follow {
            0 => Ok(()),
            1 => write!(f, ", 1 follows one that is run and is run again"),
            _ => write!(f, ", {follow} follow one that is run and are run again"),
        }
    }
}
