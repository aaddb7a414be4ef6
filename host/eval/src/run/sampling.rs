//! Has written down how the lanes of a run stand, now and then, for whoever looks at it.
//!
//! A task of its own: the loop of the run does not wake for it, and nothing waits for what it does. It asks
//! the gateway, and hands on what that says; the store writes it when it has time, or does without.

use std::time::Duration;

use runner_gateway::{Gateway, LaneLoad, Masker};
use runner_store::{LaneLog, LaneMoment, LaneSample};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::context::RunContext;

/// The time between two samples, and before the first: as often as a page that is watched is worth
/// changing, and never for a run that is over at once.
const EVERY: Duration = Duration::from_secs(1);

/// The task; dropping this ends it.
pub(super) struct Sampling(AbortHandle);

impl Sampling {
    /// Begins, and goes on until it is dropped.
    pub(super) fn start(context: &RunContext, log: LaneLog) -> Self {
        let (gateway, masker) = (context.gateway.clone(), context.masker.clone());
        Self(tokio::spawn(sample(gateway, masker, log)).abort_handle())
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn sample(gateway: Gateway, masker: Masker, log: LaneLog) {
    let began = Instant::now();
    let mut clock = interval_at(began + EVERY, EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let lanes = gateway.loads(LaneLog::MOST_LANES);
        log.note(LaneMoment {
            at_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            lanes: lanes.iter().map(|load| told(load, &masker)).collect(),
        });
    }
}

fn told(load: &LaneLoad, masker: &Masker) -> LaneSample {
    LaneSample {
        lane: masker.mask(&load.lane).into_owned(),
        in_flight: load.in_flight,
        allowed: load.allowed,
        waiting: load.waiting as u64,
        refused: load.refused,
    }
}
