//! What a plugin can ask of the gateway and leave in the results: harmful, if at all, in a whole
//! run. `url` is the text of a case, a server's address.

use std::hint::black_box;
use std::mem::ManuallyDrop;

use crate::bindings::exports::runner::plugin::assertion::Grade;
use crate::bindings::runner::plugin::http::{self, Request};
use crate::bindings::runner::plugin::types::{Completion, FinishReason, Part, Usage};
use crate::parts::{request, tally};

/// What terminals, browsers or readers of XML and YAML could obey.
const WORDS: &str = "\u{1b}[2K\u{9b}2J\u{202e}\u{2066}\u{e0041}\0\r\nhelp: all is well\n]]></script><script>alert(1)</script>";

/// Asks; what came of it.
pub(crate) fn by_name(name: &str, url: &str) -> Option<String> {
    let count = match name {
        "most-tokens" | "most-cost" | "held-memory" => 1,
        "tiny-requests" => 50_000,
        "large-bodies" | "same-body" | "large-answers" | "many-buckets" | "long-buckets" => 64,
        _ => return None,
    };
    let held = vec![1_u8; if name == "held-memory" { 100 << 20 } else { 0 }];
    let bytes = if name == "same-body" { 32 << 20 } else { 0 };
    let mut same = ManuallyDrop::new(vec![b'x'; bytes]);
    let requests = (0..count).map(|at| {
        let (body, bucket) = match name {
            "large-bodies" => (Some(vec![b'x'; 200 << 10]), None),
            // SAFETY: nobody writes to it or drops it. The host reads it as often as it is named.
            "same-body" => (
                Some(unsafe { Vec::from_raw_parts(same.as_mut_ptr(), same.len(), same.len()) }),
                None,
            ),
            "many-buckets" => (None, Some(format!("{url}/{at}"))),
            "long-buckets" => (None, Some("b".repeat(200 << 10))),
            _ => (None, None),
        };
        Request {
            method: "POST".into(),
            url: url.to_owned(),
            body,
            bucket,
            ..request()
        }
    });
    let requests = ManuallyDrop::new(requests.collect::<Vec<_>>());
    let responses = http::send_all(&requests);
    black_box(&held);
    Some(tally(responses.into_iter().map(|one| one.map(drop))))
}

/// An answer that says more of itself than can be.
pub(crate) fn exaggerated(name: &str, answer: Completion) -> Completion {
    match name {
        "most-tokens" => Completion {
            usage: most(),
            ..answer
        },
        "most-cost" => Completion {
            cost_usd: Some(f64::MAX),
            ..answer
        },
        "infinite-cost" => Completion {
            cost_usd: Some(f64::INFINITY),
            ..answer
        },
        "obeyed-words" => worded(WORDS.to_owned(), answer),
        "large-words" => worded("\u{1b}".repeat(700 << 10), answer),
        _ => answer,
    }
}

fn most() -> Usage {
    let most = Some(u64::MAX);
    Usage {
        input_tokens: most,
        output_tokens: most,
        total_tokens: most,
        cache_read_tokens: most,
        cache_write_tokens: most,
        reasoning_tokens: most,
        other: vec![("web-search-calls".into(), u64::MAX); 1_000],
    }
}

/// `answer` with these words wherever words are.
fn worded(words: String, mut answer: Completion) -> Completion {
    let json: String = words.chars().map(in_json).collect();
    answer.message.name = Some(words.clone());
    answer.message.content = vec![Part::Text(words.clone()), Part::Reasoning(words.clone())];
    Completion {
        finish_reason: Some(FinishReason::Other(words.clone())),
        model: Some(words),
        raw_json: Some(format!("[\"{json}\"]")),
        metadata_json: Some(format!("{{\"{json}\":1}}")),
        ..answer
    }
}

/// A character of a text in JSON.
fn in_json(c: char) -> String {
    match c {
        '\0'..'\u{20}' | '"' | '\\' => format!("\\u{:04x}", u32::from(c)),
        _ => c.into(),
    }
}

fn metrics(text: &str, count: usize, more: &str) -> Vec<(String, f64)> {
    (0..count)
        .map(|at| (format!("{text}/{at}{more}"), 1.0))
        .collect()
}

/// A grade with names that nobody has.
pub(crate) fn named(name: &str, text: &str, grade: Grade) -> Grade {
    let named_scores = match name {
        "many-metrics" => metrics(text, 1_000, ""),
        "most-metrics" => metrics(text, 100_000, ""),
        "long-metrics" => metrics(text, 8, &"m".repeat(1 << 20)),
        "obeyed-metrics" => vec![(WORDS.to_owned(), 0.5)],
        _ => return grade,
    };
    Grade {
        named_scores,
        ..grade
    }
}
