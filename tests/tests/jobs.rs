//! What a job of a CI service needs: thresholds that make its exit code, and what it shows.

use insta::assert_snapshot;
use runner_tests::{Finished, Run};
use serde_json::json;

/// Of three tests two pass, and the metric `tone` is 1, 0.5 and 0.
const CONFIG: &str = "\
description: Greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada, metric: tone }] }
  - vars: { name: Bob }
    threshold: 0.5
    assert: [{ type: contains, value: Bob, metric: tone }, { type: contains, value: nobody, metric: tone }]
  - { vars: { name: Cleo }, assert: [{ type: contains, value: nobody, metric: tone }] }
";

fn evaluated(thresholds: &str, flags: &[&str]) -> Finished {
    let run = Run::new().config(&format!("{CONFIG}{thresholds}"));
    run.args(["eval", "--no-table"]).args(flags).finish()
}

#[test]
fn thresholds_of_the_config_make_the_exit_code_and_are_told() {
    let good = evaluated(
        "thresholds: { passRate: 66, metrics: { tone: 0.5 } }\n",
        &[],
    );
    assert_snapshot!("thresholds_that_hold", good.told());
    let bad = evaluated(
        "thresholds: { passRate: 66, metrics: { tone: { min: 0.6 }, taste: { max: 1 } } }\n",
        &["-o", "out.json"],
    );
    assert_snapshot!("thresholds_that_do_not_hold", bad.told());
    assert_eq!(
        bad.json("out.json")["results"]["stats"]["thresholds"],
        json!([
            { "passRate": 66.0, "holds": true, "found": "66.6 %" },
            { "metric": "tone", "min": 0.6, "max": null, "holds": false, "found": "0.5 in column 0" },
            { "metric": "taste", "min": null, "max": 1.0, "holds": false, "found": "no score in column 0" },
        ])
    );
    // A run that is looked at again says the same.
    let shown = bad.again().args(["show", "--rows", "0"]).finish();
    shown.expect_code(0);
    let told = "Thresholds:\n  held      pass rate at least 66 %: 66.6 %\n  not held  tone at least 0.6: 0.5 in column 0\n";
    assert!(shown.stdout.contains(told), "{}", shown.stdout);
}

#[test]
fn the_flag_wins_over_the_config_and_the_config_over_the_environment() {
    let of = |config: &str, flags: &[&str], variable: &str| {
        let run = Run::new().config(&format!("{CONFIG}{config}"));
        let run = run.env("PROMPTFOO_PASS_RATE_THRESHOLD", variable);
        run.args(["eval", "--no-table"]).args(flags).finish()
    };
    let config = "thresholds: { passRate: 70 }\n";
    of(config, &["--min-pass-rate", "60"], "100").expect_code(0);
    of(config, &["--min-pass-rate", "67%"], "0").expect_code(100);
    of(config, &[], "0").expect_code(100);
    of("thresholds: { metrics: { tone: 0.5 } }\n", &[], "60").expect_code(0);
    let refused = of(config, &["--min-pass-rate", "0.95"], "0");
    assert_snapshot!("a_share_is_no_percentage", refused.told());
}
