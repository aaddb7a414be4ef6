//! What filling in may take.

use serde_json::json;

use super::*;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no map"),
    }
}

/// What stops it; all variables are then as written.
fn refused(written: Value) -> String {
    let written = map(written);
    let mut vars = written.clone();
    let error = resolve(&mut vars, None).expect_err("too much");
    assert_eq!(vars, written);
    error.to_string()
}

#[test]
fn many_variables_that_print_a_long_one_are_refused() {
    let mut vars = map(json!({ "b": "x".repeat(100_000) }));
    let wide = (0..200).map(|n| (format!("k{n}"), json!("{{b}}".repeat(100))));
    vars.extend(wide);
    assert_eq!(
        refused(Value::Object(vars)),
        "its variables make more than 32 MiB of text when they are filled in, the most that a case may have ('k3' is the one beyond it)"
    );
}

#[test]
fn references_that_multiply_are_refused() {
    let ten = |name: &str| format!("{{{{{name}}}}}").repeat(100);
    let vars =
        json!({"a": ten("b"), "b": ten("c"), "c": ten("d"), "d": ten("e"), "e": "x".repeat(100)});
    assert!(refused(vars).starts_with("its variables make more than 32 MiB"));
}

#[test]
fn one_variable_may_grow_to_its_own_bound_and_stays_as_it_is_beyond_it() {
    let mut vars = map(json!({ "a": "{{b}}{{b}}", "b": "x".repeat(MAX_VARIABLE / 2) }));
    assert!(resolve(&mut vars, None).is_ok());
    assert_eq!(vars["a"].as_str().map(str::len), Some(MAX_VARIABLE));
    let written = json!({ "a": "{{b}}{{b}}{{b}}", "b": "x".repeat(MAX_VARIABLE / 2) });
    let mut vars = map(written.clone());
    assert!(resolve(&mut vars, None).is_ok());
    assert_eq!(Value::Object(vars), written);
}

#[test]
fn templates_that_take_steps_are_counted_and_names_are_not() {
    let many = |count: usize, text: &str| {
        let each = (0..count).map(|n| (format!("k{n}"), json!(text)));
        let mut vars: Map<String, Value> = each.collect();
        vars.insert("b".to_owned(), json!("x"));
        vars
    };
    let loops = "{% for i in range(3) %}{{b}}{% endfor %}";
    assert!(resolve(&mut many(MAX_TEMPLATES, loops), None).is_ok());
    assert!(resolve(&mut many(1000, "so {{ b }}"), None).is_ok());
    assert!(
        refused(Value::Object(many(MAX_TEMPLATES + 1, loops)))
            .starts_with("more than 256 of its variables are templates")
    );
}

#[test]
fn what_was_left_late_is_bounded_like_the_rest() {
    let scope = Arc::new(map(json!({ "b": "x".repeat(MAX_VARIABLE / 2) })));
    let twice = ["k1", "k2", "k3"].map(|name| (name, "{{b}}{{b}}"));
    let filled = fill_late(twice[..2].iter().copied(), &scope, None).expect("two fit");
    assert_eq!(filled["k2"].as_str().map(str::len), Some(MAX_VARIABLE));
    let error = fill_late(twice, &scope, None).expect_err("three do not");
    assert_eq!(
        error,
        TooMuch::Text {
            name: "k3".to_owned()
        }
    );
    let names: Vec<String> = (0..1000).map(|n| format!("k{n}")).collect();
    let small = Arc::new(map(json!({ "b": "x" })));
    let late = names.iter().map(|name| (name.as_str(), "so {{b}}"));
    assert_eq!(fill_late(late, &small, None).map(|it| it.len()), Ok(1000));
}

#[test]
fn tags_that_replacements_made_are_not_compiled_beyond_their_bound() {
    let tags = "{{ [1,2,3] }}".repeat(100);
    let mut vars = map(json!({ "a": "{{b}}".repeat(1000), "b": tags }));
    assert!(resolve(&mut vars, None).is_ok());
    assert!(
        vars["a"]
            .as_str()
            .is_some_and(|text| text.starts_with("{{ [1,2,3] }}"))
    );
}

#[test]
fn a_files_text_is_found_however_far_names_lead() {
    let mut vars: Map<String, Value> = (1..40)
        .map(|n| {
            (
                format!("v{n:02}"),
                format!("{{{{ v{:02} }}}}", n - 1).into(),
            )
        })
        .collect();
    vars.insert("v00".to_owned(), "file://doc.txt".into());
    vars.insert("w".to_owned(), "{{ v39 | upper }} {{ x }}".into());
    vars.insert("x".to_owned(), "{{ x }} {{ w }}".into());
    let doc = Value::from("a document");
    let contents: Vec<Option<&Value>> = vars
        .keys()
        .map(|name| (name == "v00").then_some(&doc))
        .collect();
    let found = of_files(&vars, &contents);
    assert_eq!(found.len(), 40, "{found:?}");
    assert!(of_files(&vars, &vec![None; vars.len()]).is_empty());
    // What it is, filled in: as far as that.
    resolve(&mut vars, None).expect("little text");
    assert_eq!(vars["v39"], "file://doc.txt");
}
