//! Precedence, and what is refused.

use std::time::Duration;

use crate::fixture::Folder;
use crate::plan::{Budget, RunOptions, ServerLimits};

const BASE: &str = "prompts: [p]\nproviders: [echo]\n";

fn config(more: &str) -> Folder {
    Folder::new(&format!("{BASE}{more}"))
}

fn defaults() -> RunOptions {
    RunOptions {
        max_concurrency: 256,
        asked_concurrency: None,
        server_limits: ServerLimits::Learnt,
        assertion_concurrency: 3,
        repeat: 1,
        delay: None,
        case_timeout: None,
        run_timeout: None,
        exchange_timeout: None,
        max_retry_after: Some(Duration::from_mins(15)),
        retry_timeouts: false,
        cache: true,
        budget: Budget::default(),
    }
}

#[test]
fn without_anything_the_defaults_hold() {
    assert_eq!(config("").plan().options, defaults());
}

#[test]
fn a_flag_wins_over_the_config_and_the_config_over_the_environment() {
    let all = || {
        config("commandLineOptions: { maxConcurrency: 7 }\nevaluateOptions: { maxConcurrency: 6, repeat: 3 }")
            .env("RUNNER_MAX_CONCURRENCY", "5")
    };
    assert_eq!(
        all().plan().options,
        RunOptions {
            max_concurrency: 7,
            asked_concurrency: Some(7),
            repeat: 3,
            ..defaults()
        }
    );
    let mut folder = all();
    folder.overrides.max_concurrency = Some(8);
    folder.overrides.repeat = Some(2);
    assert_eq!(
        folder.plan().options,
        RunOptions {
            max_concurrency: 8,
            asked_concurrency: Some(8),
            repeat: 2,
            ..defaults()
        }
    );
    let env = config("")
        .env("PROMPTFOO_MAX_CONCURRENCY", "5")
        .env("RUNNER_ASSERTIONS_MAX_CONCURRENCY", "9");
    assert_eq!(
        env.plan().options,
        RunOptions {
            max_concurrency: 5,
            asked_concurrency: Some(5),
            assertion_concurrency: 9,
            ..defaults()
        }
    );
}

#[test]
fn times_are_in_milliseconds_and_zero_is_no_limit() {
    let folder = config("evaluateOptions: { timeoutMs: 1500, maxEvalTimeMs: 0 }")
        .env("RUNNER_MAX_EVAL_TIME_MS", "9");
    let timeout = Some(Duration::from_millis(1500));
    // The config says no limit, which wins over the environment.
    assert_eq!(
        folder.plan().options,
        RunOptions {
            case_timeout: timeout,
            ..defaults()
        }
    );
}

#[test]
fn a_delay_that_is_written_down_wins_over_the_flag_and_the_flag_over_the_environment() {
    let written = "evaluateOptions: { delay: 100 }";
    let cases = [
        (written, Some(7), Some(100)),
        ("evaluateOptions: { delay: 0 }", Some(7), None),
        ("", Some(7), Some(7)),
        ("", Some(0), None),
        ("", None, Some(9)),
    ];
    for (more, flag, expected) in cases {
        let mut folder = config(more)
            .env("RUNNER_DELAY_MS", "9")
            .env("PROMPTFOO_DELAY_MS", "8");
        folder.overrides.delay = flag.map(Duration::from_millis);
        let delay = folder.plan().options.delay;
        assert_eq!(
            delay,
            expected.map(Duration::from_millis),
            "{more} {flag:?}"
        );
    }
}

#[test]
fn one_request_may_take_what_the_environment_says() {
    let folder = config("").env("RUNNER_REQUEST_TIMEOUT_MS", "1500");
    let expected = Some(Duration::from_millis(1500));
    assert_eq!(folder.plan().options.exchange_timeout, expected);
}

#[test]
fn a_server_may_ask_for_a_quarter_of_an_hour_or_for_what_is_said() {
    let cases = [
        ("", None, Some(9)),
        (
            "evaluateOptions: { maxRetryAfter: 60000 }",
            None,
            Some(60_000),
        ),
        (
            "evaluateOptions: { maxRetryAfter: 60000 }",
            Some(7),
            Some(7),
        ),
        ("evaluateOptions: { maxRetryAfter: 0 }", None, None),
        ("", Some(0), None),
    ];
    for (more, flag, expected) in cases {
        let mut folder = config(more).env("RUNNER_MAX_RETRY_AFTER_MS", "9");
        folder.overrides.max_retry_after = flag.map(Duration::from_millis);
        assert_eq!(
            folder.plan().options.max_retry_after,
            expected.map(Duration::from_millis),
            "{more} {flag:?}"
        );
    }
}

#[test]
fn a_request_that_ran_out_of_time_is_sent_again_by_who_says_so() {
    let retried = |more: &str, variable: &str| {
        let folder = config(more).env("RUNNER_RETRY_TIMEOUTS", variable);
        folder.plan().options.retry_timeouts
    };
    assert!(retried("evaluateOptions: { retryTimeouts: true }", ""));
    assert!(retried("", "true"));
    assert!(!retried(
        "evaluateOptions: { retryTimeouts: false }",
        "true"
    ));
}

#[test]
fn a_delay_leaves_the_number_of_cases_as_it_is() {
    let delay = Some(Duration::from_millis(100));
    let cases = [
        (
            "evaluateOptions: { delay: 100, maxConcurrency: 8 }",
            8,
            Some(8),
        ),
        ("evaluateOptions: { delay: 100 }", 256, None),
    ];
    for (more, max_concurrency, asked_concurrency) in cases {
        let expected = RunOptions {
            max_concurrency,
            asked_concurrency,
            delay,
            ..defaults()
        };
        assert_eq!(config(more).plan().options, expected, "{more}");
    }
}

#[test]
fn without_the_adaptive_scheduler_four_cases_run_unless_somebody_says_another_number() {
    use ServerLimits::{Ignored, Learnt};
    let cases = [
        ("RUNNER_DISABLE_ADAPTIVE_SCHEDULER", "true", "", Ignored, 4),
        ("PROMPTFOO_DISABLE_ADAPTIVE_SCHEDULER", "1", "", Ignored, 4),
        ("RUNNER_DISABLE_ADAPTIVE_SCHEDULER", "0", "", Learnt, 256),
        (
            "RUNNER_DISABLE_ADAPTIVE_SCHEDULER",
            "yes",
            "evaluateOptions: { maxConcurrency: 9 }",
            Ignored,
            9,
        ),
    ];
    for (name, value, more, server_limits, max_concurrency) in cases {
        let expected = RunOptions {
            max_concurrency,
            asked_concurrency: (max_concurrency == 9).then_some(9),
            server_limits,
            ..defaults()
        };
        assert_eq!(
            config(more).env(name, value).plan().options,
            expected,
            "{name}={value} {more}"
        );
    }
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        (
            "evaluateOptions: { maxConcurrency: 0 }",
            "promptfooconfig.yaml:3:36: evaluateOptions.maxConcurrency: must be a whole number from 1 to 10000, not 0",
        ),
        (
            "evaluateOptions: { repeat: 1.5 }",
            "promptfooconfig.yaml:3:28: evaluateOptions.repeat: must be a whole number from 1 to 1000000, not 1.5",
        ),
        (
            "evaluateOptions: 5",
            "promptfooconfig.yaml:3:18: evaluateOptions: must be a map, not a number",
        ),
        (
            "evaluateOptions: { generateSuggestions: true }",
            "promptfooconfig.yaml:3:20: evaluateOptions.generateSuggestions: 'generateSuggestions' is not supported yet\n\
             help: remove the key",
        ),
    ];
    for (more, expected) in cases {
        assert_eq!(config(more).problems(), [expected], "{more}");
    }
}

#[test]
fn the_cache_is_switched_off_by_the_config_or_else_the_environment() {
    let off = "evaluateOptions: { cache: false }";
    let on = "evaluateOptions: { cache: true }";
    let cases = [
        ("", None, true),
        (off, None, false),
        ("", Some(("RUNNER_CACHE_ENABLED", "false")), false),
        ("", Some(("PROMPTFOO_CACHE_ENABLED", "0")), false),
        ("", Some(("PROMPTFOO_CACHE_ENABLED", "true")), true),
        (on, Some(("RUNNER_CACHE_ENABLED", "false")), true),
        (off, Some(("RUNNER_CACHE_ENABLED", "true")), false),
    ];
    for (written, variable, expected) in cases {
        let mut folder = config(written);
        if let Some((name, value)) = variable {
            folder = folder.env(name, value);
        }
        assert_eq!(
            folder.plan().options.cache,
            expected,
            "{written} {variable:?}"
        );
    }
}
