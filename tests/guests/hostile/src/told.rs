//! Calls of the host's imports that a text says: so that any are made, and a component is compiled
//! once for all of them.
//!
//! A line is an import, how often it is called, and its texts, with tabs between: `log`, a level,
//! the message, then names and values in turn; `send` or `send-all`, method, URL, credential, body,
//! then headers in turn; `ask` or `ask-all`, target, prompt, options; `embed`, target, inputs; or a
//! name of `system.rs`, a number, a text.

use crate::bindings::runner::plugin::http::{self, CacheMode};
use crate::bindings::runner::plugin::llm;
use crate::bindings::runner::plugin::log::{self, Level};
use crate::bindings::runner::plugin::types::{Error, Pair, Request};
use crate::parts::{prompt, request, tally};
use crate::system;

/// Calls of one line at most: each limit is below.
const MOST: usize = 1_000;

/// Does what the text says; gives what came of the last calls.
pub(crate) fn follow(text: &str) -> String {
    text.lines().fold(String::new(), |_, one| line(one))
}

fn line(line: &str) -> String {
    let mut texts = line.split('\t').map(str::to_owned);
    let mut next = || texts.next().unwrap_or_default();
    let (import, times) = (next(), next().parse().unwrap_or(1).min(MOST));
    let each = |call: &dyn Fn() -> Result<(), Error>| tally((0..times).map(|_| call()));
    match import.as_str() {
        "log" => {
            let (level, message) = (level(&next()), next());
            let fields = pairs(texts);
            each(&|| {
                log::emit(level, &message, &fields);
                Ok(())
            })
        }
        "send" | "send-all" => {
            let request = http::Request {
                method: next(),
                url: next(),
                credential: Some(next()).filter(|name| !name.is_empty()),
                body: Some(next().into_bytes()).filter(|body| !body.is_empty()),
                headers: pairs(texts),
                cache: CacheMode::Auto,
                ..request()
            };
            if import == "send" {
                return each(&|| http::send(&request).map(drop));
            }
            let responses = http::send_all(&vec![request; times]);
            tally(responses.into_iter().map(|one| one.map(drop)))
        }
        "ask" | "ask-all" => {
            let target = next();
            let request = Request {
                prompt: next(),
                options_json: Some(next()).filter(|options| !options.is_empty()),
                ..prompt()
            };
            if import == "ask" {
                return each(&|| llm::complete(&target, &request).map(drop));
            }
            let answers = llm::complete_all(&target, &vec![request; times]);
            tally(answers.into_iter().map(|one| one.map(drop)))
        }
        "embed" => {
            let target = next();
            let inputs: Vec<String> = texts.collect();
            each(&|| llm::embed(&target, &inputs).map(drop))
        }
        name => {
            let (number, text) = (next().parse().unwrap_or_default(), next());
            let figures = (0..times).map_while(|_| system::call(name, number, text.as_bytes()));
            figures.fold(0, u64::wrapping_add).to_string()
        }
    }
}

fn level(word: &str) -> Level {
    match word {
        "trace" => Level::Trace,
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    }
}

fn pairs(mut texts: impl Iterator<Item = String>) -> Vec<Pair> {
    let pair = || Some((texts.next()?, texts.next().unwrap_or_default()));
    std::iter::from_fn(pair).collect()
}
