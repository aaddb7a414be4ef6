//! Filters of the config: their names, and templates that call them.

use serde_json::{Value, json};

use crate::fixture::Folder;
use crate::plan::{Case, FilterCall};

fn folder(filters: &str, rest: &str) -> Folder {
    Folder::new(&format!(
        "nunjucksFilters: {filters}\nproviders: [echo]\n{rest}"
    ))
    .file("f.js", "module.exports = (value) => value")
}

/// Renders as often as filters want, each of which puts its arguments in brackets.
fn filled<T>(case: &Case, render: impl Fn(&Case) -> T) -> (T, usize) {
    let mut calls = 0;
    for _ in 0..20 {
        let rendered = render(case);
        let wanted = case.wanted_filters();
        if wanted.is_empty() {
            return (rendered, calls);
        }
        calls += wanted.len();
        for call in wanted {
            case.keep_filtered(&call, &Ok(bracketed(&call)));
        }
    }
    panic!("filters want ever more")
}

fn bracketed(call: &FilterCall) -> Value {
    let arguments: Vec<String> = call.arguments.iter().map(ToString::to_string).collect();
    json!(format!("{}[{}]", call.name, arguments.join(" ")))
}

#[test]
fn a_prompt_calls_filters_with_their_arguments() {
    let cases = [
        ("{{ a | f }}", "f[\"x\"]", 1),
        ("{{ a | f }} {{ a | f }}", "f[\"x\"] f[\"x\"]", 1),
        ("{{ a | f(1, [2], k=3) }}", "f[\"x\" 1 [2] {\"k\":3}]", 1),
        ("{{ a | f | upper }}", "F[\"X\"]", 1),
        ("{{ a | f | g }}", "g[\"f[\\\"x\\\"]\"]", 2),
        ("{{ none | f }}", "f[null]", 1),
        ("{% for i in l %}{{ i | f }}{% endfor %}", "f[1]f[2]", 2),
        (
            "{% if a | f == 'f[\"x\"]' %}yes{% else %}{{ a | g }}{% endif %}",
            "yes",
            2,
        ),
        ("{% filter f %}a{{ a }}{% endfilter %}", "f[\"ax\"]", 1),
        ("{{ 'plain' | upper }}", "PLAIN", 0),
    ];
    for (prompt, expected, calls) in cases {
        let prompt_json = json!(prompt);
        let folder = folder(
            "{ f: file://f.js, g: file://f.js }",
            &format!("prompts: [{prompt_json}]\ntests: [{{ vars: {{ a: x, l: [1, 2] }} }}]"),
        );
        let case = &folder.cases()[0];
        let (rendered, called) = filled(case, Case::render);
        assert_eq!(rendered.expect(prompt).text, expected, "{prompt}");
        assert_eq!(called, calls, "{prompt}");
    }
}

#[test]
fn a_json_prompt_a_prefix_and_an_assertion_call_them_too() {
    let folder = folder(
        "{ f: file://f.js }",
        "prompts: ['[{\"role\": \"user\", \"content\": \"{{ a | f }}\"}]']\n\
         tests:\n  - vars: { a: 'say \"x\"' }\n    assert: [{ type: contains, value: '{{ a | f }}' }, { type: contains-any, value: ['{{ a | f(1) }}'] }]",
    );
    let case = &folder.cases()[0];
    let (rendered, _) = filled(case, Case::render);
    assert_eq!(
        rendered.expect("renders").messages[0].content,
        "f[\"say \\\"x\\\"\"]"
    );
    let values: Vec<Option<Value>> = case
        .test
        .assertions
        .iter()
        .flat_map(crate::plan::Check::members)
        .map(|assertion| {
            filled(case, |case| case.render_value(assertion))
                .0
                .expect("renders")
        })
        .collect();
    assert_eq!(values[0], Some(json!("f[\"say \\\"x\\\"\"]")));
    assert_eq!(values[1], Some(json!(["f[\"say \\\"x\\\"\" 1]"])));
    let (metric, _) = filled(case, |case| case.render_text("m {{ 1 | f }}"));
    assert_eq!(metric, "m f[1]");
}

#[test]
fn variables_that_call_filters_are_filled_in_when_the_case_runs() {
    let folder = folder(
        "{ f: file://f.js }",
        "prompts: ['{{b}} {{c}}']\ntests: [{ vars: { a: x, b: '{{ a | f }}', c: '<{{ b }}>', d: '{{ missing | f }}', e: '{{ a | nope }}' } }]",
    );
    let mut case = folder.cases().remove(0);
    assert!(case.has_late_vars());
    let (late, _) = filled(&case, |case| {
        let mut case = case.clone();
        case.fill_late_vars();
        case.vars
    });
    assert_eq!(late["b"], "f[\"x\"]");
    assert_eq!(late["c"], "<f[\"x\"]>");
    // As without filters: what reads something undefined, or is no template, stays.
    assert_eq!(late["d"], "{{ missing | f }}");
    assert_eq!(late["e"], "{{ a | nope }}");
    case.fill_late_vars();
    assert_eq!(case.render().expect("renders").text, "f[\"x\"] <f[\"x\"]>");
}

#[test]
fn what_an_earlier_case_left_wins_over_a_variable_that_calls_a_filter() {
    let folder = folder(
        "{ f: file://f.js }",
        "prompts: ['{{b}}']\ntests: [{ vars: { b: '{{ 1 | f }}' } }]",
    );
    let mut case = folder.cases().remove(0);
    let left = json!({ "b": "left" });
    case.follow(left.as_object().expect("an object"));
    case.fill_late_vars();
    assert_eq!(case.render().expect("renders").text, "left");
}

#[test]
fn a_filter_that_fails_fails_its_template() {
    let folder = folder("{ f: file://f.js }", "prompts: ['{{ 1 | f }}']");
    let case = &folder.cases()[0];
    assert!(case.render().is_ok());
    let call = case.wanted_filters().remove(0);
    case.keep_filtered(&call, &Err("TypeError: no".to_owned()));
    let error = case.render().expect_err("it failed").to_string();
    assert!(error.contains("the filter 'f': TypeError: no"), "{error}");
    assert!(case.wanted_filters().is_empty());
}

#[test]
fn a_case_calls_filters_so_often_and_no_more() {
    let folder = folder(
        "{ f: file://f.js }",
        "prompts: ['{% for i in range(2000) %}{{ i | f }}{% endfor %}']",
    );
    let error = folder.cases()[0]
        .render()
        .expect_err("too often")
        .to_string();
    assert!(error.contains("more than 1000 times"), "{error}");
}

#[test]
fn unknown_filters_and_odd_names_are_said_at_load() {
    let cases = [
        (
            "{ shout: file://f.js }",
            "prompts: ['{{ a | shuot }}']",
            "prompts[0]: there is no filter 'shuot'\nhelp: did you mean 'shout'?",
        ),
        (
            "{}",
            "prompts: ['{{ a | shout }}']",
            "help: nunjucksFilters: { shout: file://shout.js } makes one",
        ),
        (
            "{}",
            "prompts: [p]\ntests: [{ assert: [{ type: equals, value: '{{ a | nope }}' }] }]",
            "tests[0].assert[0].value: there is no filter 'nope'",
        ),
        (
            "{ f: file://none.js }",
            "prompts: [p]",
            "nunjucksFilters.f: 'none.js': there is no such file",
        ),
        (
            "{ f: 'x => x' }",
            "prompts: [p]",
            "nunjucksFilters.f: must name a file of code",
        ),
        (
            "{ upper: file://f.js }",
            "prompts: [p]",
            "'upper' is a filter of templates already",
        ),
        (
            "{ 'a-b': file://f.js }",
            "prompts: [p]",
            "is no name that a template can say",
        ),
        (
            "[f.js]",
            "prompts: [p]",
            "must be a map of names to files of code, not a list",
        ),
    ];
    for (filters, rest, expected) in cases {
        let problems = folder(filters, rest).problems();
        assert_eq!(problems.len(), 1, "{filters} {rest}: {problems:?}");
        assert!(
            problems[0].contains(expected),
            "{filters} {rest}: {problems:?}"
        );
    }
}

#[test]
fn without_filters_of_the_config_nothing_waits_for_any() {
    let folder = Folder::new(
        "prompts: ['{{a}}']\nproviders: [echo]\ntests: [{ vars: { a: '{{ 1 | upper }}' } }]",
    );
    let case = &folder.cases()[0];
    assert!(!case.has_late_vars());
    assert_eq!(case.render().expect("renders").text, "1");
    assert!(case.wanted_filters().is_empty());
}
