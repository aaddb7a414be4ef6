//! What is a secret in a secret.

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

/// Logs are masked line by line, and long texts are cut at the ends of lines.
#[test]
fn each_line_of_a_key_is_masked_alone() {
    let line = |nth: u8| STANDARD.encode([nth; 48]);
    let lines: Vec<String> = (100..150).map(line).collect();
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
