//! The attempts and waits of a case, one bar below the other on one line of time.
//!
//! What each says stands beside its bar in words, so that nobody has to measure.

use std::time::Duration;

use maud::{Markup, html};
use runner_telling::figures;

use super::super::line;
use crate::record::Attempt;

/// The width of a bar as it is drawn; on the page it is stretched.
const WIDE: f64 = 600.0;
/// The least that is seen of a part that is there.
const THIN: f64 = 2.0;
/// Attempts that are shown: as many as a run keeps of a case.
const MOST: usize = 32;

/// The section; nothing where the record says nothing.
pub(super) fn section(attempts: &[Attempt]) -> Markup {
    let attempts = &attempts[..attempts.len().min(MOST)];
    let end = attempts.iter().map(Attempt::end_ms).max().unwrap_or(0);
    html! {
        @if !attempts.is_empty() {
            section aria-label="Attempts and waits" {
                h2 { "Attempts and waits" }
                @for attempt in attempts { (bar(attempt, end.max(1))) }
                p.times aria-hidden="true" { span { "0 s" } span { (duration(end)) } }
                p.hint { "Time counts from the beginning of the case. What was answered at once, the first time, is not listed." }
            }
        }
    }
}

fn bar(attempt: &Attempt, end: u64) -> Markup {
    let at = |ms: u64| ms.min(end) as f64 / end as f64 * WIDE;
    let queued = at(attempt.queued_ms);
    let sent = at(attempt.sent_ms());
    let over = at(attempt.end_ms());
    let told = told(attempt);
    let part = |class: &str, from: f64, to: f64| {
        let width = (to - from).max(THIN);
        let from = from.min(WIDE - width);
        html! { rect class=(class) x=(format!("{from:.1}")) y="2" width=(format!("{width:.1}")) height="12" {} }
    };
    html! {
        div.band {
            span { "Attempt " (attempt.number) " · " (line(&attempt.lane)) } small { (told) }
            svg.attempt viewBox=(format!("0 0 {WIDE} 16")) preserveAspectRatio="none" role="img" {
                title { "Attempt " (attempt.number) }
                desc { (told) }
                path.axis d=(format!("M0 8H{WIDE}")) {}
                @if attempt.waited_ms > 0 { (part("waited", queued, sent)) }
                @if attempt.worked_ms.is_some() { (part(kind(attempt), sent, over)) }
            }
        }
    }
}

/// Wait, time on the wire, and end, in words.
fn told(attempt: &Attempt) -> String {
    let mut parts = Vec::new();
    if attempt.waited_ms > 0 {
        let (from, to) = (duration(attempt.queued_ms), duration(attempt.sent_ms()));
        parts.push(format!(
            "waited {} ({from} – {to})",
            duration(attempt.waited_ms)
        ));
    }
    match attempt.worked_ms {
        Some(ms) => parts.push(format!("on the wire {}", duration(ms))),
        None => parts.push("not sent".to_owned()),
    }
    let status = attempt.status.map(|status| status.to_string());
    let ended = match (&attempt.ended, attempt.worked_ms) {
        (Some(word), _) => Some(line(word)),
        (None, Some(_)) => Some("cut off".to_owned()),
        (None, None) => None,
    };
    let ended: Vec<String> = status.into_iter().chain(ended).collect();
    parts.push(ended.join(" "));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn kind(attempt: &Attempt) -> &'static str {
    match attempt.ended.as_deref() {
        Some("ok") => "ok",
        Some("throttled") => "throttled",
        Some(_) => "fault",
        None => "cut",
    }
}

fn duration(ms: u64) -> String {
    figures::duration(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(json: &str) -> Attempt {
        serde_json::from_str(json).expect("an attempt")
    }

    #[test]
    fn waits_and_attempts_lie_one_after_the_other() {
        let attempts = [
            attempt(
                r#"{"lane":"a<b","attempt":1,"queuedMs":0,"waitedMs":0,"workedMs":1000,"status":429,"ended":"throttled"}"#,
            ),
            attempt(
                r#"{"lane":"a<b","attempt":2,"queuedMs":1000,"waitedMs":2000,"workedMs":1000,"status":200,"ended":"ok"}"#,
            ),
        ];
        let page = section(&attempts).0;
        for part in [
            "<small>on the wire 1.0 s · 429 throttled</small>",
            "<small>waited 2.0 s (1.0 s – 3.0 s) · on the wire 1.0 s · 200 ok</small>",
            "<rect class=\"throttled\" x=\"0.0\" y=\"2\" width=\"150.0\"",
            "<rect class=\"waited\" x=\"150.0\" y=\"2\" width=\"300.0\"",
            "<rect class=\"ok\" x=\"450.0\" y=\"2\" width=\"150.0\"",
            "Attempt 2 · a&lt;b",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(section(&[]).0, "");
    }

    #[test]
    fn what_never_went_out_or_was_cut_off_says_so() {
        let waits = attempt(r#"{"lane":"a","attempt":1,"queuedMs":0,"waitedMs":5000}"#);
        assert_eq!(told(&waits), "waited 5.0 s (0 ms – 5.0 s) · not sent");
        let cut = attempt(r#"{"lane":"a","attempt":3,"workedMs":70}"#);
        assert_eq!(told(&cut), "on the wire 70 ms · cut off");
        // Of another program: every number may be any.
        let strange = attempt(r#"{"queuedMs":18446744073709551615,"waitedMs":9,"workedMs":9}"#);
        assert!(section(&[strange]).0.contains("<rect"));
    }
}
