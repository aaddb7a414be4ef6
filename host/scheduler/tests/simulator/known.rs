//! Scenarios that miss their gate: what they reach, and why not more.
//!
//! A scenario is listed here or it is inside its gate; the tests know no third way. The
//! figures are ceilings: who gets worse fails too, and who comes inside the gate has to be
//! taken off the list.

use std::time::Duration;

use super::gate::{Gate, Share};

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    /// What the worst seed reaches, with a little room; its `why` is why not more.
    pub(crate) gate: Gate,
}

/// All of them.
pub(crate) const KNOWN: [Known; 18] = [
    known("token bucket, 8 s", one_call()),
    known("fixed window, 1.5 s", one_call()),
    known("Mistral's headers, no reset", one_call()),
    known("requests and tokens, 1.5 s", one_call()),
    known("requests and tokens, 8 s", one_call()),
    known("every other answer without headers", one_call()),
    known("insufficient_quota in one of two lanes", one_call()),
    known(
        "fixed window, 8 s",
        idle(
            1_100,
            "the first end of a window isn't known to be one until an answer comes",
        ),
    ),
    known(
        "sliding log, 1.5 s",
        idle(300, "what comes back is known an answer later"),
    ),
    known(
        "sliding log, 8 s",
        idle(6_500, "what comes back is known an answer later"),
    ),
    known(
        "leaky bucket, resets in ms",
        idle(
            2_100,
            "one call of ten in reserve, and more after a refusal",
        ),
    ),
    known(
        "60 a minute, 1.5 s",
        idle(1_300, "a call a second, and margins are whole calls"),
    ),
    known(
        "60 a minute, 8 s",
        idle(2_300, "a call a second, and margins are whole calls"),
    ),
    known("Anthropic's rounding", idle(700, "resets in whole seconds")),
    known(
        "10 s slices, 8 s",
        Gate {
            wasted: Share::tenths(13),
            why: "a slice is found out by the first burst, before any answer",
            ..Gate::HALF_DECLARED
        },
    ),
    known(
        "10 s slices, Azure's partial headers",
        Gate {
            wasted: Share::tenths(14),
            why: "a slice is found out by the first burst, before any answer",
            ..Gate::HALF_DECLARED
        },
    ),
    known(
        "leaky bucket, resets in s",
        Gate {
            regret: Share::tenths(165),
            ..idle(
                2_100,
                "a window of 1 s and resets in whole seconds: nothing tells how it refills",
            )
        },
    ),
    known(
        "headers up to 1 s stale",
        Gate {
            regret: Share::tenths(28),
            ..idle(
                12_500,
                "snapshots of any age look like another user of the key",
            )
        },
    ),
];

const fn known(name: &'static str, gate: Gate) -> Known {
    Known { name, gate }
}

/// Inside but for the idle time, in ms.
const fn idle(most: u64, why: &'static str) -> Gate {
    Gate {
        idle: Some(Duration::from_millis(most)),
        why,
        ..Gate::DECLARED
    }
}

/// Idle for one interval between calls, which is 100 ms, and the client's timer.
const fn one_call() -> Gate {
    idle(
        115,
        "a call comes every 100 ms, and the client's timer has whole milliseconds",
    )
}

/// The entry of a scenario.
pub(crate) fn of(name: &str) -> Option<Known> {
    KNOWN.into_iter().find(|known| known.name == name)
}
