//! What holds of every call: positions, isolation, randomness, console.

use super::*;

#[test]
fn positions_are_in_the_users_text() {
    let at = |file: &str, line, column| {
        Some(Position {
            file: file.to_owned(),
            line,
            column,
        })
    };
    let place = |outcome| failure(outcome).position;
    assert_eq!(
        place(inline("context.vars.a.b")).map(|p| (p.line, p.file)),
        Some((1, "test".to_owned()))
    );
    assert_eq!(
        place(inline("let a;\n\n  a.b.c;\nreturn")).map(|p| p.line),
        Some(3)
    );
    assert_eq!(place(inline("\n\n  null.x")).map(|p| p.line), Some(3));
    assert_eq!(
        place(inline("let a = 1;\nlet b = ;\n")).map(|p| p.line),
        Some(2)
    );
    assert_eq!(
        place(inline("let a;\nprocess.env.X")).map(|p| p.line),
        Some(2)
    );
    let lib = ("lib.js", "\n\nexports.f = () => { throw new Error('x'); };");
    let main = (
        "main.js",
        "const { f } = require('./lib');\nmodule.exports = () => f();",
    );
    let failed = failure(files(&[main, lib], None));
    assert_eq!(
        failed.position.as_ref().map(|p| (p.file.as_str(), p.line)),
        Some(("lib.js", 3))
    );
    let stack = failed.stack.unwrap_or_default();
    assert!(stack.contains("main.js:2:"), "{stack}");
    assert!(
        !stack.contains("prelude") && !stack.contains("native"),
        "{stack}"
    );
    let broken = ("lib.js", "let a;\nlet a;");
    assert_eq!(
        place(files(&[main, broken], None)).map(|p| (p.file, p.line)),
        Some(("lib.js".to_owned(), 2))
    );
    let import = ("a.mjs", "// one\n  import fs from 'fs';");
    assert_eq!(place(files(&[import], None)), at("a.mjs", 2, 18));
}

#[test]
fn nothing_passes_from_one_call_to_the_next() {
    let first = "globalThis.leak = 1; Array.prototype.leak = 2; JSON.stringify = () => 'x';\n\
        Object.prototype.pass = true; Math.random = () => 4;\nreturn 1";
    check(first, &inline(first), &Json(json!(1)));
    check_inline([
        (
            "typeof leak + [].leak + ({}).pass",
            Json(json!("undefinedundefinedundefined")),
        ),
        ("JSON.stringify([1])", Json(json!("[1]"))),
    ]);
}

#[test]
fn a_hostile_prototype_changes_nothing_of_the_result() {
    check_inline(
        [
            (
                "JSON.stringify = () => 'x'; JSON.parse = 1;\nreturn { a: 1 }",
                Nothing,
            ),
            (
                "Object.prototype.toJSON = function () { return 7; };\nreturn { a: 1 }",
                Json(json!(7)),
            ),
            (
                "delete globalThis.__runner;\nreturn typeof __runner.load",
                Json(json!("function")),
            ),
            (
                "Array.prototype.map = null;\nconsole.log(1);\nreturn 2",
                Bad(Exception, "TypeError"),
            ),
            (
                "Error.prepareStackTrace = () => { throw 1; };\nnull.x",
                Bad(Exception, "TypeError"),
            ),
        ]
        .into_iter()
        .skip(1),
    );
}

#[test]
fn randomness_follows_from_the_call() {
    let values = |call_id: &str| {
        let context = runner_plugin::CallContext {
            call_id: call_id.to_owned(),
            ..testing::context()
        };
        let program = testing::code("javascript", "Array.from({ length: 200 }, Math.random)");
        let outcome = JavaScript::run(&program, &[], &context);
        let text = outcome.result.expect("it runs").unwrap_or_default();
        serde_json::from_str::<Vec<f64>>(&text).expect("numbers")
    };
    let one = values("a");
    assert_eq!(one, values("a"));
    assert_ne!(one, values("b"));
    assert!(one.iter().all(|x| (0.0..1.0).contains(x)));
    let mean = one.iter().sum::<f64>() / 200.0;
    assert!((0.4..0.6).contains(&mean), "{mean}");
}

#[test]
fn the_console_is_part_of_the_outcome() {
    let outcome = inline(
        "console.log('a', 1, { b: [2] });\nconsole.error(new Error('e'));\n\
        console.assert(false, 'x');\nnull.x",
    );
    assert_eq!(failure(outcome.clone()).kind, Exception);
    let lines: Vec<_> = outcome
        .console
        .iter()
        .map(|l| (l.level, l.text.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (Level::Info, "a 1 {\"b\":[2]}"),
            (Level::Error, "Error: e"),
            (Level::Error, "Assertion failed x"),
        ]
    );
    let many = inline("for (let i = 0; i < 1000; i++) console.log('é'.repeat(9000));\nreturn 1");
    assert_eq!(many.console.len(), 257);
    assert!(many.console[0].text.len() <= 8 << 10);
    assert_eq!(many.console[256].text, "744 more lines dropped");
}

#[test]
fn a_call_that_does_not_fit_is_told() {
    let other = JavaScript::run(&testing::code("python", "1"), &[], &testing::context());
    assert_eq!(failure(other).kind, FailureKind::Other);
    let program = testing::code("javascript", "a");
    for (name, json) in [("a-b", "1"), ("", "1"), ("a", "{")] {
        let argument = runner_plugin::script::Argument {
            name: name.to_owned(),
            value_json: json.to_owned(),
        };
        let outcome = JavaScript::run(&program, &[argument], &testing::context());
        assert_eq!(
            failure(outcome).kind,
            FailureKind::Other,
            "{name:?} {json:?}"
        );
    }
}
