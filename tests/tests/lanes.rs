//! Whole runs against servers with quotas: every row comes out, and the wire was used well.
//!
//! The figures that depend on how fast a machine is (throughput, recovery) are measured by
//! `examples/lanes.rs`. Here is what must hold on any machine: outcomes, and counts that the
//! server keeps. Bounds on refused calls stand only where a server states its limit, since
//! then a slow machine asks later, not more often.

use std::fmt::Write as _;

use runner_tests::{Finished, ModelApi, Run};
use serde_json::Value;

mod declared;
mod endings;
mod others;
mod real;
mod servers;
mod together;
mod visible;

/// What a row asks, so that an answer in the wrong row is seen.
const CONFIG: &str = "prompts: ['Case {{n}}']\nproviders: [openai:m]\n\
                      defaultTest: { assert: [{ type: equals, value: 'Case {{n}}' }] }\n\
                      tests: tests.csv\n";

/// A run of so many tests against this server, with nothing set that a user need not set.
fn over(api: &ModelApi, config: &str, tests: usize) -> Run {
    let rows = (0..tests).fold("n\n".to_owned(), |mut rows, n| {
        writeln!(rows, "{n}").expect("a string takes everything");
        rows
    });
    Run::new()
        .config(config)
        .file("tests.csv", rows)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table", "-o", "out.json"])
}

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

/// How many rows passed.
fn passed(rows: &[Value]) -> usize {
    rows.iter().filter(|row| row["success"] == true).count()
}

/// The rows of one provider.
fn of_provider<'a>(rows: &'a [Value], id: &str) -> Vec<&'a Value> {
    rows.iter()
        .filter(|row| row["provider"]["id"] == id)
        .collect()
}
