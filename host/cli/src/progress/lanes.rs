//! Which lanes wait, why, and until when, in a line that a person reads while waiting.
//!
//! [`Waiting`] keeps what the event stream last said of each lane; what it makes of that
//! depends on the time it is given and on nothing else, so the line counts down as often as it
//! is drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runner_eval::event::{Dimension, LaneStanding, WaitReason};

use crate::figures;
use crate::visible;

/// What waits now, shared by the consumer that learns of it and the display that tells it.
pub(super) type Shared = Arc<Mutex<Waiting>>;

/// Characters of a line: it must not wrap in a terminal of 80 columns.
pub(super) const LINE_CHARS: usize = 79;

/// Characters that every lane's name keeps.
const MIN_NAME: usize = 12;

/// Characters of a declared limit's name.
const LIMIT_CHARS: usize = 24;

/// A wait longer than this is told by itself: to whoever reads a log the run would seem stuck.
const LONG: Duration = Duration::from_mins(2);

/// The lanes that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    lanes: BTreeMap<Arc<str>, Wait>,
    /// Whether any lane has waited yet.
    ever: bool,
    /// Lanes whose long wait was told.
    told: BTreeSet<Arc<str>>,
}

#[derive(Debug)]
struct Wait {
    why: WaitReason,
    until: Option<Instant>,
}

impl Waiting {
    /// Takes what is new of a lane.
    pub(super) fn on_standing(&mut self, standing: &LaneStanding) {
        let LaneStanding { lane, wait, until } = standing;
        match wait {
            Some(wait) => {
                let wait = Wait {
                    why: wait.why.clone(),
                    until: *until,
                };
                self.lanes.insert(lane.clone(), wait);
                self.ever = true;
            }
            None => {
                self.lanes.remove(lane);
            }
        }
    }

    /// Returns what is said, once for each lane, when one begins to wait for long.
    pub(super) fn long_wait(&mut self, standing: &LaneStanding, now: Instant) -> Option<String> {
        let LaneStanding { lane, wait, until } = standing;
        let left = until.and_then(|until| until.checked_duration_since(now));
        let left = left.filter(|left| *left >= LONG)?;
        let reason = reason(&wait.as_ref()?.why, Some(left));
        if !self.told.insert(lane.clone()) {
            return None;
        }
        let lane = visible::line(lane);
        Some(format!(
            "{lane}: {reason}; Ctrl-C stops the run, and `runner eval --resume` goes on with it"
        ))
    }

    /// Whether any lane has waited yet: from then on a display keeps room for it, since one
    /// that comes and goes makes everything above it jump.
    pub(super) fn ever(&self) -> bool {
        self.ever
    }

    /// The lane that waits longest and how many others do, in at most `room` characters;
    /// `None`: no lane waits.
    pub(super) fn says(&self, now: Instant, room: usize) -> Option<String> {
        let (lane, wait) = self.lanes.iter().max_by_key(|(_, wait)| wait.until)?;
        let left = wait
            .until
            .and_then(|until| until.checked_duration_since(now));
        let reason = reason(&wait.why, left.filter(|left| !left.is_zero()));
        let others = match self.lanes.len() - 1 {
            0 => String::new(),
            1 => " · +1 more lane waits".to_owned(),
            more => format!(" · +{more} more lanes wait"),
        };
        let taken = 2 + reason.chars().count() + others.chars().count();
        let name = visible::line(lane);
        let name = visible::cut_middle(&name, room.saturating_sub(taken).max(MIN_NAME));
        let text = format!("{name}: {reason}{others}");
        Some(visible::cut(&text, room).into_owned())
    }
}

/// Why a lane waits and for how long still. `left` is `None` where nobody knows, and when the
/// time has passed and the next word of the lane is on its way.
fn reason(why: &WaitReason, left: Option<Duration>) -> String {
    let then = |before: &str, after: &str| {
        left.map_or_else(String::new, |left| {
            format!("{before}{}{after}", still(left))
        })
    };
    let count = figures::count;
    match why {
        WaitReason::Learnt {
            dimension,
            used,
            limit,
        } => {
            let (used, limit, unit) = (count(*used), count(*limit), unit(*dimension));
            format!("{used} of {limit} {unit} used{}", then(", next in ", ""))
        }
        WaitReason::Declared {
            name,
            used,
            capacity,
        } => {
            let (used, capacity) = (count(*used), count(*capacity));
            let name = visible::line(name);
            let name = visible::cut_middle(&name, LIMIT_CHARS);
            format!(
                "{used} of {capacity} used of '{name}'{}",
                then(", next in ", "")
            )
        }
        WaitReason::Pace { interval } => pace(*interval),
        WaitReason::Blocked { asked: true } => {
            format!("blocked by the server{}", then(" for ", " more"))
        }
        WaitReason::Blocked { asked: false } => {
            format!("refused by the server, probing{}", then(" in ", ""))
        }
        WaitReason::Broken => format!("server fails; probing{}", then(" in ", "")),
        WaitReason::Backoff => format!("retrying{}", then(" in ", "")),
    }
}

/// What a dimension counts, in the plural.
pub(crate) fn unit(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Requests => "requests",
        Dimension::Tokens => "tokens",
        Dimension::InputTokens => "input tokens",
        Dimension::OutputTokens => "output tokens",
        Dimension::ProjectTokens => "project tokens",
        Dimension::TokensPerMonth => "tokens per month",
    }
}

/// One call in each `interval`: as a rate from one a second up, else as the interval.
fn pace(interval: Duration) -> String {
    if interval > Duration::from_secs(1) {
        return format!("pacing at one call in {}", still(interval));
    }
    let tenths = 10_000_000_000 / interval.as_nanos().max(1);
    format!("pacing at {}.{} calls/s", tenths / 10, tenths % 10)
}

/// A time that is left, with tenths of a second only where they are seen to pass.
fn still(left: Duration) -> String {
    if left >= Duration::from_secs(10) {
        return figures::about(left);
    }
    let tenths = left.as_millis() / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use runner_eval::event::LaneWait;

    use super::*;

    const LANE: &str = "api.openai.com/gpt-4o";

    fn standing(lane: &str, why: Option<WaitReason>, until: Option<Instant>) -> LaneStanding {
        LaneStanding {
            lane: Arc::from(lane),
            wait: why.map(|why| LaneWait { why, until: None }),
            until,
        }
    }

    fn requests() -> WaitReason {
        WaitReason::Learnt {
            dimension: Dimension::Requests,
            used: 58,
            limit: 60,
        }
    }

    #[test]
    fn every_reason_says_why_and_for_how_long() {
        let declared = WaitReason::Declared {
            name: "account tokens".to_owned(),
            used: 89_500,
            capacity: 90_000,
        };
        let tokens = WaitReason::Learnt {
            dimension: Dimension::TokensPerMonth,
            used: 1_000,
            limit: 1_000,
        };
        let pace = |micros| WaitReason::Pace {
            interval: Duration::from_micros(micros),
        };
        let table = [
            (
                requests(),
                Some(1_200),
                "58 of 60 requests used, next in 1.2 s",
            ),
            (requests(), None, "58 of 60 requests used"),
            (
                tokens,
                Some(65_000),
                "1,000 of 1,000 tokens per month used, next in 1 m 05 s",
            ),
            (
                declared,
                Some(400),
                "89,500 of 90,000 used of 'account tokens', next in 0.4 s",
            ),
            (pace(102_040), Some(50), "pacing at 9.8 calls/s"),
            (pace(12_000_000), None, "pacing at one call in 12 s"),
            (pace(0), None, "pacing at 1000000000.0 calls/s"),
            (
                WaitReason::Blocked { asked: true },
                Some(12_300),
                "blocked by the server for 12 s more",
            ),
            (
                WaitReason::Blocked { asked: true },
                None,
                "blocked by the server",
            ),
            (
                WaitReason::Blocked { asked: false },
                Some(4_000),
                "refused by the server, probing in 4.0 s",
            ),
            (
                WaitReason::Broken,
                Some(4_000),
                "server fails; probing in 4.0 s",
            ),
            (WaitReason::Broken, None, "server fails; probing"),
            (WaitReason::Backoff, Some(2_100), "retrying in 2.1 s"),
        ];
        for (why, ms, expected) in table {
            assert_eq!(reason(&why, ms.map(Duration::from_millis)), expected);
        }
    }

    #[test]
    fn the_line_counts_down_and_then_says_no_time() {
        let now = Instant::now();
        let mut waiting = Waiting::default();
        let until = Some(now + Duration::from_secs(12));
        waiting.on_standing(&standing(
            LANE,
            Some(WaitReason::Blocked { asked: true }),
            until,
        ));
        let says = |ms| waiting.says(now + Duration::from_millis(ms), LINE_CHARS);
        let table = [
            (
                0,
                "api.openai.com/gpt-4o: blocked by the server for 12 s more",
            ),
            (
                8_100,
                "api.openai.com/gpt-4o: blocked by the server for 3.9 s more",
            ),
            (12_000, "api.openai.com/gpt-4o: blocked by the server"),
            (90_000, "api.openai.com/gpt-4o: blocked by the server"),
        ];
        for (ms, expected) in table {
            assert_eq!(says(ms).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_long_wait_is_told_once_for_each_lane() {
        let now = Instant::now();
        let blocked = || Some(WaitReason::Blocked { asked: true });
        let until = |seconds| Some(now + Duration::from_secs(seconds));
        let mut waiting = Waiting::default();
        let mut told = |lane, why, until| waiting.long_wait(&standing(lane, why, until), now);
        assert_eq!(told("a", blocked(), until(119)), None);
        assert_eq!(
            told("a", blocked(), until(900)).as_deref(),
            Some(
                "a: blocked by the server for 15 m 00 s more; Ctrl-C stops the run, and `runner \
                 eval --resume` goes on with it"
            )
        );
        assert_eq!(told("a", blocked(), until(3_600)), None);
        assert_eq!(told("b", None, until(900)), None);
        assert!(told("b", blocked(), until(900)).is_some());
    }

    #[test]
    fn of_several_lanes_the_longest_wait_is_told() {
        let now = Instant::now();
        let until = |seconds| Some(now + Duration::from_secs(seconds));
        let mut waiting = Waiting::default();
        assert!(!waiting.ever());
        waiting.on_standing(&standing("short", Some(requests()), until(1)));
        waiting.on_standing(&standing("long", Some(requests()), until(5)));
        waiting.on_standing(&standing("unknown", Some(WaitReason::Broken), None));
        let says = |waiting: &Waiting| waiting.says(now, LINE_CHARS);
        assert_eq!(
            says(&waiting).as_deref(),
            Some("long: 58 of 60 requests used, next in 5.0 s · +2 more lanes wait")
        );
        waiting.on_standing(&standing("long", None, None));
        assert_eq!(
            says(&waiting).as_deref(),
            Some("short: 58 of 60 requests used, next in 1.0 s · +1 more lane waits")
        );
        waiting.on_standing(&standing("short", None, None));
        waiting.on_standing(&standing("unknown", None, None));
        assert_eq!(says(&waiting), None);
        assert!(waiting.ever());
    }

    #[test]
    fn a_long_name_is_cut_in_its_middle_and_the_line_never_wraps() {
        let now = Instant::now();
        let lane = "my-company-resource.openai.azure.com/deployments/gpt-4o-mini-2024-07-18";
        let mut waiting = Waiting::default();
        let until = Some(now + Duration::from_millis(1_200));
        waiting.on_standing(&standing(lane, Some(requests()), until));
        assert_eq!(
            waiting.says(now, LINE_CHARS).as_deref(),
            Some("my-company-resource…t-4o-mini-2024-07-18: 58 of 60 requests used, next in 1.2 s")
        );
        let endless = WaitReason::Declared {
            name: "a name that somebody has chosen for a limit".to_owned(),
            used: u64::MAX,
            capacity: u64::MAX,
        };
        waiting.on_standing(&standing("evil\u{1b}[2K\n", Some(endless), until));
        let text = waiting.says(now, LINE_CHARS).expect("two lanes wait");
        assert!(text.chars().count() <= LINE_CHARS, "{text}");
        assert!(!text.contains(char::is_control), "{text}");
    }
}
