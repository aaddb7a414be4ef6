//! Filters over whole configs: what they leave, in which order, and what they say.

use serde_json::{Value, json};

use super::*;
use crate::fixture::Folder;

/// Six tests, the variable `n` telling which.
fn folder() -> Folder {
    Folder::new(
        "prompts: [{ raw: 'a {{n}}', label: short }, { raw: 'b {{n}}', label: long }]\n\
         providers: [{ id: echo, label: fast }, 'echo:slow']\n\
         defaultTest: { metadata: { suite: all } }\n\
         tests:\n\
         \x20 - { description: login works, vars: { n: 0 }, metadata: { area: auth } }\n\
         \x20 - { description: logout works, vars: { n: 1 }, metadata: { area: auth, tags: [slow] } }\n\
         \x20 - { vars: { n: 2 } }\n\
         \x20 - { description: pay, vars: { n: 3 }, metadata: { area: billing } }\n\
         \x20 - { description: refund works, vars: { n: 4 }, metadata: { area: billing } }\n\
         \x20 - { vars: { n: [p, q, r] }, options: { repeat: 2 } }\n",
    )
}

fn filtered(filters: Filters) -> Folder {
    let mut folder = folder();
    folder.overrides.filters = filters;
    folder
}

/// The values of `n`, one per row.
fn rows(folder: &Folder) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for case in folder.cases() {
        if rows.len() <= case.id.test_idx as usize {
            rows.push(case.vars["n"].clone());
        }
    }
    rows
}

fn pattern(text: &str) -> Pattern {
    text.parse().expect("a pattern")
}

fn narrowings(folder: &Folder) -> Vec<String> {
    let narrowings = folder.plan().narrowings;
    narrowings.iter().map(ToString::to_string).collect()
}

#[test]
fn without_filters_everything_runs_and_nothing_is_said() {
    assert_eq!(folder().plan().tests.len(), 6);
    assert_eq!(narrowings(&folder()), Vec::<String>::new());
}

#[test]
fn each_filter_leaves_its_tests_numbered_from_zero() {
    let metadata = |flags: &[&str]| -> Vec<MetadataFilter> {
        let parse = |flag: &&str| flag.parse().expect("a filter");
        flags.iter().map(parse).collect()
    };
    let by_metadata = |flags: &[&str]| Filters {
        metadata: metadata(flags),
        ..Filters::default()
    };
    let by_range = |range: &str| Filters {
        range: Some(range.parse().expect("a range")),
        ..Filters::default()
    };
    let cases = [
        (
            Filters {
                pattern: Some(pattern("works$")),
                ..Filters::default()
            },
            json!([0, 1, 4]),
        ),
        (
            Filters {
                first: Some(2),
                ..Filters::default()
            },
            json!([0, 1]),
        ),
        (
            Filters {
                first: Some(99),
                ..Filters::default()
            },
            json!([0, 1, 2, 3, 4, "p", "q", "r", "p", "q", "r"]),
        ),
        (by_range("1:3"), json!([1, 2])),
        (by_range("4:"), json!([4, "p", "q", "r", "p", "q", "r"])),
        (by_metadata(&["area=auth"]), json!([0, 1])),
        (by_metadata(&["area=auth", "tags=low"]), json!([1])),
        (
            by_metadata(&["suite=all"]),
            json!([0, 1, 2, 3, 4, "p", "q", "r", "p", "q", "r"]),
        ),
    ];
    for (filters, expected) in cases {
        let found = rows(&filtered(filters.clone()));
        assert_eq!(Value::from(found), expected, "{filters:?}");
    }
}

#[test]
fn filters_see_what_the_ones_before_them_left() {
    let folder = filtered(Filters {
        metadata: vec!["area=billing".parse().expect("a filter")],
        pattern: Some(pattern("works")),
        range: Some("0:5".parse().expect("a range")),
        first: Some(1),
        ..Filters::default()
    });
    assert_eq!(rows(&folder), [json!(4)]);
    assert_eq!(
        narrowings(&folder),
        [
            "--filter-metadata area=billing: 2 of 6 tests",
            "--filter-pattern works: 1 of 2 tests",
            "--filter-range 0:5: 1 of 1 tests",
            "--filter-first-n 1: 1 of 1 tests",
        ]
    );
}

#[test]
fn a_sample_keeps_the_order_and_is_repeatable() {
    let sample = |seed: &str| {
        let seed = seed.to_owned();
        rows(&filtered(Filters {
            range: Some("0:5".parse().expect("a range")),
            sample: Some(Sample { count: 3, seed }),
            ..Filters::default()
        }))
    };
    let drawn = sample("42");
    assert_eq!(drawn.len(), 3);
    assert!(drawn.is_sorted_by_key(Value::as_u64), "{drawn:?}");
    assert_eq!(drawn, sample("42"));
}

#[test]
fn columns_are_chosen_by_label_or_id_and_numbered_anew() {
    let cases = [
        (
            Some(pattern("ong")),
            None,
            vec!["fast long", "echo:slow long"],
        ),
        (
            None,
            Some(pattern("^echo:")),
            vec!["echo:slow short", "echo:slow long"],
        ),
        (
            None,
            Some(pattern("^echo$")),
            vec!["fast short", "fast long"],
        ),
        (
            Some(pattern("^short$")),
            Some(pattern("fast")),
            vec!["fast short"],
        ),
    ];
    for (prompts, providers, expected) in cases {
        let folder = filtered(Filters {
            prompts,
            providers,
            ..Filters::default()
        });
        let plan = folder.plan();
        let name = |column: &Arc<Column>| {
            let provider = &column.provider;
            let name = provider.label.as_ref().unwrap_or(&provider.id);
            format!("{name} {}", column.prompt.label)
        };
        let names: Vec<String> = plan.columns.iter().map(name).collect();
        assert_eq!(names, expected);
        let numbers: Vec<u32> = plan
            .columns
            .iter()
            .map(|column| column.prompt_idx)
            .collect();
        assert_eq!(numbers, (0..expected.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
fn a_tests_own_filters_still_hold_and_name_columns_that_are_left_out() {
    let mut folder = Folder::new(
        "prompts: ['{{n}}']\nproviders: [{ id: echo, label: a }, { id: echo, label: b }]\n\
         tests: [{ vars: { n: 0 }, providers: [a] }, { vars: { n: 1 }, providers: [b] }, { vars: { n: 2 } }]",
    );
    folder.overrides.filters = Filters {
        providers: Some(pattern("^b$")),
        first: Some(2),
        ..Filters::default()
    };
    let cases: Vec<(u32, u32, Value)> = folder
        .cases()
        .iter()
        .map(|case| (case.id.test_idx, case.id.prompt_idx, case.vars["n"].clone()))
        .collect();
    assert_eq!(cases, [(0, 0, json!(1)), (1, 0, json!(2))]);
}

fn former(rows: &[(Value, Option<&str>)]) -> FormerCases {
    let mut former = FormerCases::new("--filter-failing", "run-1");
    for (vars, description) in rows {
        former.add(&FormerCase {
            vars: vars.as_object().expect("a map").clone(),
            description: description.map(str::to_owned),
        });
    }
    former
}

#[test]
fn a_former_runs_cases_are_found_by_content_down_to_the_combination() {
    let folder = filtered(Filters {
        former: Some(former(&[
            (json!({ "n": 3 }), Some("pay")),
            (json!({ "n": 0 }), Some("another")),
            (json!({ "n": "q" }), None),
            (json!({ "n": "r" }), None),
        ])),
        ..Filters::default()
    });
    let expected = [json!(3), json!("q"), json!("r"), json!("q"), json!("r")];
    assert_eq!(rows(&folder), expected);
    assert_eq!(folder.plan().row_count(), 5);
    assert_eq!(
        narrowings(&folder),
        ["--filter-failing run-1: 2 of 6 tests"]
    );
}

#[test]
fn a_filter_that_leaves_nothing_says_which_and_of_how_many() {
    let cases = [
        (
            Filters {
                pattern: Some(pattern("^x")),
                ..Filters::default()
            },
            "--filter-pattern ^x: leaves none of 6 tests\nhelp: 4 of the tests have a `description`; the first is 'login works'",
        ),
        (
            Filters {
                range: Some("6:9".parse().expect("a range")),
                ..Filters::default()
            },
            "--filter-range 6:9: leaves none of 6 tests\nhelp: the tests are numbered from 0 to 5",
        ),
        (
            Filters {
                metadata: vec!["area=x".parse().expect("a filter")],
                ..Filters::default()
            },
            "--filter-metadata area=x: leaves none of 6 tests\nhelp: a test is meant when its `metadata` have 'area' and 'x' is in the value",
        ),
        (
            Filters {
                providers: Some(pattern("gpt")),
                ..Filters::default()
            },
            "--filter-providers gpt: leaves none of 2 providers\nhelp: there are: echo:slow, fast",
        ),
        (
            Filters {
                prompts: Some(pattern("x")),
                ..Filters::default()
            },
            "--filter-prompts x: leaves none of 2 prompts\nhelp: there are: long, short",
        ),
        (
            Filters {
                former: Some(former(&[])),
                ..Filters::default()
            },
            "--filter-failing run-1: leaves none of 6 tests\nhelp: the filter finds no case there: there is nothing to run again",
        ),
        (
            Filters {
                former: Some(former(&[(json!({ "n": 77 }), None)])),
                ..Filters::default()
            },
            "--filter-failing run-1: leaves none of 6 tests\nhelp: the only row that the filter finds has variables or a description that no test has now: was a test, `defaultTest` or --var changed since?",
        ),
    ];
    for (filters, expected) in cases {
        assert_eq!(filtered(filters).problems(), [expected]);
    }
}

#[test]
fn two_column_filters_that_fit_no_column_together_say_so() {
    let mut folder = Folder::new(
        "prompts: [{ raw: x, label: p }, { raw: y, label: q }]\nproviders: [{ id: echo, label: a, prompts: [p] }, { id: echo, label: b }]",
    );
    folder.overrides.filters = Filters {
        prompts: Some(pattern("q")),
        providers: Some(pattern("a")),
        ..Filters::default()
    };
    assert_eq!(
        folder.problems(),
        [
            "--filter-prompts and --filter-providers: leaves none of 3 columns\n\
             help: a provider's `prompts` may exclude the prompt; each of the two filters alone leaves something"
        ]
    );
}

#[test]
fn a_filter_hides_no_mistake_elsewhere_in_the_config() {
    let mut folder =
        Folder::new("prompts: [p]\nproviders: [echo]\ntests: [{ vars: { a: 1 } }, {}]");
    folder.overrides.filters.first = Some(1);
    assert_eq!(folder.problems().len(), 1);
}

#[test]
fn a_range_in_the_config_gives_way_to_the_flags() {
    let folder = |range: &str| {
        Folder::new(&format!(
            "prompts: ['{{{{n}}}}']\nproviders: [echo]\nevaluateOptions: {{ filterRange: {range} }}\n\
             tests: [{{ vars: {{ n: 0 }} }}, {{ vars: {{ n: 1 }} }}, {{ vars: {{ n: 2 }} }}]"
        ))
    };
    assert_eq!(rows(&folder("'1:2'")), [json!(1)]);
    let mut flagged = folder("'1:2'");
    flagged.overrides.filters.range = Some("2:".parse().expect("a range"));
    assert_eq!(rows(&flagged), [json!(2)]);
    assert_eq!(
        folder("x").problems(),
        [
            "promptfooconfig.yaml:3:33: evaluateOptions.filterRange: not of the form START:END, two whole numbers from 0, for example 0:10"
        ]
    );
}
