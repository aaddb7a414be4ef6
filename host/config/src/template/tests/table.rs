//! Every row of the table that real nunjucks confirmed.
//!
//! `tests/nunjucks/table.jsonl`, a row a line: `template`, `vars`, `output` (what nunjucks makes
//! of it, `null` if it throws) and a `note`. Where we differ on purpose, `ours` is what comes out
//! here, `{"error": …}` if it is refused, and `why` says why. `cargo xtask nunjucks` renders the
//! rows with the real one; `--write` puts its outputs in.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::template::{RenderError, Template};

fn rows() -> Vec<Json> {
    let table = include_str!("../../../tests/nunjucks/table.jsonl");
    let row = |line: &str| serde_json::from_str(line).expect(line);
    table.lines().map(row).collect()
}

/// What comes out here, in the table's words.
fn ours(row: &Json) -> Json {
    let vars = row["vars"].as_object().expect("a map").clone();
    let template = Template::new(row["template"].as_str().expect("a text"), None);
    match template.and_then(|template| template.render(&Arc::new(vars))) {
        Ok(text) => Json::from(text),
        Err(RenderError::Template { reason, .. }) => json!({ "error": reason }),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_row_comes_out_as_in_nunjucks_or_differs_for_a_reason() {
    let mut wrong = Vec::new();
    for row in rows() {
        let (ours, output) = (ours(&row), &row["output"]);
        let right = match row.get("ours") {
            Some(expected) => {
                let why = row["why"].as_str().unwrap_or_default();
                ours == *expected && !why.is_empty()
            }
            None if output.is_null() => ours["error"].is_string(),
            None => ours == *output,
        };
        if !right {
            wrong.push(format!("{row}\n  ours: {ours}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_nunjucks_has_too_is_no_difference() {
    let rows = rows();
    assert!(rows.len() >= 150, "{}", rows.len());
    let idle = rows
        .iter()
        .filter(|row| row.get("ours") == Some(&row["output"]));
    assert_eq!(idle.collect::<Vec<_>>(), Vec::<&Json>::new());
}
