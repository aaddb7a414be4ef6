//! Escapes of all libraries, one within another, and encodings of odd bytes.

use std::fmt::Write as _;

use super::*;

fn each(text: &str, spell: impl Fn(char) -> Option<String>) -> String {
    let signs = text.chars();
    signs
        .map(|sign| spell(sign).unwrap_or_else(|| sign.to_string()))
        .collect()
}

/// All of these, spelled.
fn all(bytes: &[u8], spell: impl Fn(&u8) -> String) -> String {
    bytes.iter().map(spell).collect::<Vec<_>>().concat()
}

/// Percent-encoding that leaves these beside letters and digits.
fn percent(text: &str, left: &str) -> String {
    each(text, |sign| {
        let stays = sign.is_ascii_alphanumeric() || left.contains(sign);
        let bytes = sign.to_string().into_bytes();
        (!stays).then(|| all(&bytes, |byte| format!("%{byte:02X}")))
    })
}

fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

fn units(sign: char) -> String {
    let mut out = String::new();
    for unit in sign.encode_utf16(&mut [0; 2]) {
        write!(out, "\\u{unit:04X}").unwrap();
    }
    out
}

fn html(text: &str, quote: &str) -> String {
    each(text, |sign| {
        let name = match sign {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => quote,
            _ => return None,
        };
        Some(name.to_owned())
    })
}

/// One way of escaping a text.
fn spelled(text: &str, way: usize) -> String {
    match way {
        0 => json(text),
        1 => json(text).replace('/', "\\/"),
        // PHP's JSON_HEX_*, Python's.
        2 => each(text, |sign| "<>&'\"\\/".contains(sign).then(|| units(sign))),
        3 => each(&json(text), |sign| (!sign.is_ascii()).then(|| units(sign))),
        4 => each(text, |sign| Some(units(sign))),
        5 => each(text, |sign| {
            (!sign.is_ascii_alphanumeric()).then(|| format!("\\u{{{:x}}}", u32::from(sign)))
        }),
        // Python's quote and Go's PathEscape and QueryEscape, JavaScript's two.
        6 => percent(text, "-._~/"),
        7 => percent(text, "-._~$&+=:@"),
        8 => percent(text, "-._~"),
        9 => percent(text, "-._~!*'()"),
        10 => percent(text, "-._~!*'();/?:@&=+$,#"),
        11 => all(text.as_bytes(), |byte| format!("%{byte:02x}")),
        12 => html(text, "&#39;"),
        13 => html(text, "&#x0027;"),
        14 => each(text, |sign| {
            (!sign.is_ascii_alphanumeric()).then(|| format!("&#{:05};", u32::from(sign)))
        }),
        15 => each(text, |sign| Some(format!("&#x{:X};", u32::from(sign)))),
        16 => all(text.as_bytes(), |byte| format!("\\x{byte:02x}")),
        _ => all(text.as_bytes(), |byte| format!("\\{byte:03o}")),
    }
}

const WAYS: usize = 18;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn a_nest_of_three_spellings_is_masked_and_its_surroundings_stay(
        // A backslash at its end takes along what follows.
        secret in "[!-~\u{e9}\u{4ea9}]{8}[!-~]{8,40}[!-\\[\\]-~]",
        ways in prop::collection::vec(0..WAYS, 0..=3),
        around in "[ -~]{0,30}",
    ) {
        let masker = masker(&[&secret, "another-secret"]);
        let text = ways.iter().fold(secret.clone(), |text, way| spelled(&text, *way));
        let text = format!("{around}\u{ab}{text}\u{bb}{around}");
        let masked = masker.mask(&text).into_owned();
        prop_assert_eq!(&masked, &format!("{around}\u{ab}[masked]\u{bb}{around}"), "{}", text);
        prop_assert!(matches!(masker.mask(&masked), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_without_a_secret_stay(
        text in "[ -~\u{e9}]{0,60}",
        ways in prop::collection::vec(0..WAYS, 0..=3),
    ) {
        let masker = masker(&["sk-/never+in=text\"&<>\\%"]);
        let text = ways.iter().fold(text, |text, way| spelled(&text, *way));
        prop_assert!(matches!(masker.mask(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn whatever_the_text_masking_it_again_changes_nothing(
        secret in "[a-c%&#;x0-9\\\\]{8,12}",
        noise in prop::collection::vec("[a-c%&#;x0-9\\\\]{0,20}", 1..6),
        way in 0..WAYS,
    ) {
        let masker = masker(&[&secret]);
        let masked = masker.mask(&noise.join(&spelled(&secret, way))).into_owned();
        prop_assert!(matches!(masker.mask(&masked), Cow::Borrowed(_)), "{}", masked);
    }
}

#[test]
fn what_libraries_escape_otherwise_is_masked() {
    let masker = masker(&["sk-a/b+c=d\"e&f<g\u{e9}'h"]);
    let cases = [
        // Python's quote and quote_plus, Go's PathEscape.
        "sk-a/b%2Bc%3Dd%22e%26f%3Cg%C3%A9%27h",
        "sk-a%2Fb%2Bc%3Dd%22e%26f%3Cg%C3%A9%27h",
        "sk-a%2Fb+c=d%22e&f%3Cg%C3%A9%27h",
        // HTML that is mixed.
        "sk-a&#x2F;b&#43;c&#0061;d&quot;e&amp;f&LT;g&#xE9;&apos;h",
        // PHP's htmlentities with HTML 5, npm's entities and he.
        "sk-a&sol;b&plus;c&equals;d&quot;e&amp;f&lt;g\u{e9}&apos;h",
        "sk-a&sol;b&plus;c&equals;d&quot;e&amp;f&lt;g&eacute;&apos;h",
        "SK-A&sol;b&plus;c&equals;d&QUOT;e&AMP;f&LT;g&eacute;&APOS;h"
            .replace("SK-A", "sk-a")
            .leak(),
        // PHP's JSON_HEX_*.
        r"sk-a\/b+c=d\u0022e\u0026f\u003Cg\u00e9\u0027h",
        // Perl's Data::Dumper.
        r"sk-a/b+c=d\x{22}e&f<g\x{e9}'h",
        // Haskell's show; OCaml's and Lua's %S and %q; of another program in JSON.
        r#"sk-a/b+c=d\"e&f<g\233'h"#,
        r#"sk-a/b+c=d\"e&f<g\195\169'h"#,
        r#"sk-a/b+c=d\\\"e&f<g\\195\\169'h"#,
        r"\115\107-\097/b+c=d\034e&f<g\233'h",
        // Quotes within quotes: SQL, YAML, CSV; formats of Rust and Python, printf.
        "sk-a/b+c=d\"e&f<g\u{e9}''h",
        "sk-a/b+c=d\"\"e&f<g\u{e9}'h",
        r#"sk-a/b+c=d\"e&f<g\u00e9''h"#,
        // HTML as of old, whose names and numbers need no end.
        "sk-a/b+c=d&quote&ampf&ltg&eacute&#39h",
        "sk-a&#47b&#43c&#061;d&QUOTe&AMPf&LTg&#233'h",
        // JSON within JSON within JSON.
        r#"sk-a/b+c=d\\\\\\\"e&f<gé'h"#,
        r#"sk-a\\\\\\\/b+c=d\\\\\\\"e&f<g\\\\u00e9'h"#,
        // Percent-encoded Latin-1.
        "sk-a%2Fb%2Bc%3Dd%22e%26f%3Cg%E9%27h",
        // JavaScript's escape.
        "sk-a/b+c%3Dd%22e%26f%3Cg%u00E9%27h",
    ];
    for text in cases {
        assert_eq!(masker.mask(&format!("<{text}>")), "<[masked]>");
    }
    // A backslash at the end takes along what follows.
    let ends = self::masker(&["sk-a<b\"cdef\\"]);
    assert_eq!(ends.mask("'sk-a&lt;b\"cdef\\'"), "'[masked]\\'");
    let latin = b"<sk-a/b+c=d\"e&f<g\xe9'h>";
    assert_eq!(*masker.mask_bytes(latin), *b"<[masked]>");
    let mistaken = "<sk-a/b+c=d\"e&f<g\u{c3}\u{a9}'h>";
    assert_eq!(masker.mask(mistaken), "<[masked]>");
}

#[test]
fn hex_whose_bytes_stand_apart_is_masked() {
    let secret = "sk-12345/+=\u{f}z";
    let masker = masker(&[secret]);
    let joined = |before: &str, between: &str| {
        let pairs = secret.bytes().map(|byte| format!("{before}{byte:02x}"));
        pairs.collect::<Vec<_>>().join(between)
    };
    for (before, between) in [
        ("", ":"),
        ("", " "),
        ("", "-"),
        ("0x", ", "),
        ("0x", ",\n  "),
        ("0x", ",\\n\\t"),
        ("\\x", ""),
        ("\\\\x", ""),
    ] {
        let pairs = joined(before, between);
        for at in 0..40 {
            let around = "_".repeat(at);
            let cleaned = masker.mask(&format!("{around}({pairs})")).into_owned();
            // The prefix of the first byte is no digit of it.
            let cleaned = cleaned.replace("(0x[", "([");
            assert_eq!(cleaned, format!("{around}([masked])"), "{pairs}");
        }
        let upper = pairs
            .to_ascii_uppercase()
            .replace('X', "x")
            .replace("\\N\\T", "\\n\\t");
        assert!(masker.mask(&upper).contains(MASK), "{upper}");
    }
}

#[test]
fn hex_and_base64_of_utf_16_and_latin_1_are_masked() {
    let secret = "sk-12345/+=\u{e9}z";
    let masker = masker(&[secret]);
    let wide =
        |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> { secret.encode_utf16().flat_map(bytes).collect() };
    let latin: Vec<u8> = secret
        .chars()
        .map(|sign| u8::try_from(sign).unwrap())
        .collect();
    for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes), latin] {
        let hex = all(&bytes, |byte| format!("{byte:02x}"));
        assert_eq!(masker.mask(&format!("<{hex}>")), "<[masked]>");
        for text in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            assert!(masker.mask(&text).starts_with(MASK));
            assert!(masker.mask(&text.replace('/', "\\/")).starts_with(MASK));
            assert!(masker.mask(&percent(&text, "")).starts_with(MASK));
        }
    }
}

#[test]
fn a_body_that_is_all_escapes_is_decoded_part_by_part() {
    let secret = "sk-12345\"678\\90";
    let masker = masker(&[secret]);
    let spelled = json(&json(secret));
    for filler in ["\\\\", "&amp;amp;", "%25", "&#x26;", "\\/\\u002d", "de ad "] {
        let filler = filler.repeat((3 << 20) / filler.len());
        let cleaned = masker
            .mask(&format!("{filler}<{spelled}>{filler}|{spelled}|"))
            .into_owned();
        assert!(cleaned.ends_with("|[masked]|"));
        assert!(cleaned.contains("<[masked]>"));
    }
}

#[test]
fn what_only_looks_like_an_escape_once_others_are_read_takes_nothing_along() {
    let secret = "aA\u{4ea9}aa\u{4ea9}a!\\%Aa%\\108";
    // Only backslashes stand in the text; the `%Aa` of the secret comes up when they are read.
    let text = json(&spelled(&json(secret), 4));
    assert_eq!(masker(&[secret]).mask(&format!("<{text}>")), "<[masked]>");
}

#[test]
fn what_begins_an_escape_before_a_secret_in_json_takes_nothing_along() {
    let secret = "41\"amp;\\23456789";
    let masker = masker(&[secret]);
    for before in ["%", "%%", "&", "&#x", "%25%"] {
        let text = json(&json(&format!("{before}{secret}")));
        assert!(masker.mask(&text).ends_with(MASK), "{text}");
    }
    let masker = self::masker(&["tokens>are+here"]);
    assert_eq!(
        masker.mask("C:\\tokens&gt;are%2Bhere\\t"),
        "C:\\[masked]\\t"
    );
}

#[test]
fn an_escape_is_found_behind_any_length_of_plain_text() {
    let masker = masker(&["sk-12345+6789012"]);
    for plain in 0..2000 {
        let text = format!("\\/{}/sk-12345\\u002b6789012.", "a".repeat(plain));
        assert!(masker.mask(&text).ends_with("/[masked]."), "{plain}");
    }
}
