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
pub(crate) const KNOWN: [Known; 45] = [
    known("token bucket, 8 s", opening(23, 150)),
    known("Mistral's headers, no reset", one_call()),
    known("requests and tokens, 1.5 s", one_call()),
    known("every other answer without headers", one_call()),
    known("requests and tokens, 8 s", opening(23, 700)),
    known("fixed window, 8 s", opening(24, 3_000)),
    known(
        "insufficient_quota in one of two lanes",
        idle(700, "how it refills is known an answer later"),
    ),
    known(
        "sliding log, 1.5 s",
        idle(3_500, "what comes back is known an answer later"),
    ),
    known("sliding log, 8 s", opening(34, 5_700)),
    known(
        "leaky bucket, resets in ms",
        idle(160, "one call of ten in reserve, and more after a refusal"),
    ),
    known(
        "60 a minute, 1.5 s",
        idle(1_300, "a call a second, and margins are whole calls"),
    ),
    known(
        "60 a minute, 8 s",
        idle(1_900, "a call a second, and margins are whole calls"),
    ),
    known("Anthropic's rounding", idle(700, "resets in whole seconds")),
    known(
        "10 s slices, Azure's partial headers",
        Gate {
            wasted: Share::tenths(15),
            why: "a slice is found out by the first burst, before any answer",
            ..Gate::HALF_DECLARED
        },
    ),
    known(
        "leaky bucket, resets in s",
        Gate {
            regret: Share::tenths(110),
            wasted: Share::tenths(57),
            ..idle(
                1_100,
                "a window of 1 s and resets in whole seconds: nothing tells how it refills",
            )
        },
    ),
    known(
        "headers up to 1 s stale",
        idle(
            2_300,
            "snapshots of any age look like another user of the key",
        ),
    ),
    known(
        "60 per 2 s, 700 ms, -j 100",
        shares(34, 10, "more were sent than fit before anything was heard"),
    ),
    known(
        "8 slots, slower with each that waits",
        slower(52, 500, SLOTS),
    ),
    known("one slot, always 150 ms", late(1_550)),
    known("one slot, 5 s", late(1_850)),
    known("8 slots that state 1,000 a minute", late_by(2_000, OPENING)),
    known(
        "one slot, 0.3 s, -j 20",
        Gate {
            late: Some(Share::tenths(6_500)),
            ..slower(31, 500, ASKED)
        },
    ),
    known("64 slots, 2 s", slower(160, 500, SLOTS)),
    known(
        "64 slots, 2 s, -j 100",
        slower(
            31,
            550,
            "a queue half as long as what is worked on is missed now and then",
        ),
    ),
    known("LiteLLM, 300 a minute, 4 s", shares(730, 10, OPENING)),
    known(
        "sliding, resets in ms, jitter",
        shares(
            290,
            21,
            "what comes back is known to the millisecond of the sending, not of the arrival; a refusal costs a second",
        ),
    ),
    known(
        "fixed 50 a second, limits without resets",
        shares(150, 50, WINDOWS),
    ),
    known("sliding 50 a second, no hint", shares(155, 50, WINDOWS)),
    known(
        "fixed 50 a second, retry-after in s",
        shares(200, 50, WINDOWS),
    ),
    known("fixed 50 a second, no hint", shares(175, 50, WINDOWS)),
    known(
        "sliding 50 a second, resets in s",
        shares(
            208,
            10,
            "a window of 1 s and resets in whole seconds: nothing tells how it refills",
        ),
    ),
    known("two runs, fixed 50 a second", shared(300, 50, APART)),
    known("two runs, sliding 50 a second", shared(245, 50, APART)),
    known("two runs, bucket 50 a second", shared(213, 50, APART)),
    known(
        "our own second process, fixed 50 a second",
        shared(222, 30, WINDOWS),
    ),
    known(
        "our own second process, sliding 50 a second",
        shared(200, 30, WINDOWS),
    ),
    known(
        "our own second process, bucket 50 a second",
        shared(213, 50, "what is no window is not shared"),
    ),
    known("fixed 50 a second, then 100", shares(245, 50, CALM)),
    known("somebody else takes half for 10 s", shares(230, 50, CALM)),
    known("60 s of 429, then no limit", shares(1010, 50, CALM)),
    known(
        "sliding counter, retry-after in s",
        shares(205, 50, COUNTER),
    ),
    known("sliding counter, no hint", shares(145, 50, COUNTER)),
    known("busy: fixed 50 a second", shares(203, 50, WINDOWS)),
    known("busy: sliding 50 a second", shares(190, 50, WINDOWS)),
    known("busy: sliding, retry-after in s", shares(120, 50, WINDOWS)),
];

/// Why a short run in undeclared windows loses a tenth and more.
const WINDOWS: &str = "in ten windows, two are spent on finding out how many and how long";

/// Why a stated limit is used up later.
const OPENING: &str = "a lane opens with four and grows by answers";

/// Why the first answers of a queue are late.
const ASKED: &str = "twenty at once were asked for, and are sent first";

/// Why what comes later is used later.
const CALM: &str = "more is tried after a calm stretch";

/// Why a tenth is lost where two windows are mixed.
const COUNTER: &str = "what a refusal shows is less than two windows hold";

/// Why two runs on two machines lose more.
const APART: &str = "two runs don't know of each other";

/// Why a lane without `-j` is slower to fill many slots.
const SLOTS: &str =
    "a lane opens with four and grows by answers, and a knee is looked for with fewer";

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

/// Tenths of a per cent of regret and of waste.
const fn shares(regret: u64, wasted: u64, why: &'static str) -> Gate {
    let (regret, wasted) = (Share::tenths(regret), Share::tenths(wasted));
    Gate::UNDECLARED.but(regret, wasted, why)
}

/// Two programs beside each other, by their regret and waste.
const fn shared(regret: u64, wasted: u64, why: &'static str) -> Gate {
    Gate {
        fairness: Some(Share::tenths(900)),
        ..shares(regret, wasted, why)
    }
}

/// A server that queues, by its regret and how much slower its answers are.
const fn slower(regret: u64, slower: u64, why: &'static str) -> Gate {
    Gate {
        regret: Share::tenths(regret),
        slower: Some(Share::tenths(slower)),
        why,
        ..Gate::QUEUE
    }
}

/// A server that queues, by how much later one of twenty answers is.
const fn late(most: u64) -> Gate {
    late_by(
        most,
        "a lane opens with four, and its first answers say little",
    )
}

/// Likewise, for a reason.
const fn late_by(most: u64, why: &'static str) -> Gate {
    Gate {
        late: Some(Share::tenths(most)),
        ..slower(31, 500, why)
    }
}

/// A stated limit whose answers take long, by its regret, and the idle time in ms.
const fn opening(regret: u64, idle_for: u64) -> Gate {
    Gate {
        regret: Share::tenths(regret),
        ..idle(idle_for, OPENING)
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
