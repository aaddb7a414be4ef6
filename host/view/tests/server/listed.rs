//! The list of runs: what is ticked in it, what is counted in it, and what it lets do.

use runner_store::{Outcome, Row};

use super::served::{Served, new_run, row};

#[test]
fn what_is_ticked_is_told_where_it_is_not_two_runs() {
    let served = Served::new();
    let writer = served.store.begin_run(new_run("run-3", 3)).unwrap();
    writer.push(row("run-3", 0, 0, Outcome::Passed)).unwrap();
    drop(writer);
    let none = served.get("/compare");
    assert!(
        none.contains("No run was ticked.") && none.contains("value=\"run-1\""),
        "{none}"
    );
    let three = served.get("/compare?run=run-3&run=run-1&run=run-2&run=run-3");
    assert!(
        three.contains("3 runs were ticked, those below."),
        "{three}"
    );
    for run in ["run-1", "run-2", "run-3"] {
        assert!(
            three.contains(&format!(
                "name=\"run\" value=\"{run}\" form=\"compare\" aria-label"
            )),
            "{three}"
        );
    }
    // One run twice is one run.
    assert!(
        served
            .get("/compare?run=run-1&run=run-1")
            .contains("Column (1)")
    );
}

#[test]
fn a_run_with_one_column_is_compared_with_another_run() {
    let served = Served::new();
    let mut alone = new_run("run-3", 3);
    alone.columns_json = r#"[{"provider":"model-a","label":"p","raw":"Say"}]"#.to_owned();
    let writer = served.store.begin_run(alone).unwrap();
    writer.push(row("run-3", 0, 0, Outcome::Passed)).unwrap();
    drop(writer);
    let page = served.get("/compare?run=run-3");
    for part in [
        "has one column and can only be compared with another run.",
        "value=\"run-3\" form=\"compare\" checked aria-label",
        "value=\"run-1\" form=\"compare\" aria-label",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn a_sum_of_costs_says_whose_is_not_in_it() {
    let served = Served::new();
    let writer = served.store.begin_run(new_run("run-3", 3)).unwrap();
    writer.push(row("run-3", 0, 0, Outcome::Passed)).unwrap();
    let unpriced = Row {
        cost_usd: None,
        ..row("run-3", 0, 1, Outcome::Failed)
    };
    writer.push(unpriced).unwrap();
    let failed = Row {
        cost_usd: None,
        ..row("run-3", 1, 0, Outcome::Error)
    };
    writer.push(failed).unwrap();
    drop(writer);
    let page = served.get("/runs/run-3");
    let told = "$0.001000<small>without 1 case of no known price</small></td>";
    assert_eq!(
        page.matches(told).count(),
        1,
        "in the sum, and in no column: {page}"
    );
    assert!(!served.get("/runs/run-1").contains("no known price"));
}

#[test]
fn what_waits_for_a_person_is_counted_apart() {
    let served = Served::new();
    let writer = served.store.begin_run(new_run("run-3", 3)).unwrap();
    writer.push(row("run-3", 0, 0, Outcome::Waiting)).unwrap();
    writer.push(row("run-3", 0, 1, Outcome::Failed)).unwrap();
    writer.push(row("run-3", 1, 0, Outcome::Passed)).unwrap();
    drop(writer);
    let list = served.get("/?q=run-3");
    assert!(list.contains("<small>1 waiting</small>"));
    // On a phone, where the table has no head.
    assert!(list.contains("data-name=\"cases\">60</td>"), "{list}");
    let case = served.get("/runs/run-3/cases/0/1");
    assert!(case.contains("</time> · <code>run-3</code>"), "{case}");
    let figures = served.get("/runs/run-3/figures");
    assert!(figures.contains(">Waiting</th>"), "{figures}");
    assert!(!served.get("/runs/run-1/figures").contains(">Waiting</th>"));
    let found = served.get("/runs/run-3?verdict=waiting");
    assert!(
        found.contains("<span class=\"badge WAITS\">WAITS</span>"),
        "{found}"
    );
    // The figure of a run is one wherever it stands, and what waits is told beside it.
    let trend = served.get("/runs/run-3/trend");
    assert!(
        trend.contains("33.3 %<small>1 waiting</small></td>"),
        "{trend}"
    );
    assert!(!trend.contains("<title>100.0 %</title>"), "{trend}");
    // It has no verdict that could have got worse.
    let compared = served.get("/compare?run=run-1&run=run-3");
    assert!(compared.contains("got worse 1<"), "{compared}");
}

#[test]
fn a_run_is_renamed_and_deleted_where_it_is_listed() {
    let served = Served::new();
    let list = served.get("/");
    for part in [
        "<a href=\"/runs/run-1/trend\">Trend</a>",
        "action=\"/runs/run-1/rename\"",
        "action=\"/runs/run-1/delete\" data-ask=\"Delete greetings &lt;i&gt; and all of its results?\"",
    ] {
        assert!(list.contains(part), "{part} in {list}");
    }
    let answer = served.post(
        "/runs/run-1/rename",
        "from=list&description=evening",
        &served.origin(),
    );
    assert!(
        answer.status == 303 && answer.head.contains("location: /\r\n"),
        "{}",
        answer.head
    );
    assert!(served.get("/").contains(">evening</a>"));
}

#[test]
fn conditions_offer_the_metrics_of_a_run_and_name_columns_apart() {
    let served = Served::new();
    let page = served.get("/runs/run-1");
    // What turns a text around is not offered.
    assert!(
        page.contains("<datalist id=\"metadata\"></datalist>"),
        "{page}"
    );
    assert!(
        page.contains("<datalist id=\"metrics\"><option value=\"tone\"></option></datalist>"),
        "{page}"
    );
}
