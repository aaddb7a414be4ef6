//! The bar on a terminal. It redraws itself ten times a second, so that the clock moves and a
//! stalled run looks stalled; what it shows is only set here, never drawn by the run's task. A run that
//! is over at once has none.

use std::fmt::Write;
use std::sync::PoisonError;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::Counts;
use super::lanes::{LINE_CHARS, Shared, Waiting};
use super::pace::SharedPace;
use crate::figures;
use crate::talk::Talk;

/// Redraws a second, at most.
const REDRAWS: u8 = 10;

/// Nobody could read a bar that is gone before.
const AT_ONCE: Duration = Duration::from_millis(300);

/// A bar below everything else on standard error, until it is dropped.
pub(super) struct Bar {
    drawn: ProgressBar,
    talk: Talk,
    /// Waits to show it, and ends with the sender.
    shower: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Bar {
    /// Shows a bar of `total` cases, and below it which lanes wait. They are looked at with
    /// each redraw, so that the time that is left goes down while nothing happens.
    pub(super) fn new(total: u64, pace: &SharedPace, waiting: &Shared, talk: &Talk) -> Self {
        let target = ProgressDrawTarget::hidden();
        let bar =
            ProgressBar::with_draw_target(Some(total), target).with_style(style(pace, waiting));
        bar.enable_steady_tick(Duration::from_secs(1) / REDRAWS.into());
        talk.set_bar(Some(bar.clone()));
        let (over, ended) = mpsc::channel();
        let shown = bar.clone();
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(AT_ONCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAWS));
            }
        });
        Self {
            drawn: bar,
            talk: talk.clone(),
            shower: Some((over, thread)),
        }
    }

    /// Shows new counts.
    pub(super) fn show(&self, counts: Counts) {
        // The message is drawn at once, the position with it.
        self.drawn.set_position(counts.done());
        self.drawn.set_message(message(counts));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.shower.take() {
            drop(over);
            let _ = thread.join();
        }
        self.talk.set_bar(None);
        self.drawn.finish_and_clear();
    }
}

/// All counts, so that none of them is drawn before the others.
fn message(counts: Counts) -> String {
    let (done, total) = (figures::count(counts.done()), figures::count(counts.total));
    format!("{done}/{total} · {}", counts.words())
}

fn style(pace: &SharedPace, waiting: &Shared) -> ProgressStyle {
    let (pace, waiting) = (pace.clone(), waiting.clone());
    // Drawing can't be reported to anybody, so what the writers give is dropped.
    ProgressStyle::with_template("{wide_bar} {msg} · {pace}\n{lanes}")
        .expect("the template is well formed")
        .with_key("pace", move |_: &ProgressState, text: &mut dyn Write| {
            let pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = text.write_str(&pace.says(Instant::now()));
        })
        .with_key("lanes", move |_: &ProgressState, text: &mut dyn Write| {
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = text.write_str(&lanes(&waiting, Instant::now()));
        })
}

/// The line below the bar; there is none before the first lane waits.
fn lanes(waiting: &Waiting, now: Instant) -> String {
    let nothing = if waiting.ever() { "no lane waits" } else { "" };
    waiting
        .says(now, LINE_CHARS)
        .unwrap_or_else(|| nothing.to_owned())
}

#[cfg(test)]
mod tests {
    use runner_eval::event::{LaneStanding, LaneWait, WaitReason};

    use super::*;

    #[test]
    fn the_line_of_lanes_stays_once_it_was_needed() {
        let now = Instant::now();
        let mut waiting = Waiting::default();
        assert_eq!(lanes(&waiting, now), "");
        let mut standing = LaneStanding {
            lane: "api.example.com".into(),
            wait: Some(LaneWait {
                why: WaitReason::Blocked { asked: true },
                until: None,
            }),
            until: Some(now + Duration::from_secs(12)),
        };
        waiting.on_standing(&standing);
        assert_eq!(
            lanes(&waiting, now),
            "api.example.com: blocked by the server for 12 s more"
        );
        standing.wait = None;
        waiting.on_standing(&standing);
        assert_eq!(lanes(&waiting, now), "no lane waits");
    }

    #[test]
    fn what_has_ended_is_counted_by_one_text() {
        let counts = Counts {
            total: 1_200,
            passed: 2,
            failed: 1,
            waiting: 0,
            errors: 0,
            kept: 0,
        };
        let told = "3/1,200 · 2 passed, 1 failed, 0 errors";
        assert_eq!(message(counts), told);
        let bar = Bar::new(
            1_200,
            &SharedPace::default(),
            &Shared::default(),
            &Talk::new(false),
        );
        bar.show(counts);
        assert_eq!(
            (bar.drawn.message(), bar.drawn.position()),
            (told.to_owned(), 3)
        );
        assert!(bar.drawn.is_hidden(), "nobody could read it yet");
    }

    #[test]
    fn the_style_is_well_formed() {
        let bar =
            ProgressBar::hidden().with_style(style(&SharedPace::default(), &Shared::default()));
        bar.set_position(1);
        assert_eq!(bar.position(), 1);
    }
}
