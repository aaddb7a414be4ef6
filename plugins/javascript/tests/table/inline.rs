//! Expressions and bodies: values, waiting, exactness, failures.

use super::*;

#[test]
fn an_expression_gives_its_value() {
    check_inline([
        ("output.length", Json(json!(12))),
        ("output.includes('World')", Json(json!(true))),
        ("  output === 'x'  ", Json(json!(false))),
        ("context.vars.n / 4", Json(json!(0.75))),
        ("output.length > 3 // long enough", Json(json!(true))),
        (
            "({ pass: true, score: 0.5, reason: 'ok' })",
            Json(json!({ "pass": true, "score": 0.5, "reason": "ok" })),
        ),
        ("output.split(', ')", Json(json!(["Hello", "World"]))),
        ("`${context.vars.name}!`", Json(json!("Ada!"))),
        ("context.vars.missing?.deep ?? 'none'", Json(json!("none"))),
        ("const n = output.length; n > 3", Json(json!(true))),
        ("let a = 'x;y'; a.split(';').length;", Json(json!(2))),
        (
            "var f = (x) => { return x * 2; }; f(context.vars.n)",
            Json(json!(6)),
        ),
        ("(() => { const x = 1; return x; })()", Json(json!(1))),
        ("JSON.parse('{\"a\": [1]}').a[0]", Json(json!(1))),
        ("const nothing = 1", Nothing),
        ("null", Json(Value::Null)),
        ("void 0", Nothing),
        ("", Nothing),
        (
            "(x) => x",
            Bad(BadResult, "the code is a function and is not called"),
        ),
    ]);
}

#[test]
fn a_body_returns() {
    check_inline([
        ("const n = output.length;\nreturn n;", Json(json!(12))),
        (
            "if (output) {\n  return { pass: true };\n}\nreturn false;",
            Json(json!({ "pass": true })),
        ),
        ("output.length\n+ 1", Nothing),
        ("return output;\n", Json(json!("Hello, World"))),
        ("// a remark\nreturn 'x' // and another", Json(json!("x"))),
        (
            "let s = 0;\nfor (const c of output) s += c.charCodeAt(0);\nreturn s",
            Json(json!(1096)),
        ),
    ]);
}

#[test]
fn promises_are_waited_for() {
    check_inline([
        ("Promise.resolve(3)", Json(json!(3))),
        ("await Promise.resolve(output.length)", Json(json!(12))),
        ("const x = await 5;\nreturn x + 1;", Json(json!(6))),
        (
            "(async () => { await null; return [1]; })()",
            Json(json!([1])),
        ),
        ("Promise.all([1, Promise.resolve(2)])", Json(json!([1, 2]))),
        (
            "({ then(resolve) { resolve('late'); } })",
            Json(json!("late")),
        ),
        (
            "Promise.reject(new TypeError('no'))",
            Bad(Exception, "TypeError: no"),
        ),
        ("new Promise(() => {})", Bad(BadResult, "never settles")),
        (
            "({ a: Promise.resolve(1) })",
            Bad(BadResult, "`a` of the result is a promise"),
        ),
    ]);
}

#[test]
fn numbers_and_texts_are_exact() {
    check_inline([
        ("0.1 + 0.2", Text("0.30000000000000004")),
        ("-0", Text("0")),
        ("1.0", Text("1")),
        ("9007199254740991", Text("9007199254740991")),
        ("2 ** 60", Json(json!(1_152_921_504_606_846_976.0))),
        ("1e300 * 10", Json(json!(1e301))),
        ("5e-324", Json(json!(5e-324))),
        ("'\\u0000\\n\"é€😀'", Json(json!("\0\n\"é€😀"))),
        ("'😀'.slice(0, 1)", Json(json!("\u{fffd}"))),
        ("({ ['a\\ud800']: 1 })", Json(json!({ "a\u{fffd}": 1 }))),
        ("NaN", Bad(BadResult, "the result is NaN")),
        (
            "({ score: 1 / 0 })",
            Bad(BadResult, "`score` of the result is Infinity"),
        ),
        ("10n", Bad(BadResult, "BigInt")),
        ("Symbol('x')", Bad(BadResult, "symbol")),
    ]);
}

#[test]
fn what_json_cannot_hold_is_told_with_its_place() {
    check_inline([
        (
            "({ b: 1, a: undefined, c: [undefined] })",
            Text("{\"b\":1,\"c\":[null]}"),
        ),
        ("new Date(0)", Json(json!("1970-01-01T00:00:00.000Z"))),
        (
            "({ toJSON() { return { x: 1 }; } })",
            Json(json!({ "x": 1 })),
        ),
        ("({ get a() { return 1; } })", Json(json!({ "a": 1 }))),
        (
            "({ get a() { throw new Error('got'); } })",
            Bad(Exception, "Error: got"),
        ),
        (
            "[{ assert: { value: () => 1 } }]",
            Bad(BadResult, "`[0].assert.value` of the result is a function"),
        ),
        ("new Map([[1, 2]])", Bad(BadResult, "is a Map")),
        (
            "({ s: new Set() })",
            Bad(BadResult, "`s` of the result is a Set"),
        ),
        ("new Error('x')", Bad(BadResult, "is an error")),
        (
            "const a = {}; a.me = a; a",
            Bad(BadResult, "`me` of the result contains itself"),
        ),
        (
            "const o = { x: 1 }; [o, o]",
            Json(json!([{ "x": 1 }, { "x": 1 }])),
        ),
        (
            "let a = []; for (let i = 0; i < 200; i++) a = [a];\nreturn a",
            Bad(BadResult, "nested deeper than 100"),
        ),
        ("'x'.repeat(50e6)", Bad(BadResult, "larger than 15 MiB")),
        ("new Proxy({ a: 1 }, {})", Json(json!({ "a": 1 }))),
        ("Object.create(null)", Json(json!({}))),
    ]);
}

#[test]
fn what_goes_wrong_is_named() {
    check_inline([
        ("output.nope()", Bad(Exception, "TypeError: ")),
        (
            "missing",
            Bad(Exception, "ReferenceError: missing is not defined"),
        ),
        ("throw new Error('boom')", Bad(Syntax, "SyntaxError")),
        ("throw new Error('boom');\n", Bad(Exception, "Error: boom")),
        (
            "\nthrow { code: 3 };\nreturn",
            Bad(Exception, "threw {\"code\":3}"),
        ),
        ("let x;\nthrow 'text';", Bad(Exception, "threw \"text\"")),
        (
            "let x;\nthrow undefined;",
            Bad(Exception, "threw a value of type undefined"),
        ),
        ("output.", Bad(Syntax, "SyntaxError")),
        ("return 1", Bad(Syntax, "SyntaxError")),
        ("JSON.parse('{')", Bad(Exception, "SyntaxError")),
        ("const f = () => f() + 1; f()", Bad(Exception, "RangeError")),
        (
            "let a = [];\nwhile (true) a.push(new Array(1000).fill(a.length));",
            Bad(FailureKind::Exhausted, "memory"),
        ),
        ("output\0", Bad(Syntax, "NUL")),
    ]);
}

#[test]
fn what_the_sandbox_lacks_is_named() {
    check_inline([
        (
            "require('fs').readFileSync('/etc/passwd')",
            Bad(Unsupported, "`require('fs')`"),
        ),
        (
            "require('node:child_process')",
            Bad(Unsupported, "`require('node:child_process')`"),
        ),
        ("process.env.HOME", Bad(Unsupported, "`process.env`")),
        (
            "process.mainModule.require('fs')",
            Bad(Unsupported, "`process.mainModule`"),
        ),
        ("process.exit(0)", Bad(Unsupported, "`process.exit`")),
        ("fetch('https://example.com')", Bad(Unsupported, "`fetch`")),
        (
            "await fetch('https://example.com')",
            Bad(Unsupported, "network"),
        ),
        ("new XMLHttpRequest()", Bad(Unsupported, "`XMLHttpRequest`")),
        (
            "crypto.randomUUID()",
            Bad(Unsupported, "`crypto.randomUUID`"),
        ),
        (
            "await import('node:fs')",
            Bad(Unsupported, "`import 'node:fs'`"),
        ),
        (
            "await import('lodash')",
            Bad(Unsupported, "`import 'lodash'`"),
        ),
        ("require('./x.js')", Bad(NotFound, "require('./x.js')")),
        ("require('../../etc/passwd')", Bad(NotFound, "no such file")),
        (
            "typeof process + typeof require",
            Json(json!("functionfunction")),
        ),
        ("try { require('fs') } catch { 'caught' }", Bad(Syntax, "")),
        (
            "let r;\ntry { r = require('fs') } catch { r = 'caught' }\nreturn r",
            Json(json!("caught")),
        ),
        (
            "typeof std + typeof os + typeof Deno",
            Json(json!("undefinedundefinedundefined")),
        ),
    ]);
}
