//! What code knows from browsers and Node: base64, addresses, copies, timers, modules.

use super::*;

#[test]
fn bytes_and_texts_are_converted() {
    check_inline([
        ("btoa('hi?>')", Json(json!("aGk/Pg=="))),
        ("atob(' aGk/ Pg==')", Json(json!("hi?>"))),
        ("atob('aGk/Pg')", Json(json!("hi?>"))),
        ("atob('a')", Bad(Exception, "InvalidCharacterError")),
        ("btoa('€')", Bad(Exception, "InvalidCharacterError")),
        (
            "[...new TextEncoder().encode('é€')]",
            Json(json!([195, 169, 226, 130, 172])),
        ),
        (
            "new TextDecoder().decode(new Uint8Array([195, 169, 255]))",
            Json(json!("é\u{fffd}")),
        ),
        (
            "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))",
            Bad(Exception, "TypeError"),
        ),
        (
            "new TextDecoder('utf-16le')",
            Bad(Unsupported, "TextDecoder('utf-16le')"),
        ),
        (
            "Buffer.from('aGVsbG8', 'base64').toString()",
            Json(json!("hello")),
        ),
        ("Buffer.from('hé').toString('base64')", Json(json!("aMOp"))),
        (
            "Buffer.from('68c3a9zz', 'hex').toString('utf8')",
            Json(json!("hé")),
        ),
        ("Buffer.from('h€').toString('hex')", Json(json!("68e282ac"))),
        ("Buffer.byteLength('h€')", Json(json!(4))),
        ("Buffer.byteLength('aGVsbG8=', 'base64')", Json(json!(5))),
        (
            "Buffer.concat([Buffer.from('a'), Buffer.from([98])]).toString() + Buffer.isBuffer([])",
            Json(json!("abfalse")),
        ),
        (
            "Buffer.from('abc').slice(1).equals(Buffer.from('bc'))",
            Json(json!(true)),
        ),
        (
            "Buffer.from('a')",
            Json(json!({ "type": "Buffer", "data": [97] })),
        ),
        (
            "Buffer.from('a', 'utf16le')",
            Bad(Unsupported, "`Buffer with the encoding 'utf16le'`"),
        ),
        (
            "Buffer.from('abc').includes('b')",
            Bad(Unsupported, "`Buffer.includes"),
        ),
    ]);
}

#[test]
fn addresses_are_read_and_changed() {
    check_inline([
        (
            "new URL('https://EXAMPLE.com:443/a/../b?q=1#x').href",
            Json(json!("https://example.com/b?q=1#x")),
        ),
        (
            "new URL('../c', 'http://x.org/a/b/').pathname",
            Json(json!("/a/c")),
        ),
        (
            "const u = new URL('https://a.b:8080/?x=1'); [u.host, u.port, u.origin, u.protocol]",
            Json(json!(["a.b:8080", "8080", "https://a.b:8080", "https:"])),
        ),
        (
            "const u = new URL('http://a.b/?x=1'); u.searchParams.append('y', 'é &'); u.href",
            Json(json!("http://a.b/?x=1&y=%C3%A9+%26")),
        ),
        (
            "const u = new URL('http://a.b/?x=1'); u.search = '?z=2'; u.hash = 'h'; [u.searchParams.get('z'), u.href]",
            Json(json!(["2", "http://a.b/?z=2#h"])),
        ),
        (
            "`${new URL('http://bücher.de/ü')}`",
            Json(json!("http://xn--bcher-kva.de/%C3%BC")),
        ),
        ("new URL('nope')", Bad(Exception, "TypeError: Invalid URL")),
        (
            "URL.canParse('nope') + '' + URL.canParse('http://x')",
            Json(json!("falsetrue")),
        ),
        (
            "[...new URLSearchParams('?a=1&b=%20x+y&a=2')]",
            Json(json!([["a", "1"], ["b", " x y"], ["a", "2"]])),
        ),
        (
            "const p = new URLSearchParams({ q: 'a b*~' }); p.set('r', 1); p.toString()",
            Json(json!("q=a+b*%7E&r=1")),
        ),
        (
            "({ at: new URL('http://x/') })",
            Json(json!({ "at": "http://x/" })),
        ),
    ]);
}

#[test]
fn copies_are_deep() {
    check_inline([
        (
            "const a = { b: [1, { c: 2 }] }; const d = structuredClone(a); a.b[1].c = 3; d",
            Json(json!({ "b": [1, { "c": 2 }] })),
        ),
        (
            "const a = {}; a.me = a; const b = structuredClone(a); b.me === b && b !== a",
            Json(json!(true)),
        ),
        (
            "structuredClone(new Map([[1, new Set([2])]])).get(1).has(2)",
            Json(json!(true)),
        ),
        ("structuredClone(new Date(5)).getTime()", Json(json!(5))),
        ("structuredClone(() => 1)", Bad(Exception, "DataCloneError")),
    ]);
}

#[test]
fn timers_run_in_the_order_of_their_time() {
    check_inline([
        (
            "await new Promise((r) => setTimeout(r, 100, 'late'))",
            Json(json!("late")),
        ),
        (
            "const seen = [];\nfor (const ms of [30, 10, 20, 10]) setTimeout(() => seen.push(ms), ms);\n\
             setImmediate(() => seen.push('now'));\nPromise.resolve().then(() => seen.push('job'));\n\
             await new Promise((r) => setTimeout(r, 1e6));\nreturn seen;",
            Json(json!(["job", "now", 10, 10, 20, 30])),
        ),
        (
            "let n = 0;\nconst t = setInterval(() => { if (++n === 3) clearInterval(t); }, 5);\n\
             await require('timers/promises').setTimeout(1000);\nreturn n;",
            Json(json!(3)),
        ),
        (
            "const t = setTimeout(() => { throw 1; }, 1); clearTimeout(t); 'ok'",
            Json(json!("ok")),
        ),
        (
            "setTimeout(() => { throw new Error('in a timer'); }, 1);\nawait new Promise(() => {});",
            Bad(Exception, "Error: in a timer"),
        ),
        (
            "setTimeout(() => {}, 1);\nawait new Promise(() => {});",
            Bad(BadResult, "never settles"),
        ),
        (
            "await Promise.race([new Promise((r) => setTimeout(r, 50, 'slow')), \
             new Promise((r) => setTimeout(r, 5, 'fast'))])",
            Json(json!("fast")),
        ),
    ]);
    let late = "await new Promise((r) => setTimeout(r, 10));\nexport default () => 'loaded';";
    check(
        late,
        &files(&[("a.mjs", late)], None),
        &Json(json!("loaded")),
    );
}

#[test]
fn pure_modules_of_node_are_there() {
    check_inline([
        (
            "const p = require('path'); [p.join('/a', '../b', './c.js'), p.basename('/x/y.txt', '.txt'), \
             p.extname('.rc') + p.extname('a.b.c'), p.dirname('/a/b'), p.resolve('a', '../b'), p.relative('/a/b', '/a/c')]",
            Json(json!(["/b/c.js", "y", ".c", "/a", "/b", "../c"])),
        ),
        (
            "require('node:path').parse('/d/f.tar.gz').name",
            Json(json!("f.tar")),
        ),
        (
            "const a = require('assert'); a.deepStrictEqual({ a: [1] }, { a: [1] }); true",
            Json(json!(true)),
        ),
        (
            "const a = require('assert');\na.strictEqual(output.length, 3);",
            Bad(
                Exception,
                "AssertionError: Expected values to be strictly equal:\n\n12 !== 3",
            ),
        ),
        (
            "const a = require('assert');\na.throws(() => { throw new TypeError('x y'); }, /x y/);\nreturn 1",
            Json(json!(1)),
        ),
        (
            "const a = require('assert');\na.throws(() => {});",
            Bad(Exception, "Missing expected exception"),
        ),
        (
            "const a = require('assert');\na.match(output, /^Bye/);",
            Bad(Exception, "did not match"),
        ),
        (
            "const u = require('util'); u.inspect({ a: [1, 'x'], b: { c: { d: {} } } })",
            Json(json!("{ a: [ 1, 'x' ], b: { c: { d: {} } } }")),
        ),
        (
            "require('util').isDeepStrictEqual([new Map([[1, { a: 1 }]])], [new Map([[1, { a: 1 }]])])",
            Json(json!(true)),
        ),
        (
            "require('util').isDeepStrictEqual({ a: 1 }, { a: '1' })",
            Json(json!(false)),
        ),
        (
            "require('util').format('%s=%d %j', 'a', '5', { b: 1 }, 'c')",
            Json(json!("a=5 {\"b\":1} c")),
        ),
        ("require('path').win32", Bad(Unsupported, "`path.win32`")),
        ("require('crypto')", Bad(Unsupported, "`require('crypto')`")),
    ]);
    let module = "import path, { join } from 'path';\nimport assert from 'node:assert';\n\
        export default () => { assert.ok(true); return join('a', path.basename('/b')); };";
    check(
        module,
        &files(&[("a.mjs", module)], None),
        &Json(json!("a/b")),
    );
}
