//! The results file in promptfoo's version 3 shape as YAML, streamed; and YAML for people.
//!
//! Blocks for maps and lists, and texts in double quotes with JSON's escapes, which YAML has as
//! well: whatever a model wrote comes back as it was, with every reader of YAML 1.2. Plain texts
//! and `|` blocks would read better and go wrong in a dozen ways (`no`, `1e3`, `- `, trailing
//! spaces, tabs), so only what is beyond doubt is written plain.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::{Value, json};

use super::{Run, instant, json};
use crate::visible;

/// Words that some reader takes for a truth value or nothing.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
/// Bytes of a key that may do without `?`; YAML's own bound is 1024 characters.
const IMPLICIT_KEY: usize = 1_000;
/// Characters of a text without quotes.
const PLAIN_CHARS: usize = 80;

/// Writes the document.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let timestamp = instant(run.started_at_ms);
    out.write_all(block(&json!({ "evalId": run.summary.run_id }), 0).as_bytes())?;
    out.write_all(b"results:\n")?;
    let head = json!({
        "version": 3,
        "timestamp": timestamp,
        "prompts": json::prompts(run.columns, run.summary),
    });
    out.write_all(block(&head, 2).as_bytes())?;
    let mut records = run.records.open()?.peekable();
    let opening: &[u8] = match records.peek() {
        Some(_) => b"  results:\n",
        None => b"  results: []\n",
    };
    out.write_all(opening)?;
    for record in records {
        let record: Value = serde_json::from_str(&record?)?;
        out.write_all(block(&json!([record]), 4).as_bytes())?;
    }
    let mut tail = json!({ "stats": json::stats(run.summary) });
    if !run.summary.repeats.is_empty() {
        tail["repeats"] = run.summary.repeats.to_json();
    }
    if !run.summary.tasks.is_empty() {
        tail["tasks"] = json::tasks(run.summary);
    }
    out.write_all(block(&tail, 2).as_bytes())?;
    let end = json!({
        "config": run.config,
        "shareableUrl": null,
        "metadata": json::metadata(&timestamp),
    });
    out.write_all(block(&end, 0).as_bytes())?;
    Ok(())
}

/// `value` as lines, each `indent` spaces in.
pub(crate) fn block(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    lines(&mut text, value, indent, true);
    text
}

/// Writes `value`; `fresh`: at the beginning of a line, otherwise after a dash.
fn lines(text: &mut String, value: &Value, indent: usize, mut fresh: bool) {
    let mut begin = |text: &mut String| {
        if fresh {
            text.push_str(&" ".repeat(indent));
        }
        fresh = true;
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                begin(text);
                let name = scalar(name);
                if name.len() > IMPLICIT_KEY {
                    let _ = write!(text, "? {name}\n{}", " ".repeat(indent));
                } else {
                    text.push_str(&name);
                }
                text.push(':');
                below(text, value, indent + 2);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                begin(text);
                text.push_str("- ");
                lines(text, item, indent + 2, false);
            }
        }
        other => {
            begin(text);
            text.push_str(&leaf(other));
            text.push('\n');
        }
    }
}

/// Writes what stands behind `name:`.
fn below(text: &mut String, value: &Value, indent: usize) {
    let nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        text.push('\n');
        lines(text, value, indent, true);
    } else {
        text.push(' ');
        text.push_str(&leaf(value));
        text.push('\n');
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(string) => scalar(string),
        Value::Number(number) => figure(number.to_string()),
        // A truth value, nothing, `{}` or `[]`: YAML has them as JSON has.
        other => other.to_string(),
    }
}

/// `1e-7` as `1.0e-7` and `1e30` as `1.0e+30`: without point and sign, readers of YAML 1.1 take
/// it for text.
fn figure(number: String) -> String {
    match number.split_once('e') {
        None => number,
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            let exponent = exponent.trim_start_matches('+');
            format!("{mantissa}{point}e{sign}{exponent}")
        }
    }
}

/// A text: plain where no reader can take it for anything else, otherwise in quotes.
fn scalar(string: &str) -> String {
    let begins = string.starts_with(|c: char| c.is_ascii_alphabetic());
    let tame = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let reserved = RESERVED
        .iter()
        .any(|word| string.eq_ignore_ascii_case(word));
    let plain = begins && string.len() <= PLAIN_CHARS && string.chars().all(tame);
    if plain && !reserved {
        return string.to_owned();
    }
    let quoted = Value::from(string).to_string();
    if quoted.chars().all(printable) {
        return quoted;
    }
    quoted.chars().fold(String::new(), |mut text, c| {
        if printable(c) {
            text.push(c);
        } else {
            // Writing to a string can't fail.
            let _ = match u32::from(c) {
                code @ 0x1_0000.. => write!(text, "\\U{code:08x}"),
                code => write!(text, "\\u{code:04x}"),
            };
        }
        text
    })
}

/// Whether YAML allows the character in a text, no reader takes it for a line's end, and no
/// terminal obeys it.
fn printable(c: char) -> bool {
    !c.is_control()
        && !visible::is_obeyed(c)
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_in_blocks() {
        let value = json!({
            "a": 1, "empty": {}, "none": [], "list": ["x", ["z", 2], { "b": null, "c": { "d": true } }],
            "text": "two\nlines: #", "no": "no", "key with space": "1e3", "\u{7f}": "\u{2028}\u{1f600}",
        });
        assert_eq!(
            block(&value, 0),
            "\
a: 1
empty: {}
none: []
list:
  - x
  - - z
    - 2
  - b: null
    c:
      d: true
text: \"two\\nlines: #\"
\"no\": \"no\"
\"key with space\": \"1e3\"
\"\\u007f\": \"\\u2028😀\"
"
        );
    }

    #[test]
    fn numbers_with_exponents_are_numbers_to_old_readers() {
        let cases = [
            (json!(1e-7), "1.0e-7"),
            (json!(1e30), "1.0e+30"),
            (json!(-1.5e-9), "-1.5e-9"),
            (json!(0.25), "0.25"),
        ];
        for (number, text) in cases {
            assert_eq!(leaf(&number), text);
        }
    }

    /// Reads a config whose `metadata` is `value`, read by the program's own reader of YAML.
    fn read_back(value: &Value) -> anyhow::Result<Value> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("promptfooconfig.yaml");
        let config = json!({ "prompts": ["x"], "providers": ["echo"], "metadata": value });
        std::fs::write(&path, block(&config, 0))?;
        let request = runner_config::LoadRequest {
            config_files: vec![path],
            cwd: folder.path().to_owned(),
            ..runner_config::LoadRequest::default()
        };
        let catalog = runner_config::Catalog {
            provider_prefixes: [("echo".to_owned(), "echo".to_owned())].into(),
            ..runner_config::Catalog::default()
        };
        let (config, _) = runner_config::load(&request)?;
        let (plan, _) = config.plan(&catalog)?;
        Ok(plan.config_json["metadata"].clone())
    }

    #[test]
    fn whatever_is_written_is_read_back_as_it_was() -> anyhow::Result<()> {
        let texts = [
            "",
            " ",
            "~",
            "null",
            "yes",
            "No",
            "on",
            "1",
            "-1",
            "1e3",
            "0x1f",
            "0o17",
            ".5",
            ".inf",
            "1:30",
            "2024-01-02",
            "- a",
            "? a",
            ": a",
            "a: b",
            "a #b",
            "#",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%",
            "@",
            "`",
            "'",
            "\"",
            "\\",
            "[",
            "{a}",
            "...",
            "---",
            "a\nb",
            "a\r\nb",
            "\ta",
            "a ",
            "\u{0}\u{1b}",
            "\u{7f}\u{85}",
            "\u{2028}\u{2029}",
            "\u{feff}",
            "\u{fffe}\u{ffff}",
            "\u{202e}",
            "😀",
            "<<",
            "=",
        ];
        let mut value = json!({ "list": texts.to_vec(), "deep": [[{ "a": [] }, {}], -0.25, 1e-9, 1e300, u64::MAX, i64::MIN, true, null] });
        for (idx, text) in texts.into_iter().enumerate() {
            // `<<` merges maps and `$ref` is followed: no names of anything that is exported.
            if text != "<<" {
                value["keys"][text] = json!({ "n": idx });
            }
        }
        assert_eq!(read_back(&value)?, value);
        Ok(())
    }

    #[test]
    fn a_long_key_is_marked_as_one() -> anyhow::Result<()> {
        let key = "k".repeat(2_000);
        let text = block(&json!({ key.as_str(): { "a": 1 } }), 0);
        assert_eq!(text, format!("? \"{key}\"\n:\n  a: 1\n"));
        let value = json!({ key.as_str(): "x", "b": { key.as_str(): [1] } });
        assert_eq!(read_back(&value)?, value);
        Ok(())
    }

    #[test]
    fn only_words_beyond_doubt_go_without_quotes() {
        for plain in ["contains", "gpt-4o.mini", "a/b_c"] {
            assert_eq!(scalar(plain), plain);
        }
        for text in [
            "", "True", "n", "~", "1", "-", "a: b", "a #b", "0x1f", "ä", ".nan", " a",
        ] {
            assert_eq!(scalar(text), format!("\"{text}\""));
        }
    }
}
