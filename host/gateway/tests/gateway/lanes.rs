//! The scheduler is told what servers say, and has its way.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use runner_gateway::{
    Class, Exchange, ExchangeCode, ExchangeError, ExchangeScope, Gateway, LaneNotice, LanePolicy,
    Limit, LimitMeasure, Notice, Observer, Reply, Scheduling, Settings,
};
use runner_tests::{Answer, Gate, ModelApi};
use serde_json::json;

use crate::{ask, gateway, grants, post, scheduling, scope, settings, text};

fn under(scheduling: Scheduling) -> ExchangeScope {
    ExchangeScope {
        scheduling: Arc::new(scheduling),
        ..scope()
    }
}

/// At most one at once.
fn one_at_a_time() -> Scheduling {
    let policy = LanePolicy {
        start_window: 1,
        max_window: 1,
        ..scheduling().policy
    };
    Scheduling {
        policy,
        ..Scheduling::default()
    }
}

fn declared(name: &str, counts: LimitMeasure, capacity: u64) -> Scheduling {
    let name = name.to_owned();
    Scheduling {
        limits: vec![Arc::new(Limit {
            name,
            counts,
            capacity,
        })],
        ..scheduling()
    }
}

async fn send(
    gateway: &Gateway,
    api: &ModelApi,
    bucket: &str,
    scope: &ExchangeScope,
) -> Result<Reply, ExchangeError> {
    let exchange = Exchange {
        bucket: Some(bucket.to_owned()),
        ..post(format!("{}/v1", api.url()))
    };
    gateway
        .send(&grants("bearer", &[&api.url()]), exchange, scope)
        .await
}

/// Completed requests by the last part of the lane's name.
fn completed(gateway: &Gateway) -> Vec<(String, u64)> {
    let bucket = |lane: &str| lane.rsplit('/').next().unwrap_or(lane).to_owned();
    gateway
        .lanes()
        .iter()
        .map(|lane| (bucket(&lane.lane), lane.metrics.completed_requests))
        .collect()
}

#[tokio::test]
async fn a_used_up_quota_fails_what_waits_in_its_lane_unsent_and_no_other_lane() {
    let api = Arc::new(ModelApi::start());
    let gate = Gate::closed();
    let poor = || Answer::error(429, "insufficient_quota", "pay first");
    api.script([poor().behind(&gate), Answer::text("rich"), poor(), poor()]);
    let gateway = gateway();
    let scope = under(one_at_a_time());
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let (gateway, api, scope) = (gateway.clone(), api.clone(), scope.clone());
        tasks.push(tokio::spawn(async move {
            send(&gateway, &api, "poor", &scope).await
        }));
    }
    api.until(|view| view.in_flight == 1).await;
    assert!(send(&gateway, &api, "rich", &scope).await.is_ok());
    gate.open();
    let mut answered = 0;
    for task in tasks {
        match task.await.expect("no panic") {
            Ok(reply) => {
                answered += 1;
                assert_eq!(reply.class, Class::QuotaExhausted);
            }
            Err(error) => {
                assert_eq!(
                    (error.code, error.class, error.spent.attempts),
                    (ExchangeCode::QuotaExhausted, Class::QuotaExhausted, 0)
                );
                assert!(
                    error.message.ends_with(
                        "/poor: not sent: the quota or balance behind this credential is used \
                         up, as the server said to an earlier request"
                    ),
                    "{error}"
                );
            }
        }
    }
    assert_eq!((answered, api.requests().len()), (3, 4));
    assert!(send(&gateway, &api, "rich", &scope).await.is_ok());
}

#[tokio::test]
async fn a_credential_that_is_never_accepted_is_not_tried_for_ever() {
    let api = ModelApi::start();
    api.always(Answer::error(401, "invalid_api_key", "no"));
    let gateway = gateway();
    let scope = under(one_at_a_time());
    let mut codes = Vec::new();
    for _ in 0..6 {
        match send(&gateway, &api, "gpt", &scope).await {
            Ok(reply) => assert_eq!(reply.class, Class::Auth),
            Err(error) => codes.push(error.code),
        }
    }
    assert_eq!(codes, [ExchangeCode::Auth; 3]);
    assert_eq!(api.requests().len(), 3);
}

#[tokio::test]
async fn a_request_that_no_limit_could_hold_is_refused_with_what_to_do() {
    let api = ModelApi::start();
    let tokens = LimitMeasure::Tokens(Duration::from_mins(1));
    let scope = under(declared("account tokens", tokens, 100));
    let gateway = gateway();
    let exchange = Exchange {
        body: Some(
            json!({ "messages": [], "max_tokens": 4000 })
                .to_string()
                .into(),
        ),
        ..post(format!("{}/v1", api.url()))
    };
    let error = gateway
        .send(&grants("bearer", &[&api.url()]), exchange, &scope)
        .await
        .expect_err("it can never pass");
    assert_eq!(
        (error.code, error.spent.attempts),
        (ExchangeCode::RateLimited, 0)
    );
    let expected = "not sent: it needs about 4010 of the limit 'account tokens', which holds 100 \
                    when nothing is used; shorten the prompt, ask for fewer output tokens, or \
                    raise the limit";
    assert!(error.message.ends_with(expected), "{error}");
    assert_eq!(api.requests().len(), 0);
}

#[tokio::test]
async fn what_an_answer_really_used_is_settled_so_that_the_next_need_not_wait() {
    let api = ModelApi::start();
    let tokens = LimitMeasure::Tokens(Duration::from_hours(1));
    // Room for one guess of about 500 tokens, or for many answers of a few.
    let scope = under(declared("account tokens", tokens, 600));
    let gateway = gateway();
    for _ in 0..20 {
        let reply = send(&gateway, &api, "gpt", &scope).await.expect("a reply");
        assert_eq!(reply.class, Class::Ok);
    }
}

#[tokio::test]
async fn providers_that_name_one_limit_share_it_across_their_lanes() {
    let api = Arc::new(ModelApi::start());
    let gate = Gate::closed();
    api.always(Answer::raw("ok").behind(&gate));
    let gateway = gateway();
    let scope = under(declared(
        "account concurrency",
        LimitMeasure::Concurrency,
        2,
    ));
    let tasks: Vec<_> = (0..8)
        .map(|index| {
            let (gateway, api, scope) = (gateway.clone(), api.clone(), scope.clone());
            let bucket = ["a", "b", "c", "d"][index % 4];
            tokio::spawn(async move { send(&gateway, &api, bucket, &scope).await })
        })
        .collect();
    api.until(|view| view.in_flight == 2).await;
    gate.open();
    for task in tasks {
        assert!(task.await.expect("no panic").is_ok());
    }
    assert_eq!(api.max_concurrent(), 2);
    assert_eq!(completed(&gateway).len(), 4);
}

#[tokio::test]
async fn a_pool_takes_the_place_of_the_bucket_to_share_a_quota() {
    let api = ModelApi::start();
    let gateway = gateway();
    let pooled = under(Scheduling {
        pool: Some("team".to_owned()),
        ..scheduling()
    });
    for (bucket, scope) in [("a", &pooled), ("b", &pooled), ("b", &scope())] {
        assert!(send(&gateway, &api, bucket, scope).await.is_ok());
    }
    assert_eq!(
        completed(&gateway),
        [("b".to_owned(), 1), ("team".to_owned(), 2)]
    );
}

#[tokio::test]
async fn a_providers_own_number_of_retries_binds_nobody_else_in_its_lane() {
    let api = ModelApi::start();
    api.always(Answer::status(500));
    let gateway = gateway();
    let eager = under(Scheduling {
        max_retries: Some(0),
        ..scheduling()
    });
    for (scope, attempts) in [(&eager, 1), (&scope(), 4)] {
        let reply = send(&gateway, &api, "gpt", scope).await.expect("a reply");
        assert_eq!(reply.spent.attempts, attempts);
    }
}

/// Keeps the names and times of lanes' events.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Observer for Log {
    fn observe(&self, _notice: &Notice<'_>) {}

    fn lane(&self, notice: LaneNotice) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(notice.event.name());
    }
}

#[tokio::test]
async fn headers_of_a_success_teach_the_lane_its_limits() {
    let api = ModelApi::start();
    let limited = |remaining: &str| {
        Answer::text("ok")
            .header("x-ratelimit-limit-requests", "60")
            .header("x-ratelimit-remaining-requests", remaining)
            .header("x-ratelimit-reset-requests", "1s")
    };
    api.script([limited("59"), limited("3")]);
    let log = Log::default();
    let gateway = Gateway::new(Settings {
        observer: Box::new(log.clone()),
        ..settings()
    });
    for _ in 0..2 {
        assert_eq!(ask(&gateway, &api).await.map(|r| r.class), Ok(Class::Ok));
    }
    let names = log.0.lock().unwrap_or_else(PoisonError::into_inner);
    let has = |name| names.contains(&name);
    assert!(
        has("ratelimit:learned") && has("ratelimit:warning"),
        "{names:?}"
    );
}

#[tokio::test]
async fn a_body_that_says_when_to_come_back_is_waited_for() {
    let api = ModelApi::start();
    let google = json!({ "error": { "code": 429, "details": [{ "retryDelay": "0.3s" }] } });
    api.script([Answer::json(&google).with_status(429), Answer::raw("ok")]);
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!(text(&reply), "ok");
    assert!(
        reply.spent.waited >= Duration::from_millis(300),
        "{:?}",
        reply.spent
    );
}
