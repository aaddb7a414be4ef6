//! Each misbehaviour of the hostile guest meets its own code, and nothing else happens.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::world::{Measured, Recorder, call, call_of, hostile, sandbox};
use runner_sandbox::{Call, CallLimits, CallOutcome, InputOf, MessageCode, Plugin, abi, limits};

/// Calls the assertion `kind` of the hostile guest.
pub(crate) async fn grade(
    plugin: &Plugin,
    call: Call,
    kind: &str,
) -> CallOutcome<Result<abi::ReadGrade, abi::Error>> {
    let input = abi::Input::new(kind, "an answer");
    plugin
        .evaluate(call, &input, &abi::CallContext::new("case-1"))
        .await
}

/// The text of a call that must succeed.
pub(crate) async fn reason(plugin: &Plugin, call: Call, kind: &str) -> String {
    let called = grade(plugin, call, kind).await;
    let answer = called.result.unwrap_or_else(|error| panic!("{error}"));
    answer.expect("it grades").reason
}

/// Tight limits, so that a test of a budget takes no longer than it must.
fn tight(host: &Arc<Recorder>) -> Call {
    Call {
        limits: CallLimits {
            fuel: Some(20_000_000),
            ..CallLimits::assertion()
        },
        ..call(host)
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "most of it is one table")]
async fn each_misbehaviour_has_its_code() {
    let sandbox = sandbox();
    let host = Recorder::new();
    for (kind, code, says) in [
        ("spin", MessageCode::C103, "20,000,000 units of fuel"),
        ("hog", MessageCode::C102, "limit 128 MiB, asked for"),
        ("panic", MessageCode::C101, "crashed"),
        ("recurse", MessageCode::C105, "recursion"),
        (
            "recurse-in-memory",
            MessageCode::C101,
            "as endless recursion does",
        ),
        ("outside", MessageCode::C101, "outside its memory"),
        ("divide", MessageCode::C101, "crashed"),
        ("bad-pointer", MessageCode::C107, "not in its memory"),
        ("bad-utf8", MessageCode::C108, "UTF-8"),
        ("nan", MessageCode::C109, "grade.score is NaN"),
        ("infinite", MessageCode::C109, "grade.score is inf"),
        (
            "bad-json",
            MessageCode::C109,
            "grade.metadata-json is not JSON at byte 219",
        ),
        ("twice", MessageCode::C109, "'tone' appears twice"),
        (
            "last-words",
            MessageCode::C101,
            "crashed: one\n  two\n  three\n  four\n(",
        ),
    ] {
        // Loaded anew, so that no row counts toward the next one's crashes.
        let plugin = hostile(&sandbox);
        let measured = Measured::begin();
        let called = grade(&plugin, tight_unless_large(&host, kind), kind).await;
        measured.within_bounds_of(kind);
        let error = called.result.expect_err(kind);
        assert_eq!(error.code(), code, "{kind}: {error}");
        let text = error.to_string();
        assert!(text.contains(says), "{kind}: {text}");
        assert!(text.starts_with("plugin 'hostile': C1"), "{text}");
        let help = text
            .lines()
            .filter(|line| line.starts_with("help: "))
            .count();
        assert_eq!(help, 1, "{text}");
        for raw in [
            "wasm trap",
            "wasm backtrace",
            "error while executing",
            "unreachable",
        ] {
            assert!(
                !text.contains(raw),
                "{kind} shows the engine's text: {text}"
            );
        }
        let measured = Measured::begin();
        assert_eq!(
            reason(&plugin, call(&host), "fine").await,
            "fine",
            "after {kind}"
        );
        measured.within_bounds_of("fine");
    }
}

/// Filling memory takes more fuel than `spin` is given.
fn tight_unless_large(host: &Arc<Recorder>, kind: &str) -> Call {
    if kind == "spin" {
        tight(host)
    } else {
        call(host)
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_copied() {
    let sandbox = sandbox();
    let host = Recorder::new();
    for kind in ["flood", "shout"] {
        let plugin = hostile(&sandbox);
        let measured = Measured::begin();
        let error = grade(&plugin, call(&host), kind)
            .await
            .result
            .expect_err(kind);
        measured.within_bounds_of(kind);
        assert_eq!(error.code(), MessageCode::C106, "{kind}: {error}");
        assert!(error.to_string().contains("16 MiB"), "{error}");
    }
    assert!(host.lines().is_empty(), "what was too large went nowhere");
}

#[tokio::test]
async fn time_without_instructions_is_bounded_by_guest_time() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let mut call = call(&host);
    call.limits.guest_time = Duration::from_millis(50);
    call.limits.fuel = None;
    let measured = Measured::begin();
    let called = grade(&plugin, call, "copy").await;
    measured.within_bounds_of("copy");
    let error = called.result.expect_err("it copies for ever");
    assert_eq!(error.code(), MessageCode::C104, "{error}");
    assert!(error.to_string().contains("0.05 s"), "{error}");
    assert!(
        called.usage.guest_cpu > Duration::from_millis(50),
        "{:?}",
        called.usage
    );
}

#[tokio::test]
async fn a_provider_that_spins_ends_after_its_guest_time() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let mut call = call(&host);
    call.limits = CallLimits {
        guest_time: Duration::from_millis(50),
        ..CallLimits::provider()
    };
    let called = complete(&plugin, call, "spin").await;
    assert_eq!(
        called.result.expect_err("it spins").code(),
        MessageCode::C104
    );
}

pub(crate) async fn complete(
    plugin: &Plugin,
    call: Call,
    name: &str,
) -> CallOutcome<Result<abi::ReadCompletion, abi::Error>> {
    let target = abi::Target {
        id: format!("hostile:{name}"),
        name: name.into(),
        config_json: "{}".into(),
    };
    let request = abi::Request::new(vec![abi::Message::text(abi::Role::User, "hi")], "hi");
    plugin
        .complete(call, &target, &request, &abi::CallContext::new("case-1"))
        .await
}

#[tokio::test]
async fn a_provider_is_checked_as_a_grader_is() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    for (name, field) in [
        ("bad-json", "completion.raw-json is not JSON at byte 7"),
        ("no-object", "completion.metadata-json is not a JSON object"),
        ("nan", "completion.cost-usd is NaN"),
        ("negative-cost", "completion.cost-usd is -1"),
    ] {
        let measured = Measured::begin();
        let error = complete(&plugin, call(&host), name)
            .await
            .result
            .expect_err(name);
        measured.within_bounds_of(name);
        assert_eq!(error.code(), MessageCode::C109, "{name}: {error}");
        assert!(error.to_string().contains(field), "{error}");
    }
    let called = complete(&plugin, call(&host), "fine").await;
    let completion = called.result.expect("it answers").expect("an answer");
    assert_eq!(
        completion.completion.message,
        abi::Message::text(abi::Role::Assistant, "fine")
    );
    assert!(
        called.usage.fuel > 0,
        "fuel is measured without a limit, too"
    );
    assert!(called.usage.peak_memory > 0, "{:?}", called.usage);
}

#[tokio::test]
async fn embeddings_have_the_length_asked_for() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let context = abi::CallContext::new("case-1");
    let target = |name: &str| abi::Target {
        id: "hostile".into(),
        name: name.into(),
        config_json: "{}".into(),
    };
    let inputs = ["a".to_owned(), "b".to_owned()];
    let called = plugin
        .embed(call(&host), &target("fine"), &inputs, &context)
        .await;
    assert_eq!(
        called
            .result
            .expect("embedded")
            .expect("vectors")
            .vectors
            .len(),
        2
    );
    let measured = Measured::begin();
    let called = plugin
        .embed(call(&host), &target("short"), &inputs, &context)
        .await;
    measured.within_bounds_of("short");
    assert_eq!(
        called.result.expect_err("one short").code(),
        MessageCode::C109
    );
}

#[tokio::test]
async fn log_lines_are_cut_counted_and_the_rest_is_said() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);

    let host = Recorder::new();
    let measured = Measured::begin();
    assert_eq!(reason(&plugin, call(&host), "chatter").await, "fine");
    measured.within_bounds_of("chatter");
    let lines = host.lines();
    assert_eq!(lines.len(), limits::MAX_LOG_LINES as usize + 1);
    assert_eq!(lines.last().expect("lines").message, "744 lines dropped");

    let host = Recorder::new();
    let measured = Measured::begin();
    assert_eq!(reason(&plugin, call(&host), "wide-log").await, "fine");
    measured.within_bounds_of("wide-log");
    assert_eq!(
        host.lines().len(),
        33,
        "32 of 8 KiB each, and the last word"
    );

    let host = Recorder::new();
    let measured = Measured::begin();
    assert_eq!(reason(&plugin, call(&host), "long-line").await, "fine");
    measured.within_bounds_of("long-line");
    let line = &host.lines()[0].message;
    assert!(line.len() <= limits::MAX_LOG_LINE_BYTES, "{}", line.len());
    assert!(line.ends_with("é…"), "cut at a character, with a mark");
}

#[tokio::test]
async fn effects_are_counted_and_the_host_never_sees_those_beyond() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    for kind in ["http", "http-all", "streams"] {
        let host = Recorder::new();
        let measured = Measured::begin();
        let called = grade(&plugin, call(&host), kind).await;
        measured.within_bounds_of(kind);
        assert_eq!(called.usage.http_calls, 100);
        let reason = called.result.expect("called").expect("graded").reason;
        assert_eq!(reason, "64 ok, 36 budget, 0 denied, 0 other", "{kind}");
        assert_eq!(host.http.load(Ordering::SeqCst), 64, "{kind}");
    }
    for kind in ["llm", "llm-all", "embed"] {
        let host = Recorder::new();
        let measured = Measured::begin();
        assert_eq!(
            reason(&plugin, call(&host), kind).await,
            "32 ok, 8 budget, 0 denied, 0 other",
            "{kind}"
        );
        measured.within_bounds_of(kind);
        assert_eq!(host.llm.load(Ordering::SeqCst), 32, "{kind}");
    }
}

#[tokio::test]
async fn a_nested_call_cannot_call_models() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let nested = Call {
        nested: true,
        ..call(&host)
    };
    assert_eq!(
        reason(&plugin, nested, "llm").await,
        "0 ok, 0 budget, 40 denied, 0 other"
    );
    assert_eq!(host.llm.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_guest_reads_one_response_at_a_time() {
    let (sandbox, host) = (sandbox(), Recorder::new());
    let plugin = hostile(&sandbox);
    let measured = Measured::begin();
    let told = reason(&plugin, call(&host), "streams-at-once").await;
    measured.within_bounds_of("streams-at-once");
    assert_eq!(told, "1 ok, 0 budget, 0 denied, 99 other");
    assert_eq!(host.http.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn dropping_a_call_drops_the_guest_and_its_requests() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::silent();
    let task = {
        let (plugin, call) = (plugin.clone(), call(&host));
        tokio::spawn(async move { grade(&plugin, call, "http-all").await.usage })
    };
    while host.hanging.load(Ordering::SeqCst) < 64 {
        host.hung.notified().await;
    }
    task.abort();
    assert!(task.await.expect_err("aborted").is_cancelled());
    assert_eq!(
        host.hanging.load(Ordering::SeqCst),
        0,
        "their futures are gone"
    );
}

#[tokio::test]
async fn a_spinning_guest_gives_its_thread_back() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    // One thread for everything: the guest must yield, or this never gets past the spawn.
    let task = {
        let (plugin, mut call) = (plugin.clone(), call(&host));
        call.limits.fuel = None;
        call.limits.guest_time = Duration::from_hours(1);
        tokio::spawn(async move { grade(&plugin, call, "spin").await.usage })
    };
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    assert!(!task.is_finished(), "it spins");
    task.abort();
    assert!(task.await.expect_err("aborted").is_cancelled());
}

#[tokio::test]
async fn ten_crashes_in_a_row_disable_a_plugin_and_a_success_starts_over() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let panics = async |test| {
        let called = grade(&plugin, call_of(&host, test), "panic").await;
        assert_eq!(called.result.expect_err("panics").code(), MessageCode::C101);
    };
    for crash in 1..limits::MAX_CRASHES_IN_A_ROW {
        panics(crash).await;
        // One test makes as many calls as it likes.
        panics(crash).await;
    }
    assert_eq!(reason(&plugin, call(&host), "fine").await, "fine");
    for crash in 0..limits::MAX_CRASHES_IN_A_ROW {
        assert!(!plugin.disabled(InputOf::default()), "not yet");
        panics(crash).await;
    }
    assert!(plugin.disabled(InputOf::default()), "ten in a row");
    let of_a_file = InputOf {
        file: 1,
        ..InputOf::default()
    };
    assert!(
        !plugin.disabled(of_a_file),
        "rows of a file are another matter"
    );
    for _ in 0..3 {
        let called = grade(&plugin, call(&host), "fine").await;
        assert_eq!(
            called.result.expect_err("disabled").code(),
            MessageCode::C111
        );
    }
    let said = host
        .lines()
        .iter()
        .filter(|line| line.message.contains("C111"))
        .count();
    assert_eq!(said, 1, "once");
}

#[tokio::test]
async fn check_config_is_asked_with_everything_denied() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    assert_eq!(
        plugin.check_config("{}").await.expect("it answers"),
        [("/a".to_owned(), "{}".to_owned())]
    );
    let measured = Measured::begin();
    let error = plugin.check_config("\"spin\"").await.expect_err("it spins");
    measured.within_bounds_of("check:spin");
    assert_eq!(error.code(), MessageCode::C103, "{error}");
}

#[tokio::test]
async fn more_calls_than_instances_wait_their_turn() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let (plugin, call) = (plugin.clone(), call(&host));
            tokio::spawn(async move { grade(&plugin, call, "http").await.result.is_ok() })
        })
        .collect();
    for call in calls {
        assert!(call.await.expect("it ends"), "it grades");
    }
}
