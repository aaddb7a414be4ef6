//! Python in configs, run as a user runs it, by the real component: what code gets, what its
//! results mean, and what it can't do.

use std::path::Path;

use insta::assert_snapshot;
use runner_tests::{Finished, Run, target_folder};
use serde_json::{Value, json};

mod requests;
mod sandbox;

/// A run where the component is; it says how to get it where it is not.
fn python() -> Run {
    let component = target_folder().join("release/plugins/python.wasm");
    assert!(
        component.is_file(),
        "there is no {}; build it with `cargo xtask plugins --python`, which `cargo xtask test` does",
        component.display()
    );
    Run::new()
}

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .unwrap_or_else(|| panic!("no rows: {}", finished.stderr))
        .clone()
}

fn evaluated(run: Run) -> Finished {
    run.args(["eval", "-o", "out.json", "--no-table"]).finish()
}

/// One echo of `say seven` with these assertions.
fn asserting(assertions: &Value) -> Run {
    python().config(&format!(
        "runtime: sandbox\nprompts: ['say {{{{word}}}}']\nproviders: [echo]\ntests: [{{ vars: {{ word: seven }}, assert: {assertions} }}]\n"
    ))
}

/// The one row's components.
fn components(run: Run) -> Vec<Value> {
    let finished = evaluated(run);
    let rows = rows(&finished);
    let graded = rows[0]["gradingResult"]["componentResults"].as_array();
    graded
        .unwrap_or_else(|| panic!("not graded: {}", rows[0]))
        .clone()
}

fn reason(component: &Value) -> &str {
    component["reason"].as_str().unwrap_or_default()
}

/// Each assertion's keys beside its type, and (pass, score).
fn check(cases: &[(Value, (bool, f64))]) -> Vec<Value> {
    let assertion = |(keys, _): &(Value, _)| {
        let mut assertion = keys.clone();
        if assertion["type"].is_null() {
            assertion["type"] = json!("python");
        }
        assertion
    };
    let assertions: Value = cases.iter().map(assertion).collect();
    let components = components(asserting(&assertions));
    for ((keys, expected), component) in cases.iter().zip(&components) {
        let got = (component["pass"] == true, component["score"].as_f64());
        assert_eq!(got, (expected.0, Some(expected.1)), "{keys}: {component}");
        assert!(component["errorCode"].is_null(), "{component}");
    }
    components
}

#[test]
fn inline_assertions_give_verdicts_scores_and_grades() {
    let cases = [
        (json!({"value": "output == 'say seven'"}), (true, 1.0)),
        (json!({"value": "len(output) > 100"}), (false, 0.0)),
        (json!({"value": "'{{word}}' in output"}), (true, 1.0)),
        (json!({"value": "len(output) / 10"}), (true, 0.9)),
        (
            json!({"value": "len(output) / 10", "threshold": 0.95}),
            (false, 0.9),
        ),
        (json!({"value": "0"}), (false, 0.0)),
        (json!({"value": "'True'"}), (true, 1.0)),
        (json!({"value": "'false'"}), (false, 0.0)),
        (json!({"value": "'0.25'"}), (true, 0.25)),
        (json!({"value": "json.loads('[0.5]')[0]"}), (true, 0.5)),
        (
            json!({"value": "math.sqrt(len(output)) - 2.5"}),
            (true, 0.5),
        ),
        (
            json!({"value": "{'pass': True, 'score': 0.5, 'reason': 'so so'}"}),
            (true, 0.5),
        ),
        (
            json!({"value": "{'pass_': True, 'score': 0.5, 'reason': ''}", "threshold": 0.75}),
            (false, 0.5),
        ),
        (
            json!({"value": "'{\"pass\": true, \"score\": 0.25, \"reason\": \"text\"}'"}),
            (true, 0.25),
        ),
        (
            json!({"value": "context['vars']['word'] == 'seven' and context['prompt'] == output"}),
            (true, 1.0),
        ),
        (
            json!({"value": "context['config']['most'] > len(output)", "config": {"most": 10}}),
            (true, 1.0),
        ),
        (
            json!({"type": "not-python", "value": "output == 'x'"}),
            (true, 1.0),
        ),
        (
            json!({"type": "not-python", "value": "0.25"}),
            (false, 0.25),
        ),
        (
            json!({"type": "not-python", "value": "0.25", "threshold": 0.5}),
            (true, 0.25),
        ),
    ];
    let components = check(&cases);
    assert_eq!(reason(&components[11]), "so so");
    let below = "the score 0.5 is below the threshold 0.75";
    assert_eq!(reason(&components[12]), below);
}

#[test]
fn what_is_no_verdict_fails_and_says_why() {
    let components = check(&[
        (json!({"value": "None"}), (false, 0.0)),
        (json!({"value": "float('nan')"}), (false, 0.0)),
        (json!({"value": "{1, 2}"}), (false, 0.0)),
        (json!({"value": "output.nothing"}), (false, 0.0)),
        // What a template makes is read when it runs.
        (json!({"value": "{{ 'this' }} is no code"}), (false, 0.0)),
    ]);
    assert!(reason(&components[1]).contains("nan"));
    assert!(reason(&components[2]).contains("type set"));
    let thrown = reason(&components[3]);
    assert!(thrown.contains("AttributeError: 'str' object"), "{thrown}");
    assert!(thrown.contains("tests[0].assert[3]:1:1"), "{thrown}");
    let broken = reason(&components[4]);
    assert!(broken.contains("SyntaxError"), "{broken}");
}

#[test]
fn several_lines_are_a_function_with_a_return() {
    let components = check(&[
        (
            json!({"value": "import re\nif re.search('sev', output):\n    return {'pass': True, 'score': 1, 'reason': 'found'}\nreturn False"}),
            (true, 1.0),
        ),
        // Texts of several lines keep their content, whatever the indentation.
        (
            json!({"value": "text = '''a\nb'''\nreturn text == 'a' + chr(10) + 'b'"}),
            (true, 1.0),
        ),
        (
            json!({"value": "def inner(n):\n  return n * 2\nreturn inner(len(output)) / 36"}),
            (true, 0.5),
        ),
        // As there: several lines without a `return` give nothing.
        (json!({"value": "output == 'say seven'\n"}), (false, 0.0)),
        (
            json!({"value": "x = 1\nraise ValueError('no ' + output)"}),
            (false, 0.0),
        ),
        (json!({"value": "{{ 'x' }} = 1\n  y = 2"}), (false, 0.0)),
        (
            json!({"value": "import asyncio\nasync def later():\n    await asyncio.sleep(3600)\n    return True\nreturn later()"}),
            (true, 1.0),
        ),
    ]);
    assert_eq!(reason(&components[0]), "found");
    let thrown = reason(&components[4]);
    assert!(thrown.contains("ValueError: no say seven"), "{thrown}");
    assert!(thrown.contains("tests[0].assert[4]:2:1"), "{thrown}");
    assert!(reason(&components[5]).contains("IndentationError"));
}

#[test]
fn a_file_grades_with_what_it_imports() {
    let assertions = json!([
        {"type": "python", "value": "file://checks/grade.py"},
        {"type": "python", "value": "file://checks/grade.py:short"},
        {"type": "python", "value": "file://checks/grade.py:gone"},
        {"type": "contains", "value": "file://checks/grade.py:wanted"},
        {"type": "python", "value": "file://checks/grade.py:sleepy"},
        {"type": "python", "value": "file://checks/broken.py"},
    ]);
    let run = asserting(&assertions)
        .file(
            "checks/grade.py",
            "import json\nfrom dataclasses import dataclass\nfrom limits import LEAST\n\
             from words.loud import shout\nfrom .here import same\n\n\
             @dataclass\nclass Grade:\n    pass_: bool\n    score: float\n    reason: str\n    named_scores: dict\n\n\
             def get_assert(output, context):\n    return Grade(len(output) >= LEAST, 0.5, shout(context['vars']['word']), {'tone': 0.25})\n\n\
             def short(output, context):\n    return not same(len(output) < LEAST)\n\n\
             def wanted(output, context):\n    return context['vars']['word']\n\n\
             async def sleepy(output, context):\n    return 0.75\n",
        )
        .file("checks/limits.py", "LEAST = 5\n")
        .file("checks/here.py", "import limits\nsame = lambda it: it is not None and limits.LEAST == 5\n")
        .file("checks/words/__init__.py", "")
        .file("checks/words/loud.py", "from .plain import text\ndef shout(word):\n    return text(word).upper()\n")
        .file("checks/words/plain.py", "def text(it):\n    return str(it)\n")
        .file("checks/broken.py", "import words.loud\ndef get_assert(output, context):\n    return words.loud.shout(None)[9999]\n");
    let components = components(run);
    let got: Vec<_> = components
        .iter()
        .map(|it| (it["pass"] == true, it["score"].as_f64()))
        .collect();
    let expected = [
        (true, Some(0.5)),
        (false, Some(0.0)),
        (false, Some(0.0)),
        (true, Some(1.0)),
        (true, Some(0.75)),
        (false, Some(0.0)),
    ];
    assert_eq!(got, expected, "{components:#?}");
    assert_eq!(reason(&components[0]), "SEVEN");
    assert_eq!(components[0]["namedScores"], json!({"tone": 0.25}));
    let gone = "has no function `gone`";
    assert!(reason(&components[2]).contains(gone), "{}", components[2]);
    assert_eq!(components[3]["metadata"]["renderedAssertionValue"], "seven");
    let traced = reason(&components[5]);
    let words = ["IndexError", "broken.py:3", "words.loud.shout(None)[9999]"];
    assert!(words.iter().all(|word| traced.contains(word)), "{traced}");
}

#[test]
fn prompts_are_made_by_functions_or_printed_by_scripts() {
    let run = python()
        .config(
            "prompts:\n- 'file://p.py:chat'\n- { id: 'file://p.py:both', label: made }\n- file://script.py\n- 'file://p.py:nothing'\n\
             providers: [echo]\ntests: [{ vars: { word: seven } }]\n",
        )
        .file(
            "p.py",
            "def chat(context):\n    return [{'role': 'user', 'content': context['vars']['word'] + ' ' + context['provider']['id']}]\n\
             def both(context):\n    return {'prompt': 'just {{ word }}', 'config': {'a': 1}}\n\
             def nothing(context):\n    pass\n",
        )
        .file(
            "script.py",
            "import json, sys\nif __name__ == '__main__':\n    context = json.loads(sys.argv[1])\n    print('printed', context['vars']['word'])\n",
        );
    let finished = evaluated(run);
    let rows = rows(&finished);
    let raw = |row: usize| rows[row]["prompt"]["raw"].as_str().unwrap_or_default();
    let chat: Value = serde_json::from_str(raw(0)).expect("a chat");
    assert_eq!(chat, json!([{"role": "user", "content": "seven echo"}]));
    assert_eq!(raw(1), "just seven");
    assert_eq!(raw(2), "printed seven");
    let why = rows[3]["error"].as_str().unwrap_or_default();
    assert!(why.contains("must give a prompt"), "{why}");
}

#[test]
fn a_script_that_prints_nothing_is_told_the_way_out() {
    let run = python()
        .config("prompts: [file://p.py]\nproviders: [echo]\n")
        .file("p.py", "def make(context):\n    return 'x'\n");
    let why = rows(&evaluated(run))[0]["error"].to_string();
    assert!(why.contains("file://p.py:function"), "{why}");
}

#[test]
fn variables_outputs_and_grades_are_made_by_files() {
    let run = python()
        .config(
            "prompts: ['{{a}}, {{b}}']\nproviders: [{ id: echo, transform: file://t.py }]\ntests:\n\
             - vars: { a: file://v.py, b: 'from {{ a }}', n: 2 }\n\
             \x20 options: { transform: 'file://t.py:loud', transformVars: 'file://t.py:more' }\n\
             \x20 assertScoringFunction: file://s.py\n\
             \x20 assert: [{ type: equals, value: '[A 2, FROM A 2]!', metric: same }, { type: python, transform: file://t.py, value: \"output == '[[A 2, FROM A 2]!]'\" }]\n\
             - vars: { a: 'file://v.py:none', b: 1 }\n",
        )
        .file(
            "v.py",
            "def get_var(name, prompt, other_vars):\n    return {'output': f\"{name} {other_vars['n']}\"}\n\
             def none(name, prompt, other_vars):\n    return {'error': 'there is none'}\n",
        )
        .file(
            "t.py",
            "def get_transform(output, context):\n    return f'[{output}]'\n\
             def loud(output, context):\n    return output.upper() + '!'\n\
             def more(vars, context):\n    return {**vars, 'seen': vars['a']}\n",
        )
        .file(
            "s.py",
            "def func(named_scores, context):\n    return {'pass': True, 'score': named_scores['same'] / 2, 'reason': str(len(context['componentResults']))}\n",
        );
    let finished = evaluated(run);
    let rows = rows(&finished);
    assert_eq!(
        rows[0]["response"]["output"], "[A 2, FROM A 2]!",
        "{}",
        rows[0]
    );
    assert_eq!(rows[0]["vars"]["seen"], "a 2");
    let graded = &rows[0]["gradingResult"];
    assert_eq!(
        (&graded["score"], &graded["reason"]),
        (&json!(0.5), &json!("2")),
        "{graded}"
    );
    assert_eq!(graded["componentResults"][1]["pass"], true, "{graded}");
    let why = rows[1]["error"].as_str().unwrap_or_default();
    assert_eq!(why, "tests[1].vars.a: the code says: there is none");
}

/// A folder with the bundle but for Python.
fn bundle_without_python(project: &Path) {
    let folder = project.join("plugins");
    std::fs::create_dir(&folder).expect("the project is new");
    let all = std::fs::read_dir(target_folder().join("release/plugins")).expect("they are built");
    for path in all.map(|entry| entry.expect("read").path()) {
        let name = path.file_name().expect("a file");
        if name != "python.wasm" {
            std::os::unix::fs::symlink(&path, folder.join(name)).expect("the folder is new");
        }
    }
}

#[test]
fn a_plugin_that_is_not_there_is_named_with_its_line() {
    let run = asserting(&json!([{"type": "python", "value": "True"}]));
    bundle_without_python(run.project());
    let finished = evaluated(run.env("RUNNER_BUNDLED_PLUGINS", "plugins"));
    assert_snapshot!(finished.told());
    // Who has the file can name it.
    let named = target_folder().join("release/plugins/python.wasm");
    let again = finished.again().args(["eval", "--no-table", "--plugin"]);
    let again = again.arg(named).env("RUNNER_BUNDLED_PLUGINS", "plugins");
    again.finish().expect_code(0);
}

#[test]
fn code_that_changes_makes_another_case() {
    let run = asserting(&json!([{"type": "python", "value": "file://a.py"}]))
        .file(
            "a.py",
            "from b import verdict\ndef get_assert(output, context):\n    return verdict()\n",
        )
        .file("b.py", "def verdict():\n    return True\n");
    let first = evaluated(run);
    first.expect_code(0);
    let mut words = first.stdout.split_whitespace();
    let id = words
        .find(|word| word.starts_with("run-"))
        .expect("the summary names the run")
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_owned();
    let resume = |run: Run| run.args(["eval", "--resume", &id, "--no-table"]).finish();
    resume(first.again()).expect_code(0);
    let changed = first
        .again()
        .file("b.py", "def verdict():\n    return False\n");
    resume(changed).expect_code(2);
}
