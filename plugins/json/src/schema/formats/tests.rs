//! Each format against texts that have it and texts that don't; the library must agree where
//! it knows the format.

use runner_plugin::json::{Value, json};

use super::fits;

/// Formats that are Ajv's own, or where the library is of another mind: it keeps to the letter
/// (`T` between date and time, a domain of one label), Ajv accepts a space and wants a dot.
fn library(format: &str, text: &str) -> Option<bool> {
    let of_its_own_mind = text.contains("01-02 03") || ["a@b", "a@localhost"].contains(&text);
    if ["url", "byte", "idn-email", "idn-hostname"].contains(&format) || of_its_own_mind {
        return None;
    }
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft201909)
        .should_validate_formats(true)
        .build(&json!({ "format": format }))
        .ok()?;
    Some(validator.is_valid(&json!(text)))
}

fn table(format: &str, good: &[&str], bad: &[&str]) {
    for (texts, expected) in [(good, true), (bad, false)] {
        for text in texts {
            assert_eq!(fits(format, &json!(text)), expected, "{format} of {text:?}");
            if let Some(theirs) = library(format, text) {
                assert_eq!(theirs, expected, "library: {format} of {text:?}");
            }
        }
    }
}

#[test]
fn dates_and_times() {
    table(
        "date",
        &["2024-02-29", "1999-12-31"],
        &[
            "2023-02-29",
            "2024-13-01",
            "2024-1-1",
            "x",
            "2024-00-10",
            "2024-04-31",
        ],
    );
    table(
        "time",
        &[
            "12:00:00Z",
            "23:59:60Z",
            "08:30:06.283185z",
            "08:30:06+05:30",
            "00:29:60+00:30",
        ],
        &[
            "12:00:00",
            "24:00:00Z",
            "12:60:00Z",
            "12:00:60Z",
            "12:00:00.Z",
            "1:00:00Z",
            "12:00:00+24:00",
        ],
    );
    table(
        "date-time",
        &[
            "2024-01-02T03:04:05Z",
            "2024-01-02t03:04:05.5-08:00",
            "2024-01-02 03:04:05Z",
        ],
        &[
            "2024-01-02T03:04:05",
            "2024-01-02",
            "",
            "2024-13-02T03:04:05Z",
            "ää24-01-02T03:04:05Z",
        ],
    );
    table(
        "duration",
        &["P1Y2M3D", "PT5M", "P1DT2H", "P7W", "P1YT1S"],
        &[
            "P", "PT", "1D", "P1S", "P1Y2W", "PD", "P1", "P1D2M", "P1Y1D",
        ],
    );
}

#[test]
fn names_on_the_network() {
    table(
        "email",
        &["a@b.c", "a.b+c@x-y.org", "\"a b\"@x.org", "a@[127.0.0.1]"],
        &[
            "a",
            "@b",
            "a@",
            ".a@b.c",
            "a..b@c.d",
            "a b@c.d",
            "a@[300.1.1.1]",
            "a@b",
            "a@localhost",
        ],
    );
    table(
        "hostname",
        &["x.org", "a-b.c", "localhost"],
        &["-a.b", "a_b.c", "", "a..b", "a-.b"],
    );
    table(
        "ipv4",
        &["127.0.0.1", "255.255.255.255"],
        &["256.1.1.1", "1.2.3", "01.2.3.4"],
    );
    table(
        "ipv6",
        &["::1", "fe80::a:b", "::ffff:1.2.3.4"],
        &["1::2::3", ":", "12345::"],
    );
}

#[test]
fn addresses() {
    table(
        "uri",
        &[
            "https://x.test/a?b=c#d",
            "mailto:a@b.c",
            "urn:x:y",
            "https://[::1]:80/",
        ],
        &[
            "/relative",
            "x.test",
            "https://x.test/a b",
            "https://x.test/%zz",
            "1a:b",
        ],
    );
    table(
        "uri-reference",
        &["/a/b", "a", "", "#x", "https://x.test"],
        &["a b", "\\a", "%1"],
    );
    table("url", &["https://x.test"], &["x.test"]);
    table(
        "uri-template",
        &["https://x.test/{id}/a{?q,r}", "plain"],
        &["a{b", "{a b}", "a}b"],
    );
}

#[test]
fn the_rest() {
    table(
        "uuid",
        &[
            "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
            "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
        ],
        &[
            "2eb8aa08aa9811eab4aa73b441d16380",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
            "zeb8aa08-aa98-11ea-b4aa-73b441d16380",
        ],
    );
    table(
        "json-pointer",
        &["", "/a/b", "/a~0b/~1"],
        &["a", "/a~", "/~2"],
    );
    table(
        "relative-json-pointer",
        &["0", "1/a", "2#"],
        &["/a", "01", "-1", "0##"],
    );
    table("regex", &["^a+$", "(?<=a)b"], &["(", "[a"]);
    table("byte", &["", "YQ==", "YWJj"], &["YQ=", "Y Q=", "a"]);
    table("no-such-format", &["anything"], &[]);
}

#[test]
fn a_format_of_texts_passes_other_values() {
    for value in [json!(1), json!(null), json!(["x"])] {
        assert!(fits("date", &value));
    }
    for (format, value, expected) in [
        ("int32", json!(2_147_483_647), true),
        ("int32", json!(2_147_483_648_i64), false),
        ("int64", json!(1.5), false),
        ("float", json!(1.5), true),
    ] {
        assert_eq!(fits(format, &value), expected);
    }
    assert!(fits("int32", &Value::from("x")));
}
