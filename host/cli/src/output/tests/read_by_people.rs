//! The files that are read by people and by CI servers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use runner_eval::record::{CaseRecord, Conclusion, LogRecord, PluginUse, Provenance};
use runner_store::Annotation;

use super::*;
use crate::stored::StoredRun;

#[test]
fn junit_has_a_suite_per_column_and_the_real_reasons() -> anyhow::Result<()> {
    let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!-- generator: runner -->
<testsuites name=\"run-1\" tests=\"4\" failures=\"1\" errors=\"2\" skipped=\"0\" time=\"0.301\">
<testsuite id=\"0\" name=\"(0) model-0 · Hello\" tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.201\" timestamp=\"2023-11-14T22:13:20.000Z\">
<testcase classname=\"(0) model-0 · Hello\" name=\"greets [name=user 0]\" time=\"0.100\"/>
<testcase classname=\"(0) model-0 · Hello\" name=\"name=user 1\" time=\"0.101\">
<error type=\"auth\" message=\"refused\">refused

All there is: runner show run-1 --test 1 --column 0</error>
</testcase>
</testsuite>
<testsuite id=\"1\" name=\"(1) model-1 · Hello\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.100\" timestamp=\"2023-11-14T22:13:20.000Z\">
<testcase classname=\"(1) model-1 · Hello\" name=\"greets [name=user 0]\" time=\"0.100\">
<failure type=\"contains\" message=\"Expected output to contain &quot;yes&quot;, got no never\">FAIL (0.00) contains &quot;yes&quot;: Expected output to contain &quot;yes&quot;, got no
never

Answer:
no
never

All there is: runner show run-1 --test 0 --column 1</failure>
</testcase>
</testsuite>
<testsuite id=\"2\" name=\"not run\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000\">
<testcase classname=\"not run\" name=\"every case is run\" time=\"0.000\">
<error type=\"not-run\" message=\"1 case was not run\">to go on: runner eval --resume run-1</error>
</testcase>
</testsuite>
</testsuites>
";
    let text = written("out.junit.xml", &kept())?;
    assert_eq!(text, expected, "\n{text}");
    Ok(())
}

/// Counts the texts of records that it gives.
struct Counting(TempStore, Cell<usize>);

impl Counting {
    fn count<T>(&self, text: T) -> T {
        self.1.set(self.1.get() + 1);
        text
    }
}

impl Records for Counting {
    fn open(&self) -> anyhow::Result<RecordTexts<'_>> {
        Ok(Box::new(self.0.open()?.map(|text| self.count(text))))
    }

    fn places(&self) -> anyhow::Result<Places<'_>> {
        self.0.places()
    }

    fn by_place(&self) -> anyhow::Result<TextByPlace<'_>> {
        let texts = self.0.by_place()?;
        Ok(Box::new(move |place| self.count(texts(place))))
    }
}

/// A case in each column, so large that no two of them are in memory.
#[test]
fn junit_reads_each_record_twice_however_large_the_suites_are() -> anyhow::Result<()> {
    let mut large = record(0, 0, Outcome::Failed, "no");
    let grading = large.grading_result.as_mut().expect("it is graded");
    let mut component = grading.component_results[0].clone();
    component.reason = "&".repeat(20_000);
    grading.component_results = vec![component; 500];
    let mut other = large.clone();
    other.prompt_idx = 1;
    let records = Counting(TempStore(vec![large, other]), Cell::default());
    let text = written("out.junit.xml", &records)?;
    assert!(text.len() > 90 << 20);
    assert_eq!(records.1.get(), 4);
    Ok(())
}

#[test]
fn yaml_has_the_document_of_json() -> anyhow::Result<()> {
    let text = written("out.yaml", &kept())?;
    for lines in [
        "evalId: run-1\nresults:\n  version: 3\n  timestamp: \"2023-11-14T22:13:20.000Z\"\n  prompts:\n    - id: pppp",
        "\n  results:\n    - id: row-0-0\n      promptIdx: 0\n      testIdx: 0\n",
        "\n    - id: row-1-0\n",
        "\n        output: \"no\\nnever\"\n",
        "\n  stats:\n    successes: 1\n    failures: 1\n",
        "\nconfig:\n  prompts:\n    - \"Hello {{name}}\"\nshareableUrl: null\nmetadata:\n",
    ] {
        assert!(text.contains(lines), "{lines}\nin:\n{text}");
    }
    let empty = written("out.yml", &TempStore(Vec::new()))?;
    assert!(empty.contains("\n  results: []\n"), "{empty}");
    Ok(())
}

#[test]
fn text_has_every_case_in_full_and_the_summary() -> anyhow::Result<()> {
    let text = written("out.txt", &kept())?;
    let head = "run-1 · 2023-11-14T22:13:20.000Z\n\nTest 0, column 0: echo · Hello {{name}}\nPASS, score 1.00, 100 ms\nDescription: greets\n";
    assert!(text.starts_with(head), "{text}");
    assert_eq!(text.matches("\nPrompt:\n").count(), 3);
    assert!(text.contains("1 of 4 cases passed (25.0 %)"), "{text}");
    Ok(())
}

/// The page of a run with these records, and no more cases than these.
fn page(records: &[CaseRecord]) -> anyhow::Result<String> {
    let kept = keep(records, records.len() as u64)?;
    let said = records
        .iter()
        .filter_map(|it| Some((it.id.as_str(), it.annotation.as_ref()?)));
    kept.store.annotate("run-1", said, 0)?;
    let run = StoredRun::find(kept.store.clone(), "run-1")
        .map_err(|failure| anyhow::anyhow!(failure.render()))?;
    let summary = run.sum_up(|_| {})?;
    let mut page = Vec::new();
    html::write(&mut page, &run.run(&summary))?;
    Ok(String::from_utf8(page)?)
}

/// The element of a case.
fn element(page: &str, test: u32, column: u32) -> &str {
    let begin = format!("<script type=\"text/html\" data-test=\"{test}\" data-column=\"{column}\"");
    let (_, rest) = page.split_once(&begin).expect("the case is on the page");
    rest.split_once("</script>").expect("it ends").0
}

#[test]
fn a_page_has_figures_metrics_and_cases() -> anyhow::Result<()> {
    let page = page(&kept().0)?;
    assert!(page.starts_with("<!doctype html>\n"));
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert_eq!(page.matches("<script type=\"text/html\"").count(), 3);
    assert!(page.contains("<th scope=\"row\">tone</th>"), "{page}");
    let failed = element(&page, 0, 1);
    assert!(failed.starts_with(" data-word=\"FAIL\""), "{failed}");
    assert!(failed.contains("<b>contains</b>"), "{failed}");
    let error = element(&page, 1, 0);
    assert!(error.contains("<code>auth</code> refused"), "{error}");
    let mut file = tempfile::tempfile()?;
    file.write_all(page.as_bytes())?;
    assert!(known::holds_results(&file, Format::Html)?);
    Ok(())
}

#[test]
fn no_hostile_answer_becomes_markup_of_a_page_or_a_report() -> anyhow::Result<()> {
    let hostile = "</script><img src=x onerror=alert(1)>]]><!--\u{0}\u{202e}";
    let mut record = record(0, 0, Outcome::Failed, hostile);
    record.provider.id = hostile.to_owned();
    record.prompt.label = hostile.to_owned();
    record.test_case["description"] = json!(hostile);
    let page = page(std::slice::from_ref(&record))?;
    assert_eq!(page.matches("<img").count(), 0);
    // The case, the data, and two scripts of ours.
    assert_eq!(page.matches("</script>").count(), 4);
    assert!(!page.contains("<!--") && !page.contains(['\u{0}', '\u{202e}']));
    let answer = "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;]]&gt;&lt;!--␀\u{fffd}";
    assert!(element(&page, 0, 0).contains(answer), "{page}");
    let report = written("out.xml", &TempStore(vec![record]))?;
    assert!(!report.contains("<img") && !report.contains("]]>") && !report.contains('\u{0}'));
    Ok(())
}

#[test]
fn an_answer_is_on_the_page_as_markdown_and_as_it_is_and_a_long_one_is_cut() -> anyhow::Result<()> {
    let marked = "**Yes** [x](javascript:alert(1)) <b>n</b>";
    let page = page(&[
        record(0, 0, Outcome::Passed, marked),
        record(0, 1, Outcome::Passed, &"ä".repeat(20_001)),
    ])?;
    let case = element(&page, 0, 0);
    for said in [
        "<p><strong>Yes</strong> <a href=\"#\">x</a> &lt;b&gt;n&lt;/b&gt;</p>",
        "**Yes** [x](javascript:alert(1)) &lt;b&gt;n&lt;/b&gt;",
    ] {
        assert!(case.contains(said), "{said} in {case}");
    }
    let cut = element(&page, 0, 1);
    assert!(cut.contains("ä… cut: runner show run-1 --test 0 --column 1"));
    Ok(())
}

#[test]
fn a_page_that_can_not_hold_all_says_so_and_holds_what_failed() -> anyhow::Result<()> {
    let mut records: Vec<_> = (0..20_001)
        .map(|test| record(test, 0, Outcome::Passed, "yes"))
        .collect();
    records.push(record(20_001, 0, Outcome::Failed, "no"));
    let page = page(&records)?;
    assert_eq!(page.matches("<script type=\"text/html\"").count(), 20_000);
    assert!(page.contains("\"tests\":20002,\"leftOut\":true}"));
    assert!(page.contains(
        "This page has 20,000 cases, first of all those that did not pass; 2 more are left out"
    ));
    assert!(element(&page, 20_001, 0).contains("no"));
    Ok(())
}

#[test]
fn one_huge_case_takes_no_room_of_others() -> anyhow::Result<()> {
    let mut huge = record(0, 0, Outcome::Failed, "no");
    let texts = (0..300).map(|at| (at.to_string(), json!("x".repeat(20_000))));
    huge.vars = Arc::new(texts.collect());
    let other = record(0, 1, Outcome::Failed, "never");
    let page = page(&[huge, other])?;
    assert_eq!(page.matches("<script type=\"text/html\"").count(), 1);
    assert!(page.contains("\"leftOut\":true}"));
    // What it says of its test comes with the first case that is there.
    assert!(element(&page, 0, 1).contains("<td class=\"about\">"));
    Ok(())
}

/// A case about which there is everything to say.
fn told_in_full() -> anyhow::Result<CaseRecord> {
    let mut first = record(0, 0, Outcome::Failed, "no");
    first.test_case["description"] = json!("greets");
    (first.repeat_index, first.repeat_group) = (1, Some("g".to_owned()));
    let answer = first.response.as_mut().expect("it is answered");
    (answer.reasoning, answer.model) = (Some("hm\n\nhm".to_owned()), Some("m".to_owned()));
    first.provenance = Some(Provenance {
        plugin: "echo".to_owned(),
        version: "0.1.0".to_owned(),
        sha256: "ab".repeat(32),
        grants_digest: String::new(),
        used: PluginUse {
            guest_cpu_us: 1_250,
            fuel: 12_345,
            peak_memory: 3 << 19,
        },
        graders: Vec::new(),
    });
    first.log.push(LogRecord {
        plugin: "echo".to_owned(),
        level: "warn".to_owned(),
        message: "two\nlines".to_owned(),
    });
    let question = json!({
        "task": "t", "index": 0, "question": "q", "answers": [], "correctAnswers": [], "correct": false,
        "tokensTotal": 0, "wallTimeMs": 0,
    });
    first.question = Some(serde_json::from_value(question)?);
    Ok(first)
}

/// A run about which there is everything to say.
#[test]
fn every_line_of_a_report_is_known_again() -> anyhow::Result<()> {
    let first = told_in_full()?;
    let mut again = record(1, 0, Outcome::Passed, "yes");
    again.repeat_group = first.repeat_group.clone();
    let records = [first, again, record(2, 1, Outcome::BudgetExceeded, "")];
    let mut summary = summary(&records);
    for record in &records {
        summary.repeats.add(record);
    }
    (summary.total, summary.throttled, summary.retries) = (4_000, 2, 1);
    (summary.end, summary.metrics.unsummed) = (End::TimeLimit, 3);
    summary.columns[0].0.provider = "字".repeat(60);
    summary.columns[1].1.derived = vec![("F1".to_owned(), 0.5)];
    let mut text = Vec::new();
    let (records, database) = (TempStore(records.into()), keep(&[], 0)?);
    txt::write(
        &mut text,
        &Run {
            summary: &summary,
            columns: &columns(),
            started_at_ms: 0,
            config: &Value::Null,
            records: &records,
            store: &database.store,
            against: None,
        },
    )?;
    let mut file = tempfile::tempfile()?;
    file.write_all(&text)?;
    let text = String::from_utf8(text)?;
    for said in [
        "Reasoning:",
        "Question ",
        "task  ",
        "Repeats: ",
        "Metrics, the mean",
        "Stopped by",
        "left out of the sums",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(known::holds_results(&file, Format::Txt)?, "{text}");
    Ok(())
}

#[test]
fn a_summary_has_the_worst_answers_first_and_fits_into_a_comment() -> anyhow::Result<()> {
    let text = written("out.md", &kept())?;
    assert!(
        text.contains("\n### 1 of 4 cases passed (25.0 %)\n"),
        "{text}"
    );
    // An answer comes before an error, whichever came first.
    let place = |title: &str| text.find(title).expect("it is there");
    let (failed, error) = ("test 0, column 1: FAIL", "test 1, column 0: ERROR");
    assert!(place(failed) < place(error), "{text}");
    let large = |row: u32| {
        let mut record = record(row, 0, Outcome::Failed, &"&".repeat(10_000));
        let value = || json!("&".repeat(10_000));
        let vars = (0..20).map(|at| (at.to_string(), value()));
        record.vars = Arc::new(vars.collect());
        record
    };
    let text = written("out.md", &TempStore((0..9).map(large).collect()))?;
    assert!((20_000..60_000).contains(&text.len()), "{}", text.len());
    assert!(
        text.contains(" left out, since a comment has no room for more.\n"),
        "{text}"
    );
    assert!(text.ends_with("\n<!-- end of what runner generated -->\n"));
    Ok(())
}

/// Of the first case it is said that it is bad, of the second that it is good.
fn annotated() -> TempStore {
    let mut kept = kept();
    kept.0[0].annotation = Some(Annotation {
        thumb: Some(false),
        score: Some(0.5),
        label: Some("tone <b>".to_owned()),
        comment: Some("too curt".to_owned()),
    });
    kept.0[1].annotation = Some(Annotation {
        thumb: Some(true),
        ..Annotation::default()
    });
    kept
}

#[test]
fn what_people_said_is_in_every_file() -> anyhow::Result<()> {
    let kept = annotated();
    for (name, lines) in [
        (
            "out.txt",
            &["\nA person said:\n  thumb down · score 0.5 · tone <b>\n  too curt\n"][..],
        ),
        (
            "out.junit.xml",
            &[
                "<system-out>A person said: thumb down · score 0.5 · tone &lt;b&gt;\ntoo curt</system-out>\n</testcase>",
                "</failure>\n<system-out>A person said: thumb up</system-out>\n</testcase>",
            ],
        ),
        (
            "out.md",
            &[
                "<p>2 cases, 1 thumb up, 1 thumb down, 1 × <code>tone &lt;b&gt;</code></p>",
                "<li>test 0, column 0: <code>thumb down · score 0.5 · tone &lt;b&gt; too curt</code></li>",
                "A person said:\n  thumb up\n",
            ],
        ),
        (
            "out.csv",
            &[
                "Metric: tone,Thumb,Human Score,Label,Grader Reason,Comment,[model-1] Hello,Status,Score,Named Scores,Thumb,Human Score,Label,Grader Reason,Comment\n",
                ",0.5,down,0.5,tone <b>,Assertion passed,too curt,",
                ",FAIL,0.00,,up,,,",
                ",user 1,refused,ERROR,0.00,,,,,,refused,,,,,,,,,,\n",
            ],
        ),
    ] {
        let text = written(name, &kept)?;
        for line in lines {
            assert!(text.contains(line), "{line}\nin:\n{text}");
        }
    }
    let page = page(&kept.0)?;
    assert!(element(&page, 0, 0).contains("too curt"), "{page}");
    Ok(())
}

#[test]
fn a_summary_has_metrics_and_one_answer_of_each_test() -> anyhow::Result<()> {
    let mut records: Vec<CaseRecord> = (0..3)
        .map(|column| record(0, column, Outcome::Failed, &format!("no {column}")))
        .collect();
    records[1].conclusion = Conclusion::foreign(Outcome::Failed, -1.0, None);
    records.push(record(1, 0, Outcome::Failed, "other"));
    records.push(record(1, 1, Outcome::Error, "refused"));
    let text = written("out.md", &TempStore(records))?;
    let titles: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("<details><summary>"))
        .filter_map(|line| line.split_once(", score"))
        .map(|(title, _)| title)
        .collect();
    assert_eq!(
        titles,
        [
            "test 0, column 1: FAIL (also columns 0, 2)",
            "test 1, column 0: FAIL (also column 1)"
        ]
    );
    let metrics = "\n<table>\n<tr><th align=\"left\">metric</th><th align=\"right\">(0)</th><th align=\"right\">(1)</th></tr>\n\
                   <tr><td><code>tone</code></td><td align=\"right\">0.5</td><td align=\"right\">–</td></tr>\n</table>\n";
    assert!(text.contains(metrics), "{text}");
    Ok(())
}

/// Notes how much is written when each of its texts is read.
struct Watched {
    kept: TempStore,
    written: Rc<Cell<usize>>,
    noted: RefCell<Vec<usize>>,
}

impl Records for Watched {
    fn open(&self) -> anyhow::Result<RecordTexts<'_>> {
        let texts = self.kept.open()?;
        Ok(Box::new(texts.inspect(|_| {
            self.noted.borrow_mut().push(self.written.get());
        })))
    }

    fn places(&self) -> anyhow::Result<Places<'_>> {
        self.kept.places()
    }

    fn by_place(&self) -> anyhow::Result<TextByPlace<'_>> {
        self.kept.by_place()
    }
}

struct Growing(Rc<Cell<usize>>);

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All columns of a test may be more than fits.
#[test]
fn cells_of_csv_are_written_before_the_next_record_is_read() -> anyhow::Result<()> {
    let large = "x".repeat(1 << 20);
    let written = Rc::new(Cell::new(0));
    let records = Watched {
        kept: TempStore(vec![
            record(0, 0, Outcome::Passed, &large),
            record(0, 1, Outcome::Passed, &large),
            record(1, 0, Outcome::Passed, "yes"),
        ]),
        written: written.clone(),
        noted: RefCell::default(),
    };
    let (summary, database) = (summary(&records.kept.0), keep(&[], 0)?);
    let run = Run {
        summary: &summary,
        columns: &columns(),
        started_at_ms: 1_700_000_000_000,
        config: &json!({}),
        records: &records,
        store: &database.store,
        against: None,
    };
    csv::write(&mut Growing(written), &run, false)?;
    let noted = records.noted.borrow();
    let [.., first, second, third] = noted[..] else {
        panic!("{noted:?}");
    };
    assert_eq!(noted.len(), 6);
    assert!(
        second > first + large.len() && third > second + large.len(),
        "{noted:?}"
    );
    Ok(())
}
