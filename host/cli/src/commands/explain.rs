//! `runner explain`: what the codes and words of messages mean, for whoever has the program alone.

use runner_config::misspelt;
use runner_eval::failure;
use runner_sandbox::{Explanation, MessageCode};
use serde_json::{Value, json};

use super::CommandContext;
use crate::arguments::Explain;
use crate::exit::{EXPLAINED, SUCCESS};
use crate::failure::Failure;
use crate::listing::{self, Side};
use crate::stdout;

/// A code as it is written, with what it means.
type Explained = (String, &'static Explanation);

/// Explains one, or lists all.
pub(super) fn run(arguments: &Explain, setting: &CommandContext) -> Result<u8, Failure> {
    match (&arguments.code, arguments.json) {
        (None, true) => stdout::json(&Value::Array(all().iter().map(as_json).collect()))?,
        (None, false) => stdout::print(&list(setting.terminal.width))?,
        (Some(code), true) => stdout::json(&as_json(&of(code)?))?,
        (Some(code), false) => stdout::print(&told(&of(code)?, setting.terminal.width))?,
    }
    Ok(SUCCESS)
}

/// Codes of plugins, words of rows, exit codes.
fn all() -> Vec<Explained> {
    let codes = MessageCode::all().map(|code| (code.to_string(), code.explanation()));
    let words = failure::explained().map(|(word, meant)| (word.to_owned(), meant));
    let exits = EXPLAINED
        .iter()
        .map(|(code, meant)| (code.to_string(), meant));
    codes.chain(words).chain(exits).collect()
}

fn of(code: &str) -> Result<Explained, Failure> {
    let all = all();
    // Messages have it with a colon, and a person may write it small.
    let code = code.trim_end_matches(':');
    let found = all
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(code));
    found.cloned().ok_or_else(|| {
        let known = all.iter().map(|(known, _)| known.as_str());
        let help = match misspelt(code, known) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "`runner explain` lists them".to_owned(),
        };
        Failure::usage(format!("no code is called {code}")).help(help)
    })
}

fn as_json((code, meant): &Explained) -> Value {
    json!({ "code": code, "what": meant.what, "why": meant.why, "todo": meant.todo })
}

fn told((code, meant): &Explained, width: u16) -> String {
    let what = format!("{code}: {}", meant.what);
    let todo = format!("What to do: {}", meant.todo);
    let paragraphs = [what.as_str(), meant.why, &todo];
    let wrapped = paragraphs.map(|text| wrapped(text, usize::from(width)));
    wrapped.join("\n")
}

/// Lines of at most `width` characters, or of one word.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let wide = word.chars().count();
        if length > 0 && length + 1 + wide > width {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += wide;
    }
    lines + "\n"
}

fn list(width: u16) -> String {
    let rows: Vec<Vec<String>> = all()
        .into_iter()
        .map(|(code, meant)| vec![code, meant.what.to_owned()])
        .collect();
    listing::render(&[("code", Side::Left), ("", Side::Left)], &rows, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_written_alike() {
        let mut codes: Vec<String> = all().into_iter().map(|(code, _)| code).collect();
        let count = codes.len();
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }

    #[test]
    fn a_code_is_found_as_messages_have_it_and_a_slip_is_answered() {
        for written in ["C103", "c103", "C103:"] {
            assert!(
                of(written).is_ok_and(|(code, _)| code == "C103"),
                "{written}"
            );
        }
        let refused = of("rate-limted").expect_err("there is none").render();
        assert_eq!(
            refused,
            "error: no code is called rate-limted\nhelp: did you mean rate-limited?"
        );
    }

    #[test]
    fn lines_keep_to_the_width() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree\n");
        assert_eq!(wrapped("extraordinary", 5), "extraordinary\n");
    }
}
