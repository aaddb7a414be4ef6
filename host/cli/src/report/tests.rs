//! Summaries as exact text.

use std::time::Duration;

use runner_config::plan::{MetricThreshold, Thresholds};
use runner_eval::event::{LaneMetrics, LaneSummary};
use runner_eval::question::Tasks;
use runner_eval::record::{CaseRecord, Outcome};
use runner_eval::summary::{ColumnHead, Metrics};
use runner_gateway::Measure;

use crate::findings::Limits;
use crate::findings::tests::{conclusion, record};
use crate::verdict::Policy;

use super::*;

fn summed(records: &[CaseRecord], columns: u32, total: u64) -> (Summary, Findings) {
    let mut findings = Findings::new(Limits {
        rows: 25,
        cell_chars: 250,
        failing_only: false,
    });
    let head = |i| ColumnHead {
        provider: format!("model-{i}"),
        prompt: "Hello {{name}}".to_owned(),
    };
    let mut summary = Summary {
        run_id: "run-1".to_owned(),
        end: End::Finished,
        total,
        duration: Duration::from_millis(2_430),
        concurrency: 4,
        all: Tally::default(),
        columns: (0..columns).map(|i| (head(i), Tally::default())).collect(),
        throttled: 0,
        retries: 0,
        metrics: Metrics::default(),
        repeats: Repeats::default(),
        tasks: Tasks::default(),
        lanes: Vec::new(),
        budgets: Vec::new(),
        thresholds: Thresholds::default(),
        shard: None,
    };
    for record in records {
        findings.add(record);
        summary.all.add(record);
        summary.repeats.add(record);
        summary.tasks.add(record);
        let column = &mut summary.columns[record.prompt_idx as usize].1;
        column.add(record);
        summary.metrics.add(column, record);
    }
    (summary, findings)
}

/// A lane of which `hits` requests were throttled.
pub(crate) fn lane(name: &str, hits: u64) -> LaneSummary {
    LaneSummary {
        lane: name.into(),
        metrics: LaneMetrics {
            total_requests: 12,
            completed_requests: 9,
            failed_requests: 1,
            rate_limit_hits: hits,
            retried_requests: 2,
            latency_avg: Duration::from_millis(900),
            latency_p50: Duration::from_millis(812),
            latency_p99: Duration::from_millis(3_100),
            knee: None,
        },
    }
}

fn rendered(summary: &Summary, findings: &Findings) -> String {
    rendered_in(summary, findings, 120)
}

fn rendered_in(summary: &Summary, findings: &Findings, width: u16) -> String {
    let verdict = Policy::default().judge(summary);
    render(summary, findings, Some(&verdict), width)
}

#[test]
fn a_mixed_run() {
    let records = [
        record(0, 0, Outcome::Passed, "yes"),
        record(1, 0, Outcome::Failed, "no"),
        record(0, 1, Outcome::Passed, "yes"),
        record(1, 1, Outcome::Error, "the API refused the key"),
    ];
    let (mut summary, findings) = summed(&records, 2, 4);
    summary.throttled = 3;
    summary.retries = 2;
    summary.lanes = vec![lane("calm.example.com/m", 0), lane("api.example.com/m", 3)];
    let text = rendered(&summary, &findings);
    assert_eq!(
        text,
        "\
 column                        pass rate  passed  failed  errors  latency p50     p95  tokens       cost
(0) model-0 · Hello {{name}}     50.0 %       1       1       0       100 ms  101 ms      30  $0.002000
(1) model-1 · Hello {{name}}     50.0 %       1       0       1       100 ms  100 ms      15  $0.001000
all                              50.0 %       2       1       1       100 ms  101 ms      45  $0.003000

2 of 4 cases passed (50.0 %), 1 failed, 1 error; 2.4 s, at most 4 at once.
3 requests were throttled (429), 2 sent again.
  api.example.com/m: 12 requests, 3 throttled, 2 retries, p50 812 ms, p99 3.1 s

Failed assertions:
  1× contains \"yes\" – Expected output to contain \"yes\", got no (first: test 1, column 0)

Errors:
  1× auth: the API refused the key (first: test 1, column 1)

Results: runner show run-1
Exit code 100: pass rate 50.0 % is below 100 %
",
        "\n{text}"
    );
}

#[test]
fn what_is_asked_of_a_run_is_told_and_makes_its_exit_code() {
    let records = [
        record(0, 0, Outcome::Passed, "yes"),
        record(1, 0, Outcome::Failed, "no"),
    ];
    let (mut summary, findings) = summed(&records, 1, 2);
    summary.columns[0].1.derived = vec![("f1".to_owned(), 0.75)];
    let metric = |name: &str, min| MetricThreshold {
        name: name.to_owned(),
        min: Some(min),
        max: None,
    };
    summary.thresholds = Thresholds {
        pass_rate: Some(50.0),
        metrics: vec![metric("f1", 0.7)],
    };
    let text = rendered(&summary, &findings);
    let good = "\nThresholds:\n  held      pass rate at least 50 %: 50.0 %\n  held      f1 at least 0.7: 0.75\n";
    assert!(
        text.contains(good) && text.ends_with("Results: runner show run-1\n"),
        "{text}"
    );
    summary.thresholds.metrics.push(metric("tone", 1.0));
    let text = rendered(&summary, &findings);
    let bad = "  not held  tone at least 1: no score in column 0\n";
    let code = "Exit code 100: threshold not held: tone at least 1: no score in column 0\n";
    assert!(text.contains(bad) && text.ends_with(code), "{text}");
    summary.thresholds.pass_rate = Some(51.0);
    let text = rendered(&summary, &findings);
    let code = "Exit code 100: pass rate 50.0 % is below 51 %; threshold not held: tone at least 1: no score in column 0\n";
    assert!(text.ends_with(code), "{text}");
    summary.end = End::StoreFailed;
    let text = rendered(&summary, &findings);
    assert!(
        text.ends_with("Exit code 1: the database took no more results\n"),
        "{text}"
    );
}

#[test]
fn what_was_paid_is_told_from_what_the_cache_saved() {
    let mut records = [
        record(0, 0, Outcome::Passed, "yes"),
        record(1, 0, Outcome::Passed, "yes"),
    ];
    for (record, cached) in records.iter_mut().zip([false, true]) {
        record.cost = Some(0.25);
        record.response.as_mut().expect("it answered").cached = cached;
        let grading = record.grading_result.as_mut().expect("it is graded");
        let paid = if cached { 0.0 } else { 0.5 };
        (grading.used.cost, grading.used.incurred_cost) = (Some(0.5), Some(paid));
    }
    let (summary, findings) = summed(&records, 1, 2);
    let text = rendered(&summary, &findings);
    let told = "at most 4 at once.\n\
                Cost: $0.750000, $0.500000 of it for grading, $0.750000 saved by the cache.\n";
    assert!(text.contains(told), "{text}");
    let metrics = summary.columns[0].1.metrics_json();
    let of = |name: &str| metrics[name].as_f64();
    assert_eq!(
        (of("cost"), of("incurredCost"), of("gradingCost")),
        (Some(0.5), Some(0.75), Some(0.5))
    );
}

#[test]
fn a_good_run_is_short() {
    let mut good = record(0, 0, Outcome::Passed, "yes");
    good.cost = None;
    good.token_usage = runner_eval::record::TokenUsage::default();
    let (summary, findings) = summed(&[good], 1, 1);
    assert_eq!(
        rendered(&summary, &findings),
        "column                        pass rate  passed  failed  errors  latency p50     p95\n\
         (0) model-0 · Hello {{name}}    100.0 %       1       0       0       100 ms  100 ms\n\n\
         1 of 1 case passed (100.0 %); 2.4 s, at most 4 at once.\n\n\
         Results: runner show run-1\n"
    );
}

#[test]
fn an_interrupted_run_says_what_is_missing() {
    let (mut summary, findings) = summed(&[record(0, 0, Outcome::Passed, "yes")], 1, 3);
    summary.end = End::Interrupted;
    let text = rendered(&summary, &findings);
    assert!(
        text.contains("1 of 3 cases passed (33.3 %), 2 not run; "),
        "{text}"
    );
    assert!(
        text.contains("\nInterrupted: 2 cases were not run. "),
        "{text}"
    );
    assert!(
        text.ends_with("Exit code 130: interrupted, 2 cases were not run\n"),
        "{text}"
    );
    summary.end = End::TimeLimit;
    let text = rendered(&summary, &findings);
    assert!(
        text.contains("\nStopped by the time limit of the run: 2 cases were not run. "),
        "{text}"
    );
    assert!(
        text.ends_with("Exit code 100: pass rate 33.3 % is below 100 %\n"),
        "{text}"
    );
}

#[test]
fn what_a_budget_kept_back_is_said_with_what_to_do() {
    let mut kept_back = record(1, 0, Outcome::BudgetExceeded, "spent");
    kept_back.response = None;
    let (mut summary, findings) = summed(&[record(0, 0, Outcome::Passed, "yes"), kept_back], 1, 2);
    let statement = |owner: &str, measure, limit, spent| Statement {
        owner: owner.to_owned(),
        measure,
        limit,
        spent,
    };
    summary.budgets = vec![
        statement("the run", Measure::Cost, 2_000_000_000, 1_500_000),
        statement("plugin 'evil\u{1b}'", Measure::Requests, 1, 1),
    ];
    let text = rendered(&summary, &findings);
    for said in [
        "1 of 2 cases passed (50.0 %), 1 over budget; ",
        "\nBudget of plugin 'evil␛': 1 of 1 requests, spent.\nBudget of the run: $0.0015 of $2.00.\n",
        "\nOut of budget: 1 case was not run to the end. ",
        "runner eval --resume run-1\n",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    summary.budgets = (0..7)
        .map(|_| statement("the run", Measure::Tokens, 9, 3))
        .collect();
    assert!(rendered(&summary, &findings).contains("  2 more budgets\n"));
}

#[test]
fn a_narrow_terminal_cuts_names_and_no_figures() {
    let mut long = record(0, 0, Outcome::Passed, "yes");
    long.cost = Some(123.456);
    let (mut summary, findings) = summed(&[long], 1, 1);
    summary.columns[0].0.prompt =
        "Answer the question {{question}} in one short sentence".to_owned();
    let text = rendered_in(&summary, &findings, 90);
    assert!(text.contains("\n(0) model-0 · …    100.0 %"), "{text}");
    assert!(
        text.lines().take(2).all(|line| line.chars().count() <= 90),
        "{text}"
    );
}

#[test]
fn many_distinct_errors_are_summed_up() {
    let records: Vec<CaseRecord> = (0..8)
        .map(|n| record(n, 0, Outcome::Error, &format!("message {n}")))
        .collect();
    let (summary, findings) = summed(&records, 1, 8);
    let text = rendered(&summary, &findings);
    assert!(
        text.contains("  1× auth: message 4 (first: test 4, column 0)\n  3× something else\n"),
        "{text}"
    );
    assert!(!text.contains("message 5"), "{text}");
}

#[test]
fn a_label_cannot_write_to_the_terminal() {
    let (mut summary, findings) = summed(&[record(0, 0, Outcome::Passed, "yes")], 1, 1);
    summary.columns[0].0.provider = "evil\u{1b}]0;x\u{7}".to_owned();
    assert!(rendered(&summary, &findings).contains("evil␛]0;x␇"));
}

#[test]
fn of_many_throttled_lanes_the_worst_are_listed() {
    let (mut summary, findings) = summed(&[record(0, 0, Outcome::Passed, "yes")], 1, 1);
    summary.throttled = 28;
    summary.lanes = (1..=7)
        .map(|n| lane(&format!("lane-{n}\u{1b}"), n))
        .collect();
    let text = rendered(&summary, &findings);
    let of =
        |n| format!("  lane-{n}␛: 12 requests, {n} throttled, 2 retries, p50 812 ms, p99 3.1 s\n");
    let lanes: Vec<String> = (3..=7).rev().map(of).collect();
    let expected = format!(
        "28 requests were throttled (429).\n{}  2 more lanes were throttled\n",
        lanes.concat()
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn tests_that_pass_only_at_times_are_named() {
    let mut records: Vec<CaseRecord> = (0..6)
        .map(|test_idx| record(test_idx, 0, Outcome::Passed, "yes"))
        .collect();
    for (index, record) in records.iter_mut().enumerate() {
        let group = if index < 3 { "always" } else { "at times" };
        record.repeat_group = Some(group.to_owned());
    }
    records[4].conclusion = conclusion(Outcome::Failed, 0.0, "no");
    records[3].test_case = serde_json::json!({ "description": "Knows the capital" }).into();
    let (summary, findings) = summed(&records, 1, 6);
    let text = render(&summary, &findings, None, 100);
    let told = "Repeats: 1 of 2 tests flaky; pass^3 50.0 %: the share that passes 3 times in a row.\n  \
                test 3, column 0 Knows the capital: 2 of 3 passed\n";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_case_that_was_stopped_is_no_error() {
    let stopped = record(0, 0, Outcome::Cancelled, "late");
    let (mut summary, findings) = summed(&[stopped], 1, 1);
    summary.end = End::Interrupted;
    let text = render(&summary, &findings, None, 100);
    assert!(!text.contains("Errors:"), "{text}");
    assert!(text.contains("1 case was not run"), "{text}");
}
