//! Cases that depend on each other run one after the other, and no others do.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::{Value, json};

fn run(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
}

/// The last user message of each request, in order of arrival.
fn asked(api: &ModelApi) -> Vec<String> {
    let requests = api.requests();
    let texts = requests.iter().map(|seen| seen.last_user_message());
    texts.map(|text| text.expect("a chat").to_owned()).collect()
}

/// The output of each row, in the order of the results.
fn outputs(finished: &Finished) -> Vec<String> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    let output = |row: &Value| row["response"]["output"].as_str().map(str::to_owned);
    rows.iter().map(|row| output(row).expect("text")).collect()
}

const TALK: &str = "\
prompts:
  - label: talk
    raw: '{% for turn in _conversation %}{{ turn.input | trim }} -> {{ turn.output }}; {% endfor %}{{ q }}'
providers: [openai:m]
tests:
  - { vars: { q: a1 }, metadata: { conversationId: a } }
  - { vars: { q: b1 }, metadata: { conversationId: b } }
  - { vars: { q: a2 }, metadata: { conversationId: a } }
  - { vars: { q: b2 }, metadata: { conversationId: b } }
  - { vars: { q: a3 }, metadata: { conversationId: a } }
";

/// Answers with the last word of the question in upper case.
fn shouting(api: &ModelApi) {
    api.rule(|seen| {
        let text = seen.last_user_message()?;
        let last = text.split_whitespace().next_back()?;
        Some(Answer::text(&last.to_uppercase()))
    });
}

#[test]
fn each_conversation_sees_its_own_turns_in_order() {
    let api = ModelApi::start();
    shouting(&api);
    let finished = run(&api, TALK).args(["eval", "-o", "out.json"]).finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["A1", "B1", "A2", "B2", "A3"]);
    let mut asked = asked(&api);
    asked.sort();
    assert_eq!(
        asked,
        [
            "a1",
            "a1 -> A1; a1 -> A1; a2 -> A2; a3",
            "a1 -> A1; a2",
            "b1",
            "b1 -> B1; b2",
        ]
        .map(str::to_owned)
    );
}

#[test]
fn conversations_run_beside_each_other_and_it_is_said_why_a_turn_waits() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| {
        let held = seen.last_user_message()?.trim() == "a1";
        held.then(|| Answer::text("late").behind(&behind))
    });
    let running = run(&api, TALK).args(["eval", "-j", "8"]).start();
    // The whole of b comes through while the first turn of a is held back.
    api.wait_until(|view| view.requests == 3 && view.in_flight == 1);
    running.wait_for_stderr("in 1 column a prompt reads _conversation: 2 conversations in each");
    gate.open();
    running.finish().expect_code(0);
    assert_eq!(api.requests().len(), 5);
}

#[test]
fn one_at_a_time_is_the_order_of_the_plan() {
    let api = ModelApi::start();
    let finished = run(&api, TALK).args(["eval", "-j", "1"]).finish();
    finished.expect_code(0);
    let asked = asked(&api);
    let last: Vec<&str> = asked
        .iter()
        .filter_map(|text| text.split_whitespace().next_back())
        .collect();
    assert_eq!(last, ["a1", "b1", "a2", "b2", "a3"]);
    assert_eq!(api.max_concurrent(), 1);
    assert!(
        !finished.stderr.contains("in order:"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_register_carries_an_output_to_the_tests_that_read_it() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| {
        let held = seen.last_user_message()? == "Say name";
        held.then(|| Answer::text("{{ Ada }}").behind(&behind))
    });
    let config = "\
prompts: ['Say {{ask}}']
providers: [openai:m]
tests:
  - { vars: { ask: name }, options: { storeOutputAs: who } }
  - { vars: { ask: 'hello to {{ who }}' }, assert: [{ type: contains, value: 'hello to {{who}}' }] }
  - { vars: { ask: nothing } }
  - { vars: { ask: more } }
";
    let running = run(&api, config).args(["eval", "-o", "out.json"]).start();
    api.wait_until(|view| view.requests == 3 && view.in_flight == 1);
    gate.open();
    let finished = running.finish();
    finished.expect_code(0);
    assert_eq!(asked(&api)[3], "Say hello to {{ Ada }}");
    let rows = finished.json("out.json")["results"]["results"].clone();
    assert_eq!(rows[1]["vars"], json!({ "ask": "hello to {{ who }}" }));
}

#[test]
fn serial_tests_come_first_and_alone() {
    let api = ModelApi::start();
    let config = "\
prompts: ['{{q}}', 'again {{q}}']
providers: [openai:m]
tests:
  - { vars: { q: one } }
  - { vars: { q: two }, options: { runSerially: true } }
  - { vars: { q: three } }
  - { vars: { q: four }, options: { runSerially: true } }
";
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| {
        let held = seen.last_user_message()? == "again four";
        held.then(|| Answer::text("late").behind(&behind))
    });
    let running = run(&api, config).args(["eval"]).start();
    api.wait_until(|view| view.requests == 4 && view.in_flight == 1);
    let serial = ["two", "again two", "four", "again four"];
    assert_eq!(asked(&api), serial);
    assert_eq!(api.max_concurrent(), 1);
    gate.open();
    running.finish().expect_code(0);
    assert_eq!(api.requests().len(), 8);
}

/// Further than what the store takes in at once, so that it reports while the next case is asked for.
#[test]
fn many_serial_tests_come_one_by_one() {
    let rows = (0..2000).fold("q\n".to_owned(), |rows, n| rows + &format!("{n}\n"));
    let config = "prompts: ['{{q}}']\nproviders: [echo]\ndefaultTest: { options: { runSerially: true } }\ntests: rows.csv";
    let run = Run::new().config(config).file("rows.csv", rows);
    let finished = run.args(["eval", "--no-table", "-o", "out.json"]).finish();
    finished.expect_code(0);
    let rows = finished.json("out.json")["results"]["results"].clone();
    assert_eq!(rows.as_array().map(Vec::len), Some(2000));
}

#[test]
fn a_turn_that_is_run_again_takes_the_later_ones_along_and_no_other_conversation() {
    let api = ModelApi::start();
    shouting(&api);
    let first = run(&api, TALK)
        .args(["eval", "-j", "1", "-o", "out.json"])
        .finish();
    first.expect_code(0);
    let id = first.json("out.json")["evalId"].clone();
    let id = id.as_str().expect("an id");
    let edited = TALK.replace("q: a2", "q: x2");
    let resumed = first
        .again()
        .config(&edited)
        .args(["eval", "--resume", id])
        .finish();
    assert_snapshot!(resumed.told());
    assert_eq!(outputs(&resumed), ["A1", "B1", "X2", "B2", "A3"]);
    let asked = asked(&api);
    assert_eq!(
        asked[5..],
        ["a1 -> A1; x2", "a1 -> A1; a1 -> A1; x2 -> X2; a3"].map(str::to_owned)
    );
}
