//! The table of what real nunjucks makes of templates.

use serde_json::Value as Json;

use super::rendered;

#[path = "../../tests/nunjucks/table.rs"]
mod confirmed;

#[test]
fn every_row_comes_out_as_in_nunjucks_or_differs_for_a_reason() {
    confirmed::holds(|text, vars| rendered(text, vars).map_err(|error| error.to_string()));
}

#[test]
fn what_nunjucks_has_too_is_no_difference() {
    let rows = confirmed::rows();
    assert!(rows.len() >= 150, "{}", rows.len());
    let idle = rows
        .iter()
        .filter(|row| row.get("ours") == Some(&row["output"]));
    assert_eq!(idle.collect::<Vec<_>>(), Vec::<&Json>::new());
}
