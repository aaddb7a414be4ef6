//! What is compared with what, as the address and the forms of the page say it.

use runner_store::{Outcome, Row, RunEnd, RunStatus};
use serde_json::json;

use super::served::{Served, new_run, row};

/// A run of two models and two prompts, where the second model passes each test and the first every other.
fn two_by_two(served: &Served) {
    let column =
        |provider: &str, raw: &str| json!({ "provider": provider, "label": raw, "raw": raw });
    let mut run = new_run("run-3", 3);
    run.columns_json = json!([
        column("small", "Say {{x}}"),
        column("small", "Tell {{x}}"),
        column("large", "Say {{x}}"),
        column("large", "Tell {{x}}")
    ])
    .to_string();
    let writer = served.store.begin_run(run).unwrap();
    for test in 0..20 {
        for column in 0..4 {
            let passes = column > 1 || test % 2 == 0;
            let outcome = if passes {
                Outcome::Passed
            } else {
                Outcome::Failed
            };
            writer.push(row("run-3", test, column, outcome)).unwrap();
        }
    }
    writer.flush().unwrap();
}

#[test]
fn models_and_prompts_of_a_run_are_compared_over_what_they_share() {
    let served = Served::new();
    two_by_two(&served);
    let models = served.get("/compare?run=run-3");
    for part in [
        "<b>Models of: </b>",
        "<p><b>small</b></p><p><b>large</b></p>",
        "<option value=\"model-0\" selected>small</option><option value=\"model-2\">large</option>",
        "<th class=\"n\" scope=\"col\">small</th><th class=\"n\" scope=\"col\">large</th>",
        // One figure for each test, whatever prompts it has.
        "<th scope=\"row\">All</th><td class=\"n\" data-name=\"Tests\">20 <small>of 40 cases</small></td>",
        "<b>(1) → (3)</b><small>Tell {{x}}</small>",
        "<b>+50.0 points</b>",
        "got better 20</a>",
        "href=\"/compare?run=run-3&amp;left=model-0&amp;right=model-2&amp;kind=better\"",
    ] {
        assert!(models.contains(part), "{part} in {models}");
    }
    let prompts = served.get("/compare?run=run-3&left=prompt-0&right=prompt-1");
    for part in [
        "<b>Prompts of: </b>",
        "<th class=\"n\" scope=\"col\">Tell {{x}}</th>",
        "got better 0</a>",
    ] {
        assert!(prompts.contains(part), "{part} in {prompts}");
    }
    let columns = served.get("/compare?run=run-3&left=0&right=3");
    assert!(
        columns.contains("Column (3)") && columns.contains("got better 10</a>"),
        "{columns}"
    );
    let mixed = served.get("/compare?run=run-3&left=model-0&right=3");
    assert!(
        mixed.contains("choose two columns, two models or two prompts."),
        "{mixed}"
    );
    // With one prompt a model is a column.
    assert!(!served.get("/compare?run=run-1").contains("model-0"));
}

#[test]
fn a_trend_is_not_about_the_cache() {
    let served = Served::new();
    let writer = served.store.begin_run(new_run("run-3", 3)).unwrap();
    for (test, cached, cost, saved, latency) in
        [(0, true, 0.0, Some(0.5), 5_000), (1, false, 0.25, None, 20)]
    {
        let row = Row {
            cached,
            cost_usd: Some(cost),
            saved_usd: saved,
            latency_ms: Some(latency),
            ..row("run-3", test, 0, Outcome::Passed)
        };
        writer.push(row).unwrap();
    }
    writer.flush().unwrap();
    let trend = served.get("/runs/run-3/trend");
    for (name, figure) in [("Cost", "$0.750000"), ("p50", "20 ms"), ("p95", "20 ms")] {
        let cell = format!("<td class=\"n\" data-name=\"{name}\">{figure}</td>");
        assert!(trend.contains(&cell), "{cell} in {trend}");
    }
    assert!(served.get("/runs/run-3/figures").contains("5.0 s"));
}

#[test]
fn less_of_a_metric_is_better_where_a_threshold_bounds_it_above() {
    let served = Served::new();
    let thresholds = |bound: &str| json!({ "metricThresholds": [{ "name": "tone", bound: 0.5, "values": [0.4, 0.4] }] });
    for (id, at, summary) in [
        ("run-3", 3, thresholds("max")),
        ("run-4", 4, thresholds("min")),
    ] {
        let writer = served.store.begin_run(new_run(id, at)).unwrap();
        for test in 0..30 {
            let mut row = row(id, test, 0, Outcome::Passed);
            // A little less than in the first run, in each test.
            row.record_json = row.record_json.replace("\"tone\":", "\"tone\":-");
            writer.push(row).unwrap();
        }
        let summary_json = summary.to_string();
        let end = RunEnd {
            status: RunStatus::Finished,
            ended_at_ms: at,
            summary_json,
        };
        writer.finish(end).unwrap();
    }
    let class = |after: &str| {
        let page = served.get(&format!("/compare?run=run-1&run={after}"));
        let (_, row) = page.split_once("<th scope=\"row\">tone</th>").unwrap();
        let (_, change) = row.split_once("data-name=\"Change\" class=\"").unwrap();
        change.split('"').next().unwrap().to_owned()
    };
    assert_eq!([class("run-3"), class("run-4")], ["good", "bad"]);
}

#[test]
fn a_run_is_compared_with_the_one_before_it() {
    let served = Served::new();
    let mut part = new_run("run-3", 3);
    part.options_json = r#"{"total":4}"#.to_owned();
    let mut other = new_run("run-4", 4);
    other.description = Some("another".to_owned());
    for run in [part, other, new_run("run-5", 5)] {
        drop(served.store.begin_run(run).unwrap());
    }
    let before = |id: &str| {
        let page = served.get(&format!("/runs/{id}"));
        let address = page.split("href=\"/compare?run=").nth(2)?;
        Some(address.split('"').next()?.to_owned())
    };
    // A part of the tests is passed over, and so is another config.
    let found = ["run-1", "run-2", "run-4", "run-5"].map(before);
    let expected = [
        None,
        Some("run-1&amp;run=run-2"),
        None,
        Some("run-2&amp;run=run-5"),
    ];
    assert_eq!(found, expected.map(|it| it.map(str::to_owned)));
}

#[test]
fn what_an_address_says_wrong_is_told() {
    let served = Served::new();
    for (address, told) in [
        (
            "/runs/run-1?verdict=fail&q=x",
            Some("<code>verdict=fail</code></p>"),
        ),
        (
            "/runs/run-1?score-to=%3Ci%3E",
            Some("<code>score-to=&lt;i&gt;</code></p>"),
        ),
        ("/runs/run-1?verdict=failed&after=0%3A3&hide=1", None),
        (
            "/compare?run=run-1&left=9&right=1&kind=worst",
            Some("<code>left=9</code>, <code>kind=worst</code></p>"),
        ),
        ("/compare?run=run-1&run=run-2&kind=worse&page=1", None),
    ] {
        let page = served.get(address);
        match told {
            Some(told) => assert!(
                page.contains(&format!("Not understood, and left out: {told}")),
                "{page}"
            ),
            None => assert!(!page.contains("Not understood"), "{page}"),
        }
    }
}
