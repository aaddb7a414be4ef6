//! What is a secret in a secret.

use data_encoding::HEXLOWER;

use super::*;

/// What a server takes out of a header is a secret as much as the header.
#[test]
fn what_is_a_secret_in_a_credential_is_masked_alone() {
    let login = "user:pass-Qq77WwEe88Rr";
    let basic = STANDARD.encode(login);
    for credential in [
        "Bearer tok-Zx81hhQwEr77Tt",
        "Token tok-Zx81hhQwEr77Tt",
        login,
        &basic,
        &format!("Basic {basic}"),
    ] {
        let masker = masker(&[credential]);
        let is_token = credential.contains("tok-");
        let said = if is_token {
            "invalid token: tok-Zx81hhQwEr77Tt".to_owned()
        } else {
            format!(
                "password pass-Qq77WwEe88Rr, {login}, {}",
                STANDARD.encode("pass-Qq77WwEe88Rr")
            )
        };
        let clean = masker.mask(&said).into_owned();
        for secret in ["tok-Zx81", "pass-", "Qq77", "cGFzcy1RcTc3V3dFZTg4"] {
            assert!(!clean.contains(secret), "{credential}: {clean}");
        }
        assert_eq!(
            masker.mask("Bearer, Basic or a Token of a user"),
            "Bearer, Basic or a Token of a user"
        );
        let learned = Masker::default();
        learn(&learned, "a key", credential);
        assert_eq!(learned.mask(&said), clean);
    }
    assert_eq!(
        masker(&["user:short"]).mask("a short password"),
        "a short password"
    );
}

/// Who decodes a key or a signature may tell it otherwise.
#[test]
fn the_bytes_of_a_secret_in_base64_are_masked() {
    let bytes: Vec<u8> = (0..32).map(|nth: u8| nth.wrapping_mul(37) ^ 0xf8).collect();
    let hex = HEXLOWER.encode(&bytes);
    for key in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
        let learned = Masker::default();
        learn(&learned, "a key", &key);
        for masker in [masker(&[&format!("Bearer {key}")]), learned] {
            let url_safe = URL_SAFE.encode(&bytes);
            let spaced = key.replace('+', " ");
            for told in [&hex, url_safe.trim_end_matches('='), &spaced] {
                let clean = masker.mask(told).into_owned();
                assert!(clean.contains(MASK) && clean.len() < 12, "{told}: {clean}");
            }
            assert_eq!(masker.mask_bytes(&bytes), MASK.as_bytes());
        }
    }
}

/// Logs are masked line by line, and long texts are cut at the ends of lines.
#[test]
fn each_line_of_a_key_is_masked_alone() {
    let line = |nth: u8| STANDARD.encode([nth; 48]);
    let lines: Vec<String> = (120..170).map(line).collect();
    let body = lines.join("\n");
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let masker = masker(&[&key]);
    assert_eq!(masker.mask(&format!("key: {key}")), "key: [masked]\n");
    for line in &lines {
        assert_eq!(masker.mask(&format!("  {line},")), "  [masked],");
    }
    let kept = masker.mask(&body[100..]).into_owned();
    assert!(lines.iter().all(|line| !kept.contains(line)), "{kept}");
}
