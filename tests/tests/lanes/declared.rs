//! Limits and knobs that the user writes into the config.

use std::time::Duration;

use runner_tests::{Answer, Gate, Limit, ModelApi, Quota, QuotaServer, target_folder};

use crate::lanes::{CONFIG, over, passed, rows};

/// Of the second that is declared, what must hold on the other side of the wire: a call may
/// reach the server so much later than it was let go, and the next one at once.
const SECOND: Duration = Duration::from_millis(750);

fn with_providers(providers: &str) -> String {
    CONFIG.replace("[openai:m]", providers)
}

#[test]
fn a_declared_limit_holds_in_the_servers_own_log() {
    let server = QuotaServer::start(Quota::of(Limit::None));
    let config = with_providers("[{ id: openai:m, limits: { requests: { max: 5, per: 1s } } }]");
    let finished = over(server.api(), &config, 16).finish();
    finished.expect_code(0);
    let traffic = server.traffic();
    assert_eq!(traffic.arrivals(), 16);
    let most = traffic.most_within(SECOND);
    assert!(most <= 5, "{most} calls in {SECOND:?}");
}

#[test]
fn two_providers_of_one_group_share_its_limit() {
    let server = QuotaServer::start(Quota::of(Limit::None));
    let config =
        with_providers("[{ id: openai:a, limits: account }, { id: openai:b, limits: account }]")
            + "limits: { account: { requests: { max: 5, per: 1s } } }\n";
    let finished = over(server.api(), &config, 8).finish();
    finished.expect_code(0);
    let traffic = server.traffic();
    for model in ["a", "b"] {
        assert_eq!(traffic.of_model(model).arrivals(), 8);
    }
    let most = traffic.most_within(SECOND);
    assert!(most <= 5, "{most} calls in {SECOND:?}");
}

/// The tighter one holds, and it is the declared one.
#[test]
fn declared_concurrency_holds_where_the_server_would_take_more() {
    let server = QuotaServer::start(Quota::of(Limit::None).after(Duration::from_millis(5)));
    let config = with_providers("[{ id: openai:m, limits: { concurrency: 2 } }]");
    let finished = over(server.api(), &config, 40).finish();
    finished.expect_code(0);
    assert_eq!(server.traffic().arrivals(), 40);
    assert!(server.api().max_concurrent() <= 2);
}

/// The grader's question needs the place that its case's own call had: it must be free by
/// then, and every place that a question takes must come free again.
#[test]
fn a_grader_that_asks_through_its_own_cases_lane_comes_to_an_end() {
    let server = QuotaServer::start(Quota::of(Limit::None).after(Duration::from_millis(5)));
    let config =
        with_providers("[{ id: openai:m, label: judge, limits: { concurrency: 1 } }]").replace(
            "{ type: equals, value: 'Case {{n}}' }",
            "{ type: agreed }, { type: agreed }",
        ) + &format!(
            "plugins: {{ agreed: {{ source: '{}', permissions: {{ llm: [judge] }} }} }}\n",
            target_folder().join("guests/outside/judge.wasm").display()
        );
    let finished = over(server.api(), &config, 12)
        .args(["--no-cache", "--trust-config"])
        .finish();
    finished.expect_code(0);
    assert_eq!(passed(&rows(&finished)), 12);
    let requests = server.api().requests();
    let asked = |question: bool| {
        let begins = |text: &str| text.starts_with("Is this fine?") == question;
        let wanted = requests.iter().filter_map(|seen| seen.last_user_message());
        wanted.filter(|text| begins(text)).count()
    };
    assert_eq!(asked(false), 12);
    assert!((12..=24).contains(&asked(true)), "each case was judged");
    assert_eq!(server.api().max_concurrent(), 1);
}

#[test]
fn no_retries_means_one_call() {
    let api = ModelApi::start();
    api.always(Answer::error(503, "overloaded", "try later"));
    let config = with_providers("[{ id: openai:m, maxRetries: 0 }]");
    over(&api, &config, 1).finish().expect_code(100);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn so_many_retries_mean_one_call_more() {
    let api = ModelApi::start();
    api.always(Answer::error(503, "overloaded", "try later"));
    let config = with_providers("[{ id: openai:m, maxRetries: 2 }]");
    over(&api, &config, 1).finish().expect_code(100);
    assert_eq!(api.requests().len(), 3);
}

/// Without adaptation `-j` is all there is: every slot is on the wire at once, although the
/// server has said nothing yet.
#[test]
fn switched_off_the_scheduler_lets_all_slots_through() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| Some(Answer::text(seen.last_user_message()?).behind(&behind)));
    let running = over(&api, CONFIG, 40)
        .args(["-j", "20"])
        .env("RUNNER_DISABLE_ADAPTIVE_SCHEDULER", "1")
        .start();
    api.wait_until(|view| view.in_flight == 20);
    gate.open();
    let finished = running.finish();
    finished.expect_code(0);
    assert_eq!((api.requests().len(), api.max_concurrent()), (40, 20));
}

/// Promptfoo's name for it, its number of slots, and retries as ever.
#[test]
fn switched_off_by_the_old_name_four_run_at_once_and_refusals_are_tried_again() {
    let api = ModelApi::start();
    let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
    api.script([refusal.header("retry-after-ms", "20")]);
    let finished = over(&api, CONFIG, 30)
        .env("PROMPTFOO_DISABLE_ADAPTIVE_SCHEDULER", "true")
        .finish();
    finished.expect_code(0);
    assert_eq!(passed(&rows(&finished)), 30);
    assert_eq!(api.requests().len(), 31);
    assert!(api.max_concurrent() <= 4);
}
