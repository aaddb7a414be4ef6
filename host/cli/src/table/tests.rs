//! Tables as exact text.

use std::sync::Arc;

use crate::findings::Limits;
use crate::findings::tests::record;

use super::*;

fn heads(n: u32) -> Vec<ColumnHead> {
    (0..n)
        .map(|i| ColumnHead {
            provider: format!("model-{i}"),
            prompt: "Hello {{name}}".to_owned(),
        })
        .collect()
}

fn view(width: u16) -> TableView {
    TableView {
        width,
        color: false,
        run_id: "run-1".to_owned(),
        complete: false,
        only_column: None,
    }
}

fn limits(rows: usize) -> Limits {
    Limits {
        rows,
        cell_chars: 250,
        failing_only: false,
    }
}

#[test]
fn verdicts_outputs_and_reasons_stand_in_their_cells() {
    let mut findings = Findings::new(limits(25));
    findings.add(&record(0, 0, Outcome::Passed, "yes, I do"));
    findings.add(&record(0, 1, Outcome::Failed, "no"));
    findings.add(&record(1, 0, Outcome::Error, "the API refused the key"));
    let text = render(&findings, &heads(2), &view(80));
    same(
        &text,
        "\
┌───┬────────┬────────────────────────────────┬────────────────────────────────┐
│ # ┆ name   ┆ (0) model-0                    ┆ (1) model-1                    │
│   ┆        ┆ Hello {{name}}                 ┆ Hello {{name}}                 │
╞═══╪════════╪════════════════════════════════╪════════════════════════════════╡
│ 0 ┆ user 0 ┆ [PASS] yes, I do               ┆ [FAIL] no                      │
│   ┆        ┆                                ┆ ✗ Expected output to contain   │
│   ┆        ┆                                ┆ \"yes\", got no                  │
├╌╌╌┼╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┤
│ 1 ┆ user 1 ┆ [ERROR] auth: the API refused  ┆ not run                        │
│   ┆        ┆ the key                        ┆                                │
└───┴────────┴────────────────────────────────┴────────────────────────────────┘
",
    );
}

/// Compares with the width of the frame in view, so that a failure can be read.
fn same(text: &str, expected: &str) {
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn every_line_is_as_wide_as_the_others_with_wide_characters() {
    let mut findings = Findings::new(limits(25));
    findings.add(&record(
        0,
        0,
        Outcome::Passed,
        "日本語のとても長い答えです、折り返しが必要 👍🏽 done",
    ));
    let text = render(&findings, &heads(1), &view(50));
    let widths: Vec<usize> = text.lines().map(console_width).collect();
    assert!(
        widths.iter().all(|width| *width == widths[0]),
        "{widths:?}\n{text}"
    );
    assert!(widths[0] <= 50, "{text}");
}

/// Columns that a terminal gives to the characters of these tests.
fn console_width(line: &str) -> usize {
    let width = |c| match c as u32 {
        0x1f3fb..=0x1f3ff => 0,
        0x3000..=0x9fff | 0x1f300..=0x1f3fa | 0x1f400..=0x1f64f => 2,
        _ => 1,
    };
    line.chars().map(width).sum()
}

#[test]
fn no_width_and_no_number_of_columns_makes_it_overflow() {
    for columns in [1, 2, 5, 40] {
        for width in [40, 60, 80, 120, 200] {
            let mut findings = Findings::new(limits(3));
            for prompt_idx in 0..columns {
                let mut record = record(12, prompt_idx, Outcome::Failed, &"word ".repeat(60));
                for n in 0..9 {
                    Arc::make_mut(&mut record.vars)
                        .insert(format!("variable_{n}"), "some longer value here".into());
                }
                findings.add(&record);
            }
            let text = render(&findings, &heads(columns), &view(width));
            let frame = text
                .lines()
                .filter(|line| line.starts_with(['│', '┌', '├', '└', '╞']));
            for line in frame {
                assert!(
                    line.chars().count() <= usize::from(width),
                    "{columns} columns in {width}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn variables_give_way_before_outputs_and_it_is_said() {
    assert_eq!(
        Layout::fit(120, 1, 2, 2),
        Layout {
            inputs: 2,
            outputs: 2
        }
    );
    assert_eq!(
        Layout::fit(80, 1, 6, 2),
        Layout {
            inputs: 2,
            outputs: 2
        }
    );
    assert_eq!(
        Layout::fit(80, 1, 6, 9),
        Layout {
            inputs: 1,
            outputs: 3
        }
    );
    assert_eq!(
        Layout::fit(40, 4, 3, 1),
        Layout {
            inputs: 0,
            outputs: 1
        }
    );
    let mut findings = Findings::new(limits(1));
    let mut wide = record(0, 0, Outcome::Passed, "yes");
    for n in 0..10 {
        Arc::make_mut(&mut wide.vars).insert(format!("v{n}"), "x".into());
    }
    findings.add(&wide);
    let text = render(&findings, &heads(9), &view(80));
    assert!(
        text.contains("No room for 10 variables: v0, v1, v2, v3, v4, v5, v6, v7, …\n"),
        "{text}"
    );
    assert!(
        text.contains("No room for columns 3 to 8: runner show run-1 --column 3\n"),
        "{text}"
    );
}

#[test]
fn rows_that_are_left_out_are_counted() {
    let mut findings = Findings::new(limits(1));
    findings.add(&record(0, 0, Outcome::Passed, "yes"));
    findings.add(&record(1, 0, Outcome::Passed, "yes"));
    let text = render(&findings, &heads(1), &view(80));
    assert!(
        text.ends_with("… 1 more case, all passed: runner show run-1 --rows N\n"),
        "{text}"
    );
    findings.add(&record(2, 0, Outcome::Failed, "no"));
    let text = render(&findings, &heads(1), &view(80));
    assert!(
        text.ends_with("… 2 more cases, 1 did not pass: runner show run-1 --failed\n"),
        "{text}"
    );
}

#[test]
fn one_column_alone_can_be_drawn() {
    let mut findings = Findings::new(limits(1));
    for prompt_idx in 0..3 {
        findings.add(&record(
            0,
            prompt_idx,
            Outcome::Passed,
            &format!("answer {prompt_idx}"),
        ));
    }
    let text = render(
        &findings,
        &heads(3),
        &TableView {
            only_column: Some(1),
            ..view(80)
        },
    );
    assert!(
        text.contains("answer 1") && !text.contains("answer 0") && !text.contains("answer 2"),
        "{text}"
    );
}

#[test]
fn colour_marks_the_word_of_a_verdict_and_no_answer() {
    let mut findings = Findings::new(limits(3));
    findings.add(&record(0, 0, Outcome::Passed, "yes"));
    let color = TableView {
        color: true,
        ..view(80)
    };
    findings.add(&record(1, 0, Outcome::Failed, "no\n[PASS] it says"));
    findings.add(&record(2, 0, Outcome::Error, "no"));
    let text = render(&findings, &heads(1), &color);
    for part in [
        " \u{1b}[32m[PASS]\u{1b}[39m yes",
        " \u{1b}[31m[FAIL]\u{1b}[39m no",
        " \u{1b}[33m[ERROR]\u{1b}[39m auth: no",
        "┆ [PASS] it says",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let plain = render(&findings, &heads(1), &view(80));
    assert!(!plain.contains('\u{1b}'));
    let without = ["32", "31", "33", "39"].iter().fold(text, |text, code| {
        text.replace(&format!("\u{1b}[{code}m"), "")
    });
    assert_eq!(without, plain);
}

#[test]
fn a_cell_that_the_plan_does_not_have_is_not_called_missing() {
    let mut findings = Findings::new(limits(1));
    findings.add(&record(0, 1, Outcome::Passed, "yes"));
    let complete = TableView {
        complete: true,
        ..view(80)
    };
    assert!(!render(&findings, &heads(2), &complete).contains("not run"));
    assert!(render(&findings, &heads(2), &view(80)).contains("not run"));
}

#[test]
fn nothing_gathered_draws_nothing() {
    assert_eq!(render(&Findings::new(limits(5)), &heads(1), &view(80)), "");
}
