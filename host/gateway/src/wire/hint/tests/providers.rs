//! The headers of each provider as they are documented or were seen.

use super::*;
use Dimension::{InputTokens, OutputTokens, ProjectTokens, Requests, Tokens, TokensPerMonth};

#[test]
fn openai_states_the_time_until_full() {
    let hint = read(
        200,
        "date: Fri, 02 Jan 2026 03:04:05 GMT
        x-ratelimit-limit-requests: 60
        x-ratelimit-limit-tokens: 150000
        x-ratelimit-limit-project-tokens: 1000000
        x-ratelimit-remaining-requests: 59
        x-ratelimit-remaining-tokens: 149984
        x-ratelimit-remaining-project-tokens: 990000
        x-ratelimit-reset-requests: 1s
        x-ratelimit-reset-tokens: 6m0s
        x-ratelimit-reset-project-tokens: 250ms",
    );
    let expected = [
        counts(Requests, 60, 59).resets(1_000, 1_000),
        counts(Tokens, 150_000, 149_984).resets(360_000, 1_000),
        counts(ProjectTokens, 1_000_000, 990_000).resets(250, 1),
    ];
    assert_eq!(hint.readings, expected);
    assert_eq!(hint.retry_after, None);
}

#[test]
fn openai_refuses_with_milliseconds() {
    let hint = read_with(
        429,
        "retry-after: 9
        retry-after-ms: 8640
        x-should-retry: true
        x-ratelimit-limit-requests: 10000
        x-ratelimit-remaining-requests: 0
        x-ratelimit-reset-requests: 8.64s",
        BodyHint {
            message: Some("Rate limit reached. Please try again in 20s."),
            ..BodyHint::default()
        },
    );
    assert_eq!(hint.retry_after, Some(Duration::from_millis(8_640)));
    assert!(!hint.useless);
    assert_eq!(
        hint.readings,
        [counts(Requests, 10_000, 0).resets(8_640, 10)]
    );
}

#[test]
fn azure_leaves_parts_out() {
    let hint = read_with(
        429,
        "x-ratelimit-remaining-requests: 119
        x-ratelimit-remaining-tokens: -1
        x-ratelimit-limit-tokens: -1
        x-ratelimit-reset-tokens: 0",
        BodyHint {
            message: Some("Requests have exceeded call rate limit. Please retry after 6 seconds."),
            ..BodyHint::default()
        },
    );
    assert_eq!(hint.retry_after, Some(Duration::from_secs(6)));
    let mut requests = counts(Requests, 1, 119);
    requests.limit = None;
    let mut tokens = counts(Tokens, 1, 1).resets(0, 1_000);
    (tokens.limit, tokens.remaining) = (None, None);
    assert_eq!(hint.readings, [requests, tokens]);
}

#[test]
fn github_models_states_the_window() {
    let hint = read(
        200,
        "x-ratelimit-limit-requests: 20000
        x-ratelimit-remaining-requests: 19999
        x-ratelimit-renewalperiod-requests: 60
        x-ratelimit-reset-requests: 3",
    );
    let expected = counts(Requests, 20_000, 19_999)
        .resets(3_000, 1_000)
        .per(60);
    assert_eq!(hint.readings, [expected]);
}

#[test]
fn anthropic_states_points_in_time() {
    let hint = read(
        200,
        "Date: Thu, 21 Aug 2025 12:40:29 GMT
        anthropic-ratelimit-requests-limit: 50
        anthropic-ratelimit-requests-remaining: 49
        anthropic-ratelimit-requests-reset: 2025-08-21T12:40:30Z
        anthropic-ratelimit-tokens-limit: 38000
        anthropic-ratelimit-tokens-remaining: 37000
        anthropic-ratelimit-tokens-reset: 2025-08-21T12:40:59Z
        anthropic-ratelimit-input-tokens-limit: 30000
        anthropic-ratelimit-input-tokens-remaining: 30000
        anthropic-ratelimit-input-tokens-reset: 2025-08-21T12:40:28Z
        anthropic-ratelimit-output-tokens-limit: 8000
        anthropic-ratelimit-output-tokens-remaining: 7000
        anthropic-ratelimit-output-tokens-reset: 2025-08-21T12:40:36Z",
    );
    let expected = [
        counts(Requests, 50, 49).resets(1_000, 1_000),
        counts(Tokens, 38_000, 37_000).resets(30_000, 1_000),
        counts(InputTokens, 30_000, 30_000).resets(0, 1_000),
        counts(OutputTokens, 8_000, 7_000).resets(7_000, 1_000),
    ];
    assert_eq!(hint.readings, expected, "a reset in the past is now");
}

#[test]
fn gemini_says_it_in_the_body_alone() {
    let body = BodyHint {
        retry_delay: Some("45.837906927s"),
        message: Some("You exceeded your current quota. Please retry in 45.8s."),
    };
    let hint = read_with(429, "content-type: application/json", body);
    assert_eq!(hint.retry_after, Some(Duration::new(45, 837_906_927)));
    assert_eq!(hint.readings, []);
}

#[test]
fn mistral_names_its_windows_and_its_charge() {
    let hint = read(
        200,
        "x-ratelimit-limit-req-minute: 300
        x-ratelimit-remaining-req-minute: 299
        x-ratelimit-limit-tokens-minute: 500000
        x-ratelimit-remaining-tokens-minute: 499948
        x-ratelimit-limit-tokens-month: 1000000000000
        x-ratelimit-remaining-tokens-month: 999998798434
        x-ratelimit-tokens-query-cost: 52",
    );
    let expected = [
        counts(Requests, 300, 299).per(60),
        counts(Tokens, 500_000, 499_948).per(60),
        counts(TokensPerMonth, 1_000_000_000_000, 999_998_798_434),
    ];
    assert_eq!(hint.readings, expected);
}

#[test]
fn mistral_grants_a_model_nothing() {
    let hint = read(
        429,
        "x-ratelimit-limit-req-minute: 0
        x-ratelimit-remaining-req-minute: 0",
    );
    let mut expected = counts(Requests, 1, 0);
    expected.limit = None;
    assert_eq!(hint.readings, [expected]);
}

#[test]
fn groq_uses_openais_names_for_other_windows() {
    let hint = read(
        429,
        "retry-after: 2
        x-ratelimit-limit-requests: 14400
        x-ratelimit-limit-tokens: 18000
        x-ratelimit-remaining-requests: 14370
        x-ratelimit-remaining-tokens: 17997
        x-ratelimit-reset-requests: 2m59.56s
        x-ratelimit-reset-tokens: 7.66s",
    );
    let expected = [
        counts(Requests, 14_400, 14_370).resets(179_560, 10),
        counts(Tokens, 18_000, 17_997).resets(7_660, 10),
    ];
    assert_eq!(hint.readings, expected, "and no window is assumed");
    assert_eq!(hint.retry_after, Some(Duration::from_secs(2)));
}

#[test]
fn cerebras_counts_per_minute_hour_and_day() {
    let hint = read(
        200,
        "x-ratelimit-limit-requests-minute: 30
        x-ratelimit-limit-requests-hour: 900
        x-ratelimit-limit-requests-day: 14400
        x-ratelimit-limit-tokens-minute: 60000
        x-ratelimit-limit-tokens-day: 1000000
        x-ratelimit-remaining-requests-minute: 29
        x-ratelimit-remaining-requests-hour: 899
        x-ratelimit-remaining-requests-day: 14399
        x-ratelimit-remaining-tokens-minute: 59995
        x-ratelimit-remaining-tokens-day: 40
        x-ratelimit-reset-requests-minute: 42
        x-ratelimit-reset-tokens-day: 33011.382867",
    );
    let mut tokens = counts(Tokens, 1_000_000, 40).per(86_400);
    tokens.reset = Some(Duration::new(33_011, 382_867_000));
    tokens.resolution = Duration::from_micros(1);
    let requests = counts(Requests, 30, 29).resets(42_000, 1_000).per(60);
    assert_eq!(hint.readings, [requests, tokens]);
}

#[test]
fn cohere_counts_calls_on_trial() {
    let hint = read(
        200,
        "x-trial-endpoint-call-limit: 20
        x-trial-endpoint-call-remaining: 19",
    );
    assert_eq!(hint.readings, [counts(Requests, 20, 19)]);
}

#[test]
fn openrouter_states_milliseconds_since_1970() {
    let hint = read(
        429,
        "X-RateLimit-Limit: 20
        X-RateLimit-Remaining: 0
        X-RateLimit-Reset: 1767323075250",
    );
    assert_eq!(hint.readings, [counts(Requests, 20, 0).resets(30_250, 1)]);
}

#[test]
fn the_drafts_of_the_ietf_say_the_same() {
    let expected = counts(Requests, 100, 50).resets(30_000, 1_000);
    for lines in [
        "RateLimit: \"p\";r=50;t=30\nRateLimit-Policy: \"p\";q=100;w=60",
        "RateLimit-Policy: \"p\";w=60;q=100\nRateLimit: \"p\";t=30;r=50",
        "RateLimit: limit=100, remaining=50, reset=30\nRateLimit-Policy: 100;w=60",
        "RateLimit-Limit: 100, 100;w=60\nRateLimit-Remaining: 50\nRateLimit-Reset: 30",
        "RateLimit-Limit: 100\nRateLimit-Remaining: 50\nRateLimit-Reset: 30\nRateLimit-Policy: 10;w=1, 100;w=60",
    ] {
        assert_eq!(read(200, lines).readings, [expected.per(60)], "{lines}");
    }
    let lines = "ratelimit-limit: 100\nratelimit-remaining: 50\nratelimit-reset: 30";
    assert_eq!(read(200, lines).readings, [expected]);
}

#[test]
fn other_headers_say_nothing() {
    let lines = "content-type: application/json
        server: cloudflare
        cf-ray: 8f1
        x-request-id: req_1
        openai-processing-ms: 42
        strict-transport-security: max-age=31536000";
    assert_eq!(read(200, lines), Hint::default());
}
