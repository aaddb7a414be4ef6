//! Every row of the table that real nunjucks confirmed, for each place that fills in templates.
//!
//! `table.jsonl`, a row a line: `template`, `vars`, `output` (what nunjucks makes of it, `null` if
//! it throws) and a `note`. Where we differ on purpose, `ours` is what comes out here, `{"error":
//! …}` if it is refused, and `why` says why. `cargo xtask nunjucks` renders the rows with the real
//! one; `--write` puts its outputs in.

use serde_json::{Map, Value};

/// The rows.
pub(crate) fn rows() -> Vec<Value> {
    let row = |line: &str| serde_json::from_str(line).expect(line);
    include_str!("table.jsonl").lines().map(row).collect()
}

/// Asserts that every row comes out as in nunjucks, or as the row says and for a reason. The last
/// words of an error are those of the language.
pub(crate) fn holds(render: impl Fn(&str, &Map<String, Value>) -> Result<String, String>) {
    let mut wrong = Vec::new();
    for row in rows() {
        let template = row["template"].as_str().expect("a text");
        let rendered = render(template, row["vars"].as_object().expect("a map"));
        let expected = row.get("ours").unwrap_or(&row["output"]);
        let is_right = match (&rendered, expected) {
            (Ok(text), expected) => expected == text,
            (Err(_), Value::Null) => true,
            (Err(error), expected) => {
                let reason = expected["error"].as_str();
                reason.is_some_and(|reason| error.ends_with(reason))
            }
        };
        let is_argued = row.get("ours").is_none() || row["why"].is_string();
        if !(is_right && is_argued) {
            wrong.push(format!("{row}\n  ours: {rendered:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
