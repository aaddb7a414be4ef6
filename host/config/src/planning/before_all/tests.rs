//! What a hook may change before the plan is made.

use serde_json::{Value, json};

use crate::fixture::Folder;

const CONFIG: &str = "prompts: ['{{n}}']\nproviders: [echo]\nextensions: ['file://h.js:beforeAll']\n\
                      defaultTest: { vars: { d: 1 } }\ntests:\n  - vars: { n: 1 }\n  - file://more.jsonl\n";

/// The config with a hook that gives `change` of its suite back.
fn folder(change: impl Fn(&mut Value) + 'static) -> Folder {
    Folder::new(CONFIG)
        .file("more.jsonl", "{\"vars\": {\"n\": 2}}")
        .code("h.js", move |arguments| {
            let [("context", context), ("hook", hook)] = arguments else {
                return Err(format!("{arguments:?}"));
            };
            assert_eq!(*hook, json!({ "hookName": "beforeAll" }));
            let mut context = context.clone();
            change(&mut context["suite"]);
            Ok(Some(context))
        })
}

fn push(suite: &mut Value, test: Value) {
    suite["tests"].as_array_mut().expect("a list").push(test);
}

#[test]
fn a_hook_sees_every_test_and_may_add_change_and_remove_some() {
    let added = folder(|suite| {
        assert_eq!(suite["tests"][1], json!({ "vars": { "n": 2 } }));
        assert_eq!(suite["prompts"], json!(["{{n}}"]));
        push(suite, json!({ "vars": { "n": 3 } }));
    });
    assert_eq!(added.texts(), ["1", "2", "3"]);
    let changed = folder(|suite| suite["tests"][0]["vars"]["n"] = json!("x"));
    assert_eq!(changed.texts(), ["x", "2"]);
    let removed = folder(|suite| {
        suite["tests"].as_array_mut().expect("a list").remove(0);
    });
    assert_eq!(removed.texts(), ["2"]);
}

#[test]
fn prompts_defaults_scenarios_and_derived_metrics_can_be_changed() {
    let folder = folder(|suite| {
        suite["prompts"] = json!(["{{n}} {{d}} {{e}}"]);
        suite["defaultTest"]["vars"]["e"] = json!("e");
        suite["scenarios"] =
            json!([{ "config": [{ "vars": { "n": 9 } }], "tests": [{ "vars": { "d": 2 } }] }]);
        suite["derivedMetrics"] = json!([{ "name": "m", "value": "1 + 1" }]);
    });
    assert_eq!(folder.texts(), ["1 1 e", "2 1 e", "9 2 e"]);
    assert_eq!(folder.plan().derived_metrics[0].name, "m");
}

#[test]
fn a_hook_may_count_on_assertions_of_the_default_test() {
    let folder = folder(|suite| {
        let assertions = suite["defaultTest"]["assert"].as_array_mut();
        assertions
            .expect("a list")
            .push(json!({ "type": "is-json" }));
    });
    let plan = folder.plan();
    let all = plan.tests.iter().map(|test| test.assertions.len());
    assert_eq!(all.collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn what_a_hook_makes_is_checked_and_stands_at_the_hook() {
    let problems =
        folder(|suite| push(suite, json!({ "assert": [{ "type": "nope" }] }))).problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("promptfooconfig.yaml:3:14: extensions[0]: tests[2].assert[0]"),
        "{problems:?}"
    );
}

#[test]
fn a_row_of_data_may_name_no_more_after_a_hook_than_before() {
    let requests = folder(|suite| {
        suite["tests"][1]["vars"]["n"] = json!("file:///etc/hostname");
    })
    .requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(
        requests[0].ends_with("read the file /etc/hostname"),
        "{requests:?}"
    );
}

/// What a hook hands back names the files that the config named, which nobody has read yet.
#[test]
fn files_that_are_named_after_a_hook_are_whose_they_were() {
    let row = json!({ "q": "file:///etc/hostname" });
    let folder = Folder::new(
        "prompts: ['{{n}}']\nproviders: [echo]\nextensions: ['file://h.js:beforeAll']\n\
         scenarios: [file://s.json]\ntests: [{ vars: file://v.json }]",
    )
    .file("v.json", row.to_string())
    .file(
        "s.json",
        json!({ "config": [{}], "tests": [{ "vars": row }] }).to_string(),
    )
    .code("h.js", |arguments| {
        let mut context = arguments[0].1.clone();
        context["suite"]["tests"][0]["metadata"] = json!({ "run": "nightly" });
        let own = json!({ "config": [{}], "tests": [{ "vars": { "n": 1 } }] });
        let scenarios = &mut context["suite"]["scenarios"];
        scenarios.as_array_mut().expect("a list").push(own);
        Ok(Some(context))
    });
    let requests = folder.requests();
    let asked = |file: &str| {
        requests
            .iter()
            .any(|it| it.starts_with(file) && it.ends_with("read the file /etc/hostname"))
    };
    assert!(asked("v.json:") && asked("s.json:"), "{requests:?}");
}

/// A row's words would have the rights of the config, wherever a hook puts them.
#[test]
fn what_a_hook_makes_of_rows_for_the_config_is_asked_for() {
    let folder = folder(|suite| {
        let rows = suite["tests"].take();
        suite["scenarios"] = json!([{ "config": [{}], "tests": rows }]);
        suite["tests"] = json!([]);
    });
    assert_eq!(
        folder.withheld(),
        [
            "promptfooconfig.yaml:3:14: extensions[0]: let a hook that was given rows change `scenarios` of the config"
        ]
    );
}

/// That a hook may change a key is no word about what rows bring with it the next time.
#[test]
fn what_rows_bring_through_a_hook_is_asked_for_as_theirs() {
    let folder = folder(|suite| {
        suite["defaultTest"]["vars"]["d"] = json!("file:///etc/hostname");
    });
    let requests = folder.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests[0].contains("change `defaultTest`"), "{requests:?}");
    assert!(
        requests[1].ends_with("read the file /etc/hostname"),
        "{requests:?}"
    );
}

#[test]
fn a_hook_that_gives_nothing_changes_nothing() {
    for nothing in [None, Some(json!(null))] {
        let folder = Folder::new(CONFIG)
            .file("more.jsonl", "{\"vars\": {\"n\": 2}}")
            .code("h.js", move |_| Ok(nothing.clone()));
        assert_eq!(folder.texts(), ["1", "2"]);
    }
}

#[test]
fn what_a_hook_can_not_do_is_said() {
    let given: [(Result<Option<Value>, String>, &str); 3] = [
        (
            Err("Error: no".to_owned()),
            "the extension failed in beforeAll: Error: no",
        ),
        (
            Ok(Some(json!({}))),
            "it must return its context with a `suite` in it",
        ),
        (
            Ok(Some(json!([1]))),
            "it must return its context, or nothing",
        ),
    ];
    for (given, expected) in given {
        let problems = Folder::new(CONFIG)
            .file("more.jsonl", "{\"vars\": {\"n\": 2}}")
            .code("h.js", move |_| given.clone())
            .problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(expected), "{problems:?}");
    }
    let problems = folder(|suite| suite["providers"] = json!(["echo", "openai:x"])).problems();
    assert!(
        problems[0].contains("beforeAll changed 'providers'"),
        "{problems:?}"
    );
    let problems = folder(|suite| suite["tests"] = json!("file://x.csv")).problems();
    assert!(
        problems[0].contains("beforeAll must leave `tests` a list"),
        "{problems:?}"
    );
}

#[test]
fn a_function_of_another_name_is_called_with_the_hooks_name_first() {
    let mut folder = Folder::new(
        "prompts: ['{{n}}']\nproviders: [echo]\nextensions: ['file://none.js']\ntests: [{ vars: { n: 1 } }]",
    )
    .code("h.js", |arguments| {
        let [("hookName", name), ("context", context)] = arguments else {
            return Err(format!("{arguments:?}"));
        };
        assert_eq!(name, "beforeAll");
        assert_eq!(context["suite"]["scenarios"], json!([]));
        Ok(None)
    });
    // The flag takes the place of the key.
    folder.overrides.extensions = vec!["file://h.js:mine".to_owned()];
    let plan = folder.plan();
    assert_eq!(plan.extensions.len(), 1);
    assert_eq!(plan.extensions[0].hook, None);
}

#[test]
fn environment_templates_are_filled_in_after_the_hook() {
    let folder = Folder::new(
        "env: { KEY: '{{ env.KEY }}' }\nprompts: ['{{ env.KEY }} {{n}}']\nproviders: [echo]\nextensions: [file://h.js]\ntests: [{ vars: { n: '{{ env.KEY }}' } }]",
    )
    .env("KEY", "hidden")
    .code("h.js", |arguments| {
        let text = arguments[1].1.to_string();
        assert!(!text.contains("hidden"), "{text}");
        let mut context = arguments[1].1.clone();
        context["suite"]["tests"][0]["vars"]["m"] = json!(1);
        Ok(Some(context))
    });
    assert_eq!(folder.texts(), ["hidden hidden"]);
}

#[test]
fn more_tests_than_code_can_take_are_not_handed_over() {
    let problems = folder(|_| ())
        .file("more.jsonl", "{\"vars\": {\"a\": 1}}\n".repeat(450_000))
        .problems();
    assert!(
        problems[0].contains("there are too many tests to give them to a beforeAll hook"),
        "{problems:?}"
    );
}

/// Words of one file may stand in a row of another by then.
#[test]
fn rows_of_several_files_name_none_once_a_hook_had_them() {
    let row = |file: &str| format!("{{\"vars\": {{ \"n\": \"file://{file}\" }} }}");
    let folder = |files: &str| {
        let tests = format!("tests: [{files}]");
        let config = CONFIG.split("tests:").next().expect("a part");
        Folder::new(&format!("{config}{tests}\n"))
            .file("a/rows.jsonl", row("b/own.txt"))
            .file("b/rows.jsonl", row("b/own.txt"))
            .file("b/own.txt", "own")
            .code("h.js", |arguments| {
                let mut context = arguments[0].1.clone();
                for test in context["suite"]["tests"].as_array_mut().expect("a list") {
                    test["description"] = json!("changed");
                }
                Ok(Some(context))
            })
    };
    assert_eq!(folder("file://b/rows.jsonl").withheld(), [""; 0]);
    let withheld = folder("file://b/rows.jsonl, file://a/rows.jsonl").withheld();
    assert_eq!(withheld.len(), 1, "{withheld:?}");
    assert!(
        withheld[0].ends_with("read the file ~/b/own.txt"),
        "{withheld:?}"
    );
}

/// Each was looked for among all that were handed over.
#[test]
fn a_hook_may_change_every_test_of_many() {
    const MANY: usize = 60_000;
    let rows: Vec<String> = (0..MANY)
        .map(|n| format!("{{\"vars\": {{\"n\": {n}}}}}"))
        .collect();
    let folder = folder(|suite| {
        for test in suite["tests"].as_array_mut().expect("a list") {
            test["vars"]["x"] = json!(1);
        }
    });
    let plan = folder.file("more.jsonl", rows.join("\n")).plan();
    assert_eq!(plan.tests.len(), MANY + 1);
}

/// A row would speak for the config's own tests, and turn them green.
#[test]
fn rows_and_own_tests_stay_apart_whatever_a_hook_adds_to_both() {
    let parts = |change: fn(&mut Value)| {
        let plan = folder(change).plan();
        let parts = plan
            .tests
            .iter()
            .map(|test| test.data.as_ref().map(|file| file.part));
        parts.collect::<Vec<_>>()
    };
    let tagged = parts(|suite| {
        for test in suite["tests"].as_array_mut().expect("a list") {
            test["metadata"] = json!({ "suite": "nightly" });
        }
    });
    assert_eq!(tagged, [Some(1), Some(0)]);
    let own_alone = parts(|suite| suite["tests"][0]["metadata"] = json!({ "a": 1 }));
    assert_eq!(own_alone, [Some(1), Some(0)]);
    let others = parts(|suite| {
        for test in suite["tests"].as_array_mut().expect("a list") {
            test["vars"]["n"] = json!(3);
        }
    });
    assert_eq!(others, [Some(2), Some(3)], "nobody knows which is which");
    let claimed = parts(|suite| suite["tests"][1]["vars"] = suite["tests"][0]["vars"].clone());
    assert_eq!(claimed[0], None, "it came back as it went");
}

#[test]
fn a_prompt_that_a_hook_makes_of_rows_has_the_rights_of_rows() {
    let folder = Folder::new(
        "env: { PLAIN: plain }\nprompts: ['{{n}}']\nproviders: [echo]\nextensions: ['file://h.js:beforeAll']\n\
         tests: rows.jsonl",
    )
    .file("rows.jsonl", r#"{"vars": {"n": 1}, "metadata": {"intro": "{{ env.PLAIN }}"}}"#)
    .code("h.js", |arguments| {
        let mut context = arguments[0].1.clone();
        let intro = context["suite"]["tests"][0]["metadata"]["intro"].clone();
        let raw = format!("{}{{{{n}}}}", intro.as_str().unwrap_or_default());
        context["suite"]["prompts"] = json!([{ "raw": raw, "label": "p", "config": { "model": "other" } }]);
        Ok(Some(context))
    });
    let requests = folder.requests();
    let is_asked = |what: &str| requests.iter().any(|it| it.contains(what));
    assert!(
        is_asked("change `prompts`") && is_asked("set `model` of its request"),
        "{requests:?}"
    );
    assert_eq!(folder.texts(), ["1"]);
}
