//! Two programs of one machine that know of each other: their visits to the quota that they share.

use std::time::Duration;

use runner_scheduler::{CommonQuota, QuotaReply, Shareable, Time};

use super::{Client, Happening};

/// What a question to a file takes.
const ASKING: Duration = Duration::from_millis(1);

/// When the first program visits, and how much later the next one begins.
const BEGIN: Duration = Duration::from_millis(3);

/// The clock of the machine where time begins: not at its own beginning.
const CLOCK: Duration = Duration::from_hours(1);

/// The quota that all programs share, if they do.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    quota: CommonQuota,
}

impl Client {
    /// Lets each program visit for the first time.
    pub(super) fn begin_sharing(&mut self) {
        if self.plan.shares {
            for lane in 0..self.lanes.len() {
                let at = Time::ZERO + BEGIN * (lane as u32 + 1);
                self.will(at, Happening::Visits { lane });
            }
        }
    }

    /// A program says what it has sent.
    pub(super) fn visits(&mut self, lane: usize) {
        let what = Shareable::Lane(self.lanes[lane]);
        let Some(visit) = self.scheduler.visit(self.now, what) else {
            return;
        };
        let clock = self.now + CLOCK;
        let portion = self.sharing.quota.visit(clock, lane as u64, &visit);
        let asked = self.now;
        let heard = self.stalls.noticed(self.now, asked + ASKING);
        let portion = Box::new(portion);
        self.will(
            heard,
            Happening::Hears {
                lane,
                asked,
                portion,
            },
        );
    }

    /// It hears what it may send, and when to come again.
    pub(super) fn hears(&mut self, lane: usize, asked: Time, portion: &QuotaReply) {
        let what = Shareable::Lane(self.lanes[lane]);
        self.scheduler.hear(self.now, what, asked, portion);
        self.note(|| format!("lane {lane} hears {portion:?}"));
        if self.run.ended.contains(&None) {
            let again = self.stalls.noticed(self.now, asked + portion.next());
            self.will(again.max(self.now), Happening::Visits { lane });
        }
    }
}
