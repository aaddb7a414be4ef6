//! The lines between a worker and its driver. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;

/// How loud a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For whoever looks for a mistake.
    Debug,
    /// What code prints.
    Info,
    /// What it prints as a warning, and standard error.
    Warn,
    /// What it prints as an error.
    Error,
}

/// A line that a program printed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LogLine {
    /// How loud.
    pub level: Level,
    /// Without its line break.
    pub text: String,
}

/// How code failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CodeFailure {
    /// As the language says it: `TypeError: x is not a function`.
    pub message: String,
    /// The file in which it failed, where that is known.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// Column in it, from 1.
    pub column: Option<u32>,
    /// The calls that led there, innermost first, one a line.
    pub stack: Option<String>,
    /// It did not begin: a package that it imports is not there, or the function that is meant.
    #[serde(default)]
    pub missing: bool,
}

/// What a driver says.
#[derive(Debug)]
pub(crate) enum DriverMessage {
    /// It waits for calls.
    Ready,
    /// It is not blocked: the answer to a [`ping`].
    Pong(u64),
    /// A log line, of a call or of none.
    Log(Option<u64>, LogLine),
    /// Standard error has nothing more of a call.
    Quiet(u64),
    /// A call has ended.
    Ended(u64, Result<Option<Box<RawValue>>, CodeFailure>),
}

#[derive(Deserialize)]
struct Message {
    ready: Option<bool>,
    pong: Option<u64>,
    quiet: Option<u64>,
    id: Option<u64>,
    log: Option<LogLine>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Box<RawValue>>,
    error: Option<CodeFailure>,
}

/// A value that is there, also if it is null.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a line; `None` if it is no message of a driver that knows the token, but something that the
/// user's code, or what it started, wrote past it.
pub(crate) fn read(line: &[u8], token: &str) -> Option<DriverMessage> {
    let message = line.strip_prefix(token.as_bytes())?;
    let message: Message = serde_json::from_slice(message).ok()?;
    match message {
        Message { ready: Some(_), .. } => Some(DriverMessage::Ready),
        Message {
            pong: Some(pong), ..
        } => Some(DriverMessage::Pong(pong)),
        Message {
            quiet: Some(id), ..
        } => Some(DriverMessage::Quiet(id)),
        Message {
            log: Some(log), id, ..
        } => Some(DriverMessage::Log(id, log)),
        Message {
            id: Some(id),
            error: Some(report),
            ..
        } => Some(DriverMessage::Ended(id, Err(report))),
        Message {
            id: Some(id),
            value,
            ..
        } => Some(DriverMessage::Ended(id, Ok(value))),
        _ => None,
    }
}

/// The first line to a driver: `setup` is one JSON text.
pub(crate) fn hello(token: &str, setup: &str) -> String {
    format!("{{\"token\":\"{token}\",\"setup\":{setup}}}\n")
}

/// A call: `call` is one JSON text. What Node.js takes for the end of a line beside `\n` is escaped: it can
/// stand in texts alone, where that means the same.
pub(crate) fn call(id: u64, call: &str) -> String {
    let call = call
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    format!("{{\"id\":{id},\"call\":{call}}}\n")
}

/// Asks a driver whether it is blocked.
pub(crate) fn ping(number: u64) -> String {
    format!("{{\"ping\":{number}}}\n")
}

/// Tells it that nobody waits for a call any more.
pub(crate) fn cancel(id: u64) -> String {
    format!("{{\"cancel\":{id}}}\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_call_is_one_line_for_every_reader_of_lines() {
        let text = serde_json::json!({ "a": "x\u{2028}y\u{2029}z\r\n" });
        let line = call(7, &text.to_string());
        assert_eq!(
            line.matches(['\n', '\r', '\u{2028}', '\u{2029}']).count(),
            1,
            "{line}"
        );
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["call"], text);
    }

    #[test]
    fn a_driver_is_known_by_its_token() {
        let ended = read(b"t0{\"id\": 3, \"value\": {\"a\": 1}}", "t0");
        let Some(DriverMessage::Ended(3, Ok(Some(value)))) = ended else {
            panic!("{ended:?}");
        };
        assert_eq!(value.get(), "{\"a\": 1}");
        for stray in [
            &b"{\"id\": 3, \"value\": 1}"[..],
            b"t1{\"id\": 3}",
            b"",
            b"t0",
            b"t0 7",
        ] {
            assert!(read(stray, "t0").is_none(), "{stray:?}");
        }
    }

    #[test]
    fn no_value_is_not_null() {
        let value = |line: &str| match read(line.as_bytes(), "") {
            Some(DriverMessage::Ended(1, Ok(value))) => value.map(|value| value.get().to_owned()),
            other => panic!("{other:?}"),
        };
        assert_eq!(value("{\"id\":1}"), None);
        assert_eq!(value("{\"id\":1,\"value\":null}").as_deref(), Some("null"));
    }

    #[test]
    fn a_failure_says_what_and_where() {
        let line = "{\"id\":1,\"error\":{\"message\":\"E: no\",\"file\":\"/a.py\",\"line\":3}}";
        let Some(DriverMessage::Ended(1, Err(report))) = read(line.as_bytes(), "") else {
            panic!("no report");
        };
        assert_eq!((report.message.as_str(), report.line), ("E: no", Some(3)));
    }

    proptest! {
        #[test]
        fn any_line_can_be_read(line in ".{0,80}") {
            let _ = read(line.as_bytes(), "");
        }
    }
}
