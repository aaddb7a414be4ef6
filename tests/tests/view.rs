//! `runner view`: the program serves what a run left, to whoever opens the address it printed, until
//! Ctrl-C. What the pages show is tested beside them.

use runner_tests::{Answer, Gate, ModelApi, Run, Viewed};

const CONFIG: &str = "
description: greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada }] }
";

/// The id of the one run that is listed.
fn only_run(viewed: &Viewed) -> String {
    let list = viewed.page("/");
    let id = list
        .split("/runs/")
        .nth(1)
        .and_then(|it| it.split('"').next());
    id.expect("a run is listed").to_owned()
}

#[test]
fn a_run_is_served_to_whoever_opens_the_address_until_it_is_interrupted() {
    let evaluated = Run::new().config(CONFIG).arg("eval").finish();
    evaluated.expect_code(0);
    let viewed = Viewed::of(&evaluated.again());
    assert!(viewed.refusal("/").starts_with("HTTP/1.1 403"));
    assert!(viewed.page("/").contains("greetings"));
    viewed.end().expect_code(0);
}

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its number").port().to_string();
    let finished = Run::new()
        .args(["view", "--no-open", "--port", &port])
        .finish();
    finished.expect_code(2);
    let said = format!("error: port {port} of 127.0.0.1 can't be listened on");
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
}

/// Only the process that runs knows how its lanes stand: it writes that down, and the server of another
/// process shows it while the run goes on and when it has ended.
#[test]
fn the_lanes_of_a_run_are_seen_while_it_goes_on_and_afterwards() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let run = Run::new()
        .config("prompts: ['{{n}}']\nproviders: [openai:m]\ntests: tests.csv\n")
        .numbered_tests(9)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    let running = run.clone().args(["eval", "-j", "3"]).start();
    api.wait_until(|view| view.in_flight == 3);
    let viewed = Viewed::of(&run);
    let list = viewed.page("/");
    let id = list
        .split("/runs/")
        .nth(1)
        .and_then(|it| it.split('"').next());
    let id = id.expect("a run that goes on is listed").to_owned();
    let told = viewed.hears(&format!("/runs/{id}/live"), "3 at most, of");
    assert!(told.contains("event: lanes"), "{told}");
    assert!(!told.contains("sk-test-key"), "{told}");
    gate.open();
    running.finish().expect_code(0);
    let page = viewed.page(&format!("/runs/{id}"));
    assert!(
        page.contains("<summary>Lanes over time</summary>"),
        "{page}"
    );
    assert!(page.contains("127.0.0.1"), "{page}");
    viewed.end().expect_code(0);
}

/// A case whose first attempt was refused shows both, and what it waited; one that went well at once shows
/// nothing of it, and its row has nothing of it.
#[test]
fn the_attempts_of_a_case_are_seen_where_there_was_more_than_one() {
    let api = ModelApi::start();
    let refuse = std::sync::atomic::AtomicBool::new(true);
    api.rule(move |seen| {
        let first = seen.last_user_message()? == "0"
            && refuse.swap(false, std::sync::atomic::Ordering::Relaxed);
        first.then(|| Answer::status(429).header("retry-after-ms", "20"))
    });
    let finished = Run::new()
        .config("prompts: ['{{n}}']\nproviders: [openai:m]\ntests: tests.csv\n")
        .numbered_tests(2)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-j", "1", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    let rows = finished.json("out.json")["results"]["results"].take();
    let attempts = rows[0]["attempts"].as_array().expect("attempts");
    let told: Vec<_> = attempts
        .iter()
        .map(|it| {
            (
                it["attempt"].as_u64(),
                it["status"].as_u64(),
                it["ended"].as_str(),
            )
        })
        .collect();
    let expected = [
        (Some(1), Some(429), Some("throttled")),
        (Some(2), Some(200), Some("ok")),
    ];
    assert_eq!(told, expected);
    assert!(rows[1].get("attempts").is_none(), "{}", rows[1]);
    let viewed = Viewed::of(&finished.again());
    let id = only_run(&viewed);
    let page = viewed.page(&format!("/runs/{id}/cases/0/0"));
    assert!(page.contains("<h2>Attempts and waits</h2>"), "{page}");
    assert!(page.contains("429 throttled"), "{page}");
    let other = viewed.page(&format!("/runs/{id}/cases/1/0"));
    assert!(!other.contains("Attempts and waits"), "{other}");
    viewed.end().expect_code(0);
}
