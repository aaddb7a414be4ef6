//! The bar on a terminal. It redraws itself ten times a second, so that the clock moves and a
//! stalled run looks stalled; what it shows is only set here, never drawn by the run's task.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::Counts;
use crate::figures;
use crate::talk::Talk;

/// Redraws a second, at most.
const REDRAWS: u8 = 10;

/// The lane that a server slows down, and until when. Read at each redraw, so that the time
/// that is left goes down while nothing happens.
type SlowLane = Arc<Mutex<Option<(String, Instant)>>>;

/// A bar below everything else on standard error, until it is dropped.
pub(super) struct Bar {
    drawn: ProgressBar,
    slow: SlowLane,
    talk: Talk,
}

impl Bar {
    /// Shows a bar of `total` cases.
    pub(super) fn new(total: u64, talk: &Talk) -> Self {
        let slow = SlowLane::default();
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS);
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style(&slow));
        bar.enable_steady_tick(Duration::from_secs(1) / REDRAWS.into());
        talk.set_bar(Some(bar.clone()));
        Self {
            drawn: bar,
            slow,
            talk: talk.clone(),
        }
    }

    /// Shows new counts.
    pub(super) fn show(&self, counts: Counts) {
        self.drawn.set_message(counts.words());
        self.drawn.set_position(counts.done());
    }

    /// Shows that `lane` is slowed down, until then.
    pub(super) fn slow_down(&self, lane: &str, until: Instant) {
        *self.slow.lock().unwrap_or_else(PoisonError::into_inner) = Some((lane.to_owned(), until));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.talk.set_bar(None);
        self.drawn.finish_and_clear();
    }
}

fn style(slow: &SlowLane) -> ProgressStyle {
    let slow = slow.clone();
    ProgressStyle::with_template("{wide_bar} {pos}/{len} · {msg} · {pace}")
        .expect("the template is well formed")
        .with_key(
            "pace",
            move |state: &ProgressState, text: &mut dyn Write| {
                let slow = slow.lock().unwrap_or_else(PoisonError::into_inner);
                let pace = waiting(slow.as_ref(), Instant::now()).unwrap_or_else(|| {
                    format!(
                        "{:.1}/s · {}",
                        state.per_sec(),
                        left(state.pos(), state.eta())
                    )
                });
                // Drawing can't be reported to anybody.
                let _ = text.write_str(&pace);
            },
        )
}

/// The time that is left, once something has ended to judge by.
fn left(done: u64, eta: Duration) -> String {
    if done == 0 {
        "…".to_owned()
    } else {
        format!("{} left", figures::about(eta))
    }
}

/// Which lane waits, and how long still; said instead of a pace that would mean nothing.
fn waiting(slow: Option<&(String, Instant)>, now: Instant) -> Option<String> {
    let (lane, until) = slow.filter(|(_, until)| *until > now)?;
    Some(format!(
        "{lane} throttled for {}",
        figures::duration(*until - now)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttled_lane_is_named_while_it_waits() {
        let now = Instant::now();
        let until = now + Duration::from_secs(12);
        let slow = ("api.example.com".to_owned(), until);
        assert_eq!(
            waiting(Some(&slow), now).as_deref(),
            Some("api.example.com throttled for 12.0 s")
        );
        assert_eq!(waiting(Some(&slow), until), None);
        assert_eq!(waiting(None, now), None);
    }

    #[test]
    fn nothing_is_foretold_before_the_first_case() {
        assert_eq!(left(0, Duration::from_secs(5)), "…");
        assert_eq!(left(1, Duration::from_millis(65_300)), "1 m 05 s left");
    }

    #[test]
    fn the_style_is_well_formed() {
        let bar = ProgressBar::hidden().with_style(style(&SlowLane::default()));
        bar.set_position(1);
        assert_eq!(bar.position(), 1);
    }
}
