//! Renderings that look results of filters up.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::{FilterScripts, Results};
use crate::model::{Code, Script};
use crate::template::Template;

fn results(names: &[&str]) -> Arc<Results> {
    let script = Arc::new(Script {
        language: "x".to_owned(),
        process: None,
        sends: false,
        key: String::new(),
        code: Code::Inline {
            text: String::new(),
        },
    });
    let filters: FilterScripts = names
        .iter()
        .map(|name| ((*name).to_owned(), script.clone()))
        .collect::<BTreeMap<_, _>>();
    Arc::new(Results::new(Arc::new(filters), Arc::default()))
}

fn vars(vars: Json) -> Map<String, Json> {
    let Json::Object(vars) = vars else {
        panic!("variables are a map")
    };
    vars
}

#[test]
fn without_results_a_filter_is_unknown() {
    let template = Template::new("{{ 1 | f }}", None).expect("a template");
    let error = template
        .render_with(&vars(json!({})), None)
        .expect_err("no filter");
    assert!(
        error.to_string().contains("there is no filter 'f'"),
        "{error}"
    );
}

#[test]
fn a_filter_may_give_any_value() {
    let results = results(&["f"]);
    let template = Template::new("{% for i in x | f %}[{{ i.n }}]{% endfor %}", None).expect("one");
    let vars = vars(json!({ "x": 1 }));
    drop(template.render_with(&vars, Some(&results)));
    let call = results.take_wanted().remove(0);
    results.keep(&call, Ok(json!([{ "n": 1 }, { "n": 2 }])));
    assert_eq!(
        template.render_with(&vars, Some(&results)),
        Ok("[1][2]".to_owned())
    );
}

proptest! {
    /// Whatever filters make of their values, as many renderings as there are filters in a row
    /// are enough, and none is called twice with the same arguments.
    #[test]
    fn each_call_is_made_once(words in proptest::collection::vec("[a-c]{1,2}", 1..6), depth in 1_usize..4) {
        let results = results(&["f"]);
        let chain = " | f".repeat(depth);
        let text: Vec<String> = words.iter().map(|word| format!("{{{{ '{word}'{chain} }}}}")).collect();
        let text = text.concat();
        let template = Template::new(&text, None).expect("a template");
        let mut made = Vec::new();
        for _ in 0..depth {
            drop(template.render_with(&vars(json!({})), Some(&results)));
            for call in results.take_wanted() {
                let given = json!(format!("<{}>", call.arguments[0].as_str().unwrap_or_default()));
                prop_assert!(!made.contains(&call.arguments));
                made.push(call.arguments.clone());
                results.keep(&call, Ok(given));
            }
        }
        let rendered = template.render_with(&vars(json!({})), Some(&results));
        let expected: Vec<String> = words
            .iter()
            .map(|word| format!("{}{word}{}", "<".repeat(depth), ">".repeat(depth)))
            .collect();
        prop_assert_eq!(rendered, Ok(expected.concat()));
        prop_assert!(results.take_wanted().is_empty());
    }
}
