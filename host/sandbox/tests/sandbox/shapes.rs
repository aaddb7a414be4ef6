//! Components whose shape is the attack: what they instantiate, and values that are no values.

use std::time::Duration;

use runner_sandbox::{MessageCode, Plugin, abi};
use wasmparser::{Parser, Payload};

use crate::hostile::{grade, reason};
use crate::load::{Files, PUBLISHED, component, refusal};
use crate::world::{Measured, Recorder, call, describing, hostile, sandbox};

const CORE_MODULE: u8 = 1;
const CORE_INSTANCE: u8 = 2;
const COMPONENT: u8 = 4;
const COMPONENT_INSTANCE: u8 = 5;

/// An unsigned number as WebAssembly writes it.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], number(content.len()), content.to_vec()].concat()
}

/// A section that instantiates number `of` of the modules or components, `times` times.
fn instantiate(id: u8, of: usize, times: usize) -> Vec<u8> {
    let one = [vec![0], number(of), vec![0]].concat();
    section(id, &[number(times), one.repeat(times)].concat())
}

/// A component that instantiates `module` so often.
fn instances_of(module: &str, times: usize) -> Vec<u8> {
    let module = wat::parse_str(module).expect("text parses");
    let head = b"\0asm\x0d\0\x01\0".to_vec();
    let parts = [
        head,
        section(CORE_MODULE, &module),
        instantiate(CORE_INSTANCE, 0, times),
    ];
    parts.concat()
}

/// A component that holds another and instantiates it so often.
fn around(inner: &[u8], times: usize) -> Vec<u8> {
    let head = b"\0asm\x0d\0\x01\0".to_vec();
    let parts = [
        head,
        section(COMPONENT, inner),
        instantiate(COMPONENT_INSTANCE, 0, times),
    ];
    parts.concat()
}

/// The hostile guest, well-behaved but for holding and instantiating `inner` as well.
fn with(inner: &[u8]) -> Vec<u8> {
    let good = describing("as-it-should");
    let mut depth = 0_usize;
    let mut components = 0;
    for payload in Parser::new(0).parse_all(&good) {
        match payload.expect("the guest is whole") {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentSection { .. } if depth == 1 => components += 1,
            _ => {}
        }
    }
    let instance = instantiate(COMPONENT_INSTANCE, components, 1);
    [good, section(COMPONENT, inner), instance].concat()
}

/// Refused at load, before or after it is compiled, and cheaply.
#[test]
#[expect(clippy::too_many_lines, reason = "most of it is one table")]
fn what_takes_more_than_its_places_is_refused() {
    let sandbox = sandbox();
    let files = Files::new();
    let doubling = |depth| {
        let one = instances_of("(module)", 1);
        (0..depth).fold(one, |inner, _| around(&inner, 2))
    };
    let without_core = {
        let nothing = b"\0asm\x0d\0\x01\0".to_vec();
        (0..25).fold(nothing, |inner, _| around(&inner, 2))
    };
    let deep = (0..40).fold(instances_of("(module)", 1), |inner, _| around(&inner, 1));
    for (shape, inner, code, says) in [
        (
            "core instances",
            instances_of("(module)", 250),
            MessageCode::P014,
            "core instances",
        ),
        (
            "doubling",
            doubling(25),
            MessageCode::P014,
            "core instances",
        ),
        (
            "functions",
            instances_of(&format!("(module {})", "(func)".repeat(100_001)), 1),
            MessageCode::P014,
            "functions",
        ),
        (
            "doubling, empty",
            without_core,
            MessageCode::P014,
            "components inside it",
        ),
        ("deep", deep, MessageCode::P016, "deeper than 32 levels"),
        (
            "memories",
            instances_of("(module (memory 1))", 5),
            MessageCode::P014,
            "memories",
        ),
        (
            "tables",
            instances_of("(module (table 1 funcref))", 17),
            MessageCode::P014,
            "tables",
        ),
        (
            "large memory",
            instances_of("(module (memory 65536))", 1),
            MessageCode::P014,
            "GiB",
        ),
    ] {
        let path = files.write("acme.wasm", &with(&inner));
        let measured = Measured::begin();
        let (found, text) = refusal(&sandbox, &path);
        measured.within_bounds_of(shape);
        assert_eq!(found, code, "{shape}: {text}");
        assert!(text.contains(says), "{shape}: {text}");
    }
}

/// The largest that is let in works, and others work beside it.
#[tokio::test]
async fn the_largest_plugin_takes_no_more_than_its_places() {
    let sandbox = sandbox();
    let files = Files::new();
    let path = files.write("acme.wasm", &with(&instances_of("(module)", 40)));
    let large = sandbox
        .load(&path, None)
        .unwrap_or_else(|error| panic!("{error}"));
    let small = hostile(&sandbox);
    let host = Recorder::new();
    let calls: Vec<_> = (0..60)
        .map(|at| {
            let plugin = if at % 3 == 0 {
                small.clone()
            } else {
                large.clone()
            };
            let call = call(&host);
            tokio::spawn(async move { reason(&plugin, call, "http").await })
        })
        .collect();
    for call in calls {
        let tally = call.await.expect("it ends");
        assert_eq!(tally, "64 ok, 36 budget, 0 denied, 0 other");
    }
}

/// A grader written by hand, of the type `odd`. `evaluate` runs `body`, which leaves the address
/// of the result.
fn odd(body: &str) -> Vec<u8> {
    let module = format!(
        r#"(module
            (memory (export "memory") 1)
            (table $table 1 funcref)
            (data (i32.const 512) "acme")
            (data (i32.const 520) "1.0.0")
            (data (i32.const 528) "odd")
            ;; info at 0: name, version, assertion-types
            (data (i32.const 0) "\00\02\00\00\04\00\00\00\08\02\00\00\05\00\00\00")
            (data (i32.const 56) "\00\04\00\00\01\00\00\00")
            (data (i32.const 1024) "\10\02\00\00\03\00\00\00")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192))
            (func (export "runner:plugin/meta@0.1.2#describe") (result i32) (i32.const 0))
            (func (export "runner:plugin/meta@0.1.2#check-config")
                (param i32 i32) (result i32) unreachable)
            (func (export "runner:plugin/assertion@0.1.2#evaluate") (param i32) (result i32)
                {body}))"#
    );
    component(PUBLISHED, "assertion-pure", Some(&module))
}

async fn answer(plugin: &Plugin) -> Result<f64, MessageCode> {
    let input = abi::Input::new("odd", "");
    let context = abi::CallContext::new("a");
    let called = plugin
        .evaluate(call(&Recorder::new()), &input, &context)
        .await;
    match called.result {
        Ok(answer) => Ok(answer.expect("it grades").score),
        Err(error) => Err(error.code()),
    }
}

#[tokio::test]
async fn values_that_are_no_values_are_refused() {
    let sandbox = sandbox();
    let files = Files::new();
    let result = "(i32.const 2048)";
    for (what, body, expected) in [
        ("as it should be", result.to_owned(), Ok(0.0)),
        ("address", "(i32.const 2049)".into(), Err(MessageCode::C107)),
        (
            "address beyond the memory",
            "(i32.const -8)".into(),
            Err(MessageCode::C107),
        ),
        (
            "case of the result",
            format!("(i32.store8 (i32.const 2048) (i32.const 7)) {result}"),
            Err(MessageCode::C107),
        ),
        (
            "case of an option",
            format!("(i32.store8 (i32.const 2096) (i32.const 9)) {result}"),
            Err(MessageCode::C107),
        ),
        (
            "length of a list",
            format!("(i32.store (i32.const 2084) (i32.const -1)) {result}"),
            Err(MessageCode::C107),
        ),
        (
            "length of a text",
            format!("(i32.store (i32.const 2076) (i32.const 0x7fffffff)) {result}"),
            Err(MessageCode::C107),
        ),
    ] {
        let path = files.write("acme.wasm", &odd(&body));
        let plugin = sandbox.load(&path, None);
        let plugin = plugin.unwrap_or_else(|error| panic!("{what}: {error}"));
        let measured = Measured::begin();
        assert_eq!(answer(&plugin).await, expected, "{what}");
        if expected.is_err() {
            measured.within_bounds_of(what);
        }
    }
}

/// A table that may not grow says so, as memory does.
#[tokio::test]
async fn a_table_grows_to_its_limit() {
    let sandbox = sandbox();
    let files = Files::new();
    let body = "(f64.store (i32.const 2064) (f64.convert_i32_s
            (table.grow $table (ref.null func) (i32.const 1000000))))
        (drop (table.grow $table (ref.null func) (i32.const 90000)))
        (i32.const 2048)";
    let path = files.write("acme.wasm", &odd(body));
    let plugin = sandbox
        .load(&path, None)
        .unwrap_or_else(|error| panic!("{error}"));
    let measured = Measured::begin();
    assert_eq!(answer(&plugin).await, Ok(-1.0));
    measured.within(32, Duration::from_secs(2));
}

/// Nothing that these do is remembered.
#[tokio::test]
async fn the_next_call_is_as_the_first() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    let host = Recorder::new();
    let measured = Measured::begin();
    let product = reason(&plugin, call(&host), "work").await;
    measured.within_bounds_of("work");
    for kind in ["handles", "hog", "outside", "exit"] {
        assert!(
            grade(&plugin, call(&host), kind).await.result.is_err(),
            "{kind}"
        );
        assert_eq!(reason(&plugin, call(&host), "fine").await, "fine", "{kind}");
    }
    assert_eq!(reason(&plugin, call(&host), "work").await, product);
}
