//! How far each question is: from the start of its case until it has ended.
//!
//! Requests are told of every case, and by its graders too; a question's own are those before its
//! answer is read. Whoever sees a case go on (the gateway's observer, the case, the loop) says it
//! here, and here alone is decided which [`Stage`] that is, if it is one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runner_config::plan::{CaseId, Question};
use runner_gateway::Event as Moment;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::event::{Event, Stage};
use crate::record::{CaseRecord, QuestionEnd};

/// The questions of a run that are being asked.
#[derive(Debug)]
pub(crate) struct Asking {
    events: UnboundedSender<Event>,
    /// Whether the run asks questions at all, so that nothing is looked up where it doesn't.
    asks: bool,
    open: Mutex<HashMap<CaseId, OpenQuestion>>,
}

#[derive(Debug, Default)]
struct OpenQuestion {
    /// When the first request went out.
    sent: Option<Instant>,
    is_read: bool,
}

impl Asking {
    /// Tells `events` of the questions of a run, if it asks any.
    pub(crate) fn new(events: UnboundedSender<Event>, asks: bool) -> Self {
        Self {
            events,
            asks,
            open: Mutex::default(),
        }
    }

    /// Takes in that a case begins which asks a question (masked): it waits for its turn.
    pub(crate) fn begin(&self, id: CaseId, question: Arc<Question>) {
        self.lock().insert(id, OpenQuestion::default());
        self.tell(id, Stage::Queued(question));
    }

    /// Takes in what happened to a request of a case. It is a grader's if the case asks nothing, or has
    /// read its answer.
    pub(crate) fn observe(&self, id: CaseId, moment: &Moment) {
        if !self.asks {
            return;
        }
        let mut lock = self.lock();
        let Some(open) = lock.get_mut(&id).filter(|open| !open.is_read) else {
            return;
        };
        match *moment {
            Moment::Remembered => self.tell(id, Stage::Remembered),
            // A lane lets nothing go without its leases, and what it lets go is sent at once.
            Moment::AttemptStarted { attempt } => {
                open.sent.get_or_insert_with(Instant::now);
                self.tell(id, Stage::Reserved { attempt });
                self.tell(id, Stage::Running { attempt });
            }
            Moment::AttemptFinished { .. } => {}
        }
    }

    /// Takes in that the answer of a case is there, to be read; only the first is the question's.
    pub(crate) fn read(&self, id: CaseId) {
        let mut lock = self.lock();
        if let Some(open) = lock.get_mut(&id)
            && !std::mem::replace(&mut open.is_read, true)
        {
            self.tell(id, Stage::Parsing);
        }
    }

    /// Takes in that a case is over; when the first request of its question went out.
    pub(crate) fn end(&self, id: CaseId) -> Option<Instant> {
        self.lock().remove(&id)?.sent
    }

    fn tell(&self, id: CaseId, stage: Stage) {
        drop(self.events.send(Event::Question { id, stage }));
    }

    /// No code that holds the lock leaves the map half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<CaseId, OpenQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last stage of a case that asked a question, by its record. It is told right before the
/// case's end, by whoever tells that.
pub(crate) fn ended(record: &CaseRecord) -> Option<Event> {
    let stage = Stage::Ended(record.question.as_ref()?.end());
    let id = record.case_id();
    Some(Event::Question { id, stage })
}

/// The last stage of a case that leaves no row, so that its question is asked when the run goes on.
pub(crate) fn left_open(id: CaseId) -> Event {
    let stage = Stage::Ended(QuestionEnd::RuntimeError);
    Event::Question { id, stage }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::question::tests::question;

    #[test]
    fn requests_count_from_the_start_of_the_case_until_the_answer_is_read() {
        let (sender, mut events) = mpsc::unbounded_channel();
        let asking = Asking::new(sender, true);
        let id = CaseId {
            test_idx: 1,
            prompt_idx: 0,
        };
        let mut told = || {
            let stages = std::iter::from_fn(|| match events.try_recv().ok()? {
                Event::Question { stage, .. } => Some(stage.word()),
                other => panic!("{other:?}"),
            });
            stages.collect::<Vec<_>>()
        };
        let sent = |attempt| asking.observe(id, &Moment::AttemptStarted { attempt });
        sent(1);
        asking.read(id);
        assert_eq!(told(), [""; 0], "it asks nothing");
        assert_eq!(asking.end(id), None);
        asking.begin(id, Arc::new(question(None)));
        sent(1);
        let first = asking.lock()[&id].sent;
        sent(2);
        asking.read(id);
        let twice = ["reserved", "running"].repeat(2);
        assert_eq!(told(), [&["queued"], &*twice, &["parsing"]].concat());
        asking.read(id);
        sent(1);
        assert_eq!(told(), [""; 0], "what follows is a grader's");
        assert_eq!(asking.end(id), first, "the first one counts");
        assert_eq!(asking.end(id), None);
    }
}
