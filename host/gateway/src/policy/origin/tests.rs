//! Tables for patterns: what they cover, what they refuse to mean.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;

fn origin(url: &str) -> Origin {
    Origin::of(&Url::parse(url).unwrap()).unwrap()
}

/// Pattern, URL, how the one names the other.
const COVERED: &[(&str, &str, Option<Naming>)] = &[
    (
        "https://api.acme.com",
        "https://api.acme.com/v1?x=1",
        Some(Naming::Exact),
    ),
    ("api.acme.com", "https://api.acme.com/", Some(Naming::Exact)),
    (
        "HTTPS://API.acme.com:443/",
        "https://api.acme.com",
        Some(Naming::Exact),
    ),
    ("https://api.acme.com", "http://api.acme.com", None),
    ("api.acme.com", "http://api.acme.com", None),
    ("https://api.acme.com", "https://api.acme.com:8443", None),
    (
        "https://api.acme.com:8443",
        "https://api.acme.com:8443",
        Some(Naming::Exact),
    ),
    (
        "https://api.acme.com",
        "https://api.acme.com.evil.org",
        None,
    ),
    ("https://api.acme.com", "https://api.acme.com.", None),
    ("https://api.acme.com", "https://x.api.acme.com", None),
    (
        "http://localhost:8080",
        "http://localhost:8080/v1",
        Some(Naming::Exact),
    ),
    (
        "http://127.0.0.1:9",
        "http://2130706433:9/",
        Some(Naming::Exact),
    ),
    (
        "http://127.0.0.1:9",
        "http://0x7f.1:9/",
        Some(Naming::Exact),
    ),
    (
        "http://[::1]:9",
        "http://[0:0:0:0:0:0:0:1]:9/",
        Some(Naming::Exact),
    ),
    (
        "https://*.acme.com",
        "https://api.acme.com",
        Some(Naming::Wildcard),
    ),
    (
        "https://*.acme.com",
        "https://a.b.acme.com",
        Some(Naming::Wildcard),
    ),
    ("*.acme.com", "https://eu.acme.com", Some(Naming::Wildcard)),
    ("https://*.acme.com", "https://acme.com", None),
    ("https://*.acme.com", "https://evilacme.com", None),
    ("https://*.acme.com", "http://api.acme.com", None),
    ("https://*.acme.com", "https://api.acme.com:8443", None),
    (
        "https://*.acme.com:8443",
        "https://api.acme.com:8443",
        Some(Naming::Wildcard),
    ),
    (
        "https://api.*.acme.com",
        "https://api.eu-1.acme.com",
        Some(Naming::Wildcard),
    ),
    ("https://api.*.acme.com", "https://api.acme.com", None),
    ("https://api.*.acme.com", "https://api.a.b.acme.com", None),
    ("https://api.*.acme.com", "https://x.api.eu.acme.com", None),
    ("https://api.*.acme.com", "https://apis.eu.acme.com", None),
    (
        "https://api.*.acme.com",
        "https://api.eu.acme.com.evil.org",
        None,
    ),
    (
        "https://*-api.acme.com",
        "https://eu-1-api.acme.com",
        Some(Naming::Wildcard),
    ),
    ("https://*-api.acme.com", "https://-api.acme.com", None),
    ("https://*-api.acme.com", "https://a.eu-api.acme.com", None),
    ("https://*-api.acme.com", "https://eu-api.evil.com", None),
    (
        "https://*.api.*.acme.com",
        "https://x.y.api.eu.acme.com",
        Some(Naming::Wildcard),
    ),
    ("https://*.api.*.acme.com", "https://api.eu.acme.com", None),
    ("https://*.acme.com", "https://.acme.com", None),
    (
        "https://b\u{fc}cher.example",
        "https://xn--bcher-kva.example",
        Some(Naming::Exact),
    ),
];

#[test]
fn a_pattern_covers_its_origin_in_every_spelling_and_nothing_else() {
    for (pattern, url, expected) in COVERED.iter().copied() {
        let found = OriginPattern::parse(pattern).unwrap().covers(&origin(url));
        assert_eq!(found, expected, "{pattern} against {url}");
    }
}

#[test]
fn what_is_not_an_origin_is_refused_with_the_reason() {
    let cases = [
        ("", "write scheme"),
        ("https://", "write scheme"),
        ("https://api.acme.com/v1", "no path"),
        ("https://api.acme.com?x", "no path"),
        ("https://me:pw@api.acme.com", "user names"),
        ("ftp://api.acme.com", "https or http"),
        ("https://api.*.com", "front of the host"),
        ("https://api.a*.com", "front of the host"),
        ("https://api.acme.*", "front of the host"),
        ("https://*-a*.acme.com", "front of the host"),
        ("*", "front of the host"),
        ("https://*", "front of the host"),
        ("https://*.10.0.0.1", "not with an address"),
        ("https://*.[::1]", "not with an address"),
    ];
    for (pattern, reason) in cases {
        let error = OriginPattern::parse(pattern).unwrap_err();
        assert!(error.to_string().contains(reason), "{pattern}: {error}");
    }
}

#[test]
fn patterns_meet_where_one_covers_the_other() {
    for (one, other, meets) in [
        ("https://API.acme.com/", "api.acme.com:443", true),
        ("https://*.acme.com", "https://eu.acme.com", true),
        ("https://*.acme.com", "https://*.eu.acme.com", true),
        ("https://api.*.acme.com", "https://*.acme.com", true),
        ("https://api.*.acme.com", "https://api.eu.acme.com", true),
        ("https://*.acme.com", "https://acme.com", false),
        ("https://*.acme.com", "http://eu.acme.com", false),
        ("https://*.acme.com", "https://*.acme.org", false),
        ("http://127.0.0.1:80", "http://127.0.0.1", true),
        ("http://127.0.0.1", "http://127.0.0.1:81", false),
    ] {
        let [one, other] = [one, other].map(|it| OriginPattern::parse(it).expect("an origin"));
        assert_eq!(one.meets(&other), meets, "{one} {other}");
        assert_eq!(other.meets(&one), meets, "{other} {one}");
    }
}

#[test]
fn an_exact_entry_beats_a_wildcard() {
    let patterns = [
        OriginPattern::parse("*.acme.com").unwrap(),
        OriginPattern::parse("eu.acme.com").unwrap(),
    ];
    assert_eq!(
        naming(&patterns, &origin("https://eu.acme.com")),
        Some(Naming::Exact)
    );
    assert_eq!(
        naming(&patterns, &origin("https://us.acme.com")),
        Some(Naming::Wildcard)
    );
    assert_eq!(naming(&patterns, &origin("https://acme.org")), None);
}

#[test]
fn display_parses_back_to_the_same() {
    for text in [
        "https://api.acme.com",
        "http://localhost:8080",
        "https://*.acme.com:8443",
        "https://api.*.acme.com",
        "https://*.x-*.eu.acme.com",
        "http://[::1]:9",
    ] {
        let pattern = OriginPattern::parse(text).unwrap();
        assert_eq!(pattern.to_string(), text);
        assert_eq!(OriginPattern::parse(&pattern.to_string()).unwrap(), pattern);
    }
}

#[test]
fn what_stays_in_a_folder_holds_nothing_beside_it() {
    let of = |text: &str| OriginPattern::parse(text).unwrap();
    let shared = "https://shared.test";
    let patterns = [of(shared).within("/v1/ada/"), of("https://own.test")];
    assert_eq!(patterns[0].to_string(), "https://shared.test/v1/ada");
    for (url, expected) in [
        ("https://shared.test/v1/ada", true),
        ("https://shared.test/v1/ada/chat?x=/v1/eve", true),
        ("https://shared.test/v1/x/../ada/chat", true),
        ("https://own.test/v1/eve", true),
        ("https://shared.test", false),
        ("https://shared.test/v1/adam/chat", false),
        ("https://shared.test/v1/ada/../eve/chat", false),
        ("https://shared.test/v1/ada/%2e%2E/eve/chat", false),
        ("https://shared.test/v1/ada/..%2f..%2Feve/chat", false),
        ("https://shared.test/v1/ada/..%5c..%5Ceve/chat", false),
        ("https://shared.test/v1/ada/..;/eve/chat", false),
        ("https://shared.test/v1/ada/..;x=1/eve/chat", false),
        ("https://shared.test/v1/ada/%252e%252e/eve/chat", false),
        ("https://shared.test/v1/ada/%25252525252e", false),
        ("https://shared.test/v1/ada/@cf%2Fmeta/a..b;c/100%25", true),
        ("https://own.test/v1/..%2f..%2feve", true),
        ("https://shared.test/v1//ada/chat", false),
        ("https://third.test/v1/ada", false),
    ] {
        let parsed = Url::parse(url).unwrap();
        assert_eq!(holds(&patterns, &origin(url), &parsed), expected, "{url}");
    }
}
