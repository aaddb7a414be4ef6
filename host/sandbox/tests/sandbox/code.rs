//! Code of configs in the JavaScript plugin: what it is, what hostile code costs, what it sees.

use std::sync::Arc;

use runner_sandbox::{
    Call, CallLimits, CallOutcome, InputOf, MessageCode, Plugin, Purity, Sandbox, abi,
};
use serde_json::Value;

use crate::world::{Recorder, call, plugin, sandbox};

fn javascript(sandbox: &Sandbox) -> Plugin {
    match sandbox.load(&plugin("javascript"), None) {
        Ok(plugin) => plugin,
        Err(error) => panic!("{error}"),
    }
}

fn code(source: &str) -> abi::Program {
    abi::Program {
        language: "javascript".into(),
        form: if source.contains('\n') {
            abi::Form::Body
        } else {
            abi::Form::Expression
        },
        name: "test".into(),
        source: source.into(),
        entry: None,
        modules: Vec::new(),
        clock_ms: Some(1_700_000_000_000),
    }
}

async fn run(
    plugin: &Plugin,
    call: Call,
    source: &str,
) -> CallOutcome<Result<Option<Value>, abi::ScriptFailure>> {
    let arguments = [abi::Argument {
        name: "output".into(),
        value_json: "\"an answer\"".into(),
    }];
    let context = abi::CallContext::new("case-1");
    plugin
        .script(call, &code(source), &arguments, &context)
        .await
}

/// The JSON of a program's result, or the kind of its failure.
async fn result(plugin: &Plugin, source: &str) -> Result<Option<String>, abi::FailureKind> {
    let called = run(plugin, call(&Recorder::new()), source).await;
    let outcome = called
        .result
        .unwrap_or_else(|error| panic!("{source}: {error}"));
    let text = |value: Option<Value>| value.map(|value| value.to_string());
    outcome.map(text).map_err(|failure| failure.kind)
}

/// Tight limits, so that a test of a budget takes no longer than it must.
fn tight(host: &Arc<Recorder>) -> Call {
    Call {
        limits: CallLimits {
            fuel: Some(50_000_000),
            ..CallLimits::script()
        },
        ..call(host)
    }
}

#[tokio::test]
async fn the_javascript_plugin_is_pure_and_says_what_it_runs() {
    let sandbox = sandbox();
    let plugin = javascript(&sandbox);
    assert_eq!(plugin.purity(), Purity::Pure);
    let languages: Vec<_> = plugin
        .script_languages()
        .iter()
        .map(|language| (language.name.as_str(), language.extensions.join(" ")))
        .collect();
    assert_eq!(
        languages,
        [("javascript", "js cjs mjs ts cts mts".to_owned())]
    );
}

#[tokio::test]
async fn code_sees_its_arguments_and_a_clock_of_its_own() {
    let sandbox = sandbox();
    let plugin = javascript(&sandbox);
    for (source, expected) in [
        ("output.length", "9"),
        ("Date.now()", "1700000000000"),
        ("new Date().toISOString()", "\"2023-11-14T22:13:20.000Z\""),
        ("new Date(2024, 0, 1).getTimezoneOffset()", "0"),
        ("typeof std + typeof os", "\"undefinedundefined\""),
        ("(1234.5).toFixed(2) + 1e21 + 0.1", "\"1234.501e+210.1\""),
        ("/(?<y>\\d{4})/u.exec('in 2024').groups.y", "\"2024\""),
        (
            "const f = async (n) => n ? await f(n - 1) : 'deep'; f(100)",
            "\"deep\"",
        ),
    ] {
        assert_eq!(
            result(&plugin, source).await,
            Ok(Some(expected.into())),
            "{source}"
        );
    }
}

#[tokio::test]
async fn equal_calls_have_equal_outcomes() {
    let sandbox = sandbox();
    let plugin = javascript(&sandbox);
    let source = "[Math.random(), Date.now(), Object.keys(globalThis).length]";
    let first = result(&plugin, source).await;
    assert!(first.is_ok());
    assert_eq!(first, result(&plugin, source).await);
}

#[tokio::test]
async fn hostile_code_costs_its_call() {
    let sandbox = sandbox();
    let plugin = javascript(&sandbox);
    let host = Recorder::new();
    for source in [
        "while (true) {}\n",
        "'x'.repeat(50e6)",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "new Promise((done) => { const go = () => Promise.resolve().then(go); go(); })",
        "Object.defineProperty(globalThis, 'x', { get() { while (true); } }); x\n",
    ] {
        let error = run(&plugin, tight(&host), source)
            .await
            .result
            .expect_err("stopped");
        assert_eq!(error.0.code, MessageCode::C103, "{source}: {error}");
    }
    // Where the engine does not look at its depth, the host does.
    let deep = run(&plugin, call(&host), "JSON.parse('['.repeat(1e5))").await;
    assert_eq!(deep.result.expect_err("stopped").0.code, MessageCode::C105);
    for (source, kind) in [
        (
            "const a = [];\nfor (;;) a.push(new Uint8Array(1 << 20));",
            abi::FailureKind::Exhausted,
        ),
        (
            "let s = 'x';\nfor (;;) s += s;",
            abi::FailureKind::Exhausted,
        ),
        ("const f = () => 1 + f(); f()", abi::FailureKind::Exception),
        ("'x'.repeat(20e6)", abi::FailureKind::BadResult),
        ("process.env.HOME", abi::FailureKind::Unsupported),
    ] {
        let found = result(&plugin, source).await;
        let found = found.map(|text| text.map(|text| text.len()));
        assert_eq!(found, Err(kind), "{source}");
    }
    assert!(!plugin.disabled(InputOf::default()));
    assert_eq!(result(&plugin, "1 + 1").await, Ok(Some("2".into())));
}

#[tokio::test]
async fn loops_in_a_row_do_not_disable_the_plugin() {
    let sandbox = sandbox();
    let plugin = javascript(&sandbox);
    let host = Recorder::new();
    for _ in 0..12 {
        let error = run(&plugin, tight(&host), "for (;;);\n")
            .await
            .result
            .expect_err("stopped");
        assert_eq!(error.0.code, MessageCode::C103);
    }
    assert_eq!(result(&plugin, "1 + 1").await, Ok(Some("2".into())));
}

#[tokio::test]
async fn the_console_reaches_the_log() {
    let sandbox = sandbox();
    let plugin = javascript(&sandbox);
    let host = Recorder::new();
    let source = "console.warn('careful', { a: 1 });\nreturn true";
    let outcome = run(&plugin, call(&host), source).await.result;
    outcome.expect("an outcome").expect("a value");
    let lines: Vec<_> = host
        .lines()
        .into_iter()
        .map(|line| (line.level, line.message))
        .collect();
    assert_eq!(lines, [(abi::Level::Warn, "careful {\"a\":1}".to_owned())]);
}

#[tokio::test]
async fn a_plugin_that_runs_no_code_says_so() {
    let sandbox = sandbox();
    let plugin = crate::world::hostile(&sandbox);
    assert_eq!(plugin.script_languages(), []);
    let error = run(&plugin, call(&Recorder::new()), "1")
        .await
        .result
        .expect_err("refused");
    assert_eq!(error.0.code, MessageCode::C112);
}
