//! What a credential holds that is a secret by itself.
//!
//! People keep in a variable, or write into a config, all that stands in a header: `Bearer tok`,
//! `Basic dXNlcjpwdw==`, `user:pw`. A server that complains about it repeats what it took out of that,
//! which is not the value as a whole. So the masker is told of each: the token behind a scheme, the
//! values of parameters, what base64 stands for, the password behind a name. Of a secret of several lines,
//! as private keys and documents with keys are, each is one: programs print and cut by lines. It is no reader
//! of headers, and may take too much for a part: a piece of a secret is not missed in any text.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// Words before a credential, whatever it looks like. Behind another one stands a token if it has more
/// than letters: `correct horse` is a password of two words.
const SCHEMES: [&str; 12] = [
    "bearer", "basic", "token", "apikey", "api-key", "api_key", "key", "jwt", "bot", "oauth",
    "digest", "ssws",
];

/// Ends of the names of parameters that hold a secret: `Token token=…`.
const PARAMETERS: [&str; 5] = ["token", "key", "secret", "password", "signature"];

/// A line of a secret that is shorter is none by itself: it may be a word that stands everywhere.
const SHORTEST_LINE: usize = 16;

/// Begins the lines around a key in PEM, which are the same for all keys.
const AROUND_KEY: &str = "-----";

/// Bytes that are looked for: fewer may stand anywhere.
const FEWEST_BYTES: usize = 16;

const UNPADDED_TOO: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const ALPHABETS: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, UNPADDED_TOO),
    GeneralPurpose::new(&alphabet::URL_SAFE, UNPADDED_TOO),
];

/// The parts of a credential, without itself. All of them together are a few times as long.
pub(super) fn parts(value: &str) -> Vec<String> {
    let mut token = value;
    while let Some(rest) = behind_scheme(token) {
        token = rest;
    }
    let mut parts: Vec<String> = parameters(token).map(str::to_owned).collect();
    for text in [value, token] {
        parts.extend(password(text).map(str::to_owned));
        let login = decoded(text).unwrap_or_default();
        if let Some(password) = password(&login) {
            parts.extend([password.to_owned(), login]);
        }
    }
    if token.len() < value.len() {
        parts.push(token.to_owned());
    }
    parts
}

/// The longer lines of a secret that has several; their ends may be written as escapes, as in JSON or in a `.env`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().flat_map(|line| line.split("\\n"));
    let lines = lines.map(|line| line.trim_end_matches("\\r").trim());
    lines.filter(|line| {
        (SHORTEST_LINE..text.len()).contains(&line.len()) && !line.starts_with(AROUND_KEY)
    })
}

fn behind_scheme(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once(|sign: char| sign.is_ascii_whitespace())?;
    let rest = rest.trim_ascii_start();
    let is_known = SCHEMES.iter().any(|it| word.eq_ignore_ascii_case(it));
    let is_name = |sign: u8| sign.is_ascii_alphanumeric() || sign == b'-' || sign == b'_';
    let is_token = |text: &str| {
        let mut signs = text.bytes();
        signs.all(|sign| !sign.is_ascii_whitespace())
            && text.bytes().any(|it| !it.is_ascii_alphabetic())
    };
    let is_scheme = is_known || (!word.is_empty() && word.bytes().all(is_name) && is_token(rest));
    is_scheme.then_some(rest)
}

fn parameters(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split([',', ';', ' ']);
    pieces.filter_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        let name = name.to_ascii_lowercase();
        let is_secret = PARAMETERS.iter().any(|end| name.ends_with(end));
        is_secret.then(|| value.trim_matches('"'))
    })
}

/// A text in base64.
fn decoded(text: &str) -> Option<String> {
    String::from_utf8(bytes_of(text)?).ok()
}

/// What a text stands for in base64, if it is as long as keys are.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    bytes_of(text).filter(|bytes| bytes.len() >= FEWEST_BYTES)
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    ALPHABETS.iter().find_map(|it| it.decode(text).ok())
}

/// Behind a name, which is neither the beginning of a URL nor of JSON.
fn password(text: &str) -> Option<&str> {
    let (user, password) = text.split_once(':')?;
    let is_name = |sign: char| !sign.is_control() && !"\"'{}[]<>()\\/,;=".contains(sign);
    (user.chars().all(is_name) && !password.starts_with("//")).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(value: &str) -> Vec<String> {
        let mut parts = parts(value);
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    #[test]
    fn a_credential_is_more_than_one_secret() {
        let basic = "dXNlcjpwYXNzLVFxNzc=";
        let url_safe = "dXNlcjo_Pz8-Pj4-cHc";
        for (value, expected) in [
            ("Bearer tok-1", &["tok-1"][..]),
            ("bearer  Bearer\ttok-1", &["tok-1"]),
            ("Token tok-1", &["tok-1"]),
            ("ApiKey letters", &["letters"]),
            ("Vendor-V2 tok1", &["tok1"]),
            ("user:pass-Qq77", &["pass-Qq77"]),
            (":pass", &["pass"]),
            ("user:a:b c", &["a:b c"]),
            (basic, &["pass-Qq77", "user:pass-Qq77"]),
            (
                &format!("Basic {basic}"),
                &[basic, "pass-Qq77", "user:pass-Qq77"],
            ),
            (url_safe, &["???>>>>pw", "user:???>>>>pw"]),
            ("Bearer user:pw", &["pw", "user:pw"]),
            (
                "Token token=\"abc\", email=\"a@example.com\"",
                &["abc", "token=\"abc\", email=\"a@example.com\""],
            ),
            ("v=1;session_token=abc", &["abc"]),
        ] {
            assert_eq!(sorted(value), expected, "{value}");
        }
    }

    #[test]
    fn each_longer_line_is_a_secret() {
        let (one, two) = ("MIIEvQIBADANBgkq", "hkiG9w0BAQEFAASC");
        let pem = |end: &str| {
            let key = "-----BEGIN PRIVATE KEY-----";
            [key, one, two, "Qw==", "-----END PRIVATE KEY-----"].join(end)
        };
        let lines = |text: &str| lines(text).map(str::to_owned).collect::<Vec<_>>();
        for end in ["\n", "\r\n", "\n  ", "\\n", "\\r\\n"] {
            assert_eq!(lines(&pem(end)), [one, two], "{end:?}");
        }
        let document = format!("{{\"private_key\":\"{}\"}}", pem("\\n"));
        let begin = "{\"private_key\":\"-----BEGIN PRIVATE KEY-----";
        assert_eq!(lines(&document), [begin, one, two]);
        assert_eq!(lines("one line of a secret"), [""; 0]);
    }

    #[test]
    fn what_has_no_scheme_and_no_name_is_one_secret() {
        for value in [
            "",
            "sk-a/b+c==",
            "Bearer",
            "correct horse",
            "correct horse battery 1",
            "https://user.example/hook",
            r#"{"type":"service_account","private_key":"x"}"#,
            "eyJhbGciOiJIUzI1NiJ9",
            "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
            "\u{e9}t\u{e9} \u{e9}t\u{e9}",
        ] {
            assert_eq!(sorted(value), [""; 0], "{value}");
        }
    }

    #[test]
    fn many_words_before_a_token_are_one_step() {
        let many = "Bearer ".repeat(1000) + "tok-1";
        assert_eq!(sorted(&many), ["tok-1"]);
    }
}
