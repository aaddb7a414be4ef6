//! Templates and loaders at their edges: configs and data that crash promptfoo, or come out of it
//! as something else than was written, each with the rows that it means.
//!
//! A row is what `echo` answers: the rendered prompt. Every one of these runs with the real
//! program, alone, and must end green; what is refused on purpose stands with the other messages.

mod braces;
mod prompts;
mod tables;
mod values;

use std::fmt::Write as _;

use runner_tests::{Finished, Run};
use serde_json::Value;

/// A config, its files, and the outputs that it means.
struct Edge {
    name: &'static str,
    config: &'static str,
    files: &'static [(&'static str, &'static str)],
    env: &'static [(&'static str, &'static str)],
    rows: &'static [&'static str],
}

/// One without environment.
const fn edge(
    name: &'static str,
    config: &'static str,
    files: &'static [(&'static str, &'static str)],
    rows: &'static [&'static str],
) -> Edge {
    Edge {
        name,
        config,
        files,
        env: &[],
        rows,
    }
}

/// The head of most of them.
const Q: &str = "prompts: ['{{q}}']\nproviders: [echo]\n";

fn run(edge: &Edge) -> Finished {
    let config = edge.config.replace("Q:\n", Q);
    let mut run = Run::new().config(&config);
    for (name, content) in edge.files {
        run = run.file(name, content);
    }
    for (name, value) in edge.env {
        run = run.env(*name, *value);
    }
    run.args(["eval", "--no-table", "-o", "out.json"]).finish()
}

fn outputs(finished: &Finished) -> Vec<String> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    let output = |row: &Value| match &row["response"]["output"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    rows.iter().map(output).collect()
}

/// What is not as it should be, of all edges together: one that breaks hides no other.
fn check(edges: &[Edge]) {
    let mut wrong = String::new();
    for edge in edges {
        let finished = run(edge);
        if finished.code != Some(0) {
            let (code, stderr) = (finished.code, &finished.stderr);
            writeln!(wrong, "{}: exit {code:?}\n{stderr}", edge.name).expect("a string");
            continue;
        }
        let outputs = outputs(&finished);
        if outputs != edge.rows {
            let expected = edge.rows;
            writeln!(
                wrong,
                "{}:\n  is  {outputs:?}\n  not {expected:?}",
                edge.name
            )
            .expect("a string");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn braces_in_data_and_prompts_break_nothing() {
    check(&braces::BRACES);
}

#[test]
fn values_come_out_as_they_were_written() {
    check(&values::VALUES);
}

#[test]
fn json_prompts_survive_their_data() {
    check(&prompts::JSON);
}

#[test]
fn tables_and_lists_are_read_as_they_are_found() {
    check(&tables::TABLES);
}

#[test]
fn prompts_are_what_they_seem() {
    check(&prompts::PROMPTS);
}
