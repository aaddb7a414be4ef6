//! Progress as plain lines: at each quarter, and after half a minute without one. A run that is over at once has
//! none. While a lane waits, each has a second line that says so.
//!
//! What to say is decided by [`Milestones`], which is told the time; the thread only waits.

use std::sync::PoisonError;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Counts;
use super::lanes::{LINE_CHARS, Shared, Waiting};
use crate::figures;
use crate::talk::Talk;

/// The summary of a run that takes no longer comes before anybody could read a line.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Longest silence.
const SILENCE: Duration = Duration::from_secs(30);

/// Before what belongs to the line above.
const INDENT: &str = "  ";

/// Decides which counts are worth a line.
struct Milestones {
    counts: Counts,
    /// Quarters that were told, 0 to 4.
    told: u64,
    last_line: Duration,
}

impl Milestones {
    fn new(total: u64) -> Self {
        Self {
            counts: Counts {
                total,
                ..Counts::default()
            },
            told: 0,
            last_line: Duration::ZERO,
        }
    }

    /// Takes new counts, `elapsed` since the start.
    fn on_counts(&mut self, counts: Counts, elapsed: Duration) -> Option<String> {
        self.counts = counts;
        let quarter = (counts.done() * 4).checked_div(counts.total).unwrap_or(0);
        if quarter <= self.told || elapsed < AT_ONCE {
            return self.on_time(elapsed);
        }
        self.told = quarter;
        Some(self.line(elapsed))
    }

    /// Takes in that time has passed.
    fn on_time(&mut self, elapsed: Duration) -> Option<String> {
        (elapsed.saturating_sub(self.last_line) >= SILENCE).then(|| self.line(elapsed))
    }

    /// How long to wait before asking again.
    fn patience(&self, elapsed: Duration) -> Duration {
        (self.last_line + SILENCE).saturating_sub(elapsed)
    }

    fn line(&mut self, elapsed: Duration) -> String {
        self.last_line = elapsed;
        let (done, total) = (self.counts.done(), self.counts.total);
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        let (shown, of) = (
            figures::count(done),
            figures::counted(total, "case", "cases"),
        );
        format!(
            "{percent} % · {shown} of {of} · {} · {}",
            self.counts.words(),
            figures::duration(elapsed)
        )
    }
}

/// The line, and below it which lanes wait.
fn with_lanes(line: String, waiting: &Waiting, now: Instant) -> String {
    match waiting.says(now, LINE_CHARS - INDENT.len()) {
        Some(lanes) => format!("{line}\n{INDENT}{lanes}"),
        None => line,
    }
}

/// Lines from a thread of their own, until dropped.
pub(super) struct Lines {
    counts: Option<Sender<Counts>>,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    /// Starts the clock.
    pub(super) fn start(talk: Talk, waiting: Shared, total: u64) -> Self {
        let (counts, changes) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            let mut milestones = Milestones::new(total);
            loop {
                let line = match changes.recv_timeout(milestones.patience(begun.elapsed())) {
                    Ok(counts) => milestones.on_counts(counts, begun.elapsed()),
                    Err(RecvTimeoutError::Timeout) => milestones.on_time(begun.elapsed()),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                if let Some(line) = line {
                    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    let text = with_lanes(line, &waiting, Instant::now());
                    drop(waiting);
                    talk.line(&text);
                }
            }
        });
        Self {
            counts: Some(counts),
            thread: Some(thread),
        }
    }

    /// Tells the thread.
    pub(super) fn show(&self, counts: Counts) {
        if let Some(sender) = &self.counts {
            // The thread ends only after this sender does.
            let _ = sender.send(counts);
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.counts = None;
        if let Some(thread) = self.thread.take() {
            // The last line is out before the summary begins.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use runner_eval::event::{LaneStanding, LaneWait, WaitReason};

    use super::*;

    fn counts(done: u64, total: u64) -> Counts {
        Counts {
            total,
            passed: done,
            failed: 0,
            waiting: 0,
            errors: 0,
            kept: 0,
        }
    }

    #[test]
    fn each_quarter_gets_one_line() {
        let mut milestones = Milestones::new(8);
        let lines: Vec<String> = (1..=8)
            .filter_map(|done| milestones.on_counts(counts(done, 8), AT_ONCE))
            .collect();
        assert_eq!(
            lines,
            [
                "25 % · 2 of 8 cases · 2 passed, 0 failed, 0 errors · 2.0 s",
                "50 % · 4 of 8 cases · 4 passed, 0 failed, 0 errors · 2.0 s",
                "75 % · 6 of 8 cases · 6 passed, 0 failed, 0 errors · 2.0 s",
                "100 % · 8 of 8 cases · 8 passed, 0 failed, 0 errors · 2.0 s",
            ]
        );
    }

    #[test]
    fn quarters_that_pass_at_once_share_a_line() {
        let mut milestones = Milestones::new(1);
        assert!(
            milestones
                .on_counts(counts(1, 1), AT_ONCE)
                .is_some_and(|line| line.starts_with("100 % "))
        );
        assert_eq!(milestones.on_counts(counts(1, 1), AT_ONCE), None);
    }

    #[test]
    fn a_run_that_is_over_at_once_has_no_line_and_a_longer_one_says_what_has_passed() {
        let mut milestones = Milestones::new(4);
        let early = Duration::from_millis(1_999);
        assert_eq!(milestones.on_counts(counts(3, 4), early), None);
        let line = milestones.on_counts(counts(3, 4), AT_ONCE);
        assert!(line.is_some_and(|line| line.starts_with("75 % ")));
    }

    #[test]
    fn half_a_minute_of_silence_is_broken() {
        let mut milestones = Milestones::new(1_000);
        let at = Duration::from_secs;
        assert_eq!(milestones.on_counts(counts(1, 1_000), at(29)), None);
        assert_eq!(milestones.patience(at(29)), at(1));
        let line = milestones.on_time(at(30));
        assert_eq!(
            line.as_deref(),
            Some("0 % · 1 of 1,000 cases · 1 passed, 0 failed, 0 errors · 30.0 s")
        );
        assert_eq!(milestones.on_time(at(59)), None);
        assert!(milestones.on_time(at(60)).is_some());
    }

    #[test]
    fn a_line_says_which_lane_waits() {
        let now = Instant::now();
        let mut waiting = Waiting::default();
        assert_eq!(with_lanes("25 %".to_owned(), &waiting, now), "25 %");
        waiting.on_standing(&LaneStanding {
            lane: "api.example.com/m".into(),
            wait: Some(LaneWait {
                why: WaitReason::Broken,
                until: None,
            }),
            until: Some(now + Duration::from_secs(4)),
        });
        assert_eq!(
            with_lanes("25 %".to_owned(), &waiting, now),
            "25 %\n  api.example.com/m: server fails; probing in 4.0 s"
        );
    }

    #[test]
    fn a_run_without_cases_divides_by_nothing() {
        assert_eq!(
            Milestones::new(0).on_counts(counts(0, 0), Duration::ZERO),
            None
        );
    }
}
