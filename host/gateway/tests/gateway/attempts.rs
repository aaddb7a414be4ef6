//! What is tried again, how often, and what ends it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runner_gateway::{
    Class, Exchange, ExchangeCode, ExchangeScope, Gateway, LaneNotice, Notice, Observer,
    Scheduling, Settings, WorkClock,
};
use runner_tests::{Answer, Gate, ModelApi};
use tokio_util::sync::CancellationToken;

use crate::{ask, gateway, grants, post, scheduling, scope, settings, text};

#[tokio::test]
async fn a_throttled_request_waits_as_asked_and_passes() {
    let api = ModelApi::start();
    api.script([
        Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "0.05"),
        Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "20"),
        Answer::raw("ok"),
    ]);
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!(
        (text(&reply), reply.class, reply.spent.attempts),
        ("ok", Class::Ok, 3)
    );
    assert!(
        reply.spent.waited >= Duration::from_millis(70),
        "{:?}",
        reply.spent
    );
    assert!(reply.spent.latency <= reply.spent.worked);
}

#[tokio::test]
async fn passing_trouble_is_tried_again_and_the_last_response_handed_on() {
    let api = ModelApi::start();
    api.always(Answer::status(503));
    let reply = ask(&gateway(), &api)
        .await
        .expect("a response all the same");
    assert_eq!((reply.status, reply.class), (503, Class::Transient));
    assert_eq!((reply.spent.attempts, api.requests().len()), (4, 4));
}

#[tokio::test]
async fn lost_connections_are_tried_again() {
    let api = ModelApi::start();
    api.script([
        Answer::reset(),
        Answer::text("cut in the middle").cut_after(20),
        Answer::raw("ok"),
    ]);
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!((text(&reply), reply.spent.attempts), ("ok", 3));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_once_the_retries_are_used_up() {
    let gone = ModelApi::start().url();
    let grants = grants("bearer", &[&gone]);
    let error = gateway()
        .send(&grants, post(&gone), &scope())
        .await
        .expect_err("nobody listens");
    assert_eq!(
        (error.code, error.class),
        (ExchangeCode::Transient, Class::Transient)
    );
    assert_eq!(error.spent.attempts, 4);
    assert!(
        error
            .message
            .starts_with(&format!("could not connect to {gone}: ")),
        "{error}"
    );
}

#[tokio::test]
async fn what_will_not_change_is_not_tried_again() {
    let cases = [
        (Answer::error(401, "invalid_api_key", "no"), Class::Auth),
        (
            Answer::error(400, "invalid_request_error", "no"),
            Class::Permanent,
        ),
        (
            Answer::error(429, "insufficient_quota", "no"),
            Class::QuotaExhausted,
        ),
        (
            Answer::status(503).header("x-should-retry", "false"),
            Class::Transient,
        ),
        // The last request of a window: a success like any other.
        (
            Answer::raw("ok").header("x-ratelimit-remaining-requests", "0"),
            Class::Ok,
        ),
    ];
    for (answer, class) in cases {
        let api = ModelApi::start();
        api.always(answer);
        let reply = ask(&gateway(), &api).await.expect("a response");
        assert_eq!((reply.class, reply.spent.attempts), (class, 1));
        assert_eq!(api.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_day_is_not_waited_for() {
    for (answer, class, code) in [
        (
            Answer::error(429, "rate_limit_exceeded", "come back tomorrow"),
            Class::Throttled,
            ExchangeCode::RateLimited,
        ),
        (
            Answer::error(503, "maintenance", "come back tomorrow"),
            Class::Transient,
            ExchangeCode::Transient,
        ),
    ] {
        let api = ModelApi::start();
        api.always(answer.header("retry-after", "86400"));
        let error = ask(&gateway(), &api).await.expect_err("no response");
        assert_eq!((error.class, error.code), (class, code));
        assert_eq!(api.requests().len(), 1);
        for part in ["86400 s", "maxRetryAfter", "it says: come back tomorrow"] {
            assert!(error.message.contains(part), "{error}");
        }
    }
}

#[tokio::test]
async fn a_call_may_have_its_own_number_of_retries() {
    let api = ModelApi::start();
    api.always(Answer::status(500));
    let grants = grants("bearer", &[&api.url()]);
    for retries in [0, 1, 5] {
        let scope = ExchangeScope {
            scheduling: Arc::new(Scheduling {
                max_retries: Some(retries),
                ..scheduling()
            }),
            ..scope()
        };
        let reply = gateway()
            .send(&grants, post(api.url()), &scope)
            .await
            .expect("a response");
        assert_eq!(reply.spent.attempts, retries + 1);
    }
}

#[tokio::test]
async fn a_dripping_body_ends_with_the_time_it_was_given() {
    let api = ModelApi::start();
    api.always(Answer::raw(vec![b'x'; 100_000]).dripping(1, Duration::from_millis(10)));
    let grants = grants("bearer", &[&api.url()]);
    let exchange = Exchange {
        timeout: Some(Duration::from_millis(100)),
        ..post(api.url())
    };
    let error = gateway()
        .send(&grants, exchange, &scope())
        .await
        .expect_err("the body takes a quarter of an hour");
    assert_eq!(
        (error.code, error.class),
        (ExchangeCode::Timeout, Class::Timeout)
    );
    assert_eq!(error.spent.attempts, 1, "a timeout is not tried again");
    let told = "within 100ms on the wire (the request's own timeout-ms";
    assert!(error.message.contains(told), "{}", error.message);
    api.until(|view| view.in_flight == 0).await;
}

#[tokio::test]
async fn who_drops_an_exchange_ends_its_transfer_and_a_pause() {
    let gate = Gate::closed();
    let pausing = Answer::status(429).header("retry-after", "500");
    let cases = [
        (Answer::raw("late").behind(&gate), "slot:acquired"),
        (pausing, "request:retrying"),
    ];
    for (answer, reached) in cases {
        let api = ModelApi::start();
        api.always(answer);
        let cancel = CancellationToken::new();
        let gateway = Gateway::new(Settings {
            observer: Box::new(CancelAt {
                reached,
                cancel: cancel.clone(),
            }),
            ..settings()
        });
        let grants = grants("bearer", &[&api.url()]);
        let scope = scope();
        tokio::select! {
            sent = gateway.send(&grants, post(api.url()), &scope) => panic!("{sent:?}"),
            () = cancel.cancelled() => {}
        }
        api.until(|view| view.in_flight == 0).await;
    }
}

/// Cancels at the first event of a lane with this name.
struct CancelAt {
    reached: &'static str,
    cancel: CancellationToken,
}

impl Observer for CancelAt {
    fn observe(&self, _notice: &Notice<'_>) {}

    fn lane(&self, notice: LaneNotice) {
        if notice.event.name() == self.reached {
            self.cancel.cancel();
        }
    }
}

#[tokio::test]
async fn the_work_clock_stands_still_during_a_pause() {
    let api = ModelApi::start();
    api.script([
        Answer::status(429).header("retry-after-ms", "200"),
        Answer::raw("ok"),
    ]);
    let started = Instant::now();
    let clock = WorkClock::start();
    let scope = ExchangeScope {
        clock: Some(clock.clone()),
        ..scope()
    };
    let grants = grants("bearer", &[&api.url()]);
    let reply = gateway()
        .send(&grants, post(api.url()), &scope)
        .await
        .expect("a reply");
    assert!(reply.spent.waited >= Duration::from_millis(200));
    let worked = clock.worked();
    assert!(
        started.elapsed() >= worked + Duration::from_millis(200),
        "{worked:?}"
    );
}
