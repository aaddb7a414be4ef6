//! Tests that are rows of a data set of Hugging Face, over a server that pages as that one does.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run, Seen};
use serde_json::{Value, json};

const TOKEN: &str = "hf_token-of-a-test-0123456789";

/// What the query of a request says of `name`.
fn asked<'a>(seen: &'a Seen, name: &str) -> &'a str {
    let (_, query) = seen.path.split_once('?').unwrap_or_default();
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).expect("asked for").1
}

/// A server whose data sets have so many rows; those of `ours/secret` are for whoever has the token.
fn server(total: usize) -> ModelApi {
    let api = ModelApi::start();
    api.rule(move |seen| {
        let name = asked(seen, "dataset");
        if name == "ours%2Fsecret" && seen.header("authorization").is_none() {
            let error = json!({ "error": "The dataset does not exist, or is not accessible." });
            return Some(Answer::json(&error).with_status(401));
        }
        let [offset, length] = ["offset", "length"].map(|of| asked(seen, of).parse::<usize>());
        let (offset, length) = (offset.expect("a number"), length.expect("a number"));
        let row = |n: usize| json!({ "row_idx": n, "row": { "n": n, "text": format!("row {n}") } });
        let rows: Vec<Value> = (offset..total.min(offset + length)).map(row).collect();
        let page = json!({ "rows": rows, "num_rows_total": total, "num_rows_per_page": 100 });
        Some(Answer::json(&page))
    });
    api
}

fn run(api: &ModelApi, address: &str) -> Run {
    Run::new()
        .config(&format!(
            "prompts: ['{{{{text}}}}']\nproviders: [echo]\ntests: huggingface://datasets/{address}\n"
        ))
        .env("HF_DATASETS_SERVER", api.url())
        .args(["eval", "--no-table", "-o", "out.json"])
}

fn answers(finished: &Finished) -> Vec<String> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    let answer = |row: &Value| {
        row["response"]["output"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    rows.iter().map(answer).collect()
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("row {n}")).collect()
}

#[test]
fn every_row_is_a_case_and_pages_are_asked_for_once() {
    let api = server(230);
    let first = run(&api, "a/b?split=train").finish();
    first.expect_code(0);
    assert_eq!(answers(&first), numbered(230));
    let pages: Vec<String> = api
        .requests()
        .iter()
        .map(|seen| seen.path.clone())
        .collect();
    assert_snapshot!(pages.join("\n"));
    let again = first
        .again()
        .args(["eval", "--no-table", "-o", "out.json"])
        .finish();
    again.expect_code(0);
    assert_eq!((answers(&again), api.requests().len()), (numbered(230), 3));
    let anew = again
        .again()
        .args(["eval", "--no-table", "--no-cache", "-o", "out.json"]);
    let anew = anew.finish();
    anew.expect_code(0);
    assert_eq!((answers(&anew), api.requests().len()), (numbered(230), 6));
}

#[test]
fn a_look_that_is_to_remember_nothing_remembers_no_page() {
    let api = server(2);
    let first = run(&api, "a/b").args(["--dry-run", "--no-cache"]).finish();
    first.expect_code(0);
    let looked = first.again().args(["eval", "--dry-run"]).finish();
    looked.expect_code(0);
    assert_eq!(api.requests().len(), 2);
    looked
        .again()
        .args(["eval", "--dry-run"])
        .finish()
        .expect_code(0);
    assert_eq!(api.requests().len(), 2);
}

#[test]
fn the_token_goes_to_that_server_and_nowhere_else() {
    let api = server(2);
    let run = run(&api, "ours/secret");
    let without = run.clone().finish();
    without.expect_code(2);
    assert_snapshot!(without.told());
    let with = run.env("HF_TOKEN", TOKEN).finish();
    with.expect_code(0);
    assert_eq!(answers(&with), numbered(2));
    let last = api.requests().pop().expect("a request");
    let expected = format!("Bearer {TOKEN}");
    assert_eq!(last.header("authorization"), Some(&*expected));
    assert!(!(with.told() + &with.read("out.json")).contains(TOKEN));
}

#[test]
fn a_config_names_no_server_of_data_sets() {
    let (theirs, ours) = (server(1), server(1));
    let config = format!(
        "env: {{ HF_DATASETS_SERVER: '{}' }}\nprompts: ['{{{{text}}}}']\nproviders: [echo]\n\
         tests: huggingface://datasets/a/b\n",
        theirs.url()
    );
    let run = run(&ours, "a/b").config(&config).env("HF_TOKEN", TOKEN);
    run.finish().expect_code(0);
    assert_eq!((theirs.requests().len(), ours.requests().len()), (0, 1));
}

#[test]
fn a_recording_asks_no_server() {
    let api = server(1);
    let run = run(&api, "a/b").file("tape.jsonl", "");
    let finished = run.args(["--replay", "tape.jsonl"]).finish();
    finished.expect_code(2);
    assert_snapshot!(finished.told());
    assert!(api.requests().is_empty());
}
