//! The numbers by which lanes decide, each with what pins it.
//!
//! A number is **pinned** by what comes out otherwise once it is doubled (of shares of a whole, once
//! what they leave is): the **gate** of a scenario of the simulator, which is then broken
//! (`cargo xtask sim`), or its **row** of the table, or a **test**.
//! Published are the numbers of the design that this one goes back to; the others were found by simulation.
//!
//! Sizes of memories, bounds of shifts and units of arithmetic decide nothing, and stand where they are used.
//! So do the parts (a half, a quarter, an eighth) of which the formulas of `bucket` and `knee` are made:
//! they mean nothing elsewhere.

pub(crate) mod knee;
pub(crate) mod shared;

/// Parts of a whole in which shares are told that are no simple fractions. Their names say so:
/// `…_PER_CENT`, `…_PER_MILLE`, `…_MILLIONTHS`.
pub(crate) const PER_CENT: u32 = 100;
pub(crate) const PER_MILLE: u64 = 1000;
pub(crate) const MILLIONTHS: u64 = 1_000_000;

/// Of `allowance`.
pub(crate) mod allowance {
    /// Fewest accepted attempts that make a window. A bucket that refills lets one or two through
    /// and is shut again.
    /// Pinned by the row of "two runs, fixed 50 a second".
    pub(crate) const FEWEST: u64 = 8;

    /// Part of the time between two openings in which a server that counts in windows has been shut,
    /// at least, to be taken for one.
    /// Pinned by the row of "10 s slices, 8 s".
    pub(crate) const SHUT_SHARE: u32 = 4;

    /// Part of a window that is added to it, for the jitter of the network between two attempts.
    /// Pinned by the gate of "10 s slices, Azure's partial headers".
    pub(crate) const SLACK: u32 = 200;

    /// Part of a window that a client may be behind its rhythm and catch up.
    /// Pinned by the gate of "sliding 50 a second, no hint".
    pub(crate) const CATCH_UP: u32 = 10;

    /// Attempts without a refusal before more is tried, where that is a window at least: a refusal may cost
    /// the wait of a whole one.
    /// Pinned by the row of "fixed 50 a second, then 100".
    pub(crate) const CALM: u64 = 1000;

    /// Windows' worth of attempts after which more is tried, at most.
    /// Pinned by the test `a_limit_that_was_confirmed_is_tried_ever_later`.
    pub(crate) const CALM_WINDOWS: u64 = 20;

    /// How many times as much is tried of a limit that nothing has confirmed.
    /// Pinned by the row of "60 s of 429, then no limit".
    pub(crate) const BOLD: u64 = 4;

    /// Per cent of a window over which its attempts are spread: a tenth faster than evenly.
    /// Pinned by the test `a_window_is_filled_a_tenth_faster_than_evenly`.
    pub(crate) const SPREAD_PER_CENT: u32 = 90;

    /// Part of the limit that was accepted at least before a refusal, or it is no window.
    /// Pinned by the test `a_refusal_says_how_many_there_are`.
    pub(crate) const LEAST_SHARE: u64 = 2;

    /// Windows that servers have, in seconds.
    /// Pinned by the test `a_round_window_that_ended_between_two_probes_is_the_one`.
    pub(crate) const ROUND: [u64; 12] = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 3600];
}

/// Of `gate::backoff`.
pub(crate) mod backoff {
    use std::time::Duration;

    /// First block when the server doesn't say how long (published probing: 1, 2, 4 … s).
    /// Pinned by the row of "Retry-After always 89 s".
    pub(crate) const FIRST_BLOCK: Duration = Duration::from_secs(1);

    /// Longest block without a word of the server. Published is a minute; a window that opens
    /// meanwhile stands idle for half of it, and a probe costs one refusal (simulation).
    /// Pinned by the test `each_refused_probe_doubles_the_block_up_to_eight_seconds`.
    pub(crate) const LONGEST_BLOCK: Duration = Duration::from_secs(8);

    /// Waits above this are checked after a quarter. Below, obeying costs less than a probe.
    /// Pinned by the test `a_longer_one_is_checked_after_a_quarter`.
    pub(crate) const CHECKED_ABOVE: Duration = Duration::from_secs(10);

    /// Thousandths of such a wait after which it is checked at first.
    /// Pinned by the test `a_longer_one_is_checked_after_a_quarter`.
    pub(crate) const FIRST_LOOK_PER_MILLE: u64 = 250;

    /// Part of what was enough before after which it is checked, if that is sooner.
    /// Pinned by the test `how_much_of_a_long_wait_was_needed_is_remembered`.
    pub(crate) const SOONER: u64 = 2;

    /// Fewest thousandths of a wait that are remembered as needed.
    /// Pinned by the test `a_wait_that_was_not_needed_at_all_is_checked_after_a_two_hundredth`.
    pub(crate) const LEAST_NEEDED_PER_MILLE: u64 = 10;
}

/// Of `gate::barrier`.
pub(crate) mod barrier {
    /// Half-open allowance from which on a barrier counts as open.
    /// Pinned by the row of "sliding log, 8 s".
    pub(crate) const WIDE_OPEN: u32 = 64;
}

/// Of `gate::breaker`.
pub(crate) mod breaker {
    use std::time::Duration;

    /// Part of the time for which a server has failed after which it is probed, to which up to as much again is
    /// added by chance, so that lanes that broke together don't probe together (published).
    /// Pinned by the row of "30 s of 503".
    pub(crate) const PAUSE_SHARE: u32 = 20;

    /// The shortest pause before a probe.
    /// Pinned by the row of "10 s of 503".
    pub(crate) const SHORTEST_PAUSE: Duration = Duration::from_millis(500);

    /// And the longest. Published is up to a minute; up to 8 s a probe costs nothing, and a recovery is not
    /// slept through.
    /// Pinned by the test `a_broken_lane_probes_after_up_to_a_tenth_of_the_time_that_it_has_failed`.
    pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(4);

    /// Shortest spell without a failure that counts as recovered.
    /// Pinned by the row of "20 s of 503 from the start".
    pub(crate) const RECOVERED: Duration = Duration::from_secs(1);

    /// How many times as long as the slowest failure a spell without one has to be: what was sent
    /// in it has then had its chance to fail.
    /// Pinned by the test `silence_for_three_times_as_long_as_failures_took_lets_more_go`.
    pub(crate) const RECOVERED_LATENCIES: u32 = 3;

    /// Failures in a row that break the lane (published).
    /// Pinned by the row of "20 s of 503 from the start".
    pub(crate) const BREAKING_ROW: u32 = 10;

    /// Attempts of which the outcome is remembered (published).
    /// Pinned by the test `eleven_failures_of_twenty_break_it_and_ten_do_not`.
    pub(crate) const HISTORY: u32 = 20;

    /// Failures of the last [`HISTORY`] that break it: more than half (published).
    /// Pinned by the gate of "30 s of 503".
    pub(crate) const BREAKING_SHARE: u32 = 11;
}

/// Of `gate::breaker::giving_up`.
pub(crate) mod giving_up {
    use std::time::Duration;

    /// Failed probes in a row that it takes. With pauses of 1 to 8 s they alone are 15 to 30 s.
    /// Pinned by the test `it_takes_five_failed_probes_and_half_a_minute`.
    pub(crate) const PROBES: u32 = 5;

    /// Time from the first failure to the last that it takes: three times the storm of 10 s that a
    /// start has to survive, and longer than a container takes to be started again.
    /// Pinned by the test `it_takes_five_failed_probes_and_half_a_minute`.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

    /// And what it takes where some attempt was a success: restarts of a machine, and most outages, are
    /// shorter.
    /// Pinned by the test `a_server_that_has_worked_is_waited_for_ten_minutes`.
    pub(crate) const PATIENCE_WHERE_IT_WORKED: Duration = Duration::from_mins(10);

    /// Jobs of a wave that are tried before the others end: one from each end of the queue and one
    /// from between. A dataset that the server can't digest is one or two of these places.
    /// Pinned by the test `each_wave_has_three_probes_or_as_many_as_it_has_jobs`.
    pub(crate) const WAVE: u32 = 3;
}

/// Of `gate`.
pub(crate) mod gate {
    /// Answers in a row that say that the account is empty and end the lane; one of them may be a single
    /// request's fault.
    /// Pinned by the test `one_request_that_is_too_dear_does_not_empty_the_account_of_others`.
    pub(crate) const EXHAUSTED: u32 = 3;

    /// First attempts that all failed for the credential and end the lane, until one succeeds that was
    /// on its way.
    /// Pinned by the test `a_credential_that_never_worked_is_given_up_after_three`.
    pub(crate) const AUTH_FAILURES: u32 = 3;

    /// First attempts that all found no such model and end the lane, as for the credential. A lane is
    /// one model of one server mostly, and any success forbids the conclusion.
    /// Pinned by the test `a_model_that_was_never_there_is_given_up_after_three`.
    pub(crate) const NOT_FOUND: u32 = 3;
}

/// Of `bucket`.
pub(crate) mod bucket {
    use std::time::Duration;

    /// Window of a limit without a reset of any kind: published limits without one are per minute.
    /// Pinned by the test `the_pause_of_probes_doubles_up_to_a_minute`.
    pub(crate) const ASSUMED_WINDOW: Duration = Duration::from_mins(1);

    /// Seconds after which it is looked whether a window is that short, where its server says neither when
    /// it is filled again nor how long that takes.
    /// Pinned by the test `each_shorter_window_is_looked_for_once_and_the_minute_s_is_proved_by_its_end`.
    pub(crate) const LOOKS: [u64; 7] = [1, 2, 5, 10, 15, 20, 30];

    /// How far the clocks of server and client may be apart before a minute that has ended is none.
    /// Pinned by the test `a_minute_at_whose_end_nothing_comes_back_was_none`.
    pub(crate) const CLOCKS_APART: Duration = Duration::from_secs(3);

    /// Part of a reset that its resolution may add to it. Of a second whole seconds say little: a
    /// window too late is one lost, and a moment too early is one refusal.
    /// Pinned by the row of "sliding 50 a second, resets in s".
    pub(crate) const COARSE: u32 = 20;

    /// Consistent pairs of readings that settle how a limit refills. Three (simulation): one is
    /// chance at the resolution of a second, five cost a small bucket its first refill.
    /// Pinned by the gate of "leaky bucket, resets in s".
    pub(crate) const CONVINCED: i8 = 3;

    /// Over how long a foreign user is averaged. Simulation: shorter takes reordered readings for
    /// a user, longer lets a new user cause two bursts of 429.
    /// Pinned by the gate of "token bucket, 8 s".
    pub(crate) const FOREIGN_MEMORY: Duration = Duration::from_secs(10);

    /// Probes at the presumed end of a window before the usual pauses.
    /// Pinned by the gate of "sliding log, 8 s".
    pub(crate) const EDGE_PROBES: u32 = 16;

    /// The time between them: as long as an idle lane may be (published gate).
    /// Pinned by the gate of "sliding log, 1.5 s".
    pub(crate) const EDGE_PROBE_PAUSE: Duration = Duration::from_millis(90);

    /// Attempts that a server accepts while it says that nothing is left, after which that is not
    /// believed any more. Three could be a window that ended between.
    /// Pinned by the test `after_four_false_zeros_nobody_believes_that_nothing_is_left`.
    pub(crate) const FALSE_ZEROS: u32 = 4;
}

/// Of `evidence`.
pub(crate) mod evidence {
    use std::time::Duration;

    /// Jitter of the network and of the server's own clock reading.
    /// Pinned by the gate of "60 a minute, 1.5 s".
    pub(crate) const JITTER: Duration = Duration::from_millis(10);
}

/// Of `limits`.
pub(crate) mod limits {
    use std::time::Duration;

    /// How long a hold lasts unless it is renewed. A minute is longer than a busy machine leaves its
    /// scheduler alone, and a lost attempt costs its place for no longer than one window of the
    /// usual limits. The holder should renew at half of it.
    /// Pinned by the test `a_hold_that_nobody_renews_ends`.
    pub(crate) const HOLD: Duration = Duration::from_mins(1);
}

/// Of `window`.
pub(crate) mod window {
    use std::time::Duration;

    /// Attempts that go at once, if as many were asked for: what peers send with their usual `-j`.
    /// Pinned by the test `it_opens_with_four_or_with_up_to_twenty_of_those_who_were_asked_for`.
    pub(crate) const FIRST_SIZE: u32 = 20;

    /// Spell between doublings up to what was asked for: a first word of most servers is heard in it.
    /// Pinned by the test `what_was_asked_for_is_there_within_a_third_of_a_second`.
    pub(crate) const WELCOME_SPELL: Duration = Duration::from_millis(100);

    /// How long nothing is heard before one more is tried: a server that works on one after the other
    /// and takes half a minute for each is given eight by then, and not sixty.
    /// Pinned by the test `where_nothing_is_heard_one_more_is_tried_after_ever_longer_waits`.
    pub(crate) const SILENCE: Duration = Duration::from_secs(5);

    /// Spell where the server declares limits: the buckets say how much may be sent, and the
    /// window only has to get out of their way, as far as answers allow.
    /// Pinned by the row of "Anthropic's rounding".
    pub(crate) const DECLARED_SPELL: Duration = Duration::from_millis(90);

    /// How many times as many as an answer has paid for go at once where the server declares its limits.
    /// Pinned by the gate of "8 slots that state 1,000 a minute".
    pub(crate) const PAID_TIMES: u32 = 4;

    /// Steps in which a spell doubles: eight times an eleventh. In one step half of all that is
    /// in flight would be new, and lost together.
    /// Pinned by the gate of "10 s slices, 1.5 s".
    pub(crate) const STEPS: u32 = 8;

    /// Part of the window that a step adds, by which [`STEPS`] of them double it.
    /// Pinned by the test `what_was_asked_for_is_there_within_a_third_of_a_second`.
    pub(crate) const STEP_SHARE: u32 = 11;

    /// How many times as long as the last answer took nothing is heard before one more is tried.
    /// Pinned by the test `where_nothing_is_heard_one_more_is_tried_after_ever_longer_waits`.
    pub(crate) const SILENT_ANSWERS: u32 = 4;

    /// Per cent of the window that are in flight at least where it is in use.
    /// Pinned by the test `answers_widen_it_up_to_its_ceiling`.
    pub(crate) const USED_PER_CENT: u64 = 80;

    /// Longest series of clean rounds that is asked for before one more.
    /// Pinned by the row of "16 parallel, 1.5 s".
    pub(crate) const MOST_ROUNDS: u32 = 16;
}

/// Of `pace`.
pub(crate) mod pace {
    use std::time::Duration;

    /// Share of the measured rate that is used: 99 % (published design).
    /// Pinned by the row of "only Gemini's RetryInfo".
    pub(crate) const USED_PER_MILLE: u64 = 990;

    /// Calls without a refusal after which growth doubles. A hundred: one refusal per hundred
    /// calls is the waste that is accepted (published design).
    /// Pinned by the gate of "10 s slices, Azure's partial headers".
    pub(crate) const CALM_CALLS: u64 = 100;

    /// First growth per call, in millionths.
    /// Pinned by the gate of "10 s slices, Azure's partial headers".
    pub(crate) const FIRST_STEP_MILLIONTHS: u64 = 100;

    /// Growth per call at most, in millionths: doubling within some 350 calls.
    /// Pinned by the row of "only retry-after-ms".
    pub(crate) const LAST_STEP_MILLIONTHS: u64 = 2000;

    /// Calls that make a measurement good. Below, growth is faster in proportion.
    /// Pinned by the gate of "10 s slices, Azure's partial headers".
    pub(crate) const GOOD: u64 = 400;

    /// How many times as fast at most.
    /// Pinned by the test `a_rough_measurement_is_left_sooner_and_a_long_one_later`.
    pub(crate) const ROUGHEST: u64 = 16;

    /// Part of the calls of a measurement after which growth doubles, if these are more.
    /// Pinned by the test `a_rough_measurement_is_left_sooner_and_a_long_one_later`.
    pub(crate) const MEASURED_CALM: u64 = 2;

    /// Part of the interval that is added after a refusal too soon to measure.
    /// Pinned by the test `too_few_calls_only_slow_down`.
    pub(crate) const SLOWER: u64 = 4;

    /// Longest interval that this leads to.
    /// Pinned by the test `it_slows_down_to_one_a_minute_and_no_further`.
    pub(crate) const SLOWEST: Duration = Duration::from_mins(1);

    /// How far the sending may lag behind its schedule and catch up: the granularity of timers.
    /// Pinned by the test `attempts_are_spaced_and_may_catch_up_a_timer_s_lag_only`.
    pub(crate) const LAG: Duration = Duration::from_millis(5);

    /// Fewest accepted calls that make a measurement.
    /// Pinned by the row of "only 429, 8 s".
    pub(crate) const ENOUGH: u64 = 4;
}

/// Of `classifier`.
pub(crate) mod classifier {
    /// Two refusals are at the same height when the numbers in flight differ by no more than this
    /// part of the first: a tenth. Attempts that end meanwhile blur the number.
    /// Pinned by the row of "only Gemini's RetryInfo".
    pub(crate) const SAME_HEIGHT: u32 = 10;

    /// Hasty refusals after which a limit is taken for one of rate after all.
    /// Pinned by the test `three_hasty_refusals_at_the_same_height_are_of_rate_after_all`.
    pub(crate) const TOO_HASTY: u32 = 3;
}

/// Of `trust`.
pub(crate) mod trust {
    /// Disappointments after which declared limits are no longer taken for the whole truth.
    /// Pinned by the gate of "10 s slices, Azure's partial headers".
    pub(crate) const BETRAYED: u32 = 3;

    /// Accepted attempts that make up for a disappointment.
    /// Pinned by the gate of "leaky bucket, resets in s".
    pub(crate) const FORGIVEN_AFTER: u32 = 100;

    /// Accepted attempts after which bursts are tried again: one burst in ten minutes of a hundred
    /// calls a minute.
    /// Pinned by the test `a_thousand_make_up_for_bursts`.
    pub(crate) const FORGOTTEN_AFTER: u32 = 1000;
}

/// Of `lane::adaptive`.
pub(crate) mod adaptive {
    use std::time::Duration;

    /// Part of the last answer's time within which attempts count as sent at once.
    /// Pinned by the gate of "one slot, 0.3 s, -j 20".
    pub(crate) const BURST: u32 = 64;

    /// And the shortest such time: threads of a busy machine are later than that.
    /// Pinned by the gate of "one slot, always 150 ms".
    pub(crate) const AT_ONCE: Duration = Duration::from_millis(10);

    /// Without a measurement: how long without a refusal counts as acceptance. Rejections return
    /// within that nearly everywhere.
    /// Pinned by the gate of "the same without headers".
    pub(crate) const QUIET: Duration = Duration::from_millis(250);

    /// Shortest spell that counts as quiet, for servers next door.
    /// Pinned by the gate of "the same without headers".
    pub(crate) const SHORTEST_QUIET: Duration = Duration::from_millis(25);

    /// Longest spell that is waited for.
    /// Pinned by the test `the_latency_of_refusals_says_how_long_quiet_is`.
    pub(crate) const LONGEST_QUIET: Duration = Duration::from_secs(2);

    /// Latencies of the slowest refusal that make a spell quiet: what was sent before it would
    /// have been refused by then.
    /// Pinned by the gate of "sliding log, 1.5 s".
    pub(crate) const QUIET_LATENCIES: u32 = 3;

    /// A refusal is explained by a bucket that holds no more than this part of its limit: a
    /// fiftieth, as much as readings are off by.
    /// Pinned by the test `nearly_empty_is_a_fiftieth_of_a_limit_or_two_calls`.
    pub(crate) const NEARLY_EMPTY: u64 = 50;

    /// Or no more than this many attempts like the refused one: that one, and one that another user
    /// of the limit sent meanwhile.
    /// Pinned by the test `nearly_empty_is_a_fiftieth_of_a_limit_or_two_calls`.
    pub(crate) const NEARLY_EMPTY_CALLS: u64 = 2;

    /// Where a pace is known, the intervals that a refusal blocks for: the rate is nearly right,
    /// so a few calls less make up for what was too much.
    /// Pinned by the gate of "busy: fixed 50 a second".
    pub(crate) const BLOCK_INTERVALS: u32 = 3;

    /// Shortest such block.
    /// Pinned by the row of "the same without headers".
    pub(crate) const SHORTEST_PACED_BLOCK: Duration = Duration::from_millis(50);

    /// Before anything is known, the part of the time which it took until the lane last reacted to a refusal
    /// that another one blocks for: what was reached within a moment may be open again in the next.
    /// Pinned by the row of "16 parallel, 1.5 s".
    pub(crate) const TIME_TO_LIMIT: u32 = 4;

    /// Shortest such block.
    /// Pinned by the gate of "fixed 50 a second, no hint".
    pub(crate) const SHORTEST_EARLY_BLOCK: Duration = Duration::from_millis(100);

    /// Longest block of either kind, before refused probes double it.
    /// Pinned by the row of "16 parallel, 1.5 s".
    pub(crate) const LONGEST_USUAL_BLOCK: Duration = Duration::from_secs(1);

    /// Part of a limit that may go in one spell, beside what comes back in a second: a fortieth. A
    /// burst of that size is no more than readings leave open.
    /// Pinned by the gate of "sliding log, 1.5 s".
    pub(crate) const SPELL_SHARE: u64 = 40;

    /// Bursts are spread: in one spell goes at most what comes back in a second and the
    /// [`SPELL_SHARE`] of the limit. Published is a tenth in 100 ms; of a slice of 10 s that is
    /// still half at once (simulation), and a lane must not idle for 100 ms.
    /// Pinned by the gate of "token bucket, 1.5 s".
    pub(crate) const SPELL: Duration = Duration::from_millis(90);
}

/// Of `retry`.
pub(crate) mod retry {
    use std::time::Duration;

    /// Refusals that a job survives (published).
    /// Pinned by the test `being_refused_uses_no_retries_but_has_an_end`.
    pub(crate) const MOST_REFUSALS: u32 = 20;

    /// Probes of a broken lane that a job survives: as many as go in four minutes.
    /// Pinned by the test `a_probe_uses_neither_retries_nor_refusals_but_has_an_end`.
    pub(crate) const MOST_PROBES: u32 = 65;

    /// Retries of a job after which a refusal, while others pass, is taken for its own fault: with two of
    /// them limits in slices of 10 s waste more than a hundredth.
    ///
    /// Pinned by the gate of "10 s slices, 1.5 s".
    pub(crate) const OWN_REFUSALS: u32 = 3;

    /// How long a job must have been refused by then: three windows of a minute.
    /// Pinned by the test `a_large_job_that_small_ones_overtake_is_not_to_blame`.
    pub(crate) const OWN_AFTER: Duration = Duration::from_mins(3);

    /// Retry tokens at first and at most (published).
    /// Pinned by the test `a_hundred_retries_spend_all_tokens_and_five_successes_buy_one`.
    pub(crate) const RETRY_TOKENS: u32 = 500;

    /// What a retry costs (published).
    /// Pinned by the test `a_hundred_retries_spend_all_tokens_and_five_successes_buy_one`.
    pub(crate) const RETRY_COST: u32 = 5;
}
