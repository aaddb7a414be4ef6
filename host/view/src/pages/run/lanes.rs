//! How the lanes of a run stood over time: for each one what was in flight and allowed, what waited and what
//! was refused, as small charts that need no script, and a table of where they ended.
//!
//! A chart has no text of its own, so that it can be as wide as there is room: what it shows, how high it
//! goes and how long it lasts stand beside it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use maud::{Markup, html};
use runner_store::{LaneMoment, LaneSample};
use runner_telling::figures;

use super::line;
use crate::left::StoredSummary;

/// The size of a chart as it is drawn; on the page it is leveled.
const WIDE: f64 = 600.0;
const HIGH: f64 = 40.0;
/// The narrowest time that a sample stands for: they come once a second.
const SECOND: u64 = 1000;

/// A value for a part of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    from: u64,
    to: u64,
    value: u64,
}

/// A lane over time.
struct Course {
    lane: String,
    last: LaneSample,
    in_flight: Vec<Level>,
    allowed: Vec<Level>,
    waiting: Vec<Level>,
    /// Refused within each part of the time.
    refused: Vec<Level>,
}

/// The charts, what the summary that the run left says of them, and while the run `goes_on` how the lanes stand; nothing where no lane was ever seen.
pub(crate) fn charts(moments: &[LaneMoment], left: &StoredSummary, goes_on: bool) -> Markup {
    let Some(end) = moments.last().map(|last| last.at_ms) else {
        return html! {};
    };
    let courses = courses(moments);
    html! {
        div.lanes { @for course in &courses { (figure(course, end, left.knee(&course.lane))) } }
        @if goes_on { div.scroll tabindex="0" role="region" aria-label="Lanes at the last sample" { (table(&courses)) } }
    }
}

fn figure(course: &Course, end: u64, knee: Option<u64>) -> Markup {
    let (flight, allowed) = (most(&course.in_flight), most(&course.allowed));
    let (waiting, refused) = (most(&course.waiting), sum(&course.refused));
    // What is allowed may be far more than is ever used: then its line lies at the upper edge.
    let top = flight.max(allowed.min(flight.saturating_mul(2))).max(1);
    let name = line(&course.lane);
    let count = figures::count;
    html! {
        figure.lane {
            figcaption { (name) }
            @if let Some(why) = why_waited(course) { p.hint { (why) } }
            @if let Some(knee) = knee { p.hint { "Answers came no faster with more than " (count(knee)) " at once." } }
            (band("In flight", &format!("{} at most, of {} allowed (dashed)", count(flight), count(allowed)), &name, &html! {
                path.flight d=(area(&course.in_flight, end, top)) {}
                path.allowed d=(outline(&course.allowed, end, top)) {}
            }))
            @if waiting > 0 { (band("Waiting", &format!("{} at most", count(waiting)), &name, &html! {
                path.waits d=(area(&course.waiting, end, waiting)) {}
            })) } @else { p.band { span { "Waiting" } small { "never" } } }
            @if refused > 0 { (band("Refused", &format!("{} in all", count(refused)), &name, &html! {
                path.refused d=(area(&course.refused, end, most(&course.refused))) {}
            })) } @else { p.band { span { "Refused" } small { "never" } } }
            p.times aria-hidden="true" { span { "0 s" } span { (lasted(end)) } }
        }
    }
}

/// How much of the time requests waited, and for what, as far as the samples show it.
fn why_waited(course: &Course) -> Option<String> {
    let lasted = |it: &Level| it.to.saturating_sub(it.from);
    let all: u64 = course.waiting.iter().map(lasted).sum();
    let levels = course
        .waiting
        .iter()
        .zip(&course.in_flight)
        .zip(&course.allowed);
    let (mut full, mut held) = (0, 0);
    for ((waiting, in_flight), allowed) in levels.filter(|it| it.0.0.value > 0) {
        let is_full = in_flight.value >= allowed.value;
        *(if is_full { &mut full } else { &mut held }) += lasted(waiting);
    }
    let share = |part| figures::percent(part, all);
    let for_places = "as many were in flight as were allowed";
    let for_limits = "a limit, the pace or a pause held them back";
    match (full, held) {
        (0, 0) => None,
        (full, 0) => Some(format!(
            "Requests waited {} of the time, since {for_places}.",
            share(full)
        )),
        (0, held) => Some(format!(
            "Requests waited {} of the time, since {for_limits}.",
            share(held)
        )),
        (full, held) => Some(format!(
            "Requests waited {} of the time, since {for_places}, and {}, since {for_limits}.",
            share(full),
            share(held)
        )),
    }
}

/// One chart with what it shows.
fn band(what: &str, told: &str, lane: &str, drawn: &Markup) -> Markup {
    html! {
        div.band {
            span { (what) } small { (told) }
            svg viewBox=(format!("0 0 {WIDE} {HIGH}")) preserveAspectRatio="none" role="img" {
                title { (what) " of " (lane) " over time" }
                desc { (told) }
                path.axis d=(format!("M0 {HIGH}H{WIDE}")) {}
                (drawn)
            }
        }
    }
}

fn table(courses: &[Course]) -> Markup {
    html! {
        table {
            caption { "At the last sample" }
            thead { tr {
                th scope="col" { "Lane" } th.n scope="col" { "In flight" } th.n scope="col" { "Allowed" }
                th.n scope="col" { "Waiting" } th.n scope="col" { "Refused" }
            } }
            tbody { @for course in courses { tr {
                th scope="row" { (line(&course.lane)) }
                td.n { (figures::count(course.last.in_flight.into())) } td.n { (figures::count(course.last.allowed.into())) }
                td.n { (figures::count(course.last.waiting)) } td.n { (figures::count(sum(&course.refused))) }
            } } }
        }
    }
}

/// The time that was sampled.
fn lasted(end: u64) -> String {
    figures::duration(Duration::from_millis(end))
}

fn most(levels: &[Level]) -> u64 {
    levels.iter().map(|it| it.value).max().unwrap_or(0)
}

fn sum(levels: &[Level]) -> u64 {
    levels.iter().map(|it| it.value).sum()
}

/// Each lane over time, by name.
fn courses(moments: &[LaneMoment]) -> Vec<Course> {
    let lanes: BTreeSet<&str> = moments
        .iter()
        .flat_map(|moment| moment.lanes.iter().map(|sample| sample.lane.as_str()))
        .collect();
    let times = times(moments);
    let course = |lane: &str| {
        let samples = moments.iter().zip(&times).filter_map(|(moment, time)| {
            let sample = moment.lanes.iter().find(|sample| sample.lane == lane)?;
            Some((*time, sample))
        });
        let samples: Vec<_> = samples.collect();
        let of = |value: &dyn Fn(&LaneSample) -> u64| {
            let level = |((from, to), sample): &((u64, u64), &LaneSample)| Level {
                from: *from,
                to: *to,
                value: value(sample),
            };
            samples.iter().map(level).collect::<Vec<_>>()
        };
        Some(Course {
            lane: lane.to_owned(),
            last: samples.last()?.1.clone(),
            in_flight: of(&|it| it.in_flight.into()),
            allowed: of(&|it| it.allowed.into()),
            waiting: of(&|it| it.waiting),
            refused: differences(of(&|it| it.refused)),
        })
    };
    lanes.into_iter().filter_map(course).collect()
}

/// What each moment stands for: the time since the one before, unless that is so long ago that nobody
/// looked meanwhile.
fn times(moments: &[LaneMoment]) -> Vec<(u64, u64)> {
    let pairs = || moments.windows(2).map(|pair| pair[1].at_ms - pair[0].at_ms);
    let usual = pairs().min().unwrap_or(SECOND);
    let mut before = 0;
    let time = |moment: &LaneMoment| {
        let at = moment.at_ms;
        let since = std::mem::replace(&mut before, at);
        let is_near = at.saturating_sub(since) <= usual.saturating_mul(2);
        let from = if is_near {
            since
        } else {
            at.saturating_sub(usual)
        };
        (from, at)
    };
    moments.iter().map(time).collect()
}

/// Counts that only grow as what came within each part of the time. One that is less than before is of a session
/// that began anew.
fn differences(mut counts: Vec<Level>) -> Vec<Level> {
    let mut before = 0;
    for count in &mut counts {
        let all = std::mem::replace(&mut before, count.value);
        count.value = count.value.checked_sub(all).unwrap_or(count.value);
    }
    counts
}

/// Steps as a surface that stands on the lower edge.
fn area(levels: &[Level], end: u64, top: u64) -> String {
    drawn(levels, end, top, true)
}

/// Steps as a line.
fn outline(levels: &[Level], end: u64, top: u64) -> String {
    drawn(levels, end, top, false)
}

fn drawn(levels: &[Level], end: u64, top: u64, is_area: bool) -> String {
    let x = |at: u64| format!("{:.1}", at as f64 / end.max(1) as f64 * WIDE);
    // A line at the very edge would be cut in half.
    let y = |value: u64| {
        let share = value.min(top) as f64 / top.max(1) as f64;
        format!("{:.1}", HIGH - share * (HIGH - 1.0))
    };
    let mut path = String::new();
    let mut last: Option<Level> = None;
    let close = |path: &mut String, last: Option<Level>| {
        if let Some(last) = last {
            let edge = if is_area {
                format!("V{HIGH}Z")
            } else {
                String::new()
            };
            let _ = write!(path, "H{}{edge}", x(last.to));
        }
    };
    for level in levels {
        match last.filter(|last| last.to == level.from) {
            Some(last) if last.value == level.value => {}
            Some(_) => {
                let _ = write!(path, "H{}V{}", x(level.from), y(level.value));
            }
            None => {
                close(&mut path, last);
                let from = x(level.from);
                let _ = if is_area {
                    write!(path, "M{from} {HIGH}V{}", y(level.value))
                } else {
                    write!(path, "M{from} {}", y(level.value))
                };
            }
        }
        last = Some(*level);
    }
    close(&mut path, last);
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn left() -> StoredSummary {
        StoredSummary::read(
            &json!({ "lanes": [{ "lane": "a", "inFlightAtKnee": 2 }] }).to_string(),
            "",
        )
    }

    fn moment(at_ms: u64, in_flight: u32, refused: u64) -> LaneMoment {
        let sample = LaneSample {
            lane: "a".to_owned(),
            in_flight,
            allowed: 4,
            waiting: 0,
            refused,
        };
        LaneMoment {
            at_ms,
            lanes: vec![sample],
        }
    }

    #[test]
    fn steps_are_drawn_where_something_changes_and_broken_where_nobody_looked() {
        let moments = [
            moment(1000, 2, 0),
            moment(2000, 2, 0),
            moment(3000, 4, 0),
            moment(10_000, 1, 0),
        ];
        let course = courses(&moments).remove(0);
        assert_eq!(
            area(&course.in_flight, 10_000, 4),
            "M0.0 40V20.5H120.0V1.0H180.0V40ZM540.0 40V30.2H600.0V40Z"
        );
        assert_eq!(
            outline(&course.allowed, 10_000, 4),
            "M0.0 1.0H180.0M540.0 1.0H600.0"
        );
    }

    #[test]
    fn what_is_refused_is_told_when_it_was_also_of_a_session_that_began_anew() {
        let counts = [(1000, 2), (2000, 2), (3000, 5), (4000, 1)];
        let moments = counts.map(|(at, refused)| moment(at, 1, refused));
        let course = courses(&moments).remove(0);
        let values: Vec<u64> = course.refused.iter().map(|it| it.value).collect();
        assert_eq!(values, [2, 0, 3, 1]);
        let page = charts(&moments, &left(), true).0;
        assert!(page.contains("6 in all"), "{page}");
        assert!(
            page.contains("no faster with more than 2 at once"),
            "{page}"
        );
        assert!(page.contains("<small>never</small>"), "{page}");
    }

    #[test]
    fn why_requests_waited_is_read_off_what_was_allowed() {
        let waits = |waiting: &[u64], in_flight: [u32; 2]| {
            let moments = waiting.iter().enumerate().map(|(at, waiting)| {
                let mut moment = moment(at as u64 * 1000 + 1000, in_flight[at % 2], 0);
                moment.lanes[0].waiting = *waiting;
                moment
            });
            why_waited(&courses(&moments.collect::<Vec<_>>())[0])
        };
        assert_eq!(waits(&[0, 0], [4, 4]), None);
        let told = waits(&[3, 0], [4, 4]).expect("one waited");
        assert_eq!(
            told,
            "Requests waited 50.0 % of the time, since as many were in flight as were allowed."
        );
        let told = waits(&[3, 3, 0, 0], [4, 1]).expect("some waited");
        assert!(told.contains("25.0 % of the time, since as many"), "{told}");
        assert!(told.ends_with("and 25.0 %, since a limit, the pace or a pause held them back."));
    }

    #[test]
    fn names_are_texts_and_no_lane_is_no_chart() {
        let mut moment = moment(1000, 1, 0);
        moment.lanes[0].lane = "</title><script>x".to_owned();
        let page = charts(&[moment], &left(), true).0;
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
        assert_eq!(charts(&[], &left(), true).0, "");
    }
}
