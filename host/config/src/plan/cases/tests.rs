//! Order and number of cases.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fixture::Folder;

/// (row, column, repeat, variables) of every case.
fn walk(folder: &Folder) -> Vec<(u32, u32, u32, String)> {
    let vars = |case: &Case| Value::Object((*case.vars).clone()).to_string();
    folder
        .cases()
        .iter()
        .map(|case| {
            (
                case.id.test_idx,
                case.id.prompt_idx,
                case.repeat_index,
                vars(case),
            )
        })
        .collect()
}

#[test]
fn a_repeat_has_rows_of_its_own() {
    // Two prompts, two providers, repeat 2, as it was seen in promptfoo.
    let folder = Folder::new(
        "prompts: [a, b]\nproviders: [echo, 'echo:x']\nevaluateOptions: { repeat: 2 }\ntests: [{ vars: { v: 1 } }]",
    );
    let expected: Vec<_> = (0..2)
        .flat_map(|row| (0..4).map(move |column| (row, column, row, r#"{"v":1}"#.to_owned())))
        .collect();
    assert_eq!(walk(&folder), expected);
}

#[test]
fn the_order_is_test_repeat_combination_column() {
    let folder = Folder::new(
        "prompts: [a]\nproviders: [echo, 'echo:x']\ntests:\n  - vars: { v: [p, q] }\n    options: { repeat: 2 }\n  - vars: { v: r }",
    );
    let row = |row, repeat, v: &str| {
        let vars = json!({ "v": v }).to_string();
        [(row, 0, repeat, vars.clone()), (row, 1, repeat, vars)]
    };
    let expected = [
        row(0, 0, "p"),
        row(1, 0, "q"),
        row(2, 1, "p"),
        row(3, 1, "q"),
        row(4, 0, "r"),
    ]
    .concat();
    assert_eq!(walk(&folder), expected);
}

/// A case that waited without its variables is the one that came.
#[test]
fn a_case_is_made_again_from_its_place() {
    let folder = Folder::new(
        "prompts: [a, b]\nproviders: [echo, 'echo:x']\ntests:\n  - vars: { v: [p, q] }\n    options: { repeat: 2 }\n  - vars: { v: r, w: '{{ v }}!' }\n    providers: ['echo:x']\n  - vars: { v: s }",
    );
    let plan = folder.plan();
    let told = |case: &Case| {
        (
            case.id,
            case.repeat_index,
            case.vars.clone(),
            case.column.prompt.label.clone(),
        )
    };
    assert_eq!(plan.cases().count(), 22);
    for case in plan.cases() {
        assert_eq!(told(&plan.case_at(case.place)), told(&case));
    }
}

#[test]
fn filters_of_a_test_leave_out_columns_but_not_rows() {
    let folder = Folder::new(
        "prompts: [a, b]\nproviders: [echo, { id: echo, label: l }]\ntests:\n\
         - { vars: { v: 1 }, providers: [l] }\n- { vars: { v: 2 }, prompts: [b] }\n- { vars: { v: 3 }, providers: [l], prompts: [b] }\n- { vars: { v: 4 } }",
    );
    let cells: Vec<(u32, u32)> = walk(&folder)
        .into_iter()
        .map(|(row, column, ..)| (row, column))
        .collect();
    let expected = [
        (0, 2),
        (0, 3),
        (1, 1),
        (1, 3),
        (2, 3),
        (3, 0),
        (3, 1),
        (3, 2),
        (3, 3),
    ];
    assert_eq!(cells, expected);
    assert_eq!(folder.plan().row_count(), 4);
}

#[test]
fn without_tests_there_is_one_empty_row() {
    assert_eq!(
        walk(&Folder::new("prompts: [a]\nproviders: [echo]")),
        [(0, 0, 0, "{}".to_owned())]
    );
}

#[test]
fn a_row_shares_its_variables() {
    let cases =
        Folder::new("prompts: [a, b]\nproviders: [echo]\ntests: [{ vars: { v: x } }]").cases();
    assert!(Arc::ptr_eq(&cases[0].vars, &cases[1].vars));
}

#[test]
fn a_billion_cases_are_counted_without_being_made() {
    let items: Vec<String> = (0..1000).map(|n| format!("'{n}'")).collect();
    let list = items.join(", ");
    let folder = Folder::new(&format!(
        "prompts: [a]\nproviders: [echo]\ntests: [{{ vars: {{ x: [{list}], y: [{list}], z: [{list}] }} }}]"
    ));
    let plan = folder.plan();
    assert_eq!(plan.case_count(), 1_000_000_000);
    let case = plan.cases().nth(1_000_001).expect("there are more");
    assert_eq!(
        Value::Object((*case.vars).clone()),
        json!({"x": "1", "y": "0", "z": "1"})
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_comes_once_in_order(
        sizes in prop::collection::vec(prop::collection::vec(1_usize..4, 0..3), 1..4),
        repeats in prop::collection::vec(1_u32..3, 4),
        columns in 1_usize..4,
    ) {
        let tests: Vec<Value> = sizes.iter().zip(&repeats).map(|(axes, repeat)| {
            let vars: Map<String, Value> = (0..).zip(axes).map(|(n, size): (u32, _)| (format!("v{n}"), json!(vec!["x"; *size]))).collect();
            json!({ "vars": vars, "options": { "repeat": repeat } })
        }).collect();
        let providers: Vec<Value> = (0..columns).map(|n| json!({ "id": "echo", "label": format!("{n}") })).collect();
        let config = json!({ "prompts": ["p"], "providers": providers, "tests": tests });
        let plan = Folder::new(&config.to_string()).plan();
        let rows: usize = sizes.iter().zip(&repeats).map(|(axes, repeat)| axes.iter().product::<usize>() * *repeat as usize).sum();
        let cells: Vec<(usize, usize)> = plan.cases().map(|case| (case.id.test_idx as usize, case.id.prompt_idx as usize)).collect();
        let expected: Vec<(usize, usize)> = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).collect();
        prop_assert_eq!(&cells, &expected);
        prop_assert_eq!(plan.case_count(), expected.len() as u64);
        prop_assert_eq!(plan.row_count(), rows as u64);
    }
}
