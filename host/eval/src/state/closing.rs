//! The config's code for the end of a run: when it runs, and what cuts it off.
//!
//! It may take long, and nothing is lost by leaving it out: the rows are stored. So who insists cuts it
//! off, and so does the run's time limit, unless that had passed before.

use std::time::Duration;

use super::Command;

/// How far that code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// Cases, rows or the store are waited for.
    NotYet,
    /// It runs.
    Runs {
        /// Somebody has asked the run to end, once.
        asked: bool,
        /// When the run's time is up.
        until: Option<Duration>,
    },
    /// It was cut off, and has not ended yet.
    Cut,
    /// It has ended.
    Done,
}

impl Closing {
    /// When it is cut off if nothing happens before.
    pub(super) fn due(self) -> Option<Duration> {
        match self {
            Self::Runs { until, .. } => until,
            Self::NotYet | Self::Cut | Self::Done => None,
        }
    }

    /// Decides what an interrupt means once every case has ended.
    pub(super) fn interrupt<C, A>(&mut self) -> Command<C, A> {
        match self {
            Self::Runs { asked: true, .. } => self.cut(),
            Self::Runs { asked, .. } => {
                *asked = true;
                Command::TellCodeRuns
            }
            Self::NotYet | Self::Cut | Self::Done => Command::TellClosing,
        }
    }

    /// Cuts it off.
    pub(super) fn cut<C, A>(&mut self) -> Command<C, A> {
        *self = Self::Cut;
        Command::CutClosing
    }
}
