//! Virtual WASI from a guest's side: a grader written by hand that asks for random numbers,
//! the time and its environment, and complains on standard error before it dies.

use runner_sandbox::{MessageCode, Plugin, Purity, Sandbox, abi};

use crate::load::{Files, PUBLISHED, component};
use crate::world::{Recorder, call, sandbox};

/// What the grader imports, as far as it uses it.
const WASI: &str = "
    world w {
        import wasi:random/random@0.2.6;
        import wasi:clocks/wall-clock@0.2.6;
        import wasi:cli/stderr@0.2.6;
        import wasi:cli/environment@0.2.6;
        include assertion-pure;
    }
    package wasi:random@0.2.6 { interface random { get-random-u64: func() -> u64; } }
    package wasi:clocks@0.2.6 {
        interface wall-clock {
            record datetime { seconds: u64, nanoseconds: u32 }
            now: func() -> datetime;
        }
    }
    package wasi:io@0.2.6 {
        interface error { resource error; }
        interface streams {
            use error.{error};
            variant stream-error { last-operation-failed(error), closed }
            resource output-stream {
                blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
            }
        }
    }
    package wasi:cli@0.2.6 {
        interface stderr {
            use wasi:io/streams@0.2.6.{output-stream};
            get-stderr: func() -> output-stream;
        }
        interface environment {
            get-environment: func() -> list<tuple<string, string>>;
            get-arguments: func() -> list<string>;
        }
    }
";

/// The grader `acme`, type `wasi`. `evaluate` runs `body`, which leaves a score.
fn grader(body: &str) -> String {
    format!(
        r#"(module
            (import "wasi:random/random@0.2.6" "get-random-u64"
                (func $random (result i64)))
            (import "wasi:clocks/wall-clock@0.2.6" "now" (func $now (param i32)))
            (import "wasi:cli/stderr@0.2.6" "get-stderr" (func $stderr (result i32)))
            (import "wasi:io/streams@0.2.6"
                "[method]output-stream.blocking-write-and-flush"
                (func $write (param i32 i32 i32 i32)))
            (import "wasi:cli/environment@0.2.6" "get-environment"
                (func $environment (param i32)))
            (import "wasi:cli/environment@0.2.6" "get-arguments"
                (func $arguments (param i32)))
            (memory (export "memory") 1)
            (global $free (mut i32) (i32.const 8192))
            (data (i32.const 512) "acme")
            (data (i32.const 520) "1.0.0")
            (data (i32.const 528) "wasi")
            (data (i32.const 544) "first\nlast words")
            ;; info at 0: name, version, assertion-types
            (data (i32.const 0) "\00\02\00\00\04\00\00\00\08\02\00\00\05\00\00\00")
            (data (i32.const 56) "\00\04\00\00\01\00\00\00")
            ;; the one assertion type at 1024
            (data (i32.const 1024) "\10\02\00\00\04\00\00\00")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and
                    (i32.add (global.get $free) (i32.const 7))
                    (i32.const -8)))
                (global.set $free (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "runner:plugin/meta@0.1.2#describe") (result i32) (i32.const 0))
            (func (export "runner:plugin/meta@0.1.2#check-config")
                (param i32 i32) (result i32) unreachable)
            (func $score (result f64) {body})
            (func (export "runner:plugin/assertion@0.1.2#evaluate") (param i32) (result i32)
                (f64.store (i32.const 2064) (call $score))
                (i32.const 2048)))"#
    )
}

fn load(sandbox: &Sandbox, body: &str) -> Plugin {
    let files = Files::new();
    let wit = format!("{PUBLISHED}{WASI}");
    let path = files.write("acme.wasm", &component(&wit, "w", Some(&grader(body))));
    sandbox
        .load(&path, None)
        .unwrap_or_else(|error| panic!("{error}"))
}

async fn score(plugin: &Plugin, call_id: &str) -> f64 {
    let input = abi::Input::new("wasi", "an answer");
    let called = plugin
        .evaluate(
            call(&Recorder::new()),
            &input,
            &abi::CallContext::new(call_id),
        )
        .await;
    let answer = called.result.unwrap_or_else(|error| panic!("{error}"));
    answer.expect("it grades").score
}

#[tokio::test]
async fn random_numbers_follow_from_the_call() {
    let sandbox = sandbox();
    let plugin = load(
        &sandbox,
        "(drop (call $random)) (f64.convert_i64_u (call $random))",
    );
    assert_eq!(plugin.purity(), Purity::Virtualised);
    let first = score(&plugin, "case-1").await;
    assert!(first > 0.0, "{first}");
    assert_eq!(first.to_bits(), score(&plugin, "case-1").await.to_bits());
    assert_ne!(first.to_bits(), score(&plugin, "case-2").await.to_bits());
}

#[tokio::test]
async fn time_begins_at_the_same_moment_and_moves_when_read() {
    let sandbox = sandbox();
    let seconds = load(
        &sandbox,
        "(call $now (i32.const 4096)) (f64.convert_i64_u (i64.load (i32.const 4096)))",
    );
    // 2025-01-01T00:00:00Z
    assert_eq!(
        score(&seconds, "a").await.to_bits(),
        1_735_689_600_f64.to_bits()
    );
    let moved = load(
        &sandbox,
        "(call $now (i32.const 4096)) (call $now (i32.const 4128))
         (f64.convert_i32_u (i32.sub (i32.load (i32.const 4136)) (i32.load (i32.const 4104))))",
    );
    assert_eq!(
        score(&moved, "a").await.to_bits(),
        1_000_f64.to_bits(),
        "nanoseconds"
    );
}

#[tokio::test]
async fn there_is_no_environment_and_there_are_no_arguments() {
    assert!(
        std::env::vars_os().next().is_some(),
        "the host has some to leak"
    );
    let sandbox = sandbox();
    let plugin = load(
        &sandbox,
        "(call $environment (i32.const 4096)) (call $arguments (i32.const 4128))
         (f64.convert_i32_u (i32.add (i32.load (i32.const 4100)) (i32.load (i32.const 4132))))",
    );
    assert_eq!(score(&plugin, "a").await.to_bits(), 0_f64.to_bits());
}

#[tokio::test]
async fn standard_error_is_logged_and_quoted_when_the_guest_dies() {
    let sandbox = sandbox();
    let plugin = load(
        &sandbox,
        "(call $write (call $stderr) (i32.const 544) (i32.const 16) (i32.const 4096))
         unreachable",
    );
    let host = Recorder::new();
    let input = abi::Input::new("wasi", "an answer");
    let called = plugin
        .evaluate(call(&host), &input, &abi::CallContext::new("a"))
        .await;
    let error = called.result.expect_err("it dies");
    assert_eq!(error.code(), MessageCode::C101);
    let text = error.to_string();
    assert!(
        text.contains("C101 crashed: first\n  last words\n("),
        "{text}"
    );
    let lines = host.lines();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| (line.level, line.message.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (abi::Level::Warn, "first"),
            (abi::Level::Warn, "last words")
        ]
    );
}
