//! The example that a new user runs first.

use insta::assert_snapshot;
use runner_tests::{Run, workspace_root};
use serde_json::Value;

#[test]
fn the_quickstart_runs_offline_and_leaves_table_json_and_rows() {
    let run = Run::new();
    let out = run.project().join("out.json");
    let finished = run
        .in_folder(workspace_root().join("examples/quickstart"))
        .args(["eval", "-o"])
        .arg(&out)
        .finish();
    finished.expect_code(0);

    let json = finished.json("out.json");
    let results = &json["results"];
    assert_eq!(results["version"], 3);
    let columns = results["prompts"].as_array().expect("columns").len();
    let rows = results["results"].as_array().expect("rows");
    assert!(columns >= 4, "at least two prompts by two providers");
    assert!(rows.len() >= 6 * columns, "at least six tests");
    let mut places: Vec<_> = rows
        .iter()
        .map(|row| (row["testIdx"].as_u64(), row["promptIdx"].as_u64()))
        .collect();
    assert!(places.is_sorted(), "rows are in index order");
    places.dedup();
    assert_eq!(places.len(), rows.len(), "one row per case");

    let mut kinds: Vec<&str> = rows
        .iter()
        .flat_map(|row| {
            row["gradingResult"]["componentResults"]
                .as_array()
                .expect("components")
        })
        .filter_map(|component| component["assertion"]["type"].as_str())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(
        kinds.len() >= 10,
        "at least ten kinds of assertion: {kinds:?}"
    );
    assert!(rows.iter().all(|row| row["success"] == Value::Bool(true)));

    assert_snapshot!(finished.told());
    let listed = finished.again().args(["list", "--json"]).finish();
    listed.expect_code(0);
    assert_eq!(listed.stdout_json().as_array().expect("runs").len(), 1);
    let shown = finished.again().args(["show", "latest"]).finish();
    shown.expect_code(0);
    let (results, _) = finished.stdout.split_once("\nResults: ").expect("the end");
    let (_, shown) = shown.stdout.split_once('\n').expect("a heading");
    assert_eq!(shown, results);
}
