//! What a plugin asks of the gateway, and a server says to it.

use std::time::Duration;

use runner_tests::{Answer, ModelApi, Run, guest};
use serde_json::{Value, json};

use crate::hostile_runs::measured::{Measured, among_others, measured, rows};

#[test]
fn bodies_that_a_plugin_sends_and_asks_for_have_their_bounds() {
    let api = ModelApi::start();
    let large = Answer::raw(vec![b'0'; 32 << 20]);
    api.rule(move |seen| seen.body.is_empty().then(|| large.clone()));
    let run = among_others(&api, &["large-bodies", "same-body", "large-answers"], 8);
    let measured = measured(run.args(["-j", "16"]));
    measured.finished.expect_code(100);
    measured.others_pass(8);
    assert_eq!(
        measured.said("large-bodies"),
        ["64 ok, 0 budget, 0 denied, 0 other"; 8]
    );
    measured.within_bounds_of("large-bodies");
    assert_eq!(measured.said("same-body"), ["C106"; 8]);
    measured.within_bounds_of("same-body");
    for said in measured.said("large-answers") {
        let answered = said.split(' ').next().and_then(|count| count.parse().ok());
        assert!(answered.is_some_and(|count: u32| count <= 2), "{said}");
    }
    measured.within_bounds_of("large-answers");
}

#[test]
fn memory_that_many_hold_at_once_has_one_bound() {
    let api = ModelApi::start();
    for (name, said) in [
        ("held-memory", "1 ok, 0 budget, 0 denied, 0 other"),
        ("tiny-requests", "64 ok, 49936 budget, 0 denied, 0 other"),
    ] {
        let measured = measured(among_others(&api, &[name], 48).args(["-j", "256"]));
        measured.finished.expect_code(0);
        measured.others_pass(48);
        assert_eq!(measured.said(name), [said; 48]);
        measured.within_bounds_of(name);
    }
}

#[test]
fn lanes_that_a_plugin_invents_are_its_own_and_few() {
    let api = ModelApi::start();
    let run = among_others(&api, &["many-buckets", "long-buckets"], 20);
    let measured = measured(run.args([
        "-j",
        "16",
        "--max-requests",
        "100000",
        "--max-tokens",
        "1000000000",
    ]));
    measured.finished.expect_code(0);
    measured.others_pass(20);
    assert_eq!(
        measured.said("many-buckets"),
        ["64 ok, 0 budget, 0 denied, 0 other"; 20]
    );
    measured.within_bounds_of("many-buckets");
    assert_eq!(
        measured.said("long-buckets"),
        ["0 ok, 0 budget, 0 denied, 64 other"; 20]
    );
    measured.within_bounds_of("long-buckets");
    let results = &measured.finished.json("out.json")["results"];
    let rows = results["results"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["response"]["cached"] == false));
    let lanes = results["stats"]["lanes"].as_array().expect("lanes");
    let completed = |name: &str| {
        let lane = lanes.iter().find(|lane| lane["lane"] == name);
        lane.map(|lane| lane["completedRequests"].clone())
    };
    let host = api.url().replace("http://", "");
    assert_eq!(completed(&format!("{host}/m")), Some(json!(20)));
    assert_eq!(
        completed("all other lanes of hostile"),
        Some(json!(20 * 64 - 250))
    );
    assert_eq!(lanes.len(), 252);
}

/// A server, and no plugin: its names are its own.
#[test]
fn what_a_server_says_of_its_limits_is_bounded() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let policies =
            (0..1_000).map(|at| format!("\"{}-{at}\";q=100000;w=60", seen.at.as_nanos()));
        let states = (0..1_000).map(|at| format!("\"{}-{at}\";r=99999;t=1", seen.at.as_nanos()));
        let mut answer = Answer::text("fine")
            .header("ratelimit-policy", &policies.collect::<Vec<_>>().join(", "))
            .header("ratelimit", &states.collect::<Vec<_>>().join(", "));
        for at in 0..60 {
            let name = format!("x-ratelimit-limit-{}-{at}", seen.at.as_nanos());
            answer = answer.header(&name, "1");
        }
        Some(answer.header("x-ratelimit-limit-requests", &"9".repeat(50_000)))
    });
    let Measured {
        finished, memory, ..
    } = {
        let measured = measured(among_others(&api, &[], 200));
        measured.others_pass(200);
        measured
    };
    finished.expect_code(0);
    assert!(memory <= 200, "{memory} MiB");
    let stats = &finished.json("out.json")["results"]["stats"];
    assert_eq!(stats["lanes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_dozen_of_them_at_once_cost_their_rows_only() {
    let api = ModelApi::start();
    let large = Answer::raw(vec![b'0'; 32 << 20]);
    api.rule(move |seen| seen.body.is_empty().then(|| large.clone()));
    let names = [
        "spin",
        "sleep",
        "hog",
        "flood",
        "panic",
        "wide-json",
        "large-bodies",
        "same-body",
        "large-answers",
        "many-buckets",
        "most-cost",
        "large-words",
    ];
    let measured = measured(among_others(&api, &names, 6).args(["-j", "16"]));
    measured.finished.expect_code(100);
    measured.others_pass(6);
    let Measured { memory, time, .. } = measured;
    // Sixteen instances of 128 MiB, if all were full at once.
    assert!(memory <= 2_400, "{memory} MiB");
    assert!(time <= Duration::from_mins(2), "{time:?}");
}

/// To ask a model is to ask it something: not to say where the request goes, what it costs, and what
/// else stands in it.
#[test]
fn a_plugin_that_may_ask_a_model_says_how_it_answers_and_no_more() {
    let api = ModelApi::start();
    let asks = [
        (
            "{\\\"temperature\\\":1,\\\"maxTokens\\\":5}",
            "1 ok, 0 budget, 0 denied, 0 other",
        ),
        (
            "{\\\"model\\\":\\\"dear\\\"}",
            "0 ok, 0 budget, 1 denied, 0 other",
        ),
        (
            "{\\\"headers\\\":{\\\"x\\\":\\\"y\\\"}}",
            "0 ok, 0 budget, 1 denied, 0 other",
        ),
        (
            "{\\\"passthrough\\\":{\\\"a\\\":1}}",
            "0 ok, 0 budget, 1 denied, 0 other",
        ),
    ];
    let guest = guest("tests/hostile");
    let prompts = asks.map(|(options, _)| format!("\"ask\\t1\\tjudge\\thi\\t{options}\""));
    let config = format!(
        "prompts: [{}]\n\
         providers: [echo, {{ id: openai:m, label: judge }}]\n\
         tests: [{{ assert: [{{ type: as-told }}] }}]\n\
         plugins: {{ hostile: {{ source: '{}', permissions: {{ llm: [judge] }} }} }}\n",
        prompts.join(", "),
        guest.display()
    );
    let run = Run::new()
        .config(&config)
        .env("RUNNER_TRUST", "config")
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    let eval = ["eval", "-o", "out.json", "--no-table"];
    let finished = run.args(eval).args(["--filter-providers", "echo"]).finish();
    let told: Vec<Value> = rows(&finished)
        .iter()
        .map(|row| row["gradingResult"]["componentResults"][0]["reason"].clone())
        .collect();
    let expected = asks.map(|(_, expected)| expected);
    assert_eq!(told, expected, "{}", finished.stderr);
    assert_eq!(api.requests().len(), 1);
}
