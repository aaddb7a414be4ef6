//! Servers of others, as their packages bring them: nginx, and LiteLLM's proxy.
//!
//! Outcomes with room for a busy machine; `cargo xtask bench servers` measures.

use std::time::Duration;

use runner_tests::{Finished, Limit, Quota, QuotaServer, RealServer};

use super::{CONFIG, over, passed, rows};

/// A model API without a limit of its own.
fn behind() -> QuotaServer {
    QuotaServer::start(Quota::of(Limit::None).after(Duration::from_millis(50)))
}

/// Runs so many cases through the server. All pass, and of a hundred calls no more than `most` are refused. How
/// often the model is asked is not held: a proxy asks again by itself.
#[track_caller]
fn few_are_refused(api: &QuotaServer, server: &RealServer, cases: usize, most: u64) {
    let run = over(api.api(), CONFIG, cases).env("OPENAI_BASE_URL", server.url());
    let finished = run.finish();
    finished.expect_code(0);
    assert_eq!(passed(&rows(&finished)), cases);
    assert!(api.traffic().accepted() >= cases);
    let (calls, refused) = counts(&finished);
    assert!(
        refused * 100 <= calls * most,
        "{refused} of {calls} calls were refused"
    );
}

/// Calls, and those of them that were refused.
fn counts(finished: &Finished) -> (u64, u64) {
    let lane = &finished.json("out.json")["results"]["stats"]["lanes"][0];
    let count = |name: &str| lane[name].as_u64().expect("it is counted");
    (count("totalRequests"), count("rateLimitHits"))
}

fn skip(server: &str) {
    eprintln!("SKIPPED: there is no {server}; `cargo xtask servers` fetches it");
}

#[test]
fn nginx_that_refuses_above_its_burst_refuses_few() {
    let api = behind();
    let Some(nginx) = RealServer::nginx(api.api(), 50, "burst=20 nodelay") else {
        return skip("nginx");
    };
    few_are_refused(&api, &nginx, 300, 15);
}

#[test]
fn nginx_that_delays_is_a_queue_and_refuses_nobody() {
    let api = behind();
    let Some(nginx) = RealServer::nginx(api.api(), 50, "burst=40") else {
        return skip("nginx");
    };
    few_are_refused(&api, &nginx, 200, 0);
}

#[test]
fn litellm_is_used_up_in_minutes_of_the_clock() {
    let api = behind();
    let Some(litellm) = RealServer::litellm(api.api(), 60) else {
        return skip("LiteLLM's proxy");
    };
    few_are_refused(&api, &litellm, 80, 15);
}
