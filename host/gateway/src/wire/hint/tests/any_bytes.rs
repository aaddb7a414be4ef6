//! What holds whatever a server sends.

use super::*;

/// Every header that is known, and some that are not.
fn name() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "limit",
        "remaining",
        "reset",
        "reset-after",
        "renewalperiod",
    ]);
    let subject = prop::sample::select(vec![
        "requests",
        "tokens",
        "input-tokens",
        "output-tokens",
        "project-tokens",
        "tokens-month",
        "req-minute",
        "req-10-second",
        "requests-day",
        "tokens-minute",
        "tokens-day",
        "images",
    ]);
    let single = prop::sample::select(vec![
        "date",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "RateLimit",
        "RateLimit-Policy",
        "x-ratelimit-tokens-query-cost",
        "x-trial-endpoint-call-limit",
        "x-trial-endpoint-call-remaining",
    ]);
    prop_oneof![
        (part.clone(), subject.clone()).prop_map(|(part, of)| format!("X-RateLimit-{part}-{of}")),
        (part.clone(), subject).prop_map(|(part, of)| format!("anthropic-ratelimit-{of}-{part}")),
        part.clone().prop_map(|part| format!("x-ratelimit-{part}")),
        part.prop_map(|part| format!("ratelimit-{part}")),
        single.prop_map(str::to_owned),
        ".{0,40}",
    ]
}

/// Text that looks like numbers, times and structured fields, and text that does not.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u64>().prop_map(|number| number.to_string()),
        (0_u64..2_000).prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        (0_u64..40_000_000).prop_map(|away| (NOW + away).to_string()),
        "[0-9]{1,30}(\\.[0-9]{0,30})?(d|h|m|s|ms|us|µs|ns)?([0-9]{1,22}(h|m|s))?",
        "[0-9]{4}-[0-9]{2}-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{1,12})?(Z|[+-][0-9]{2}:[0-9]{2})",
        "[A-Z][a-z]{2}, [0-3][0-9] (Jan|Feb|Nov) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT",
        "(\"[a-c]?\"|[0-9]{1,16})(;(r|t|q|w|qu)=(\"requests\"|[0-9]{1,16})){0,4}(, \"[a-c]\"(;(r|t|q|w)=[0-9]{1,15}){0,4}){0,12}",
        "(limit|remaining|reset)=[0-9]{1,15}(, (limit|remaining|reset)=[0-9]{1,15}){0,3}",
        ".{0,300}",
        prop::collection::vec(any::<u8>(), 0..1_100)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

fn any_headers() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((name(), value()), 0..60)
}

/// Every cap that the documentation states.
fn check(hint: &Hint) -> Result<(), TestCaseError> {
    prop_assert!(hint.retry_after.is_none_or(|wait| wait <= Hint::LONGEST));
    let dimensions: Vec<_> = hint
        .readings
        .iter()
        .map(|reading| reading.dimension)
        .collect();
    prop_assert!(dimensions.is_sorted_by(|a, b| a < b), "{:?}", dimensions);
    for reading in &hint.readings {
        let Reading {
            limit,
            remaining,
            reset,
            resolution,
            window,
            ..
        } = *reading;
        prop_assert!(limit.is_some() || remaining.is_some() || reset.is_some());
        prop_assert!(limit.is_none_or(|limit| (1..=Reading::MOST).contains(&limit)));
        prop_assert!(remaining.unwrap_or(0) <= limit.unwrap_or(Reading::MOST));
        prop_assert!(reset.is_none_or(|reset| reset <= Hint::LONGEST));
        prop_assert_eq!(reset.is_none(), resolution.is_zero());
        prop_assert!(resolution <= Duration::from_secs(1));
        let sane = |window| (Duration::from_secs(1)..=Hint::LONGEST).contains(&window);
        prop_assert!(window.is_none_or(|window| limit.is_some() && sane(window)));
    }
    Ok(())
}

/// Upper and lower case in turns.
fn mixed_case(name: &str) -> String {
    let turn = |(place, letter): (usize, char)| match place % 2 {
        0 => letter.to_ascii_uppercase(),
        _ => letter.to_ascii_lowercase(),
    };
    name.chars().enumerate().map(turn).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_beyond_the_caps_comes_out(
        headers in any_headers(), status in any::<u16>(), unix_time in any::<Duration>(),
        retry_delay in prop::option::of(value()), message in prop::option::of("(.{0,40}(try again in|retry after) .{0,20}){0,3}"),
    ) {
        let hint = HintSource {
            status,
            headers: &headers,
            body: BodyHint {
                retry_delay: retry_delay.as_deref(),
                message: message.as_deref(),
            },
            unix_time,
        }
        .read();
        check(&hint)?;
        if status < 400 {
            prop_assert!(hint.retry_after.is_none() && !hint.useless);
        }
    }

    #[test]
    fn plausible_headers_keep_the_caps_too(headers in any_headers(), status in 200_u16..600) {
        let unix_time = Duration::from_secs(NOW);
        let hint = HintSource { status, headers: &headers, unix_time, ..HintSource::default() }.read();
        check(&hint)?;
    }

    #[test]
    fn case_and_strangers_change_nothing(
        headers in any_headers(), strangers in prop::collection::vec(("z-[a-z-]{0,20}", value()), 0..40),
        seed in any::<prop::sample::Index>(),
    ) {
        let read = |headers: &[(String, String)]| HintSource {
            status: 429,
            headers,
            unix_time: Duration::from_secs(NOW),
            ..HintSource::default()
        }
        .read();
        let mut crowd: Vec<_> = headers
            .iter()
            .map(|(name, value)| (mixed_case(name), format!(" {value}\t")))
            .filter(|(_, value)| value.len() <= 250)
            .collect();
        let alone: Vec<_> = headers.into_iter().filter(|(_, value)| value.len() <= 248).collect();
        for stranger in strangers {
            crowd.insert(seed.index(crowd.len() + 1), stranger);
        }
        prop_assert_eq!(read(&crowd), read(&alone));
    }

    #[test]
    fn numbers_that_are_written_are_read(
        limit in 1_u64..1_000_000_000_000, spent in 0_u64..1_000_000_000_000, reset in 0_u32..2_678_400,
    ) {
        let remaining = limit.saturating_sub(spent);
        let hint = read(200, &format!(
            "x-ratelimit-limit-tokens: {limit}\nx-ratelimit-remaining-tokens: {remaining}\nx-ratelimit-reset-tokens: {reset}"
        ));
        let expected = counts(Dimension::Tokens, limit, remaining).resets(u64::from(reset) * 1_000, 1_000);
        prop_assert_eq!(hint.readings, [expected]);
    }
}
