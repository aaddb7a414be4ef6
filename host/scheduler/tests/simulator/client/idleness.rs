//! How long a lane has work and credit and sends nothing, and what it waits for.

use std::time::Duration;

use runner_scheduler::{Time, WaitReason};

use super::Client;
use crate::simulator::idle::Idle;
use crate::simulator::server::Charge;

impl Client {
    pub(super) fn longest_idle(&self) -> Option<Duration> {
        self.idle.iter().filter_map(Idle::longest).max()
    }

    /// Says in the trace when the idle time has grown by another tenth of a second.
    pub(super) fn note_idleness(&mut self) {
        let longest = self.longest_idle().unwrap_or_default();
        if longest >= self.idle_noted + Duration::from_millis(100) {
            self.idle_noted = longest;
            self.note(|| format!("idle for {longest:?} with work and credit"));
        }
    }

    /// Notes since when the lane could send but doesn't.
    pub(super) fn measure_idleness(&mut self, lane: usize, sent: bool) {
        if !self.idle[lane].runs(self.now) {
            return;
        }
        let credit = self.queues[lane].first().copied().and_then(|head| {
            let server = &mut self.servers[self.plan.lanes[lane].server];
            server.advance(self.now);
            let head = self.jobs[head].charge;
            let guard = server.guard(head);
            let on_the_way = self.idle[lane].on_the_way();
            let wanted = Charge {
                requests: on_the_way.requests + head.requests + guard.requests,
                tokens: on_the_way.tokens + head.tokens + guard.tokens,
            };
            let opens = server.opens(self.now, wanted)?;
            // It has to be there then.
            Some(opens.before(self.plan.delay))
        });
        self.idle[lane].look(self.now, sent, credit);
    }

    /// Counts what lanes wait for until `at`.
    pub(super) fn count_waits(&mut self, at: Time) {
        if !self.way.explain {
            return;
        }
        for lane in &self.lanes {
            let view = self.scheduler.view(*lane);
            let why = match view.wait.map(|wait| wait.why) {
                _ if view.queued == 0 => continue,
                None => "answers",
                Some(WaitReason::Learnt { .. }) => "what headers say",
                Some(WaitReason::Declared { .. }) => "a declared limit",
                Some(WaitReason::Pace { .. }) => "the rate that was found",
                Some(WaitReason::Blocked { asked: true }) => "what a refusal asked for",
                Some(WaitReason::Blocked { asked: false }) => "the pause after a refusal",
                Some(WaitReason::Broken | WaitReason::Backoff) => "a broken server",
            };
            *self.run.waited.entry(why).or_default() += at.since(self.now);
        }
    }
}
