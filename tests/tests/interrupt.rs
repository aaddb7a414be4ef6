//! Ctrl-C: what is done is kept, the exit code is 130.

use runner_tests::{Answer, Gate, ModelApi, Run};

const CONFIG: &str = r#"
prompts: ["{{n}}"]
providers: [openai:m]
tests: tests.csv
"#;

fn run(api: &ModelApi) -> Run {
    let rows = (0..20).fold("n\n".to_owned(), |rows, n| rows + &format!("row {n}\n"));
    Run::new()
        .config(CONFIG)
        .file("tests.csv", rows)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-j", "2", "-o", "out.json"])
}

/// The first interrupt lets what is in flight finish; what finished is stored and written.
#[test]
fn the_first_interrupt_drains() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    // Two held answers fill both slots, so that no further case is asked for.
    api.rule(move |seen| {
        let held = matches!(seen.last_user_message()?, "row 5" | "row 6");
        held.then(|| Answer::text("late").behind(&behind))
    });
    let running = run(&api).start();
    api.wait_until(|view| view.requests >= 7 && view.in_flight == 2);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    gate.open();
    let finished = running.finish();
    finished.expect_code(130);
    let rows = finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .len();
    assert_eq!(rows, 7, "five quick ones and the two that were in flight");
    assert_eq!(api.requests().len(), 7, "none started afterwards");
    let listed = finished.again().args(["list"]).finish();
    assert!(listed.stdout.contains("interrupted"), "{}", listed.stdout);
}

/// The second one doesn't wait for a server that never answers.
#[test]
fn the_second_interrupt_stops_now() {
    let api = ModelApi::start();
    let never = Gate::closed();
    api.always(Answer::text("never").behind(&never));
    let running = run(&api).start();
    api.wait_until(|view| view.in_flight == 2);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    let finished = running.finish();
    finished.expect_code(130);
    assert_eq!(
        finished.json("out.json")["results"]["results"],
        serde_json::json!([])
    );
}
