//! A viewer's questions: conditions, pages, lookups, and what people say.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use super::*;
use crate::runs::samples::{Fresh, row};
use crate::runs::{Annotation, Outcome, Row};

/// Ten tests of two columns: column 1 is slower, test 3 failed in column 1, test 5 is an error in
/// column 0.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for test in 0..10 {
        for column in 0..2 {
            let mut row = row(test, column);
            row.latency_ms = Some(u64::from((test * 7) % 10 + column * 100));
            let code = code(test);
            row.record_json = format!(r#"{{"n":{test},"column":{column},"code":"{code}"}}"#);
            rows.push(row);
        }
    }
    rows[7].outcome = Outcome::Failed;
    rows[7].score = 0.25;
    rows[10].outcome = Outcome::Error;
    rows[10].score = 0.0;
    rows
}

fn fresh() -> Fresh {
    let fresh = Fresh::new();
    fresh.finished("other", 1, [row(0, 0)]);
    fresh.finished("run", 2, rows());
    fresh
}

fn found(fresh: &Fresh, wanted: &CaseFilter) -> Vec<u32> {
    let page = fresh
        .store
        .test_page("run", wanted, Order::Plan, PageStart::Start, 50);
    let tests: Vec<u32> = page.unwrap().tests.iter().map(|(_, test)| *test).collect();
    let (count, _) = fresh.store.count_tests("run", wanted).unwrap();
    assert_eq!(count, tests.len() as u64, "{wanted:?}");
    tests
}

fn code(test: u32) -> &'static str {
    if test == 3 { "C++" } else { "C#" }
}

/// What the records of these tests say.
fn facts(json: &str) -> Facts {
    let number = |name: &str| -> u64 {
        let (_, rest) = json.split_once(&format!("\"{name}\":")).unwrap();
        rest.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .unwrap()
    };
    let (test, column) = (number("n"), number("column"));
    Facts {
        text: format!(
            "Grüße an Kunde{test}, refund policy {column} {}",
            code(test as u32)
        ),
        error: (test == 5 && column == 0).then(|| "timeout".to_owned()),
        content: test,
        file: 0,
        tested: test,
        answer: if test == 2 { column } else { test },
        repeats: Some(test / 2 * 10 + column),
        metrics: vec![("tone".to_owned(), (test > 0).then_some(test as f64 / 10.0))],
        metadata: vec![(
            "team".to_owned(),
            if test < 4 { "a" } else { "b" }.to_owned(),
        )],
    }
}

fn catch_up(fresh: &Fresh) -> u64 {
    let mut read = 0;
    let mut lookup = fresh.store.lookup("run").unwrap();
    let facts = |json: &str| {
        read += 1;
        facts(json)
    };
    lookup.catch_up(facts, |_, _| true).unwrap();
    read
}

#[test]
fn conditions_are_about_one_case_of_a_test() {
    let fresh = fresh();
    let any = CaseFilter::default();
    assert_eq!(found(&fresh, &any), (0..10).collect::<Vec<_>>());
    let failed = CaseFilter {
        outcomes: vec![Outcome::Failed, Outcome::Error],
        ..any.clone()
    };
    assert_eq!(found(&fresh, &failed), [3, 5]);
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                column: Some(0),
                ..failed
            }
        ),
        [5]
    );
    let slow = FigureRange {
        least: Some(108.0),
        most: None,
    };
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                latency_ms: slow,
                ..any.clone()
            }
        ),
        [4, 7]
    );
    let score = FigureRange {
        least: Some(0.1),
        most: Some(0.9),
    };
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                score,
                ..any.clone()
            }
        ),
        [3]
    );
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                verdicts_differ: true,
                ..any
            }
        ),
        [3, 5]
    );
}

#[test]
fn pages_follow_each_other_both_ways_in_every_order() {
    let fresh = fresh();
    let any = CaseFilter::default();
    for order in [
        Order::Plan,
        Order::Falling(Ranked::Latency),
        Order::Rising(Ranked::Latency),
        Order::Rising(Ranked::Score),
        Order::Falling(Ranked::Cost),
    ] {
        let page = |from| fresh.store.test_page("run", &any, order, from, 3).unwrap();
        let all = fresh
            .store
            .test_page("run", &any, order, PageStart::Start, 50)
            .unwrap();
        let (mut forth, mut from) = (Vec::new(), PageStart::Start);
        let mut pages = Vec::new();
        loop {
            let page = page(from);
            assert_eq!(page.earlier, !pages.is_empty(), "{order:?}");
            forth.extend(page.tests.clone());
            pages.push(page.clone());
            let (figure, test) = *page.tests.last().unwrap();
            from = PageStart::After(figure, test);
            if !page.later {
                break;
            }
        }
        assert_eq!(forth, all.tests, "{order:?}");
        let (figure, test) = pages[2].tests[0];
        assert_eq!(
            page(PageStart::Before(figure, test)).tests,
            pages[1].tests,
            "{order:?}"
        );
        let (figure, test) = pages[1].tests[0];
        let first = page(PageStart::Before(figure, test));
        assert_eq!(
            (first.tests, first.earlier),
            (pages[0].tests.clone(), false),
            "{order:?}"
        );
    }
    let falling = Order::Falling(Ranked::Latency);
    let page = fresh
        .store
        .test_page("run", &any, falling, PageStart::Start, 2)
        .unwrap();
    assert_eq!(page.tests, [(109.0, 7), (108.0, 4)]);
}

#[test]
fn what_only_records_say_is_looked_up() {
    let fresh = fresh();
    assert_eq!(catch_up(&fresh), 20);
    assert_eq!(catch_up(&fresh), 0, "nothing is read twice");
    let any = CaseFilter::default();
    assert_eq!(found(&fresh, &text("kunde7")), [7]);
    assert_eq!(found(&fresh, &text("c++")), [3]);
    assert_eq!(found(&fresh, &text("c# kunde3")), []);
    assert_eq!(found(&fresh, &text("c")).len(), 10);
    assert_eq!(
        found(&fresh, &text("gruße refund")),
        (0..10).collect::<Vec<_>>()
    );
    assert_eq!(found(&fresh, &text("\"policy refund\"")), []);
    assert_eq!(found(&fresh, &text("' OR 1=1 --")), []);
    let metric = Some((
        "tone".to_owned(),
        FigureRange {
            least: Some(0.75),
            most: None,
        },
    ));
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                metric,
                ..any.clone()
            }
        ),
        [8, 9]
    );
    let metadata = Some(("team".to_owned(), "a".to_owned()));
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                metadata,
                ..any.clone()
            }
        ),
        [0, 1, 2, 3]
    );
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                answers_differ: true,
                ..any.clone()
            }
        ),
        [2]
    );
    assert_eq!(
        found(&fresh, &CaseFilter { flaky: true, ..any }),
        [2, 3, 4, 5]
    );
    assert_eq!(found(&fresh, &timed_out()), [5]);
}

#[test]
fn a_lookup_adds_up_metrics_and_errors_and_says_what_cases_are() {
    let fresh = fresh();
    catch_up(&fresh);
    assert_eq!(
        fresh.store.errors("run", 5).unwrap(),
        [("timeout".to_owned(), 1)]
    );
    let metrics = fresh.store.metrics("run", 5, 2).unwrap();
    assert_eq!((metrics.all, metrics.sums["tone"].len()), (1, 2));
    let tone = metrics.sums["tone"][&1];
    let counts = (tone.scores, tone.not_graded);
    assert!(
        counts == (9, 1) && (tone.sum - 4.5).abs() < 1e-9,
        "{metrics:?}"
    );
    let one = fresh.store.metrics("run", 5, 1).unwrap();
    assert_eq!(one.sums["tone"].len(), 1);
    let none = fresh.store.metrics("run", 0, 2).unwrap();
    assert_eq!((none.all, none.sums.len()), (1, 0));
    let mut contents = Vec::new();
    fresh.store.contents("run", |it| contents.push(it)).unwrap();
    assert_eq!(contents.len(), 20);
    let it = contents[7];
    assert_eq!(
        (it.test_idx, it.prompt_idx, it.outcome),
        (3, 1, Outcome::Failed)
    );
    assert_eq!((it.content, it.answer), (3, 3));
}

#[test]
fn what_the_cache_had_costs_as_much_and_has_no_latency() {
    let fresh = Fresh::new();
    let mut rows = [row(0, 0), row(1, 0), row(2, 0)];
    for (row, test) in rows.iter_mut().zip(0..) {
        row.record_json = format!("{{\"n\":{test},\"column\":0}}");
    }
    (rows[0].cached, rows[0].cost_usd) = (true, Some(0.0));
    (rows[1].saved_usd, rows[2].cost_usd, rows[2].saved_usd) = (None, None, None);
    fresh.finished("run", 1, rows);
    catch_up(&fresh);
    let mut found = Vec::new();
    let see = |it: Content| found.push((it.cost, it.latency_ms));
    fresh.store.contents("run", see).unwrap();
    assert!((found[0].0 - 0.000_1).abs() < 1e-12 && found[0].1.is_nan());
    assert!((found[1].0 - 0.000_25).abs() < 1e-12 && found[1].1 > 11.9);
    assert!(found[2].0.is_nan());
}

#[test]
fn a_row_that_took_the_place_of_another_is_looked_up_anew() {
    let fresh = fresh();
    catch_up(&fresh);
    let run = fresh.store.reopen_run("run").unwrap();
    let head = run.head().clone();
    let writer = run.start(&head).unwrap();
    let mut again = row(5, 0);
    "case-5-0-again".clone_into(&mut again.row_id);
    again.record_json = r#"{"n":99,"column":0}"#.to_owned();
    writer.push(again).unwrap();
    writer.finish(crate::runs::samples::end()).unwrap();
    assert_eq!(catch_up(&fresh), 1);
    assert_eq!(found(&fresh, &text("kunde99")), [5]);
    let both = CaseFilter {
        column: Some(0),
        ..text("kunde5")
    };
    assert_eq!(found(&fresh, &both), [], "its words are forgotten");
    assert_eq!(found(&fresh, &timed_out()), [], "and so is its error");
}

fn text(text: &str) -> CaseFilter {
    CaseFilter {
        text: Some(text.to_owned()),
        ..CaseFilter::default()
    }
}

fn timed_out() -> CaseFilter {
    CaseFilter {
        error: Some("timeout".to_owned()),
        ..CaseFilter::default()
    }
}

#[test]
fn a_lookup_that_is_damaged_is_made_anew_and_goes_with_its_run() {
    let fresh = fresh();
    catch_up(&fresh);
    fresh
        .raw()
        .execute_batch(
            "DELETE FROM records WHERE key = (SELECT max(record) FROM rows); \
        DELETE FROM rows WHERE record = (SELECT max(record) FROM rows)",
        )
        .unwrap();
    assert_eq!(catch_up(&fresh), 0);
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                flaky: true,
                ..CaseFilter::default()
            }
        ),
        [2, 3, 4, 5]
    );
    let folder = fresh.folder.path().join("runs.db.lookup");
    let file = folder
        .read_dir()
        .unwrap()
        .flatten()
        .find(|it| it.path().extension().is_some_and(|it| it == "db"));
    std::fs::write(file.unwrap().path(), "no database").unwrap();
    assert_eq!(catch_up(&fresh), 19);
    fresh.store.delete_run("run").unwrap();
    assert_eq!(folder.read_dir().unwrap().count(), 0);
}

#[test]
fn figures_are_those_of_the_rows() {
    let fresh = fresh();
    let figures: Vec<Figure> = fresh
        .store
        .figures("run")
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(figures.len(), 20);
    let row = &rows()[7];
    let figure = figures[7];
    assert_eq!(
        (figure.test_idx, figure.prompt_idx, figure.outcome),
        (3, 1, Outcome::Failed)
    );
    assert_eq!(
        (figure.latency_ms, figure.cost_usd),
        (row.latency_ms, row.cost_usd)
    );
}

/// Each word of it, beside what the records say.
#[test]
fn a_search_finds_what_people_say() {
    let fresh = fresh();
    let said = Annotation {
        comment: Some("wrong".to_owned()),
        label: Some("100 %".to_owned()),
        ..Annotation::default()
    };
    fresh
        .store
        .annotate("run", [("case-3-1", &said)], 1)
        .unwrap();
    catch_up(&fresh);
    for words in ["wrong", "wro \"wrong\"", "WRONG 100"] {
        assert_eq!(found(&fresh, &text(words)), [3], "{words}");
    }
    for words in ["wrong other", "wr_ng%", "100%"] {
        assert_eq!(found(&fresh, &text(words)), [], "{words}");
    }
}

#[test]
fn what_people_say_belongs_to_an_answer_and_goes_with_its_run() {
    let fresh = fresh();
    let said = Annotation {
        thumb: Some(false),
        comment: Some("wrong".to_owned()),
        ..Annotation::default()
    };
    let store = &fresh.store;
    store
        .annotate(
            "run",
            [(
                "case-3-1",
                &Annotation {
                    score: Some(1.0),
                    ..Annotation::default()
                },
            )],
            1,
        )
        .unwrap();
    store.annotate("run", [("case-3-1", &said)], 2).unwrap();
    assert_eq!(store.annotation("run", "case-3-1").unwrap(), said);
    let all = store.annotations("run").unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].test_idx, all[0].prompt_idx, &all[0].annotation),
        (3, 1, &said)
    );
    assert_eq!(
        found(
            &fresh,
            &CaseFilter {
                annotated: true,
                ..CaseFilter::default()
            }
        ),
        [3]
    );
    store
        .annotate("run", [("case-3-1", &Annotation::default())], 3)
        .unwrap();
    assert_eq!(store.annotations("run").unwrap(), []);
    store.annotate("run", [("case-3-1", &said)], 4).unwrap();
    store.note_run("run", Some("look again")).unwrap();
    store.rename_run("run", Some("better")).unwrap();
    assert_eq!(
        store.run_note("run").unwrap().as_deref(),
        Some("look again")
    );
    assert_eq!(
        store.find_run("run").unwrap().description.as_deref(),
        Some("better")
    );
    store.delete_run("run").unwrap();
    assert!(store.annotations("run").is_err());
    assert_eq!(store.problems().unwrap(), [] as [String; 0]);
}
