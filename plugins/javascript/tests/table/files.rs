//! Files: their exports, and what they import.

use super::*;

#[test]
fn files_are_commonjs_or_es_modules() {
    check_alone([
        (
            "a.js",
            "module.exports = (output) => output.length;",
            None,
            Json(json!(12)),
        ),
        (
            "a.js",
            "module.exports = async (o, c) => c.vars.name;",
            None,
            Json(json!("Ada")),
        ),
        (
            "a.js",
            "export default (output) => output[0];",
            None,
            Json(json!("H")),
        ),
        (
            "a.js",
            "module.exports = [{ vars: { x: 1 } }];",
            None,
            Json(json!([{ "vars": { "x": 1 } }])),
        ),
        (
            "a.js",
            "const x = await Promise.resolve(4);\nexport default () => x;",
            None,
            Json(json!(4)),
        ),
        (
            "a.js",
            "#!/usr/bin/env node\nmodule.exports = () => __filename + __dirname",
            None,
            Json(json!("a.js")),
        ),
        (
            "a.js",
            "module.exports = (",
            None,
            Bad(Syntax, "SyntaxError"),
        ),
        (
            "a.mjs",
            "import fs from 'node:fs';",
            None,
            Bad(Unsupported, "`import 'node:fs'`"),
        ),
        (
            "a.js",
            "const fs = require('fs');",
            None,
            Bad(Unsupported, "`require('fs')`"),
        ),
    ]);
}

#[test]
fn files_are_meant_by_an_export() {
    let two = "module.exports = { one: () => 1, two: () => 2 };";
    check_alone([
        (
            "a.mjs",
            "export function grade(o) { return o.length > 3; }",
            Some("grade"),
            Json(json!(true)),
        ),
        (
            "a.cjs",
            "exports.grade = (o) => ({ pass: true });",
            Some("grade"),
            Json(json!({ "pass": true })),
        ),
        (
            "a.js",
            "exports.default = () => 'inner';",
            None,
            Json(json!("inner")),
        ),
        ("a.js", two, Some("two"), Json(json!(2))),
        (
            "a.js",
            "export default { one: () => 1 };",
            Some("one"),
            Json(json!(1)),
        ),
        (
            "a.js",
            "exports.one = () => 1; exports.n = 2",
            None,
            Bad(NotFound, "`a.js` has no default export; it exports `one`"),
        ),
        (
            "a.js",
            "module.exports = function grade() { return 1 }",
            Some("grade"),
            Json(json!(1)),
        ),
        (
            "a.js",
            "module.exports = function grade() { return 1 }",
            Some("other"),
            Bad(NotFound, "exports no `other`"),
        ),
        (
            "a.js",
            "exports.one = () => 1",
            Some("two"),
            Bad(NotFound, "exports no `two`"),
        ),
    ]);
}

/// Rows of one file each: path, text, entry.
fn check_alone<const N: usize>(rows: [(&str, &str, Option<&str>, Is); N]) {
    for (path, source, entry, expected) in rows {
        check(source, &files(&[(path, source)], entry), &expected);
    }
}

#[test]
fn files_that_were_handed_over_are_found_and_no_others() {
    check_among_others([
        (
            "module.exports = () => require('./data.json').limit;",
            Json(json!(5)),
        ),
        (
            "module.exports = () => require('./dir');",
            Json(json!("index")),
        ),
        (
            "module.exports = async () => (await import('./lib/add.js')).name;",
            Json(json!("add")),
        ),
        (
            "module.exports = () => require('./lib/add') === require('./lib/add.js');",
            Json(json!(true)),
        ),
        (
            "module.exports = () => require('./lib/other');",
            Bad(NotFound, "./lib/other"),
        ),
        (
            "module.exports = () => require('../up');",
            Bad(NotFound, "../up"),
        ),
    ]);
}

#[test]
fn files_import_either_kind_of_module() {
    check_among_others([
        (
            "const { add } = require('./lib/add'); module.exports = () => add(1, 2);",
            Json(json!(3)),
        ),
        (
            "const { mul } = require('./lib/mul.mjs'); module.exports = () => mul(3, 4);",
            Json(json!(12)),
        ),
        (
            "import { mul } from './lib/mul.mjs'; export default () => mul(2, 5);",
            Json(json!(10)),
        ),
        (
            "import add, { name } from './lib/add.js'; export default () => name + add.add(1, 1);",
            Json(json!("add2")),
        ),
        (
            "import data from './data.json'; export default () => data.limit;",
            Json(json!(5)),
        ),
        (
            "import { no } from './lib/mul.mjs'; export default no;",
            Bad(Exception, "find export 'no'"),
        ),
    ]);
}

/// Rows of a main file beside modules of each kind.
fn check_among_others<const N: usize>(rows: [(&str, Is); N]) {
    let lib = (
        "lib/add.js",
        "exports.add = (a, b) => a + b;\nexports.name = 'add';",
    );
    let esm = (
        "lib/mul.mjs",
        "import { add } from './add.js';\nexport const mul = (a, b) => \
        Array.from({ length: b }).reduce((s) => add(s, a), 0);",
    );
    let data = ("data.json", "{ \"limit\": 5, \"__proto__\": 1 }");
    let index = ("dir/index.js", "module.exports = 'index';");
    for (main, expected) in rows {
        let all = [("main.js", main), lib, esm, data, index];
        check(main, &files(&all, None), &expected);
    }
}

#[test]
fn files_may_import_each_other_in_a_circle() {
    let all = [
        (
            "a.js",
            "exports.early = 1; const b = require('./b'); exports.late = b.seen;\n\
            module.exports.default = () => [b.seen, exports.late];",
        ),
        (
            "b.js",
            "const a = require('./a'); exports.seen = Object.keys(a);",
        ),
    ];
    check(
        "circle",
        &files(&all, None),
        &Json(json!([["early"], ["early"]])),
    );
}
