//! What templates print, and what they may not do.

use serde_json::{Map, Value as Json, json};

use super::*;

mod hostile;
mod table;

fn vars() -> Map<String, Json> {
    let vars = json!({
        "name": "Ada", "n": 3, "f": 1.0, "half": 0.5, "list": [1, 2], "words": ["a", "b"], "empty": [],
        "user": {"first": "Ada", "tags": ["x"]}, "text": "{\"a\": [1]}", "none": null, "yes": true, "html": "<b>&",
        "long": "x".repeat(1000),
    });
    let Json::Object(vars) = vars else {
        panic!("an object")
    };
    vars
}

fn scope(variables: &dyn Variables) -> Scope<'_> {
    Scope {
        variables,
        filters: None,
        allowance: None,
        escape: None,
    }
}

fn rendered(text: &str, variables: &dyn Variables) -> Result<String, Error> {
    Template::parse(text)?.render(scope(variables), &Limits::default())
}

fn render(text: &str) -> Result<String, Error> {
    rendered(text, &vars())
}

#[test]
fn load_reads_whatever_is_json() {
    let template = r#"{{ '{"b": 1, "a": [1.5, -2, 2e3, 18446744073709551615, null, true, "x", {}], "b": 2}' | load | dump }}"#;
    let expected = r#"{"b":2,"a":[1.5,-2,2000,18446744073709551615,null,true,"x",{}]}"#;
    assert_eq!(render(template), Ok(expected.to_owned()));
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
fn errors_say_what_and_where() {
    let cases = [
        (
            "{{ name nope }}",
            "unexpected identifier, expected end of variable block",
        ),
        (
            "a\n{% if x %}",
            "unexpected end of input, expected end of block (line 2)",
        ),
        ("{{ name | nope }}", "there is no filter 'nope'"),
        (
            "{% include 'x' %}",
            "`include` is not supported: a template is one text here; put what is shared \
             into a variable (`file://…`)",
        ),
        (
            "a\nb {{ c d }}",
            "unexpected identifier, expected end of variable block (line 2)",
        ),
        ("{{ name is nope }}", "there is no test 'nope'"),
        (
            "{# a\nb #}{{ name.nope() }}",
            "there is no method 'nope' on a text (line 2)",
        ),
        ("{{ missing.trim() }}", "'trim' is called on nothing"),
        ("{% endif %}", "`endif` without a beginning"),
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
fn what_a_template_reads_is_found_without_its_values() {
    let cases: [(&str, &[&str], &[&str]); 12] = [
        (
            "{{ a.b.c }} {{ a['b'] }} {{ a[k].c }}",
            &["a", "a.b.c", "k"],
            &[],
        ),
        ("{{ a.b.trim() }} {{ a.b.length }}", &["a.b"], &[]),
        (
            "{{ a | f(b) | upper | g(x=c) }}",
            &["a", "b", "c"],
            &["f", "g"],
        ),
        (
            "{% filter f(a) %}{{ b }}{% endfilter %}",
            &["a", "b"],
            &["f"],
        ),
        (
            "{% for x, y in a %}{{ x }}{{ y }}{{ loop.index }}{% else %}{{ x }}{% endfor %}{{ y }}",
            &["a", "x", "y"],
            &[],
        ),
        ("{% set a = a.b %}{{ a.c }}", &["a.b"], &[]),
        ("{% set a, b = 1 %}{{ a }}{{ b }}", &[], &[]),
        ("{% set a %}{{ a }}{% endset %}{{ a }}", &["a"], &[]),
        (
            "{% if a %}{% set b = 1 %}{{ b }}{% endif %}{{ b }}",
            &["a", "b"],
            &[],
        ),
        (
            "{% for x in y %}{% set t = t + x %}{% endfor %}{{ t }}",
            &["t", "y"],
            &[],
        ),
        (
            "{{ {k: a, 'b': [c]} }}{{ range(d) }}{{ 'e' if f else -g }}",
            &["a", "c", "d", "f", "g"],
            &[],
        ),
        (
            "{% raw %}{{ a }}{% endraw %}{# {{ b }} #}{{ c is eq(d) and not e in h }}",
            &["c", "d", "e", "h"],
            &[],
        ),
    ];
    for (text, paths, filters) in cases {
        let template = Template::parse(text).expect(text);
        let found = (template.paths(), template.custom_filters());
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, (set(paths), set(filters)), "{text}");
    }
    let template = Template::parse("{{ env.HOME }}{{ env.A.b }}{{ q }}").expect("a template");
    assert_eq!(
        template.names().into_iter().collect::<Vec<_>>(),
        ["env", "q"]
    );
}

#[test]
fn a_variable_of_a_loop_lives_as_long_as_the_loop() {
    let cases = [
        (
            "{% for i in [1, 2] %}{% set t = (t or 0) + i %}{{ t }},{% endfor %}{{ t }}",
            "1,3,",
        ),
        // Not yet set around the loop.
        (
            "{% for i in [1] %}{% set a = 2 %}{% endfor %}{{ a }}{% set a = 1 %}{{ a }}",
            "1",
        ),
        (
            "{% for i in [1] %}{% for j in [1] %}{% set a = 2 %}{% endfor %}{{ a }}{% endfor %}",
            "",
        ),
        (
            "{% for i in [1] %}{% set a = 1 %}{% for j in [1] %}{% set a = 2 %}{% endfor %}{{ a }}{% endfor %}",
            "2",
        ),
        (
            "{% for a in [1, 2] %}{{ a }}{% set a = 9 %}{{ a }}{% endfor %}{{ a }}",
            "1929",
        ),
        (
            "{% for i in [1, 2] %}{% for j in [1] %}{{ loop.length }}{% endfor %}{{ loop.length }}{% endfor %}",
            "1212",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn an_answer_is_read_by_key_and_prints_as_it_was_written() {
    struct Answers(Answer);
    impl Variables for Answers {
        fn get<'a>(&'a self, name: &str) -> Option<Value<'a>> {
            (name == "it").then(|| Value::from(&self.0))
        }

        fn seed(&self) -> u64 {
            0
        }
    }
    let written = r#"{ "a": [1.0, {"b": "c"}] }"#;
    let map = Answers(Answer::read(written).expect("JSON"));
    for (text, expected) in [
        ("{{ it }}", written),
        ("{{ it | upper | lower }}", written),
        (
            "{{ it.a[1].b }} {{ it.a.length }} {{ it | length }}",
            "c 2 1",
        ),
        ("{{ it | dump }}", r#"{"a":[1,{"b":"c"}]}"#),
        ("{% for k, v in it %}{{ k }}{% endfor %}", "a"),
        ("{{ it == it }} {{ it is mapping }}", "true true"),
    ] {
        assert_eq!(rendered(text, &map), Ok(expected.to_owned()), "{text}");
    }
    let list = Answers(Answer::read("[1 , 2]").expect("JSON"));
    let text = "{{ it }} {{ it[1] }} {% for x in it %}{{ x }}{% endfor %}";
    assert_eq!(rendered(text, &list), Ok("[1 , 2] 2 12".to_owned()));
    for none in ["1", "\"a\"", "null", "{", ""] {
        assert_eq!(Answer::read(none), None, "{none}");
    }
}

#[test]
fn an_escape_sees_what_is_printed_once() {
    let escape = |printed: &Printed<'_>| {
        let kind = if printed.is_text { '\'' } else { '#' };
        (!printed.is_safe).then(|| format!("{kind}{}{kind}", printed.text))
    };
    let vars = vars();
    let scope = Scope {
        allowance: None,
        escape: Some(&escape),
        ..scope(&vars)
    };
    for (text, expected) in [
        ("a {{ name }} {{ n }} {{ list }}", "a 'Ada' #3# #1,2#"),
        ("{{ name | safe }} {{ 'ä' | urlencode }}", "Ada %C3%A4"),
        ("{% set x %}a{{ name }}{% endset %}{{ x }}", "a'Ada'"),
        ("{% filter upper %}a{% endfilter %}", "'A'"),
    ] {
        let rendered = Template::parse(text).and_then(|it| it.render(scope, &Limits::default()));
        assert_eq!(rendered, Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn filters_of_others_get_json_and_may_take_their_time() {
    struct Others;
    impl Filters for Others {
        fn call(&self, name: &str, arguments: Vec<Json>) -> Result<Option<Json>, String> {
            match name {
                "give" => Ok(Some(Json::Array(arguments))),
                "wait" => Ok(None),
                other => Err(format!("no {other}")),
            }
        }
    }
    let vars = vars();
    let scope = Scope {
        filters: Some(&Others),
        ..scope(&vars)
    };
    for (text, expected) in [
        (
            "{{ name | give(1, missing, x=none) | dump }}",
            Ok(r#"["Ada",1,null,{"x":null}]"#),
        ),
        (
            "{% for x in 1 | give(2) %}[{{ x }}]{% endfor %}",
            Ok("[1][2]"),
        ),
        (
            "[{{ 1 | wait }}{{ 1 | wait | give }}{{ 1 | give(x=1 | wait) }}]",
            Ok("[]"),
        ),
        ("{{ (1 | wait).a }}{{ 1 | wait | upper }}", Ok("")),
        ("{{ 1 | nope }}", Err("no nope")),
    ] {
        let rendered = Template::parse(text).and_then(|it| it.render(scope, &Limits::default()));
        let rendered = rendered.map_err(|error| error.reason);
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(rendered, expected, "{text}");
    }
}

#[test]
fn random_chooses_by_the_variables_and_the_same_again() {
    let text = "{% for i in range(20) %}{{ ['a', 'b', 'c'] | random }}{% endfor %}";
    let of = |name: &str| {
        let vars = Map::from_iter([("name".to_owned(), name.into())]);
        rendered(text, &vars).expect("a text")
    };
    assert_eq!(of("Ada"), of("Ada"));
    assert_ne!(of("Ada"), of("Bob"));
    for letter in ['a', 'b', 'c'] {
        assert!(of("Ada").contains(letter), "{letter}");
    }
}

#[test]
fn a_function_that_is_none_is_said_when_the_text_is_read_with_its_line() {
    for (text, line, name) in [
        ("\n{{ shout(1) }}", 2, "shout"),
        (
            "{% macro m() %}\n\n{{ n() }}{% endmacro %}{{ m() }}",
            3,
            "n",
        ),
        ("{% set a = 1 %}\n{% call b() %}{% endcall %}", 2, "b"),
        (
            "{% if 1 %}\n{% switch f() %}{% case 1 %}{% endswitch %}{% endif %}",
            2,
            "f",
        ),
    ] {
        let error = Template::parse(text).expect_err(text);
        let reason = format!("there is no function '{name}'");
        assert_eq!((error.line, error.reason), (line, reason), "{text}");
    }
}

#[test]
fn what_fails_in_a_macro_is_said_with_its_line_there() {
    let text = "{% macro m() %}\n{{ none.x() }}{% endmacro %}\n\n{{ m() }}";
    let error = render(text).expect_err("x is called on nothing");
    assert_eq!(error.to_string(), "'x' is called on nothing (line 2)");
}

#[test]
fn nothing_can_t_be_joined() {
    for text in ["{{ missing | join(', ') }}", "{{ none | join }}"] {
        let error = render(text).expect_err(text);
        assert!(error.reason.contains("nothing to join"), "{text}: {error}");
    }
    assert_eq!(
        render("{{ missing | default([]) | join }}"),
        Ok(String::new())
    );
}
