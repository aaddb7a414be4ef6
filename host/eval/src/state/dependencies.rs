//! Which of the cases that have come may start, and which wait for others. Pure.
//!
//! Cases come in the order in which a sequential run would carry them out. One that reads a
//! [`CaseResource`] may start when every case that came before it and writes there has ended, however
//! it ended. Such a case waits for cases that came before it and for nothing else, so the first
//! of all that are unfinished can always start: no set of cases can lock itself up.

use std::collections::{BTreeSet, HashMap};

use runner_config::plan::{CaseId, CaseResource, Needs};

use super::ready::{ArrivalNumber, Free, Ready, ShareOf};

/// A case that has come and not ended.
#[derive(Debug)]
struct PendingCase {
    turn: ArrivalNumber,
    of: ShareOf,
    needs: Needs,
    /// Strands it reads to which an earlier case may still write.
    held_by: usize,
}

/// What is unfinished on a strand.
#[derive(Debug, Default)]
struct Traffic {
    writers: BTreeSet<ArrivalNumber>,
    /// Readers that wait, each for the writers before it.
    readers: BTreeSet<(ArrivalNumber, CaseId)>,
}

/// The cases that have come.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    came: ArrivalNumber,
    ready: Ready,
    /// Those that are tied to others, until they end.
    tied: HashMap<CaseId, PendingCase>,
    strands: HashMap<CaseResource, Traffic>,
    waiting: usize,
}

impl Dependencies {
    /// Takes the next case.
    pub(super) fn enter(&mut self, id: CaseId, of: ShareOf, needs: Option<&Needs>) {
        let turn = self.came;
        self.came += 1;
        let Some(needs) = needs.filter(|needs| !needs.reads.is_empty() || !needs.writes.is_empty())
        else {
            self.ready.insert(turn, id, of);
            return;
        };
        let mut held_by = 0;
        for strand in &needs.reads {
            // Without a writer nobody is waited for, and nothing has to be remembered.
            if let Some(traffic) = self.strands.get_mut(strand)
                && !traffic.writers.is_empty()
            {
                traffic.readers.insert((turn, id));
                held_by += 1;
            }
        }
        for strand in &needs.writes {
            let traffic = self.strands.entry(strand.clone()).or_default();
            traffic.writers.insert(turn);
        }
        if held_by == 0 {
            self.ready.insert(turn, id, of);
        } else {
            self.waiting += 1;
        }
        let tied = PendingCase {
            turn,
            of,
            needs: needs.clone(),
            held_by,
        };
        self.tied.insert(id, tied);
    }

    /// Takes out the next case that may start.
    pub(super) fn take_next(&mut self, free: Free) -> Option<CaseId> {
        self.ready.take_next(free)
    }

    /// Takes in that a case that was started has ended.
    pub(super) fn ended(&mut self, id: CaseId, of: ShareOf) {
        self.ready.ended(of);
        let Some(PendingCase { turn, needs, .. }) = self.tied.remove(&id) else {
            return;
        };
        for strand in &needs.writes {
            let traffic = self
                .strands
                .get_mut(strand)
                .expect("a writer's strand is kept until it ends");
            traffic.writers.remove(&turn);
            let first = traffic
                .writers
                .first()
                .copied()
                .unwrap_or(ArrivalNumber::MAX);
            let mut freed = Vec::new();
            // The first writer may be a reader, too: it waits for those before it only.
            while let Some(&reader) = traffic.readers.first()
                && reader.0 <= first
            {
                traffic.readers.pop_first();
                freed.push(reader);
            }
            if traffic.writers.is_empty() && traffic.readers.is_empty() {
                self.strands.remove(strand);
            }
            for (turn, reader) in freed {
                self.free(turn, reader);
            }
        }
    }

    fn free(&mut self, turn: ArrivalNumber, reader: CaseId) {
        let tied = self
            .tied
            .get_mut(&reader)
            .expect("a reader is tied until it ends");
        debug_assert_eq!(tied.turn, turn, "a case comes once");
        tied.held_by -= 1;
        if tied.held_by == 0 {
            self.waiting -= 1;
            self.ready.insert(turn, reader, tied.of);
        }
    }

    /// Whether a case may start.
    pub(super) fn has_ready(&self) -> bool {
        self.ready.len() > 0
    }

    /// Cases that have come and not started.
    pub(super) fn ahead(&self) -> usize {
        self.waiting + self.ready.len()
    }
}
