//! The event stream of a run.
//!
//! Display, files, database and (later) replay read the same stream and nothing else, so that
//! none of them can know more than the others. Events are handed over by the loop of the run
//! in the order in which things happened; a consumer that needs time is put behind a queue
//! ([`QueuedConsumer`]).

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use runner_config::plan::{CaseId, Question};
pub use runner_gateway::{LaneNotice, LaneStanding, LaneSummary};
pub use runner_scheduler::{
    Dimension, Event as LaneEvent, Metrics as LaneMetrics, Time as LaneTime, Wait as LaneWait,
    WaitReason,
};

use crate::beginning::Resumption;
use crate::record::{CaseRecord, QuestionEnd};
use crate::summary::{ColumnHead, Summary};

mod log_room;
mod queued;

pub(crate) use log_room::LogRoom;
pub use queued::QueuedConsumer;

/// Something that happened in a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run begins.
    RunStarted(Arc<RunHead>),
    /// A case got a slot.
    CaseStarted {
        /// Which one.
        id: CaseId,
    },
    /// A question of a question set goes on. Its last stage comes before its case's end.
    Question {
        /// The case that asks it.
        id: CaseId,
        /// How far it is.
        stage: Stage,
    },
    /// A case ended.
    CaseFinished(Arc<CaseRecord>),
    /// A kept run goes on: what became of its rows. The next events are its rows.
    Resumed(Resumption),
    /// A row of the run that goes on, which stays as it is.
    CaseKept(Arc<CaseRecord>),
    /// A guest logged a line; masked and cut to size.
    Log(LogLine),
    /// Something happened in a lane: a request went out, a limit was learnt. Two for every
    /// request and more.
    Lane(LaneNotice),
    /// What a lane's next request waits for has begun, changed or ended; a few a second for
    /// each lane at most.
    LaneWaits(LaneStanding),
    /// Something that the user should know and that is no case's outcome: a plugin was
    /// switched off, an import stays without a grant.
    Notice {
        /// One line.
        message: String,
    },
    /// Which cases wait for others, and why.
    Ordered {
        /// One line.
        message: String,
    },
    /// Ctrl-C, or another signal that asks to end: no case starts and no request begins; what is under
    /// way may finish for a while.
    Draining {
        /// Cases in flight, each with the time since it started, the oldest first.
        in_flight: Vec<(CaseId, Duration)>,
        /// How long they may take.
        grace: Duration,
    },
    /// Everything has ended and is stored.
    RunFinished(Arc<Summary>),
}

/// How far a question is. One whose request is sent again is reserved and running once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It waits for its turn.
    Queued(Arc<Question>),
    /// Its request has a lease on every limit that binds it.
    Reserved {
        /// Which attempt; the first is 1.
        attempt: u32,
    },
    /// Its request is on the wire.
    Running {
        /// Which attempt.
        attempt: u32,
    },
    /// Its answer came from the cache or a recording.
    Remembered,
    /// Its answer is read.
    Parsing,
    /// It has ended.
    Ended(QuestionEnd),
}

impl Stage {
    /// As lines and events say it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Queued(_) => "queued",
            Self::Reserved { .. } => "reserved",
            Self::Running { .. } => "running",
            Self::Remembered => "remembered",
            Self::Parsing => "parsing",
            Self::Ended(end) => end.word(),
        }
    }
}

/// What is known of a run when it begins.
#[derive(Debug, Clone)]
pub struct RunHead {
    /// The run's id, for `runner show`.
    pub run_id: String,
    /// The config's description.
    pub description: Option<String>,
    /// Number of cases.
    pub total: u64,
    /// Column titles in order.
    pub columns: Vec<ColumnHead>,
    /// Cases in flight at once.
    pub concurrency: usize,
    /// Milliseconds since 1970, UTC.
    pub started_at_ms: i64,
}

/// A line that a guest logged.
#[derive(Debug, Clone)]
pub struct LogLine {
    /// Name of the plugin.
    pub plugin: String,
    /// The case in which it was logged.
    pub case: CaseId,
    /// How grave it is.
    pub level: tracing::Level,
    /// The text, with its fields.
    pub message: String,
}

/// Reads the event stream.
pub trait Consumer: Send {
    /// Takes one event; must not block for long.
    fn on_event(&mut self, event: &Event);

    /// Whether it has more than it can hold: the run begins no new case until it has room.
    fn is_behind(&self) -> bool {
        false
    }

    /// Waits until it is not behind any more.
    fn poll_room(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Waits until it is done with all that it was told. Nothing is told afterwards.
    fn poll_ended(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}
