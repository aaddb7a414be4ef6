//! Which texts are no JavaScript, asked by the host's private door.

use super::*;

/// What is said of each text that can't run.
fn misread(texts: &Value) -> Vec<(u64, String)> {
    let program = testing::code("javascript", "ran()");
    let arguments = [testing::argument("$syntax", texts)];
    let outcome = JavaScript::run(&program, &arguments, &testing::context());
    let text = outcome.result.expect("an answer").expect("a list");
    let found: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let told = found.iter().map(|one| {
        let text = format!(
            "{}:{}: {}",
            one["line"],
            one["column"],
            one["message"].as_str()?
        );
        Some((one["text"].as_u64()?, text))
    });
    told.collect::<Option<_>>()
        .expect("a text, and what is said of it")
}

fn text(form: &str, name: &str, source: &str, outside: bool) -> Value {
    let names = ["output", "context"];
    json!({ "form": form, "name": name, "source": source, "names": names, "outside": outside })
}

#[test]
fn what_runs_is_no_mistake() {
    let mut texts = Vec::new();
    for outside in [false, true] {
        for expression in [
            "output.length > 3",
            " ({ pass: true, score: 1 }) ",
            "await f(output)",
            "/a(b)?/u.test(output)",
            "output // and more",
            "{ a: 1 }.a",
            "throw new Error('x')",
        ] {
            // The last two begin statements, which are refused where they would be values.
            let is_value = !expression.starts_with(['{', 't']);
            if is_value || !outside {
                texts.push((text("expression", "a", expression, outside), is_value));
            }
        }
        for body in [
            "const n = 1;\nreturn n",
            "const { a } = require('x');\nreturn await a()",
            "// nothing\n",
            "return {\n  pass: true,\n};",
        ] {
            texts.push((text("body", "a", body, outside), true));
        }
        for (name, file) in [
            (
                "a.js",
                "#!/usr/bin/env node\nmodule.exports = () => 1;\nreturn;",
            ),
            (
                "a.js",
                "import fs from 'fs';\nexport default async () => fs;",
            ),
            ("a.js", "const data = await fetch('x');\nexport { data };"),
            ("a.mjs", "export default class { #a = 1; static { } }"),
            ("a.cjs", "with (a) { b = 010 }\nexports.c = 1"),
            (
                "a.ts",
                "export const f = (a: number): string => `${a}` as string;",
            ),
            ("a.cts", "import x = require('x');\nexport = x;"),
            ("data.json", "{]"),
            ("a.jsx", "<a/>"),
        ] {
            let is_refused = name == "a.cts" && !outside;
            if !is_refused {
                texts.push((text("file", name, file, outside), true));
            }
        }
    }
    let good = texts.into_iter().filter(|(_, is_good)| *is_good);
    let good: Value = good.map(|(text, _)| text).collect();
    assert_eq!(misread(&good), []);
}

#[test]
fn a_mistake_has_its_place_in_the_users_text() {
    let cases = [
        (
            "expression",
            "a",
            "  output.length >",
            false,
            "1:18: SyntaxError: something is missing",
        ),
        ("expression", "a", "  output ) ", true, "1:11"),
        ("body", "a", "const a = 1;\nreturn a +;", false, "2:"),
        ("body", "a", "const a = 1;\nreturn a +;", true, "2:11"),
        ("body", "a", "const output = 1;\nreturn output", false, "1:"),
        ("body", "a", "if (a) {\n  return 1\n", true, "2:11"),
        ("body", "a", "return /(/.test(output)\n", false, "1:"),
        (
            "file",
            "a.js",
            "exports.a = () => {\n  return 1 +\n};",
            true,
            "3:1",
        ),
        (
            "file",
            "a.js",
            "import a from 'a';\nexport const b = = a;",
            false,
            "2:18",
        ),
        ("file", "a.mjs", "return 1", true, "1:1"),
        ("file", "b.ts", "let a: = 1", true, "1:8"),
        (
            "file",
            "b.ts",
            "namespace A { export const b = 1 }",
            false,
            "1:1",
        ),
    ];
    let texts: Value = cases
        .iter()
        .map(|(form, name, source, outside, _)| text(form, name, source, *outside))
        .collect();
    let found = misread(&texts);
    assert_eq!(found.len(), cases.len(), "{found:#?}");
    for ((_, said), (_, _, source, _, place)) in found.iter().zip(cases) {
        assert!(said.starts_with(place), "{source}: {said}");
    }
}

#[test]
fn what_breaks_out_of_its_function_leaves_the_others_alone() {
    let escape = "}), (globalThis.x = 1), (function () { return 1";
    let texts = json!([
        text("expression", "a", escape, false),
        text("expression", "b", "1 +", false),
        { "form": "expression" },
        7,
    ]);
    let found = misread(&texts);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, 1);
    let whole = misread(&json!("no list"));
    assert_eq!(whole, []);
}
