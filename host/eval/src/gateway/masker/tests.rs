//! Properties first: whatever surrounds a secret and however it is spelled, it is gone.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

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
        let encoded = if all {
            percent_encode(&secret)
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
        prop_assert!(!contains(&masker.mask_owned(body), secret.as_bytes()));
    }

    #[test]
    fn text_without_secrets_comes_back_as_it_was(text in "\\PC{0,80}") {
        let masker = masker(&["sk-\u{1}-never-in-text"]);
        prop_assert_eq!(masker.mask(&text).into_owned(), text);
    }
}
