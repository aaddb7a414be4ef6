//! What templates print, and what they may not do.

use serde_json::json;

use super::*;

mod edges;
mod hostile;
mod table;

fn vars() -> Arc<Map<String, Json>> {
    let vars = json!({
        "name": "Ada", "n": 3, "f": 1.0, "half": 0.5, "list": [1, 2], "words": ["a", "b"], "empty": [],
        "user": {"first": "Ada", "tags": ["x"]}, "text": "{\"a\": [1]}", "none": null, "yes": true, "html": "<b>&",
        "long": "x".repeat(1000),
    });
    let Json::Object(vars) = vars else {
        panic!("an object")
    };
    Arc::new(vars)
}

fn render(text: &str) -> Result<String, RenderError> {
    Template::new(text, None)?.render(&vars())
}

#[test]
fn templates_print_as_in_nunjucks() {
    let cases = [
        ("Hi {{ name }}!", "Hi Ada!"),
        ("{{name}}", "Ada"),
        ("{{- name -}}", "Ada"),
        ("{{ n }} {{ f }} {{ half }}", "3 1 0.5"),
        ("{{ list }}", "1,2"),
        ("{{ user }}", r#"{"first":"Ada","tags":["x"]}"#),
        ("{{ user.first }} {{ user['first'] }}", "Ada Ada"),
        ("{{ user.tags[0] }}", "x"),
        ("{{ words.length }}", "2"),
        ("[{{ missing }}]", "[]"),
        ("[{{ missing.deep.deeper }}]", "[]"),
        ("[{{ none }}]", "[]"),
        ("{{ yes }}", "true"),
        ("{{ [1, true, none] }} {{ {'a': 1} }}", "1,true, {\"a\":1}"),
        ("{{ html }}", "<b>&"),
        ("{{ html | safe }}", "<b>&"),
        ("{{ n / 2 }} {{ n * 2 }} {{ 4 / 2 }}", "1.5 6 2"),
        ("{{ name ~ '-' ~ n }}", "Ada-3"),
        ("{{ 'a' if yes else 'b' }}", "a"),
        ("{{ 'a' if missing else 'b' }}", "b"),
        ("{% if empty %}true{% else %}false{% endif %}", "true"),
        ("{% if name == 'Ada' and not missing %}y{% endif %}", "y"),
        (
            "{% for w in words %}{{ loop.index0 }}{{ w }}{% if not loop.last %},{% endif %}{% endfor %}",
            "0a,1b",
        ),
        (
            "{% for k, v in user %}{{ k }}={{ v }};{% endfor %}",
            "first=Ada;tags=x;",
        ),
        ("{% for x in missing %}{{ x }}{% endfor %}.", "."),
        ("{% set x = n + 1 %}{{ x }}", "4"),
        ("{{ user | dump }}", r#"{"first":"Ada","tags":["x"]}"#),
        ("{{ name | dump }}", "\"Ada\""),
        ("{{ list | dump(2) }}", "[\n  1,\n  2\n]"),
        ("{{ f | dump }}", "1"),
        ("{{ (text | load).a[0] }}", "1"),
        ("{{ words | join(', ') }}", "a, b"),
        (
            "{{ name | upper }} {{ name | lower }} {{ 'a b' | title }}",
            "ADA ada A B",
        ),
        ("{{ name | replace('A', 'I') }}", "Ida"),
        ("{{ missing | default('x') }}", "x"),
        ("{{ words | length }} {{ name | length }}", "2 3"),
        ("{{ words | first }}{{ words | last }}", "ab"),
        ("{{ 'a b&c' | urlencode }}", "a%20b%26c"),
        ("{{ 'one two three' | truncate(8) }}", "one two..."),
        ("{{ 'one two three' | truncate(6) }}", "one..."),
        ("{{ 'one two three' | truncate(6, true, '!') }}", "one tw!"),
        ("{{ 'one two' | wordcount }}", "2"),
        ("{# nothing #}x", "x"),
        ("{% raw %}{{ name }}{% endraw %}", "{{ name }}"),
        ("line\n", "line\n"),
        ("{{ name }}\n", "Ada\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn openings_that_nobody_closes_are_text() {
    let cases = [
        ("{{ name }} {{", "Ada {{"),
        ("{% {{ name }}", "{% Ada"),
        ("h1{#id} {{ name }}", "h1{#id} Ada"),
        ("}} {{ name }}", "}} Ada"),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text), Ok(expected.to_owned()), "{text}");
    }
    // Balanced, but no expression: an error, not a crash.
    assert!(render("\\frac{{1}{2}} {{name}}").is_err());
}

#[test]
fn only_what_env_declares_is_seen() {
    let env = json!({"HOME_PAGE": "example.com"});
    let env = Arc::new(env.as_object().expect("a map").clone());
    let template =
        Template::new("[{{ env.HOME_PAGE }}{{ env.PATH }}]", Some(&env)).expect("a template");
    assert_eq!(template.render(&vars()), Ok("[example.com]".to_owned()));
    assert_eq!(render("[{{ env.PATH }}]"), Ok("[]".to_owned()));
}

#[test]
fn errors_say_what_and_where() {
    let cases = [
        (
            "{{ name nope }}",
            "template '{{ name nope }}': unexpected identifier, expected end of variable block",
        ),
        (
            "a\n{% if x %}",
            "template 'a': unexpected end of input, expected end of block (line 2)",
        ),
        (
            "{{ name | nope }}",
            "template '{{ name | nope }}': there is no filter 'nope'",
        ),
        (
            "{% include 'x' %}",
            "template '{% include 'x' %}': `include` is not supported: a template is one text here; put what is shared \
             into a variable (`file://…`)",
        ),
        (
            "a\nb {{ c d }}",
            "template 'a': unexpected identifier, expected end of variable block (line 2)",
        ),
        (
            "{{ name is nope }}",
            "template '{{ name is nope }}': there is no test 'nope'",
        ),
        (
            "{# a\nb #}{{ name.nope() }}",
            "template '{# a': there is no method 'nope' on a text (line 2)",
        ),
        (
            "{{ missing.trim() }}",
            "template '{{ missing.trim() }}': 'trim' is called on nothing",
        ),
        (
            "{% endif %}",
            "template '{% endif %}': `endif` without a beginning",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            render(text).expect_err("no template").to_string(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn json_prompts_are_filled_in_string_by_string() {
    let render = |text: &str, vars: Json| {
        let Json::Object(vars) = vars else {
            panic!("an object")
        };
        Prepared::new(text, None)
            .and_then(|prepared| prepared.render(&Arc::new(vars), None))
            .map(|(text, _)| text)
    };
    let cases = [
        // A quote in a variable can't break it.
        (
            r#"{"a": "{{x}}"}"#,
            json!({"x": "say \"hi\""}),
            "{\n  \"a\": \"say \\\"hi\\\"\"\n}",
        ),
        // Keys are never rendered.
        (r#"{"{{x}}": 1}"#, json!({"x": "k"}), "{\n  \"{{x}}\": 1\n}"),
        // Numbers lose a fraction of zero.
        (
            "[1.0, 2.5, 9007199254740993]",
            json!({}),
            "[\n  1,\n  2.5,\n  9007199254740993\n]",
        ),
        // JSON only after rendering: as it is if it can be read, else with its values apart.
        (r#"{"a": {{x}}}"#, json!({"x": "\""}), "{\"a\": \"}"),
        (r#"{"a": {{x}}}"#, json!({"x": "[1]"}), r#"{"a": [1]}"#),
        (
            r#"{"a": "{{x}}"{% if x %}, "b": {{ x | dump }}{% endif %}}"#,
            json!({"x": "say"}),
            r#"{"a": "say", "b": "say"}"#,
        ),
        (
            r#"["{{x}}"{% if x %}, "{{ x }} {{ n }}"{% endif %}, {{ n }}]"#,
            json!({"x": "a \"b\"\n", "n": 1}),
            "[\n  \"a \\\"b\\\"\\n\",\n  \"a \\\"b\\\"\\n 1\",\n  1\n]",
        ),
        // Not with marks in the data, which stay what they are.
        (
            r#"["{{x}}"{% if x %}, "{{ x }}"{% endif %}]"#,
            json!({"x": "\"\u{e000}0\u{e001}"}),
            "[\"\"\u{e000}0\u{e001}\", \"\"\u{e000}0\u{e001}\"]",
        ),
        ("[]", json!({}), "[]"),
        // A bare string or number isn't a JSON prompt.
        ("5.0", json!({}), "5.0"),
    ];
    for (text, vars, expected) in cases {
        assert_eq!(render(text, vars), Ok(expected.to_owned()), "{text}");
    }
}
