//! What a test may say, and what `defaultTest` adds.

use serde_json::{Value, json};

use crate::fixture::Folder;
use crate::plan::{Check, Test};

fn folder(more: &str) -> Folder {
    Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{more}")).file(
        "default.yaml",
        "assert: [{ type: contains, value: from file }]\n",
    )
}

fn test(more: &str) -> Test {
    (*folder(more).plan().tests[0]).clone()
}

fn kinds(test: &Test) -> Vec<String> {
    let name = |check: &Check| match check {
        Check::One(assertion) => assertion.kind.clone(),
        Check::Set { assertions, .. } => format!("set of {}", assertions.len()),
    };
    test.assertions.iter().map(name).collect()
}

#[test]
fn a_test_is_read_whole() {
    let test = test(
        "tests:\n  - description: d\n    vars: { a: 1 }\n    assert: [{ type: equals, value: x }]\n    threshold: 0.5\n    \
         metadata: { k: [1] }\n    options: { prefix: P, temperature: 0, repeat: 3 }",
    );
    assert_eq!(test.description.as_deref(), Some("d"));
    assert_eq!((test.threshold, test.repeat), (Some(0.5), 3));
    assert_eq!(json!(test.metadata), json!({"k": [1]}));
    assert_eq!(
        json!(test.options),
        json!({"prefix": "P", "temperature": 0, "repeat": 3})
    );
    assert_eq!(
        (test.at.line, test.at.column, test.at.key.as_str()),
        (4, 5, "tests[0]")
    );
    let expected = json!({
        "description": "d", "vars": {}, "assert": [{"type": "equals", "value": "x"}],
        "options": {"prefix": "P", "temperature": 0, "repeat": 3}, "threshold": 0.5, "metadata": {"k": [1]},
    });
    assert_eq!(test.json, expected);
}

#[test]
fn the_default_lies_under_every_test_and_its_assertions_come_first() {
    let test = test(
        "metadata: { m: 0, l: 0 }\ndefaultTest:\n  vars: { a: 1, b: 1 }\n  assert: [{ type: contains, value: x }]\n  options: { prefix: P, suffix: S }\n  \
         threshold: 0.9\n  metadata: { m: 1 }\n\
         tests: [{ vars: { b: 2, c: 2 }, assert: [{ type: equals, value: y }], options: { suffix: '' }, metadata: { n: 2 } }]",
    );
    assert_eq!(
        Value::Object(test.vars.clone()).to_string(),
        r#"{"a":1,"b":2,"c":2}"#
    );
    assert_eq!(kinds(&test), ["contains", "equals"]);
    assert_eq!(json!(test.options), json!({"prefix": "P", "suffix": ""}));
    assert_eq!(test.threshold, Some(0.9));
    assert_eq!(json!(test.metadata), json!({"m": 1, "l": 0, "n": 2}));
}

#[test]
fn the_default_may_be_a_file_and_its_assertions_may_be_left_out() {
    let default = "defaultTest: file://default.yaml\n";
    assert_eq!(
        kinds(&test(&format!("{default}tests: [{{ vars: {{ a: 1 }} }}]"))),
        ["contains"]
    );
    let without = "tests: [{ vars: { a: 1 }, options: { disableDefaultAsserts: true } }]";
    assert_eq!(
        kinds(&test(&format!("{default}{without}"))),
        Vec::<String>::new()
    );
    // Without tests, the default is the one test.
    assert_eq!(kinds(&test(default)), ["contains"]);
}

#[test]
fn what_is_wrong_is_said() {
    let at = "promptfooconfig.yaml:3:";
    let cases = [
        (
            "tests: [{ description: d }]",
            format!("{at}9: tests[0]: the test is empty\nhelp: give it `vars` or `assert`"),
        ),
        (
            "tests: [5]",
            format!("{at}9: tests[0]: must be a map with `vars`, `assert`, …, not a number"),
        ),
        (
            "tests: []",
            format!("{at}8: tests: there are no tests in the list"),
        ),
        (
            "tests: [{ vars: { a: 1 }, threshold: high }]",
            format!("{at}38: tests[0].threshold: must be a number, not text"),
        ),
        (
            "tests: [{ vars: { a: 1 }, providers: [x] }]",
            format!("{at}39: tests[0].providers[0]: there is no provider 'x'"),
        ),
        (
            "tests: [{ vars: { a: 1 }, prompts: x }]",
            format!("{at}36: tests[0].prompts: there is no prompt 'x'"),
        ),
        (
            "tests: [{ vars: { a: 1 }, options: { repeat: 0 } }]",
            format!(
                "{at}46: tests[0].options.repeat: must be a whole number from 1 to 4294967295, not 0"
            ),
        ),
        (
            "tests: [{ provider: x }]",
            format!(
                "{at}11: tests[0].provider: 'provider' is not supported yet\nhelp: name it in `providers` at the top and choose it with the test's `providers`"
            ),
        ),
        (
            "defaultTest: { providerOutput: x }",
            format!(
                "{at}16: defaultTest.providerOutput: 'providerOutput' is not supported yet\nhelp: tests of outputs that exist already come with a later release"
            ),
        ),
        (
            "defaultTest: file://none.yaml",
            format!("{at}14: defaultTest: 'none.yaml': there is no such file"),
        ),
    ];
    for (more, expected) in cases {
        assert_eq!(folder(more).problems(), [expected], "{more}");
    }
}

#[test]
fn odd_things_warn() {
    let cases = [(
        "tests: [{ var: 1, vars: { a: 1 } }]",
        "promptfooconfig.yaml:3:11: tests[0].var: unknown key 'var' is ignored\nhelp: did you mean 'vars'?",
    )];
    for (more, expected) in cases {
        assert_eq!(folder(more).warnings(), [expected], "{more}");
    }
}
