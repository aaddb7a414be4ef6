//! The server over a real socket: who is let in, what pages show, what a form changes, and that nothing
//! hostile in a record does anything.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

mod compared;
mod listed;
mod served;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use runner_store::{Annotation, LaneMoment, LaneSample, Outcome, Row, RunEnd, RunStatus};
use serde_json::Value;
use served::{Served, ask, row};

#[test]
fn only_the_browser_that_was_sent_here_gets_anything() {
    let served = Served::new();
    let port = served.port;
    let asks = |line: &str, head: &str| ask(port, &format!("{line} HTTP/1.1\r\n{head}"), "").status;
    let host = format!("host: 127.0.0.1:{port}\r\n");
    let cookie = format!("cookie: {}\r\n", served.cookie);
    assert_eq!(asks("GET /", &format!("{host}{cookie}")), 200);
    assert_eq!(asks("GET /", &host), 403);
    assert_eq!(asks("GET /?token=guess", &format!("{host}{cookie}")), 403);
    assert_eq!(
        asks(
            "GET /",
            &format!("{host}cookie: runner-view-{port}=guess\r\n")
        ),
        403
    );
    assert_eq!(
        asks("GET /", &format!("host: evil.example\r\n{cookie}")),
        403
    );
    assert_eq!(asks("GET /", &format!("host: 127.0.0.1\r\n{cookie}")), 403);
    assert_eq!(
        asks(
            "GET /",
            &format!("{host}{cookie}origin: https://evil.example\r\n")
        ),
        403
    );
    assert_eq!(asks("GET /assets/x.js", &host), 403);
    assert_eq!(asks("GET /runs/run-1/live", &host), 403);
    assert_eq!(asks("DELETE /runs/run-1", &format!("{host}{cookie}")), 405);
    assert_eq!(asks("GET /runs/none", &format!("{host}{cookie}")), 404);
    assert_eq!(
        asks("GET /runs/..%2f..%2fetc", &format!("{host}{cookie}")),
        404
    );
    for origin in [
        "",
        "origin: null\r\n",
        "origin: http://evil.example\r\n",
        "origin: http://127.0.0.1:1\r\n",
    ] {
        assert_eq!(
            served.post("/runs/run-1/delete", "", origin).status,
            403,
            "{origin}"
        );
    }
    assert_eq!(served.store.runs(9).unwrap().len(), 2);
}

#[test]
fn figures_say_what_grading_took_and_what_the_cache_saved() {
    let served = Served::new();
    let writer = served.store.begin_run(served::new_run("run-3", 3)).unwrap();
    for (test, cost, grading, saved) in [(0, 0.5, Some(0.25), None), (1, 0.0, None, Some(0.75))] {
        let row = Row {
            cost_usd: Some(cost),
            grading_usd: grading,
            saved_usd: saved,
            ..row("run-3", test, 0, Outcome::Passed)
        };
        writer.push(row).unwrap();
    }
    writer.flush().unwrap();
    let figures = served.get("/runs/run-3");
    let told = "$0.500000<small>$0.250000 for grading</small><small>$0.750000 saved</small></td>";
    assert!(figures.contains(told), "{figures}");
    assert!(served.get("/").contains("$0.500000"));
}

#[test]
fn every_answer_says_that_nothing_else_may_run_or_load() {
    let served = Served::new();
    for path in ["/", "/runs/run-1", "/runs/none"] {
        let answer = ask(
            served.port,
            &format!("GET {path} HTTP/1.1\r\n{}", served.head()),
            "",
        );
        assert!(
            answer.head.contains(
                "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; "
            ),
            "{}",
            answer.head
        );
        for line in [
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(answer.head.contains(line), "{line}");
        }
        for inline in [
            "<style",
            "<script>",
            " style=\"",
            " onclick=\"",
            "src=\"http",
            "href=\"http",
        ] {
            assert!(!answer.body.contains(inline), "{inline} on {path}");
        }
        let (_, rest) = answer.body.split_once("<script src=\"").unwrap();
        let script = rest.split('"').next().unwrap();
        assert!(served.get(script).starts_with("\"use strict\""));
    }
}

#[test]
fn hostile_texts_are_inert_on_every_page() {
    let served = Served::new();
    for path in [
        "/",
        "/?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/runs/run-1",
        "/runs/run-1/figures",
        "/runs/run-1/count",
        "/runs/run-1?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&error=%3Cscript%3E&metric=%22onx&metadata=%3Cscript%3E%3D1",
        "/runs/run-1/cases/3/1",
        "/runs/run-2/cases/4/0",
        "/runs/run-1/config",
        "/runs/run-1/trend",
        "/runs/run-1/agreement",
        "/compare?run=run-1&run=run-2",
        "/compare?run=run-1&left=0&right=1",
    ] {
        let body = served.get(path);
        for live in [
            "<script>",
            "<img src=x",
            "href=\"javascript:",
            "<b>model",
            "<i>",
            "\u{202e}",
        ] {
            assert!(!body.contains(live), "{live} on {path}");
        }
    }
    assert!(
        served
            .get("/runs/run-1/cases/3/1")
            .contains("&lt;/td&gt;&lt;script&gt;")
    );
}

#[test]
fn filters_and_pages_are_in_the_address() {
    let served = Served::new();
    let tests = |query: &str| -> Vec<u32> {
        let body = served.get(&format!("/runs/run-1{query}"));
        let rows = body.split("<th class=\"number\" scope=\"row\">").skip(1);
        rows.map(|row| row.split('<').next().unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(tests(""), (0..25).collect::<Vec<_>>());
    let body = served.get("/runs/run-1");
    let next = body
        .split("rel=\"next\" href=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .replace("&amp;", "&");
    assert_eq!(next, "/runs/run-1?after=0%3A24#cases");
    assert_eq!(tests("?after=0%3A24"), (25..30).collect::<Vec<_>>());
    assert_eq!(tests("?before=0%3A25"), (0..25).collect::<Vec<_>>());
    assert_eq!(tests("?verdict=failed").len(), 15);
    assert_eq!(tests("?sort=-latency&verdict=failed")[..2], [29, 27]);
    assert_eq!(tests("?latency-from=280"), [28, 29]);
    assert_eq!(tests("?q=answer+17"), [17]);
    assert_eq!(tests("?metric=tone&metric-from=0.95"), [29]);
    assert_eq!(tests("?differ=verdicts"), [0_u32; 0]);
    let hidden = served.get("/runs/run-1?hide=1");
    let table = hidden.split("<table class=\"matrix\">").nth(1).unwrap();
    assert!(table.contains("model-a") && !table.contains("model-b"));
    assert!(
        served
            .get("/runs/run-2?error=timeout")
            .contains("href=\"/runs/run-2/cases/4/0?error=timeout&amp;after=0%3A4\"")
    );
    assert!(
        served
            .get("/runs/run-1/count?verdict=failed")
            .contains("15 tests with 30 cases that match")
    );
}

#[test]
fn what_a_person_says_is_kept_and_compared_with_the_judges() {
    let served = Served::new();
    let origin = served.origin();
    let say = |test: u32, form: &str| {
        served.post(
            &format!("/runs/run-1/cases/{test}/0"),
            &format!("row=run-1-{test}-0&{form}"),
            &origin,
        )
    };
    let answer = say(1, "thumb=down&score=0.5&label=tone&comment=too+%3Cshort%3E");
    assert_eq!(answer.status, 303);
    let said = Annotation {
        thumb: Some(false),
        score: Some(0.5),
        label: Some("tone".to_owned()),
        comment: Some("too <short>".to_owned()),
    };
    assert_eq!(served.store.annotation("run-1", "run-1-1-0").unwrap(), said);
    assert!(
        served
            .get("/runs/run-1/cases/1/0")
            .contains("too &lt;short&gt;")
    );
    let rated = served.get("/runs/run-1?only=rated");
    let seen = "<span class=\"pill bad\">− bad</span><span class=\"pill\">score 0.50</span><span class=\"pill\">tone</span>\
                <small>too &lt;short&gt;</small>";
    assert!(rated.contains(seen), "{rated}");
    for wrong in ["1.5", "-1", "NaN", "3%20of%2010"] {
        assert_ne!(say(1, &format!("score={wrong}")).status, 303, "{wrong}");
    }
    assert_eq!(served.store.annotation("run-1", "run-1-1-0").unwrap(), said);
    assert_eq!(say(2, "thumb=up").status, 303);
    assert_eq!(say(4, "thumb=down").status, 303);
    assert_eq!(
        served
            .post("/runs/run-1/cases/5/0", "row=another&thumb=up", &origin)
            .status,
        500
    );
    let page = served.get("/runs/run-1/agreement");
    for part in [
        "3 cases were graded by people",
        "<td class=\"n\">66.6 %</td>",
        "<td class=\"n\">0.40</td>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let file: Value = serde_json::from_str(&served.get("/runs/run-1/annotations.json")).unwrap();
    assert_eq!(file["annotations"].as_array().unwrap().len(), 3);
    assert_eq!(say(1, "").status, 303);
    assert!(
        served
            .store
            .annotation("run-1", "run-1-1-0")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn runs_are_renamed_noted_searched_and_deleted() {
    let served = Served::new();
    let origin = served.origin();
    assert_eq!(
        served
            .post("/runs/run-1/rename", "description=evening", &origin)
            .status,
        303
    );
    assert_eq!(
        served
            .post("/runs/run-1/note", "note=look+again", &origin)
            .status,
        303
    );
    assert!(served.get("/runs/run-1").contains("look again"));
    let list = served.get("/?q=EVENING");
    assert!(list.contains("/runs/run-1\"") && !list.contains("/runs/run-2\""));
    assert!(served.get("/?q=blue").contains("/runs/run-2\""));
    let both = served.get("/?q=team%3Dblue++RUN-2");
    assert!(both.contains("/runs/run-2\"") && !both.contains("/runs/run-1\""));
    let page = served.get("/runs/run-2");
    assert!(page.contains("<a class=\"tag\" href=\"/?q=team%3Dblue\">team=blue</a>"));
    assert!(served.get("/?q=team%3DBlue").contains("/runs/run-2\""));
    assert_eq!(served.post("/runs/run-1/delete", "", &origin).status, 303);
    assert!(!served.get("/").contains("/runs/run-1\""));
}

#[test]
fn two_runs_are_compared_case_by_case() {
    let served = Served::new();
    let page = served.get("/compare?run=run-2&run=run-1");
    for part in [
        "got worse 2",
        "got better 30",
        "another answer 28",
        "significant, p &lt; 0.001",
        "<b>+46.7 points</b>",
        "<del>run-1</del>",
        "<ins>run-2</ins>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let worse = served.get("/compare?run=run-1&run=run-2&kind=worse");
    assert_eq!(worse.matches("<article").count(), 2);
    // All cases of both columns, and each metric of them.
    for part in [
        "<th scope=\"row\">All</th><td class=\"n\" data-name=\"Tests\">30 <small>of 60 cases</small></td>",
        "<th scope=\"row\">tone</th><td class=\"n\" data-name=\"Tests\">30</td>",
        "<th scope=\"row\">Cost</th>",
        "$0.060000",
        "no test changed",
        "Column by column",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(
        served
            .get("/compare/measures?run=run-1&run=run-2")
            .contains(">Latency</th>")
    );
}

#[test]
fn one_run_that_is_ticked_is_compared_column_by_column() {
    let served = Served::new();
    assert!(
        served
            .get("/runs/run-1")
            .contains("<a href=\"/compare?run=run-1\" data-compare=\"\">Compare columns</a>")
    );
    for address in ["/compare?run=run-1", "/compare?run=run-1&left=0&right=1"] {
        let page = served.get(address);
        for part in [
            "no test came out differently",
            "<th class=\"n\" scope=\"col\">Column (0)</th><th class=\"n\" scope=\"col\">Column (1)</th>",
            "model-a",
            "href=\"/compare?run=run-1&amp;left=0&amp;right=1&amp;kind=answer\"",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("Before") && !page.contains("After<"));
    }
}

#[test]
fn the_next_case_of_those_that_are_wanted_is_in_any_column() {
    let served = Served::new();
    let next = |address: &str, rel: &str| {
        let page = served.get(address);
        let (_, rest) = page.split_once(&format!("rel=\"{rel}\" href=\"")).unwrap();
        rest.split('"').next().unwrap().replace("&amp;", "&")
    };
    let failed = |place: &str, after: u32| {
        format!("/runs/run-1/cases/{place}?verdict=failed&after=0%3A{after}")
    };
    assert_eq!(next(&failed("1/0", 1), "next"), failed("1/1", 1));
    assert_eq!(next(&failed("1/1", 1), "next"), failed("3/0", 3));
    assert_eq!(next(&failed("3/0", 3), "prev"), failed("1/1", 1));
    assert_eq!(
        next("/runs/run-1/cases/1/1", "next"),
        "/runs/run-1/cases/2/1?after=0%3A2"
    );
}

#[test]
fn a_run_that_grows_is_told_until_it_ends() {
    let served = Served::new();
    let run = served.store.reopen_run("run-1").unwrap();
    let head = run.head().clone();
    let writer = run.start(&head).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    write!(
        stream,
        "GET /runs/run-1/live HTTP/1.1\r\n{}\r\n",
        served.head()
    )
    .unwrap();
    let mut told = String::new();
    let mut read_until = |part: &str| {
        let mut bytes = [0; 4096];
        while !told.contains(part) {
            let count = stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "{part} in {told}");
            told.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    read_until("content-type: text/event-stream");
    read_until("\"done\":\"60\",\"total\":\"60\"");
    writer.push(row("run-1", 30, 0, Outcome::Passed)).unwrap();
    writer.flush().unwrap();
    read_until("\"done\":\"61\"");
    let page = served.get("/runs/run-1");
    assert!(page.contains("data-events=\"/runs/run-1/live\""));
    assert!(page.contains("<div id=\"lanes\"></div>"));
    writer.lane_log().note(LaneMoment {
        at_ms: 1000,
        lanes: vec![LaneSample {
            lane: "api.example/<script>".to_owned(),
            in_flight: 3,
            allowed: 7,
            waiting: 1234,
            refused: 2,
        }],
    });
    read_until("event: lanes");
    read_until("3 at most, of 7 allowed");
    read_until("1,234 at most");
    read_until("api.example/&lt;script&gt;");
    assert!(!served.get("/runs/run-1").contains("api.example/<script>"));
    writer
        .finish(RunEnd {
            status: RunStatus::Finished,
            ended_at_ms: 9,
            summary_json: "{}".to_owned(),
        })
        .unwrap();
    read_until("event: end");
    let page = served.get("/runs/run-1");
    assert!(page.contains("<details><summary>Lanes over time</summary><div class=\"lanes\">"));
    assert!(!served.get("/runs/run-2").contains("Lanes over time"));
}

#[test]
fn a_comparison_says_what_changed_and_which_cases_are_flaky() {
    let served = Served::new();
    let both = served.get("/compare?run=run-1&run=run-2");
    assert!(both.contains("<h2>What changed</h2>"), "{both}");
    assert!(both.contains("Nothing: prompts, providers"), "{both}");
    let columns = served.get("/compare?run=run-1&left=0&right=1");
    assert!(!columns.contains("What changed"), "{columns}");
    // Two repeats of a test, of which in the later run one does not pass; and a prompt that was edited.
    for (id, second, raw) in [
        ("run-3", Outcome::Passed, "Say {{x}}"),
        ("run-4", Outcome::Failed, "Say <i>{{x}}"),
    ] {
        let mut new = served::new_run(id, 9);
        new.columns_json = new.columns_json.replace("Say {{x}}", raw);
        let writer = served.store.begin_run(new).unwrap();
        for (test, outcome) in [(0, Outcome::Passed), (1, second)] {
            let mut row = row(id, test, 0, outcome);
            let mut record: Value = serde_json::from_str(&row.record_json).unwrap();
            record["repeatGroup"] = "group".into();
            record["repeatIndex"] = test.into();
            row.record_json = record.to_string();
            writer.push(row).unwrap();
        }
        writer.flush().unwrap();
    }
    served.get("/runs/run-4?only=flaky");
    let told = "Repeats: of 1 test 1 is flaky; pass^2 0.0 %";
    let count = served.get("/runs/run-4/count");
    assert!(count.contains("2 tests and repeats, 2 cases"), "{count}");
    let run = served.get("/runs/run-4");
    assert!(
        run.contains("counted from 0, each repeat of a test for itself."),
        "{run}"
    );
    let figures = served.get("/runs/run-4/figures");
    assert!(figures.contains(told), "{figures}");
    let case = served.get("/runs/run-4/cases/1/0");
    assert!(case.contains("repeat 2"), "{case}");
    let page = served.get("/compare?run=run-3&run=run-4");
    let prompt = "<b>prompt</b> p</summary><div class=\"beside\"><pre>Say <del>{{x}}</del></pre><pre>Say <ins>&lt;i&gt;{{x}}</ins></pre>";
    assert!(page.contains(prompt), "{page}");
    for told in [
        ">flaky 1</a>",
        ">got worse 0</a>",
        "data-name=\"Better\">0</td><td class=\"n\" data-name=\"Worse\">1<small>1 flaky</small></td>",
        "Flaky: it came out differently",
        // Two repeats are one test.
        "data-name=\"Tests\">1 <small>of 2 cases</small>",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(page.contains("kind=flaky"), "{page}");
}
