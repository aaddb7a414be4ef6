//! Lanes that will not go on: quotas that are gone, and runs that are stopped meanwhile.

use std::time::Duration;

use runner_tests::{Answer, Limit, ModelApi, Quota, QuotaServer};
use serde_json::Value;

use crate::lanes::{CONFIG, of_provider, over, passed, rows};

/// What a lane may send before its first refusals have come: 8 on an idle machine. Where answers
/// are slow to be read, silence counts as leave to send more, as it does with slow servers.
const FIRST_FEW: usize = 25;

#[test]
fn a_spent_quota_ends_its_own_lane_at_once_and_no_other() {
    let quota = Quota::of(Limit::None).spent_for("poor");
    let server = QuotaServer::start(quota.after(Duration::from_millis(5)));
    let config = CONFIG.replace("[openai:m]", "[openai:poor, openai:rich]");
    let finished = over(server.api(), &config, 100).args(["-j", "20"]).finish();
    finished.expect_code(100);
    let traffic = server.traffic();
    let asked = traffic.of_model("poor").arrivals();
    assert!(asked <= FIRST_FEW, "{asked} calls for a spent quota");
    assert_eq!(traffic.of_model("rich").arrivals(), 100);

    let rows = rows(&finished);
    assert_eq!(rows.len(), 200);
    assert_eq!(passed(&rows), 100);
    for row in of_provider(&rows, "openai:poor") {
        assert_eq!(row["errorCode"], "quota-exhausted", "{row}");
        let reason = row["error"].as_str().expect("a reason").to_lowercase();
        assert!(reason.contains("quota"), "{reason}");
    }
}

/// A key that is not accepted will not be by asking more often.
#[test]
fn a_refused_key_ends_its_lane_at_once() {
    let api = ModelApi::start();
    api.always(Answer::error(401, "invalid_api_key", "no such key"));
    let finished = over(&api, CONFIG, 100).finish();
    finished.expect_code(100);
    assert!(api.requests().len() <= FIRST_FEW);
    assert!(rows(&finished).iter().all(|row| row["errorCode"] == "auth"));
}

/// A server that asks for an hour is not waited for: each row says who asked, for how long, and what would
/// let it wait.
#[test]
fn a_wait_that_is_longer_than_is_let_ends_its_lane_at_once_and_no_other() {
    let refusing = ModelApi::start();
    let refusal = Answer::error(429, "rate_limit_exceeded", "You are over your plan.");
    refusing.always(refusal.header("retry-after", "3600"));
    let api = ModelApi::start();
    api.rule(|seen| Some(Answer::text(seen.last_user_message()?)));
    let address = refusing.url();
    let config = CONFIG.replace(
        "[openai:m]",
        &format!("[openai:m, {{ id: openai:busy, config: {{ apiBaseUrl: '{address}' }} }}]"),
    );
    let finished = over(&api, &config, 30).args(["-j", "20"]).finish();
    finished.expect_code(100);
    assert!(refusing.requests().len() <= FIRST_FEW);
    let rows = rows(&finished);
    assert_eq!((rows.len(), passed(&rows)), (60, 30));
    let host = address.trim_start_matches("http://");
    let host = host.split('/').next().expect("a host");
    for row in of_provider(&rows, "openai:busy") {
        assert_eq!(row["errorCode"], "rate-limited", "{row}");
        let error = row["error"].as_str().expect("an error has a message");
        for part in [host, "maxRetryAfter", "wait for 3600 s", "wait for 900 s"] {
            assert!(error.contains(part), "{error}");
        }
    }
    let said = |row: &&Value| {
        row["error"]
            .as_str()
            .is_some_and(|error| error.contains("over your plan"))
    };
    assert!(
        of_provider(&rows, "openai:busy").iter().any(said),
        "{rows:?}"
    );
}

/// Nobody waits for an hour because a server said so: Ctrl-C cuts the wait short.
#[test]
fn an_interrupt_ends_a_run_that_only_waits() {
    let api = ModelApi::start();
    let refusal = Answer::error(429, "rate_limit_exceeded", "come back later");
    api.always(refusal.header("retry-after", "600"));
    let running = over(&api, CONFIG, 40).start();
    api.wait_until(|view| view.requests >= 1 && view.in_flight == 0);
    running.interrupt();
    let finished = running.finish();
    finished.expect_code(130);
    assert_eq!(passed(&rows(&finished)), 0);
    assert!(api.requests().len() <= FIRST_FEW);
    let listed = finished.again().args(["list"]).finish();
    // How many cases were tried by then depends on time.
    assert!(listed.stdout.contains("interrupted"), "{}", listed.stdout);
}
