//! Properties first: whatever surrounds a secret and however it is spelled, it is gone.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use runner_tests::readings;

use super::*;

mod nests;
mod parts;

fn masker(values: &[&str]) -> Masker {
    let secrets: Vec<Secret> = values.iter().map(|value| Secret::new(*value)).collect();
    Masker::new(&secrets)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[test]
fn each_spelling_is_masked_and_its_surroundings_stay() {
    let secret = "sk-a/b+c \"\u{e9}\\=42";
    let masker = masker(&[secret]);
    let basic = STANDARD.encode(secret);
    let cases = [
        (format!("<{secret}>"), "<[masked]>".to_owned()),
        (
            "key=sk-a%2Fb%2Bc%20%22%C3%A9%5C%3D42&x".to_owned(),
            "key=[masked]&x".to_owned(),
        ),
        (
            "key=sk-a%2fb%2bc%20%22%c3%a9%5c%3d42&x".to_owned(),
            "key=[masked]&x".to_owned(),
        ),
        (
            "key=sk-a%2Fb%2Bc+%22%C3%A9%5C%3D42&x".to_owned(),
            "key=[masked]&x".to_owned(),
        ),
        (
            r#"{"k":"sk-a/b+c \"é\\=42"}"#.to_owned(),
            r#"{"k":"[masked]"}"#.to_owned(),
        ),
        (
            r#"{"k":"sk-a\/b+c \"é\\=42"}"#.to_owned(),
            r#"{"k":"[masked]"}"#.to_owned(),
        ),
        (
            "https://SK-A%2fB%2bC+%22%c3%A9%5C%3d42".to_owned(),
            "https://[masked]".to_owned(),
        ),
        (format!("{secret}{secret}"), "[masked]".to_owned()),
        (
            "nothing of the kind".to_owned(),
            "nothing of the kind".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(masker.mask(&text), expected);
    }
    assert!(
        masker
            .mask(&format!("Basic {basic}"))
            .starts_with("Basic [masked]")
    );
}

#[test]
fn short_secrets_are_left_alone() {
    assert_eq!(
        masker(&["ollama"]).mask("ollama is a server"),
        "ollama is a server"
    );
    assert_eq!(masker(&["", "12345678"]).mask("a12345678b"), "a[masked]b");
}

#[test]
fn clean_text_is_not_copied() {
    let masker = masker(&["sk-12345678"]);
    assert!(matches!(masker.mask("clean"), Cow::Borrowed(_)));
    assert!(matches!(Masker::default().mask("clean"), Cow::Borrowed(_)));
}

#[test]
fn a_match_does_not_shelter_another_that_it_overlaps() {
    let masker = masker(&["xxxxkey-", "key-12345678"]);
    assert_eq!(masker.mask("_xxxxkey-12345678_"), "_[masked]_");
}

#[test]
fn the_marker_can_not_complete_a_secret() {
    for secret in ["]abcdefgh", "[masked]", "masked]m", "ed][mask"] {
        let masker = masker(&[secret]);
        for text in [
            format!("{secret}abcdefgh"),
            secret.repeat(3),
            format!("{secret}masked]"),
        ] {
            let clean = masker.mask(&text).into_owned();
            assert!(!clean.contains(secret), "{text} → {clean}");
        }
    }
}

/// What a server can make of a secret that is the marker: work for each byte of its answer.
#[test]
fn removals_that_make_more_secrets_leave_nothing() {
    let masker = masker(&["[masked]"]);
    let nested = |deep: usize| format!("a{}{}b", "[mask".repeat(deep), "ed]".repeat(deep));
    assert_eq!(masker.mask(&nested(3)), "ab");
    assert_eq!(masker.mask(&nested(50_000)), "");
}

#[test]
fn what_is_learned_is_masked_by_every_clone_from_then_on() {
    let masker = masker(&["sk-first-1"]);
    let clone = masker.clone();
    assert_eq!(clone.mask("sk-first-1 ya29.token"), "[masked] ya29.token");
    learn(&masker, "one", "ya29.token");
    learn(&masker, "one", "ya29.other");
    learn(&masker, "two", "short");
    let all = "sk-first-1 ya29.token ya29.other short";
    let expected = "[masked] [masked] [masked] short";
    assert_eq!(clone.mask(all), expected);
    assert_eq!(Masker::union([&masker]).mask(all), expected);
    let none = Masker::default();
    learn(&none.clone(), "one", "ya29.token");
    assert_eq!(none.mask("ya29.token"), "[masked]");
}

/// A server of tokens could name a word of another server's answers.
#[test]
fn what_one_key_was_given_is_none_of_another_s_affair() {
    let masker = masker(&["sk-first-1"]);
    learn(&masker, "one", "ya29.token");
    let all = "sk-first-1 ya29.token";
    let of = |key: &str| masker.of_keys(&[Secret::new(key).fingerprint()]);
    assert_eq!(of("one").mask(all), "[masked] [masked]");
    assert_eq!(of("two").mask(all), "[masked] ya29.token");
    let declared = masker.declared();
    learn(&masker, "one", "ya29.other");
    assert_eq!(
        declared.mask("sk-first-1 ya29.other"),
        "[masked] ya29.other"
    );
}

fn learn(masker: &Masker, key: &str, token: &str) {
    let key = Secret::new(key).fingerprint();
    masker.learn(&key, &Secret::new(token)).expect("few");
}

/// Each byte that is masked costs memory and time.
#[test]
fn of_each_key_the_last_two_tokens_are_masked_and_of_all_a_bounded_amount() {
    let masker = Masker::default();
    for token in ["token-of-key-1", "token-of-key-2", "token-of-key-3"] {
        learn(&masker, "one", token);
    }
    let all = "token-of-key-1 token-of-key-2 token-of-key-3";
    assert_eq!(masker.mask(all), "token-of-key-1 [masked] [masked]");
    let long = "x".repeat(4 << 10);
    let learn = |nth: usize| {
        let key = Secret::new(format!("key {nth}")).fingerprint();
        masker.learn(&key, &Secret::new(format!("{long}{nth}")))
    };
    let learned = (0..100).take_while(|nth| learn(*nth).is_ok()).count();
    assert_eq!(learned, 15);
}

#[test]
fn a_union_masks_for_all() {
    let union = Masker::union([&masker(&["sk-first-1"]), &masker(&["sk-second-2"])]);
    assert_eq!(union.mask("sk-first-1 sk-second-2"), "[masked] [masked]");
}

proptest! {
    #[test]
    fn no_output_contains_a_secret(
        secrets in prop::collection::vec("[!-~]{8,40}", 1..4),
        pieces in prop::collection::vec((0usize..4, "\\PC{0,12}"), 0..8),
    ) {
        let masker = masker(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        let mut text = String::new();
        for (which, filler) in &pieces {
            text.push_str(filler);
            text.push_str(secrets.get(*which).map_or("", String::as_str));
        }
        let masked = masker.mask(&text);
        for secret in &secrets {
            prop_assert!(!masked.contains(secret.as_str()), "{masked}");
        }
    }

    #[test]
    fn no_base64_of_a_text_with_a_secret_gives_it_away(
        secret in "[!-~]{8,40}",
        before in prop::collection::vec(any::<u8>(), 0..20),
        after in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let masker = masker(&[&secret]);
        let plain = [before.as_slice(), secret.as_bytes(), after.as_slice()].concat();
        for text in [STANDARD.encode(&plain), URL_SAFE.encode(&plain)] {
            let masked = masker.mask(&text).into_owned();
            prop_assert!(masked.contains(MASK));
            // At most a part of the first and of the last byte is told by what is left.
            let longest = masked.split(MASK).map(str::len).max().unwrap();
            let outside = (before.len().max(after.len()) * 4).div_ceil(3) + 8;
            prop_assert!(longest <= outside, "{masked}");
        }
    }

    #[test]
    fn no_percent_encoding_gives_it_away(secret in "[!-~]{8,40}", all in any::<bool>()) {
        let masker = masker(&[&secret]);
        let encoded: String = if all {
            secret.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat()
        } else {
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect()
        };
        prop_assert_eq!(masker.mask(&format!("?k={encoded}&")).into_owned(), "?k=[masked]&");
    }

    #[test]
    fn bytes_that_are_no_text_are_masked_as_well(
        secret in "[!-~]{8,40}",
        noise in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let masker = masker(&[&secret]);
        let body = [noise.as_slice(), secret.as_bytes(), noise.as_slice()].concat();
        prop_assert!(!contains(&masker.mask_bytes(&body), secret.as_bytes()));
    }

    #[test]
    fn text_without_secrets_comes_back_as_it_was(text in "\\PC{0,80}") {
        let masker = masker(&["sk-\u{1}-never-in-text"]);
        prop_assert_eq!(masker.mask(&text).into_owned(), text);
    }
}

/// Ways to spell a text of ASCII, as common software has them.
fn spellings(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let mut all: Vec<_> = escaped(text)
        .into_iter()
        .map(|(name, form)| (name, form.into_bytes()))
        .collect();
    all.extend(encoded(text));
    all
}

fn escaped(text: &str) -> Vec<(&'static str, String)> {
    let each = |spell: &dyn Fn(char) -> String| text.chars().map(spell).collect::<String>();
    let number = |sign: char| u32::from(sign);
    let json = serde_json::to_string(text).unwrap();
    let percent = each(&|sign| match sign {
        sign if sign.is_ascii_alphanumeric() || "-._~".contains(sign) => sign.to_string(),
        sign => format!("%{:02x}", number(sign)),
    });
    let html = each(&|sign| match sign {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        sign => sign.to_string(),
    });
    let form = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    vec![
        ("as it is", text.to_owned()),
        ("json, slashes", json.replace('/', "\\/")),
        ("json twice", serde_json::to_string(&json).unwrap()),
        ("json", json),
        (
            "json twice, numbers",
            each(&|it| format!("\\\\u{:04x}", number(it))),
        ),
        (
            "json, numbers",
            each(&|it| format!("\\u{:04X}", number(it))),
        ),
        ("percent, twice", percent.replace('%', "%25")),
        ("percent", percent),
        ("form", form),
        ("html", html),
        ("html, numbers", each(&|it| format!("&#{};", number(it)))),
        ("html, hex", each(&|it| format!("&#x{:X};", number(it)))),
    ]
}

fn encoded(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let base64 = STANDARD.encode(text);
    let lines = |width: usize, end: &str| {
        let lines: Vec<&[u8]> = base64.as_bytes().chunks(width).collect();
        lines.join(end.as_bytes())
    };
    let in_url = base64.replace('+', "%2B").replace('/', "%2F");
    let hex = |pair: fn(u8) -> String| text.bytes().map(pair).collect::<String>().into_bytes();
    let wide =
        |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> { text.encode_utf16().flat_map(bytes).collect() };
    vec![
        ("hex", hex(|byte| format!("{byte:02x}"))),
        (
            "escaped hex in json",
            hex(|byte| format!("\\\\x{byte:02x}")),
        ),
        ("HEX", hex(|byte| format!("{byte:02X}"))),
        ("base64", base64.clone().into_bytes()),
        ("base64 for URLs", URL_SAFE.encode(text).into_bytes()),
        ("base64 in a URL", in_url.into_bytes()),
        ("base64 in lines", lines(64, "\r\n")),
        ("base64 in indented lines", lines(20, "\n    ")),
        ("base64 in lines in json", lines(76, "\\r\\n")),
        ("utf-16le in json", {
            let wide = String::from_utf8(wide(u16::to_le_bytes)).unwrap();
            serde_json::to_string(&wide).unwrap().into_bytes()
        }),
        ("utf-16le", wide(u16::to_le_bytes)),
        ("utf-16be", wide(u16::to_be_bytes)),
    ]
}

/// The characters of keys and passwords. Without those that begin an escape: what reads a text
/// twice reads such a secret otherwise than whoever wrote it.
const KEYS: &str = "[A-Za-z0-9_+/=.:@$!#*()<>'~ -]{8,60}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_reading_of_what_is_masked_has_the_secret(
        secret in KEYS,
        before in "[ -~]{0,20}",
        after in "[ -~]{0,20}",
        within in any::<bool>(),
    ) {
        let secret = secret.trim().to_owned();
        prop_assume!(secret.len() >= SHORTEST_MASKED);
        prop_assume!(!format!("{before}|{after}").contains(&secret));
        let masker = masker(&[&secret]);
        // Once the secret alone is spelled so, once all that it stands in.
        let texts: Vec<(&str, Vec<u8>)> = if within {
            spellings(&format!("{before}{secret}{after}"))
        } else {
            let around = |(name, form): (&'static str, Vec<u8>)| {
                (name, [before.as_bytes(), b"|", &form, b"|", after.as_bytes()].concat())
            };
            spellings(&secret).into_iter().map(around).collect()
        };
        // What begins an escape before it takes the first characters of a secret along.
        let is_whole = !before.contains(['%', '\\', '&']);
        for (name, text) in texts {
            let is_read = readings(&text).iter().any(|reading| contains(reading, secret.as_bytes()));
            prop_assert!(is_read || !is_whole, "{name} is not read");
            let masked = masker.mask_bytes(&text);
            for reading in readings(&masked) {
                prop_assert!(!contains(&reading, secret.as_bytes()), "{name}: {}", String::from_utf8_lossy(&masked));
            }
        }
    }
}

#[test]
fn what_the_usual_libraries_make_of_odd_characters_is_masked() {
    let masker = masker(&["a<b>&'\"+/=\u{e9}z"]);
    let cases = [
        // Python's json, PHP's, Go's, Gson's, .NET's.
        "a<b>&'\\\"+/=\\u00e9z",
        "a<b>&'\\\"+\\/=\\u00e9z",
        "a\\u003cb\\u003e\\u0026'\\\"+/=\u{e9}z",
        "a\\u003cb\\u003e\\u0026\\u0027\\\"+/\\u003d\u{e9}z",
        "a\\u003Cb\\u003E\\u0026\\u0027\\u0022\\u002B/=\\u00E9z",
        // JavaScript's encodeURI and encodeURIComponent.
        "a%3Cb%3E&'%22+/=%C3%A9z",
        "a%3Cb%3E%26'%22%2B%2F%3D%C3%A9z",
        // HTML of Python, Go, PHP, and XML.
        "a&lt;b&gt;&amp;&#x27;&quot;+/=\u{e9}z",
        "a&lt;b&gt;&amp;&#39;&#34;&#43;/=\u{e9}z",
        "a&lt;b&gt;&amp;&#039;&quot;+/=\u{e9}z",
        "a&lt;b&gt;&amp;&apos;&quot;+/=\u{e9}z",
        "a&lt;b&gt;&amp;'\"+/=\u{e9}z",
    ];
    for text in cases {
        assert_eq!(masker.mask(&format!("<{text}>")), "<[masked]>");
    }
}

#[test]
fn a_secret_in_json_within_json_is_masked_whoever_wrote_either() {
    let secret = "a<\"+/\\\u{e9}z";
    let masker = masker(&[secret]);
    let wide: Vec<u8> = "sk-12345"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let wide = String::from_utf8(wide).unwrap();
    let twice = |text: &str| serde_json::to_string(&serde_json::to_string(text).unwrap()).unwrap();
    let cases = [
        // Both JavaScript's, Python's, PHP's; Python's within Go's; letter by letter, either way.
        r#"a<\\\"+/\\\\éz"#,
        r#"a<\\\"+/\\\\\\u00e9z"#,
        r#"a<\\\"+\\\/\\\\\\u00e9z"#,
        r#"a\u003c\\\"+/\\\\\\u00e9z"#,
        r"\\u0061\\u003c\\u0022\\u002b\\u002f\\u005c\\u00e9\\u007a",
        r"\u0061\u003c\u005c\u0022\u002b\u002f\u005c\u005c\u00e9\u007a",
        // And where those stand in a body of JSON.
        r#"a<\\\\\\\"+/\\\\\\\\éz"#,
        r"\\\\u0061\\\\u003c\\\\u0022\\\\u002b\\\\u002f\\\\u005c\\\\u00e9\\\\u007a",
    ];
    for text in cases {
        assert_eq!(masker.mask(&format!("<{text}>")), "<[masked]>");
    }
    assert_eq!(masker.mask(&twice(secret)), r#""\"[masked]\"""#);
    let masker = self::masker(&["sk-12345"]);
    assert_eq!(masker.mask(&twice(&wide)), r#""\"[masked]\"""#);
}

#[test]
fn a_form_of_utf_16_that_begins_within_a_character_leaves_text() {
    let secret = "\u{4ea9}bcdefgh";
    // The last byte of an é, and then the secret in UTF-16.
    let mut bytes = "\u{e9}".as_bytes().to_vec();
    bytes.extend(secret.encode_utf16().flat_map(u16::to_le_bytes).skip(1));
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(masker(&[secret]).mask(&text), "\u{fffd}[masked]");
}

#[test]
fn as_many_matches_as_there_are_bytes_need_no_memory_for_each() {
    let masker = masker(&["aaaaaaaa", "aaaaaaaaa"]);
    assert_eq!(masker.mask(&"a".repeat(1 << 16)), "[masked]");
    assert_eq!(
        masker.mask("aaaaaaaa_aaaaaaaaaa_aaaaaaa"),
        "[masked]_[masked]_aaaaaaa"
    );
}
