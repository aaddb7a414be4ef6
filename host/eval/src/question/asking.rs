//! The questions that are being asked: from the start of their case until their answer is read.
//!
//! Requests are told of every case, and by its graders too; a question's own are those before its
//! answer is read. Those who see a request happen (the gateway's observer, the case) ask here
//! whether it is one, so that nobody else has to tell them apart.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use runner_config::plan::CaseId;
use tokio::time::Instant;

/// The questions of a run that are being asked.
#[derive(Debug, Default)]
pub(crate) struct Asking(Mutex<HashMap<CaseId, OpenQuestion>>);

#[derive(Debug, Default)]
struct OpenQuestion {
    /// When the first request went out.
    sent: Option<Instant>,
    is_read: bool,
}

impl Asking {
    /// Takes in that a case begins that asks a question.
    pub(crate) fn begin(&self, id: CaseId) {
        self.lock().insert(id, OpenQuestion::default());
    }

    /// Whether a case asks and has not read its answer.
    pub(crate) fn is_open(&self, id: CaseId) -> bool {
        self.lock().get(&id).is_some_and(|asked| !asked.is_read)
    }

    /// Takes in that a request of a case went out.
    pub(crate) fn sent(&self, id: CaseId) {
        if let Some(asked) = self.lock().get_mut(&id).filter(|asked| !asked.is_read) {
            asked.sent.get_or_insert_with(Instant::now);
        }
    }

    /// The answer is read now; whether it is the first time.
    pub(crate) fn read(&self, id: CaseId) -> bool {
        let mut lock = self.lock();
        let asked = lock.get_mut(&id);
        asked.is_some_and(|asked| !std::mem::replace(&mut asked.is_read, true))
    }

    /// The case has ended; when the first request of its question went out.
    pub(crate) fn end(&self, id: CaseId) -> Option<Instant> {
        self.lock().remove(&id)?.sent
    }

    /// No code that holds the lock leaves the map half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<CaseId, OpenQuestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_from_the_start_of_the_case_until_the_answer_is_read() {
        let asking = Asking::default();
        let id = CaseId {
            test_idx: 1,
            prompt_idx: 0,
        };
        asking.sent(id);
        assert!(!asking.is_open(id), "it asks nothing");
        assert_eq!(asking.end(id), None);
        asking.begin(id);
        assert!(asking.is_open(id));
        asking.sent(id);
        let first = asking.lock()[&id].sent;
        asking.sent(id);
        assert!(asking.read(id));
        assert!(!asking.read(id), "once");
        assert!(!asking.is_open(id), "what follows is a grader's");
        assert_eq!(asking.end(id), first, "the first one counts");
        assert_eq!(asking.end(id), None);
    }
}
