//! Tests that are rows of a data set.

use serde_json::{Value, json};

use crate::fixture::Folder;

const ADDRESS: &str = "huggingface://datasets/a/b?limit=9";

fn folder(tests: &str, rows: &[Value]) -> Folder {
    let rows: Vec<Value> = rows.iter().map(|row| json!({ "row": row })).collect();
    let mut folder = Folder::new(&format!(
        "prompts: ['{{{{n}}}} {{{{list}}}}']\nproviders: [echo]\ntests: {tests}"
    ));
    folder.rows = Some(json!({ "num_rows_total": rows.len(), "rows": rows }));
    folder
}

#[test]
fn each_row_is_a_test_and_lists_stay_lists() {
    let rows = [
        json!({ "n": 1, "list": ["x", "y"] }),
        json!({ "n": "two", "list": null }),
    ];
    for tests in [
        ADDRESS.to_owned(),
        format!("['{ADDRESS}']"),
        "file://list.yaml".to_owned(),
    ] {
        let folder = folder(&tests, &rows).file("list.yaml", format!("- {ADDRESS}\n"));
        assert_eq!(folder.texts(), ["1 x,y", "two "], "{tests}");
    }
}

#[test]
fn a_row_has_no_rights_beyond_its_values() {
    let rows = [json!({ "n": "file://secret.txt", "list": "{{env.KEY}}" })];
    let mut folder = folder(ADDRESS, &rows).file("secret.txt", "hidden");
    folder.env.insert("KEY".to_owned(), "sk-hidden".to_owned());
    let asked = "huggingface://datasets/a/b?limit=9:1:1: vars.n: read the file ~/secret.txt";
    assert_eq!(folder.withheld(), [asked]);
    assert_eq!(
        folder.texts(),
        ["hidden {{env.KEY}}"],
        "after the person agreed"
    );
}

#[test]
fn data_and_configs_that_vouch_name_none() {
    let rows = [json!({ "n": 1 })];
    let of_data = folder("tests.jsonl", &rows).file("tests.jsonl", format!("\"{ADDRESS}\"\n"));
    let vouched = folder(&format!("{{ path: '{ADDRESS}', trust: config }}"), &rows);
    let of_json = folder("tests.json", &rows).file("tests.json", format!("[\"{ADDRESS}\"]"));
    let problems = [vouched, of_data, of_json].map(|folder| folder.problems());
    let expected = [
        format!(
            "promptfooconfig.yaml:3:16: tests.path: '{ADDRESS}' takes neither `trust` nor `config`\nhelp: its rows are data; name it alone"
        ),
        "tests.jsonl:1:1: must be a map with `vars`, `assert`, …, not text".to_owned(),
        format!(
            "tests.json:1:2: [0]: '{ADDRESS}': data names no data set of a server\nhelp: name it in the config, under `tests`"
        ),
    ];
    assert_eq!(problems.concat(), expected);
}

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let mut unreachable = folder(ADDRESS, &[]);
    unreachable.rows = None;
    let no_name = folder("huggingface://models/a", &[]);
    let misspelt = folder("huggingface://datasets/a/b?splitt=x", &[]);
    let problems = [unreachable, no_name, misspelt].map(|folder| folder.problems());
    let at = "promptfooconfig.yaml:3:8: tests:";
    let expected = [
        format!(
            "{at} '{ADDRESS}' can't be read: there is no server\nhelp: rows that are saved as JSONL or CSV need no server"
        ),
        format!(
            "{at} 'huggingface://models/a' names no data set\nhelp: huggingface://datasets/OWNER/NAME?config=default&split=test&limit=100"
        ),
        format!(
            "{at} 'huggingface://datasets/a/b?splitt=x' has 'splitt', which is none of config, split and limit\nhelp: huggingface://datasets/OWNER/NAME?config=default&split=test&limit=100"
        ),
    ];
    assert_eq!(problems.concat(), expected);
}
