//! Two runs of one machine with one key at one server: they divide what it gives.

use std::time::Duration;

use runner_tests::{Limit, ModelApi, Phase, Quota, QuotaServer, Run, Running};

use crate::lanes::{CONFIG, over, passed, rows};

const SECOND: Duration = Duration::from_secs(1);

/// Starts two runs of so many cases in one home, and waits for both.
fn two(api: &ModelApi, config: &str, cases: usize) {
    let first = over(api, config, cases).args(["--no-cache", "-j", "4"]);
    let home = first.home().to_owned();
    let second = over(api, config, cases).args(["--no-cache", "-j", "4"]);
    let second = second.env("RUNNER_HOME", home);
    let running = [first.start(), second.start()];
    // The first one has the home of both.
    for finished in running.map(Running::finish) {
        finished.expect_code(0);
        assert_eq!(passed(&rows(&finished)), cases);
    }
}

/// What the server takes is found out together, and no more than that is sent: of a hundred calls at most
/// three are refused, and finding out is among them, which costs what is in flight then and some probes.
#[test]
fn two_runs_at_an_undeclared_window_are_hardly_refused() {
    const CASES: usize = 300;
    let limit = Limit::Window {
        calls: 50,
        per: SECOND,
        phase: Phase::FirstRequest,
    };
    let server = QuotaServer::start(Quota::of(limit).after(Duration::from_millis(20)));
    two(server.api(), CONFIG, CASES);
    let traffic = server.traffic();
    assert_eq!(traffic.accepted(), 2 * CASES);
    let (refused, arrivals) = (traffic.refused(), traffic.arrivals());
    assert!(
        refused * 100 <= arrivals * 3,
        "{refused} of {arrivals} calls were refused, in windows {:?}",
        traffic.in_windows(traffic.first_arrival().unwrap_or_default(), SECOND)
    );
}

/// What the user declares holds for all runs, in the server's own log.
#[test]
fn a_declared_limit_holds_for_both_runs_together() {
    let server = QuotaServer::start(Quota::of(Limit::None));
    let declared = "[{ id: openai:m, limits: { requests: { max: 10, per: 1s } } }]";
    two(server.api(), &CONFIG.replace("[openai:m]", declared), 20);
    let traffic = server.traffic();
    assert_eq!(traffic.arrivals(), 40);
    // A call may reach the server so much later than it was let go, and the next one at once.
    let most = traffic.most_within(Duration::from_millis(750));
    assert!(most <= 10, "{most} calls");
}

fn files(run: &Run) -> Vec<u8> {
    let folder = run.home().join("cache");
    let names = ["quotas.db", "quotas.db-wal"].map(|name| folder.join(name));
    let found = names.iter().filter_map(|name| std::fs::read(name).ok());
    found.flatten().collect()
}

#[test]
fn the_file_tells_neither_key_nor_server() {
    let server = QuotaServer::start(Quota::of(Limit::None));
    let finished = over(server.api(), CONFIG, 20).finish();
    finished.expect_code(0);
    let content = files(&finished.again());
    assert!(!content.is_empty(), "there is one");
    for word in ["sk-test", "127.0.0.1", "openai"] {
        let found = content
            .windows(word.len())
            .any(|part| part == word.as_bytes());
        assert!(!found, "{word}");
    }
}

#[test]
fn a_run_without_the_file_is_as_good_and_says_so_once() {
    let server = QuotaServer::start(Quota::of(Limit::None));
    let run = over(server.api(), CONFIG, 20);
    let place = run.home().join("cache/quotas.db");
    std::fs::create_dir_all(&place).expect("the home can be written to");
    let finished = run.finish();
    finished.expect_code(0);
    assert_eq!(passed(&rows(&finished)), 20);
    let told = finished
        .stderr
        .matches("of the same quotas is not known")
        .count();
    assert_eq!(told, 1, "{}", finished.stderr);
    let why = "something else than a file is in its place";
    assert!(finished.stderr.contains(why), "{}", finished.stderr);
}
