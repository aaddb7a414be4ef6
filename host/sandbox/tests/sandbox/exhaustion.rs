//! What a guest takes of the host: time, memory, log lines, handles. Not only that it ends, but
//! what it cost until then.

use std::time::Duration;

use runner_sandbox::{CallLimits, MessageCode, limits};

use crate::hostile::{complete, grade, reason};
use crate::world::{Measured, Recorder, call, hostile, sandbox};

#[tokio::test]
async fn a_guest_that_sleeps_spends_its_guest_time() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    for kind in [
        "sleep",
        "sleep-in-turns",
        "poll-many",
        "wasi-body-without-end",
    ] {
        let measured = Measured::begin();
        let mut short = call(&host);
        short.limits.guest_time = Duration::from_millis(100);
        let called = grade(&plugin, short.clone(), kind).await;
        let error = called.result.expect_err(kind);
        assert_eq!(error.code(), MessageCode::C104, "{kind}: {error}");
        assert!(called.usage.guest_cpu >= short.limits.guest_time, "{kind}");
        short.limits = CallLimits {
            guest_time: short.limits.guest_time,
            ..CallLimits::provider()
        };
        let error = complete(&plugin, short, kind).await.result.expect_err(kind);
        assert_eq!(error.code(), MessageCode::C104, "{kind}: {error}");
        measured.within_bounds_of(kind);
    }
}

#[tokio::test]
async fn a_response_is_the_hosts_until_the_guest_has_the_memory_for_it() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::with_bodies(4 << 20);
    let called = grade(&plugin, call(&host), "http").await;
    assert!(called.result.is_ok(), "{:?}", called.result);
    let deliveries = host.deliveries.lock().expect("no test panics in here");
    let first = deliveries.iter().position(|it| *it == "answered");
    let after = &deliveries[first.expect("it asks")..];
    assert_eq!(after[..3], ["answered", "memory", "delivered"], "{after:?}");
}

#[tokio::test]
async fn a_check_that_sleeps_or_grows_ends() {
    let sandbox = sandbox();
    for (kind, code) in [
        ("sleep", MessageCode::C104),
        ("hog", MessageCode::C102),
        ("flood", MessageCode::C102),
    ] {
        let plugin = hostile(&sandbox);
        let measured = Measured::begin();
        let error = plugin.check_config(&format!("\"{kind}\"")).await;
        assert_eq!(error.expect_err(kind).code(), code, "{kind}");
        measured.within_bounds_of(&format!("check:{kind}"));
    }
}

#[tokio::test]
async fn problems_of_a_check_are_few_and_short() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let measured = Measured::begin();
    let problems = plugin.check_config("\"many-problems\"").await;
    measured.within_bounds_of("check:many-problems");
    let problems = problems.expect("it answers");
    assert_eq!(problems.len(), 32);
    for (pointer, message) in &problems {
        assert!(
            !pointer.contains('\n') && !message.contains('\n'),
            "{problems:?}"
        );
    }
}

#[tokio::test]
async fn there_is_little_of_a_system() {
    let sandbox = sandbox();
    let host = Recorder::new();
    for (kind, says) in [
        ("look-around", "0 variables, 0 arguments, 0 folders"),
        ("stdin", "0 bytes"),
        ("stdout-lines", "written"),
        ("stdout-one-line", "written"),
    ] {
        let plugin = hostile(&sandbox);
        let measured = Measured::begin();
        assert_eq!(reason(&plugin, call(&host), kind).await, says, "{kind}");
        measured.within_bounds_of(kind);
    }
    for (kind, code, says) in [
        ("exit", MessageCode::C101, "exited with status 1"),
        ("handles", MessageCode::C101, "opened too many"),
        ("pollables", MessageCode::C101, "opened too many"),
        ("wasi-requests", MessageCode::C101, "opened too many"),
        ("streams-kept", MessageCode::C101, "opened too many"),
        ("random-much", MessageCode::C107, "passed a value"),
        ("zeroes", MessageCode::C107, "passed a value"),
    ] {
        let plugin = hostile(&sandbox);
        let measured = Measured::begin();
        let error = grade(&plugin, call(&host), kind).await.result;
        measured.within_bounds_of(kind);
        let error = error.expect_err(kind);
        assert_eq!(error.code(), code, "{kind}: {error}");
        assert!(error.to_string().contains(says), "{kind}: {error}");
    }
    let plugin = hostile(&sandbox);
    let mut short = call(&host);
    short.limits.guest_time = Duration::from_millis(100);
    let measured = Measured::begin();
    let error = grade(&plugin, short, "random-often").await.result;
    assert_eq!(error.expect_err("it ends").code(), MessageCode::C104);
    measured.within_bounds_of("random-often");
}

#[tokio::test]
async fn what_a_guest_prints_is_bounded() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    for kind in [
        "stdout-lines",
        "stdout-one-line",
        "empty-fields",
        "many-fields",
        "log-help",
    ] {
        let host = Recorder::new();
        let measured = Measured::begin();
        drop(reason(&plugin, call(&host), kind).await);
        let lines = host.lines();
        let most = limits::MAX_LOG_LINES as usize + 1;
        assert!(
            !lines.is_empty() && lines.len() <= most,
            "{kind}: {}",
            lines.len()
        );
        let fields = lines.iter().flat_map(|line| &line.fields);
        let words: usize = fields.map(|(key, value)| key.len() + value.len() + 2).sum();
        let text: usize = lines.iter().map(|line| line.message.len()).sum();
        assert!(
            words + text <= limits::MAX_LOG_BYTES + 1_000,
            "{kind}: {words} + {text}"
        );
        measured.within_bounds_of(kind);
    }
    let host = Recorder::new();
    reason(&plugin, call(&host), "many-fields").await;
    let line = &host.lines()[0];
    assert_eq!(line.fields.len(), limits::MAX_LOG_FIELDS);
    assert_eq!(line.message, "many (968 more fields dropped)");
}

#[tokio::test]
async fn last_words_are_no_lines_of_ours() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let measured = Measured::begin();
    let error = grade(&plugin, call(&host), "last-words-help").await.result;
    measured.within_bounds_of("last-words-help");
    let text = error.expect_err("it panics").to_string();
    let helps = text
        .lines()
        .filter(|line| line.trim_start().starts_with("help:"));
    assert_eq!(helps.count(), 1, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn json_of_a_guest_is_bounded_before_it_is_read() {
    let sandbox = sandbox();
    let host = Recorder::new();
    for (kind, field, says) in [
        ("deep-json", "metadata-json", "deeper than 100 levels"),
        ("wide-json", "metadata-json", "more than 200000 values"),
        ("same-keys", "metadata-json", "more than 200000 values"),
        ("deep-error", "error.detail-json", "deeper than 100 levels"),
    ] {
        let plugin = hostile(&sandbox);
        let measured = Measured::begin();
        let error = grade(&plugin, call(&host), kind)
            .await
            .result
            .expect_err(kind);
        assert_eq!(error.code(), MessageCode::C109, "{kind}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(field) && text.contains(says),
            "{kind}: {text}"
        );
        assert!(text.len() < 1_000, "{kind}");
        let error = complete(&plugin, call(&host), kind)
            .await
            .result
            .expect_err(kind);
        assert_eq!(error.code(), MessageCode::C109, "{kind}: {error}");
        measured.within_bounds_of(kind);
    }
    let plugin = hostile(&sandbox);
    let measured = Measured::begin();
    assert_eq!(reason(&plugin, call(&host), "colliding-keys").await, "fine");
    measured.within_bounds_of("colliding-keys");
}

#[tokio::test]
async fn a_request_that_is_too_large_is_not_copied() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let measured = Measured::begin();
    let error = grade(&plugin, call(&host), "large-request").await.result;
    assert_eq!(error.expect_err("too large").code(), MessageCode::C106);
    assert_eq!(host.http.load(std::sync::atomic::Ordering::SeqCst), 0);
    measured.within_bounds_of("large-request");
}
