//! Ctrl-C: what is done is kept, what waits is let go, the exit code is 130.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use runner_store::{OpenOptions, Store};
use runner_tests::{
    Answer, Finished, Gate, ModelApi, Run, Running, Seen, built_program, target_folder,
};
use serde_json::Value;

const CONFIG: &str = r#"
prompts: ["{{n}}"]
providers: [openai:m]
tests: tests.csv
"#;

fn run(api: &ModelApi) -> Run {
    at_once(api, 2)
}

fn at_once(api: &ModelApi, cases: usize) -> Run {
    let rows = (0..20).fold("n\n".to_owned(), |rows, n| rows + &format!("row {n}\n"));
    Run::new()
        .config(CONFIG)
        .file("tests.csv", rows)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-o", "out.json", "-j"])
        .arg(cases.to_string())
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
    assert_snapshot!(listed.told());
}

/// A run with one case in flight that gets SIGHUP; the gate holds its answer back.
fn hung_up(run: impl FnOnce(Run) -> Run) -> (ModelApi, Gate, Running) {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let running = run(at_once(&api, 1)).start();
    api.wait_until(|view| view.in_flight == 1);
    running.signal("HUP");
    (api, gate, running)
}

/// A closed terminal, a lost connection. Whoever runs the tests may have them outlive a terminal.
#[cfg(target_os = "linux")]
#[test]
fn the_end_of_the_terminal_drains_a_run() {
    let (api, gate, running) = hung_up(|run| {
        let run = run.program("/usr/bin/env").without_args();
        let run = run.arg("--default-signal=HUP").arg(built_program());
        run.args(["eval", "-j", "1"])
    });
    running.wait_for_stderr("Ctrl-C");
    gate.open();
    expect_interrupted(&running.finish());
    assert_eq!(api.requests().len(), 1, "none started afterwards");
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_goes_on() {
    let ignoring = r#"trap '' HUP; exec "$0" "$@""#;
    let (api, gate, running) = hung_up(|run| {
        let run = run.program("/bin/sh").without_args().args(["-c", ignoring]);
        run.arg(built_program()).args(["eval", "-j", "1"])
    });
    gate.open();
    running.finish().expect_code(0);
    assert_eq!(api.requests().len(), 20);
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

/// Another process keeps the database: more rows come than the store takes in without writing.
/// The run starts nothing more, hears Ctrl-C meanwhile, and loses no row.
#[test]
fn ctrl_c_is_answered_at_once_while_the_database_is_locked() {
    const AT_ONCE: usize = 100;
    const CASES: usize = 1000;
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let rows = (0..CASES).fold("n\n".to_owned(), |rows, n| rows + &format!("row {n}\n"));
    let run = at_once(&api, AT_ONCE).file("tests.csv", rows);
    let database = run.home().join("runs.db");
    let running = run.start();
    api.wait_until(|view| view.in_flight == AT_ONCE);
    let store = Store::open(&database, OpenOptions::default()).expect("the run has made it");
    let hold = store.hold_writers().expect("nobody writes");
    gate.open();
    // The store takes in one row at least and then a group while another waits, and the cases in
    // flight end beside them.
    api.wait_until(|view| view.requests > 2 * AT_ONCE && view.in_flight == 0);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    drop(hold);
    let finished = running.finish();
    expect_interrupted(&finished);
    let requests = api.requests().len();
    assert!(requests < CASES, "nothing starts while the store is behind");
    assert_eq!(results(&finished).len(), requests, "no row is lost");
    expect_resumed(&finished, "latest", CASES);
}

/// 20 tests of which `first` were answered before the run was interrupted.
fn interrupted_after(first: usize) -> (ModelApi, Gate, Finished) {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    let held = format!("row {first}");
    api.rule(move |seen| {
        let is_held = seen.last_user_message()? == held;
        is_held.then(|| Answer::text("late").behind(&behind))
    });
    let running = at_once(&api, 1).start();
    api.wait_until(|view| view.requests == first + 1 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    (api, gate, running.finish())
}

/// Another process keeps the database before the run can go on: nothing has begun, and nothing is
/// waited for.
#[test]
fn ctrl_c_is_answered_at_once_while_a_resumed_run_waits_for_the_database() {
    let (api, gate, interrupted) = interrupted_after(3);
    gate.open();
    let database = interrupted.again().home().join("runs.db");
    let store = Store::open(&database, OpenOptions::default()).expect("the run has made it");
    let hold = store.hold_writers().expect("nobody writes");
    let resumed = interrupted.again().args(["eval", "--resume"]).start();
    // The sign that it has taken hold of the run, which it can't change.
    let signs = database.with_file_name("runs.db.live");
    let is_taken = || std::fs::read_dir(&signs).is_ok_and(|mut signs| signs.next().is_some());
    while !is_taken() {
        std::thread::yield_now();
    }
    resumed.interrupt();
    let stopped = resumed.finish();
    assert_snapshot!("stopped_before_it_went_on", stopped.told());
    drop(hold);
    assert_eq!(api.requests().len(), 4);
    expect_resumed(&stopped, "latest", 20);
}

/// Rows that stand elsewhere now are written anew, more of them than the store takes in without
/// writing, and the database is locked meanwhile.
#[test]
fn ctrl_c_is_answered_at_once_while_kept_rows_are_written_anew() {
    const CASES: usize = 2000;
    let tests = |first: &str| {
        let rows = (0..CASES).fold(first.to_owned(), |rows, n| rows + &format!("row {n}\n"));
        format!("n\n{rows}")
    };
    let api = ModelApi::start();
    let run = at_once(&api, 100).file("tests.csv", tests(""));
    let whole = run.finish();
    whole.expect_code(0);
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let database = whole.again().home().join("runs.db");
    let store = Store::open(&database, OpenOptions::default()).expect("the run has made it");
    let id = store.find_run("latest").expect("one run").id;
    let again = whole.again().file("tests.csv", tests("new\n"));
    let resumed = again.args(["eval", "--resume", &id]).start();
    resumed.wait_for_stderr("resuming");
    let hold = store.hold_writers().expect("nobody writes for long");
    resumed.interrupt();
    resumed.wait_for_stderr("Ctrl-C");
    drop(hold);
    gate.open();
    let finished = resumed.finish();
    // The new case may have come before the interrupt, and ended after it.
    expect_resumed(&finished, &id, CASES + 1);
}

fn results(finished: &Finished) -> Vec<Value> {
    let rows = finished.json("out.json")["results"]["results"].clone();
    rows.as_array().expect("rows").clone()
}

/// What the program says of how to go on. How many cases had ended depends on time, so that the rest
/// is not compared.
#[track_caller]
fn expect_interrupted(finished: &Finished) {
    finished.expect_code(130);
    let hint = "To go on: runner eval --resume run-";
    assert!(finished.stdout.contains(hint), "{}", finished.stdout);
}

/// Goes on with the run; each of its cases has one row then, and passes.
#[track_caller]
fn expect_resumed(interrupted: &Finished, run: &str, cases: usize) {
    let again = interrupted.again().args(["eval", "--resume", run]);
    let resumed = again.finish();
    resumed.expect_code(0);
    let mut places: Vec<_> = results(&resumed)
        .iter()
        .map(|row| (row["testIdx"].as_u64(), row["promptIdx"].as_u64()))
        .collect();
    assert_eq!(places.len(), cases, "a row for each case and no second one");
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), cases, "each for another case");
}

/// A provider, called `judge`, that answers and is asked about each answer; `others` answer, too.
fn judged(api: &ModelApi, others: &str) -> Run {
    let judge = target_folder().join("guests/outside/judge.wasm");
    let config = format!(
        "prompts: ['{{{{n}}}}']\nproviders: [{{ id: openai:m, label: judge }}{others}]\n\
         defaultTest: {{ assert: [{{ type: agreed }}] }}\ntests: [{{ vars: {{ n: [fine] }} }}]\n\
         plugins: {{ agreed: {{ source: '{}', permissions: {{ llm: [judge] }} }} }}\n",
        judge.display()
    );
    run(api).config(&config).env("RUNNER_TRUST", "config")
}

/// Makes a pipe in the folder of a run.
fn pipe_of(run: &Run) -> PathBuf {
    let pipe = run.project().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("every Unix has mkfifo").success());
    pipe
}

/// What the program writes into a pipe, as it comes.
fn lines_of(pipe: PathBuf) -> impl Iterator<Item = String> {
    let lines = BufReader::new(File::open(pipe).expect("the program opens it, too")).lines();
    lines.map(|line| line.expect("UTF-8"))
}

/// Requests about the answer itself, and about the grade.
fn asked(api: &ModelApi) -> (usize, usize) {
    let requests = api.requests();
    let grades = requests.iter().filter(|seen| is_grade(seen)).count();
    (requests.len() - grades, grades)
}

fn is_grade(seen: &Seen) -> bool {
    let text = seen.last_user_message();
    text.is_some_and(|text| text.starts_with("Is this"))
}

/// A server that asks to wait for an hour is believed by who lets it, and said to be.
#[test]
fn ctrl_c_while_a_lane_is_blocked_ends_the_run() {
    let api = ModelApi::start();
    let refuses = Arc::new(AtomicBool::new(true));
    let refusing = refuses.clone();
    api.rule(move |_| {
        let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
        let refusal = refusal.header("retry-after", "3600");
        refusing.load(Ordering::Relaxed).then_some(refusal)
    });
    let running = run(&api).args(["--max-retry-after", "0"]).start();
    running.wait_for_stderr("blocked by the server for 1");
    running.interrupt();
    let finished = running.finish();
    expect_interrupted(&finished);
    assert_eq!(results(&finished), [0; 0].map(Value::from));
    let told = finished.stderr.matches("blocked by the server").count();
    assert_eq!(told, 1, "{}", finished.stderr);
    refuses.store(false, Ordering::Relaxed);
    expect_resumed(&finished, "latest", 20);
}

/// What is on the wire may finish; what is in the line behind it never starts.
#[test]
fn ctrl_c_lets_those_in_the_queue_go() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| {
        let text = format!("late {}", seen.last_user_message()?);
        Some(Answer::text(&text).behind(&behind))
    });
    let config = CONFIG.replace("openai:m", "{ id: openai:m, maxConcurrency: 2 }");
    let running = at_once(&api, 8).config(&config).start();
    api.wait_until(|view| view.in_flight == 2);
    running.signal("TERM");
    running.wait_for_stderr("Ctrl-C");
    gate.open();
    let finished = running.finish();
    expect_interrupted(&finished);
    assert_eq!(results(&finished).len(), 2);
    assert_eq!(api.requests().len(), 2, "none started afterwards");
    expect_resumed(&finished, "latest", 20);
}

/// The answer has come and is in the cache; its grade waits for a lane that is blocked. It is let go
/// before the grace is over: what another has on the wire may still come.
#[test]
fn a_case_whose_grade_waits_for_a_lane_is_graded_when_the_run_goes_on() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    let late = move || Answer::text("late").behind(&behind);
    api.rule(move |seen| (seen.json["model"] == "slow").then(&late));
    let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
    let first_grade = Mutex::new(Some(refusal.header("retry-after", "600")));
    api.rule(move |seen| {
        let grade = is_grade(seen).then(|| first_grade.lock().expect("no rule panics").take());
        grade.flatten().or_else(|| Some(Answer::text("fine")))
    });
    let run = judged(&api, ", openai:slow").args(["--events", "pipe"]);
    let pipe = pipe_of(&run);
    let running = run.start();
    let mut events = lines_of(pipe);
    running.wait_for_stderr("blocked by the server");
    api.wait_until(|view| view.requests == 3 && view.in_flight == 1);
    running.interrupt();
    assert!(events.any(|event| event.contains("case:finished")));
    gate.open();
    let finished = running.finish();
    expect_interrupted(&finished);
    for (row, answer) in results(&finished).iter().zip(["fine", "late"]) {
        assert_eq!(row["outcome"], "cancelled");
        assert_eq!(row["errorCode"], "cancelled");
        assert_eq!(row["response"]["output"], answer);
    }
    assert_eq!(asked(&api), (2, 1));
    expect_resumed(&finished, "latest", 2);
    assert_eq!(asked(&api), (2, 3), "no answer was paid for again");
}

/// Without a cache the answer has to be asked for again; until then its row keeps it.
#[test]
fn an_answer_that_was_paid_for_is_not_lost_to_the_second_interrupt() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| is_grade(seen).then(|| Answer::text("fine").behind(&behind)));
    let running = judged(&api, "").args(["--no-cache"]).start();
    api.wait_until(|view| view.requests == 2 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    let finished = running.finish();
    expect_interrupted(&finished);
    let rows = results(&finished);
    assert_eq!(rows[0]["outcome"], "cancelled");
    assert_eq!(rows[0]["response"]["output"], "fine");
    assert_eq!(rows[0]["tokenUsage"]["numRequests"], 1);
    let listed = finished.again().args(["list", "--json"]).finish();
    assert_eq!(listed.stdout_json()[0]["notRun"], 1, "{}", listed.stdout);
    gate.open();
    expect_resumed(&finished, "latest", 1);
    assert_eq!(asked(&api), (2, 2));
}

/// Two graders of one case: one has its question on the wire, the other waits behind it. The
/// first may have its answer, which is paid for, before the case is stopped.
#[test]
fn what_a_case_has_on_the_wire_ends_before_the_case_is_stopped() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| is_grade(seen).then(|| Answer::text("fine").behind(&behind)));
    let judge = target_folder().join("guests/outside/judge.wasm");
    let config = format!(
        "prompts: [fine]\nproviders: [{{ id: openai:m, label: judge, maxConcurrency: 1 }}]\n\
         tests: [{{ assert: [{{ type: agreed }}, {{ type: agreed }}] }}]\n\
         plugins: {{ agreed: {{ source: '{}', permissions: {{ llm: [judge] }} }} }}\n",
        judge.display()
    );
    // Equal questions are one request where answers are remembered.
    let running = run(&api)
        .config(&config)
        .env("RUNNER_TRUST", "config")
        .args(["--no-cache"])
        .start();
    api.wait_until(|view| view.requests == 2 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    gate.open();
    let finished = running.finish();
    expect_interrupted(&finished);
    assert_eq!(results(&finished)[0]["outcome"], "cancelled");
    assert_eq!(asked(&api), (1, 1), "none started afterwards");
    let lanes = &finished.json("out.json")["results"]["stats"]["lanes"];
    assert_eq!(lanes[0]["completedRequests"], 2, "{lanes}");
    expect_resumed(&finished, "latest", 1);
}

/// A pause of a day that nobody has to sit through; the answer before it is kept.
#[test]
fn ctrl_c_cuts_a_delay_short() {
    let api = ModelApi::start();
    let running = run(&api).args(["--delay", "86400000"]).start();
    api.wait_until(|view| view.requests == 2 && view.in_flight == 0);
    running.interrupt();
    let finished = running.finish();
    expect_interrupted(&finished);
    assert_eq!(results(&finished).len(), 2);
    assert_eq!(api.requests().len(), 2);
}

/// A pipe that nobody reads takes no event, and keeps neither the run nor its end.
#[test]
fn events_for_a_pipe_without_a_reader_hold_nothing_up() {
    let api = ModelApi::start();
    let unread = run(&api).args(["--no-table", "--events", "pipe"]);
    pipe_of(&unread);
    let finished = unread.clone().finish();
    assert_eq!(results(&finished).len(), 20);
    assert_snapshot!(finished.told());

    let never = Gate::closed();
    api.always(Answer::text("never").behind(&never));
    let running = unread.args(["--no-cache"]).start();
    api.wait_until(|view| view.in_flight == 2);
    running.signal("TERM");
    running.wait_for_stderr("stopping");
    running.signal("TERM");
    running.finish().expect_code(1);
}

/// With standard error full, and nobody to read it, the second signal still ends the run.
#[test]
fn the_second_signal_is_heard_while_nobody_reads_what_the_run_says() {
    let api = ModelApi::start();
    let never = Gate::closed();
    api.always(Answer::text("never").behind(&never));
    // The pipe is its own reader, so that writing to it waits instead of failing.
    let full = "mkfifo full; exec 2<>full; head -c 65536 /dev/zero >&2; exec \"$0\" \"$@\"";
    let run = run(&api)
        .without_args()
        .program("/bin/sh")
        .args(["-c", full])
        .arg(built_program())
        .args(["eval", "-j", "2", "--events", "pipe"]);
    let pipe = pipe_of(&run);
    let running = run.start();
    let mut events = lines_of(pipe);
    api.wait_until(|view| view.in_flight == 2);
    running.interrupt();
    // Before it has heard of the first, another is the same one.
    let heard = events.any(|event| event.contains("draining"));
    assert!(heard, "the events ended");
    running.interrupt();
    let finished = running.finish();
    finished.expect_code(130);
    let listed = finished
        .again()
        .program(built_program())
        .args(["list"])
        .finish();
    assert_snapshot!(listed.told());
}
