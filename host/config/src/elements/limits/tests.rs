//! Forms of limits, who shares them, and what is wrong with them.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::Folder;
use crate::plan::{DeclaredLimit, LimitCounts, Plan};

fn limits(plan: &Plan, column: usize) -> &[Arc<DeclaredLimit>] {
    &plan.columns[column].provider.limits
}

fn limit(name: &str, counts: LimitCounts, capacity: u64) -> DeclaredLimit {
    DeclaredLimit {
        name: name.to_owned(),
        counts,
        capacity,
    }
}

const fn requests(seconds: u64) -> LimitCounts {
    LimitCounts::Requests {
        window: Duration::from_secs(seconds),
    }
}

fn own(limits: &str) -> Folder {
    Folder::new(&format!(
        "prompts: [p]\nproviders: [{{ id: echo, limits: {limits} }}]"
    ))
}

fn grouped(limits: &str, of_provider: &str) -> Folder {
    Folder::new(&format!(
        "prompts: [p]\nlimits: {limits}\nproviders: [{{ id: echo, limits: {of_provider} }}]"
    ))
}

#[test]
fn both_forms_of_a_quota_say_the_same() {
    let tokens = LimitCounts::Tokens {
        window: Duration::from_mins(1),
    };
    let cases = [
        (
            "{ requests: 60 per 1m }",
            limit("echo requests", requests(60), 60),
        ),
        (
            "{ requests: { max: 60, per: 1m } }",
            limit("echo requests", requests(60), 60),
        ),
        (
            "{ requests: { max: '60', per: 1d } }",
            limit("echo requests", requests(86_400), 60),
        ),
        (
            "{ tokens: 90000 per 1m }",
            limit("echo tokens", tokens, 90_000),
        ),
        (
            "{ concurrency: 5 }",
            limit("echo concurrency", LimitCounts::Concurrency, 5),
        ),
        (
            "{ requests: 1000 per 31d }",
            limit("echo requests", requests(31 * 86_400), 1_000),
        ),
    ];
    for (yaml, expected) in cases {
        let plan = own(yaml).plan();
        assert_eq!(limits(&plan, 0), [Arc::new(expected)], "{yaml}");
    }
}

#[test]
fn providers_that_name_a_group_share_its_limits() {
    let plan = Folder::new(
        "prompts: [p]\nlimits:\n  account: { concurrency: 9, requests: 60 per 1m }\n  model: { requests: 5 per 1s }\n\
         providers:\n  - { id: echo, limits: account }\n  - { id: 'openai:a', limits: [model, account, model] }\n  - echo",
    )
    .plan();
    let names = |column| -> Vec<&str> {
        limits(&plan, column)
            .iter()
            .map(|limit| limit.name.as_str())
            .collect()
    };
    assert_eq!(names(0), ["account requests", "account concurrency"]);
    assert_eq!(
        names(1),
        ["model requests", "account requests", "account concurrency"]
    );
    assert_eq!(names(2), [""; 0]);
    assert!(Arc::ptr_eq(&limits(&plan, 0)[0], &limits(&plan, 1)[1]));
    assert!(Arc::ptr_eq(&limits(&plan, 0)[1], &limits(&plan, 1)[2]));
}

#[test]
fn limits_of_their_own_are_never_shared_and_have_names_of_their_own() {
    let plan = Folder::new(
        "prompts: [p]\nlimits: { echo: { concurrency: 1 } }\nproviders:\n  - { id: echo, limits: echo }\n\
         \x20 - { id: echo, limits: { concurrency: 2 } }\n  - { id: echo, limits: { concurrency: 3 } }\n\
         \x20 - { id: echo, label: mine, limits: { concurrency: 4 } }",
    )
    .plan();
    let found: Vec<(&str, u64)> = (0..4)
        .map(|column| &limits(&plan, column)[0])
        .map(|limit| (limit.name.as_str(), limit.capacity))
        .collect();
    assert_eq!(
        found,
        [
            ("echo concurrency", 1),
            ("echo #2 concurrency", 2),
            ("echo #3 concurrency", 3),
            ("mine concurrency", 4),
        ]
    );
}

/// More than the scheduler leases at once were a mistake of ours at the first request.
#[test]
fn so_many_limits_as_a_request_can_hold_bind_a_provider() {
    let groups = |count: u32| {
        let names: Vec<String> = (0..count).map(|group| format!("g{group}")).collect();
        let limits = names
            .iter()
            .map(|name| format!("{name}: {{ concurrency: 9 }}"));
        let limits = limits.collect::<Vec<_>>().join(", ");
        grouped(
            &format!("{{ {limits} }}"),
            &format!("[{}]", names.join(", ")),
        )
    };
    assert_eq!(groups(31).problems(), [""; 0]);
    let [problem] = &groups(32).problems()[..] else {
        panic!("one problem");
    };
    assert!(
        problem.ends_with("groups with 32 limits bind this provider; at most 31 can"),
        "{problem}"
    );
}

#[test]
fn a_quota_that_is_no_quota_is_refused() {
    let at = "promptfooconfig.yaml:2:";
    let cases = [
        (
            "{ requests: 0 per 1m }",
            format!(
                "{at}45: providers[0].limits.requests: must begin with a whole number from 1 to 1000000000000000, not '0'"
            ),
        ),
        (
            "{ requests: { max: 0, per: 1m } }",
            format!(
                "{at}52: providers[0].limits.requests.max: must be a whole number from 1 to 1000000000000000, not 0"
            ),
        ),
        (
            "{ requests: 60 per 0s }",
            format!(
                "{at}45: providers[0].limits.requests: a time must be a number and ms, s, m, h, d or w, from 1ms to 31d, not '0s'"
            ),
        ),
        (
            "{ requests: { max: 1, per: 32d } }",
            format!(
                "{at}60: providers[0].limits.requests.per: a time must be a number and ms, s, m, h, d or w, from 1ms to 31d, not '32d'"
            ),
        ),
        (
            "{ requests: { max: 1, per: 60 } }",
            format!(
                "{at}60: providers[0].limits.requests.per: must be a time such as 10s, 1m or 1d, not a number"
            ),
        ),
        (
            "{ tokens: 60/min }",
            format!(
                "{at}43: providers[0].limits.tokens: must be like '60 per 1m' or {{ max: 60, per: 1m }}, not '60/min'"
            ),
        ),
        (
            "{ tokens: 60 }",
            format!(
                "{at}43: providers[0].limits.tokens: must be like '60 per 1m' or {{ max: 60, per: 1m }}, not a number"
            ),
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(own(yaml).problems(), [expected], "{yaml}");
    }
}

#[test]
fn limits_of_a_provider_that_say_nothing_are_refused() {
    let at = "promptfooconfig.yaml:2:";
    let cases = [
        (
            "{ tokens: { max: 60 } }",
            format!(
                "{at}43: providers[0].limits.tokens: has no `per`\nhelp: for example: {{ max: 60, per: 1m }}"
            ),
        ),
        (
            "{ concurrency: 0 }",
            format!(
                "{at}48: providers[0].limits.concurrency: must be a whole number from 1 to 10000, not 0"
            ),
        ),
        (
            "{}",
            format!(
                "{at}33: providers[0].limits: has none of `requests`, `tokens` and `concurrency`\nhelp: for example: {{ requests: 60 per 1m, concurrency: 5 }}"
            ),
        ),
        (
            "5",
            format!(
                "{at}33: providers[0].limits: must be the name of a group under the config's `limits`, or a map like one, not a number"
            ),
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(own(yaml).problems(), [expected], "{yaml}");
    }
}

#[test]
fn a_group_that_is_not_there_is_refused_with_a_guess() {
    let at = "promptfooconfig.yaml:";
    let cases = [
        (
            grouped("{ account: { concurrency: 1 } }", "acount"),
            format!(
                "{at}3:33: providers[0].limits: there is no group of limits 'acount'\nhelp: did you mean 'account'?"
            ),
        ),
        (
            grouped("{ account: { concurrency: 1 } }", "[account, other]"),
            format!(
                "{at}3:43: providers[0].limits[1]: there is no group of limits 'other'\nhelp: there are: account"
            ),
        ),
        (
            own("team"),
            format!(
                "{at}2:33: providers[0].limits: there is no group of limits 'team'\nhelp: there are none; for example, beside `providers`: limits: {{ \"team\": {{ requests: 60 per 1m }} }}"
            ),
        ),
    ];
    for (folder, expected) in cases {
        assert_eq!(folder.problems(), [expected]);
    }
}

#[test]
fn groups_are_checked_whether_used_or_not() {
    let at = "promptfooconfig.yaml:2:";
    let cases = [
        (
            "5",
            format!("{at}9: limits: must be a map of names to groups of limits, not a number"),
        ),
        (
            "{ a: 5 }",
            format!(
                "{at}14: limits.a: must be a map with `requests`, `tokens` or `concurrency`, not a number"
            ),
        ),
        (
            "{ a: { rpm: 5 } }",
            format!(
                "{at}14: limits.a: has none of `requests`, `tokens` and `concurrency`\nhelp: for example: {{ requests: 60 per 1m, concurrency: 5 }}"
            ),
        ),
    ];
    for (limits, expected) in cases {
        let folder = Folder::new(&format!(
            "prompts: [p]\nlimits: {limits}\nproviders: [echo]"
        ));
        assert_eq!(folder.problems(), [expected], "{limits}");
    }
}

#[test]
fn a_group_that_nobody_names_is_warned_of_and_a_misspelt_key_is_wrong() {
    let folder = grouped(
        "{ used: { concurrency: 1, request: 5 per 1s }, idle: { concurrency: 1 } }",
        "used",
    );
    let error = folder.try_plan().expect_err("there is no key 'request'");
    let said = error
        .problems
        .iter()
        .chain(error.warnings.iter().map(|it| &it.0));
    let said: Vec<String> = said.map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "promptfooconfig.yaml:2:35: limits.used.request: unknown key 'request'\nhelp: did you mean 'requests'? If not, --lenient or `strict: false` in the config lets it pass",
            "promptfooconfig.yaml:2:62: limits.idle: no provider names the group of limits 'idle'\nhelp: name it in a provider: limits: idle",
        ]
    );
}

#[test]
fn numbers_may_come_from_the_environment() {
    let plan = Folder::new(
        "prompts: [p]\nenv: { RPM: }\nproviders:\n  - id: echo\n    limits: { requests: '{{ env.RPM }} per 1m' }",
    )
    .env("RPM", "30")
    .plan();
    assert_eq!(limits(&plan, 0)[0].capacity, 30);
}
