//! Lanes in a summary: those that were throttled, and those whose servers queued.

use std::cmp::Reverse;
use std::fmt::Write as _;

use runner_eval::event::LaneSummary;

use crate::figures;
use crate::visible;

/// Lanes that are listed.
const TOP_LANES: usize = 5;
/// Characters of a lane's name.
const LANE_CHARS: usize = 48;

/// Prints the lanes that were throttled, the most throttled first; calm ones are nobody's concern.
pub(super) fn add(text: &mut String, lanes: &[LaneSummary]) {
    let hits = |lane: &&LaneSummary| lane.metrics.rate_limit_hits;
    let mut throttled: Vec<&LaneSummary> = lanes.iter().filter(|lane| hits(lane) > 0).collect();
    throttled.sort_by_key(|lane| Reverse(hits(lane)));
    for lane in throttled.iter().take(TOP_LANES) {
        let metrics = &lane.metrics;
        let name = visible::line(&lane.lane);
        let _ = writeln!(
            text,
            "  {}: {}, {} throttled, {}, p50 {}, p99 {}",
            visible::cut_middle(&name, LANE_CHARS),
            figures::counted(metrics.total_requests, "request", "requests"),
            figures::count(metrics.rate_limit_hits),
            figures::counted(metrics.retried_requests, "retry", "retries"),
            figures::duration(metrics.latency_p50),
            figures::duration(metrics.latency_p99)
        );
    }
    queued(text, lanes);
    let more = throttled.len().saturating_sub(TOP_LANES);
    if more > 0 {
        let more = figures::counted(more as u64, "more lane was", "more lanes were");
        let _ = writeln!(text, "  {more} throttled");
    }
}

/// Prints the lanes whose servers queued: more at once was no faster.
fn queued(text: &mut String, lanes: &[LaneSummary]) {
    let knees = lanes
        .iter()
        .filter_map(|lane| Some((lane, lane.metrics.knee?)));
    for (lane, knee) in knees.take(TOP_LANES) {
        let name = visible::line(&lane.lane);
        let _ = writeln!(
            text,
            "  {}: answers came no faster with more than {knee} at once",
            visible::cut_middle(&name, LANE_CHARS),
        );
    }
}
