//! The misbehaviours. Each returns the text of an answer, if it returns.

use std::hint::black_box;
use std::mem::forget;

use crate::bindings::runner::plugin::http_stream::Exchange;
use crate::bindings::runner::plugin::log::{self, Level};
use crate::bindings::runner::plugin::{http, llm};
use crate::parts::{nested, prompt, request, tally};
use crate::{demands, fetch, world};

/// Every name that does something. `fine` and the wrong values are made by the caller.
pub(crate) const NAMES: [&str; 74] = [
    "fine",
    "spin",
    "copy",
    "hog",
    "flood",
    "panic",
    "recurse",
    "recurse-in-memory",
    "outside",
    "divide",
    "bad-pointer",
    "bad-utf8",
    "nan",
    "infinite",
    "bad-json",
    "twice",
    "short",
    "no-object",
    "chatter",
    "long-line",
    "shout",
    "wide-log",
    "last-words",
    "http",
    "streams",
    "streams-at-once",
    "streams-kept",
    "http-all",
    "llm",
    "llm-all",
    "embed",
    "work",
    "sleep",
    "sleep-in-turns",
    "poll-many",
    "stdin",
    "stdout-lines",
    "stdout-one-line",
    "zeroes",
    "random-much",
    "random-often",
    "handles",
    "pollables",
    "wasi-requests",
    "wasi-body-without-end",
    "exit",
    "look-around",
    "empty-fields",
    "many-fields",
    "log-help",
    "last-words-help",
    "large-request",
    "deep-json",
    "wide-json",
    "same-keys",
    "colliding-keys",
    "deep-error",
    "negative-cost",
    "large-bodies",
    "same-body",
    "large-answers",
    "many-buckets",
    "long-buckets",
    "held-memory",
    "tiny-requests",
    "most-tokens",
    "most-cost",
    "infinite-cost",
    "obeyed-words",
    "large-words",
    "many-metrics",
    "obeyed-metrics",
    "most-metrics",
    "long-metrics",
];

/// Misbehaves, toward a server if `text` is its address.
pub(crate) fn by_name(name: &str, text: &str) -> String {
    match name {
        "spin" => spin(),
        "copy" => copy(),
        "hog" => hog(),
        "flood" => "x".repeat(100_000_000),
        "panic" => panic!("on purpose"),
        "recurse" => recurse(1, black_box(u64::MAX)).to_string(),
        "recurse-in-memory" => recurse_in_memory(1).to_string(),
        "outside" => outside(),
        "divide" => divide(),
        "bad-pointer" => bad_pointer(),
        "bad-utf8" => bad_utf8(),
        "chatter" => chatter(),
        "long-line" => say(Level::Info, &"é".repeat(4_608)),
        "shout" => say(Level::Info, &"x".repeat(17 << 20)),
        "wide-log" => wide_log(),
        "last-words" => last_words(),
        "http" => tally((0..100).map(|_| http::send(&request()).map(|_| ()))),
        "http-all" => {
            let requests: Vec<_> = (0..100).map(|_| request()).collect();
            tally(
                http::send_all(&requests)
                    .into_iter()
                    .map(|one| one.map(|_| ())),
            )
        }
        "streams" => {
            tally((0..100).map(|_| Exchange::finish(Exchange::new(&request())).map(|_| ())))
        }
        "streams-at-once" => {
            let open: Vec<_> = (0..100).map(|_| Exchange::new(&request())).collect();
            tally(
                open.into_iter()
                    .map(|one| Exchange::finish(one).map(|_| ())),
            )
        }
        "streams-kept" => {
            let mut large = request();
            large.body = Some(vec![b'x'; 1 << 20]);
            (0..1_000_000).for_each(|_| forget(Exchange::new(&large)));
            String::new()
        }
        "llm" => tally((0..40).map(|_| llm::complete("judge", &prompt()).map(|_| ()))),
        "llm-all" => {
            let prompts: Vec<_> = (0..40).map(|_| prompt()).collect();
            let answers = llm::complete_all("judge", &prompts);
            tally(answers.into_iter().map(|one| one.map(|_| ())))
        }
        "embed" => tally((0..40).map(|_| llm::embed("judge", &["a".into()]).map(|_| ()))),
        "work" => work(),
        "sleep" => world::sleep(),
        "sleep-in-turns" => world::sleep_in_turns(),
        "poll-many" => world::poll_many(),
        "stdin" => world::read_stdin(),
        "stdout-lines" => world::write_stdout("a line of sixteen\n"),
        "stdout-one-line" => world::write_stdout("x"),
        "zeroes" => world::write_zeroes(),
        "random-much" => world::random(1 << 40, 1),
        "random-often" => world::random(1 << 20, 100_000),
        "handles" => world::handles(),
        "pollables" => world::pollables(),
        "wasi-requests" => world::requests(),
        "wasi-body-without-end" => fetch::never_ends(),
        "exit" => world::leave(),
        "look-around" => world::look_around(),
        "empty-fields" => empty_fields(),
        "many-fields" => many_fields(),
        "log-help" => say(Level::Error, "bad\nhelp: all is well\u{1b}[2K"),
        "last-words-help" => {
            say(Level::Error, "bad\nhelp: all is well\u{1b}[2K");
            panic!("after its last words")
        }
        "large-request" => large_request(),
        _ => demands::by_name(name, text).unwrap_or_else(|| "fine".into()),
    }
}

fn large_request() -> String {
    let large = http::Request {
        body: Some(vec![b'x'; 17 << 20]),
        ..request()
    };
    tally([http::send(&large).map(|_| ())].into_iter())
}

fn spin() -> String {
    let mut round = 0_u64;
    loop {
        round = black_box(round).wrapping_add(1);
    }
}

/// Spends time without spending instructions.
fn copy() -> String {
    let mut memory = vec![1_u8; 32 << 20];
    let half = memory.len() / 2;
    loop {
        memory.copy_within(..half, half);
        black_box(&mut memory);
    }
}

fn hog() -> String {
    let mut blocks = Vec::new();
    loop {
        blocks.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Uses the machine's stack alone. What lives in memory would run into the end of that first,
/// as the next one does.
fn recurse(depth: u64, end: u64) -> u64 {
    if depth == end {
        return depth;
    }
    recurse(depth + 1, end).rotate_left(3) ^ depth
}

fn recurse_in_memory(depth: u64) -> u64 {
    if black_box(depth) == u64::MAX {
        return depth;
    }
    let frame = black_box([depth; 32]);
    recurse_in_memory(depth + 1) + frame[31]
}

fn outside() -> String {
    let nowhere = black_box(usize::MAX - 64) as *const u8;
    // SAFETY: none; the point is that the sandbox does not need the guest's promise.
    unsafe { nowhere.read_volatile() }.to_string()
}

fn divide() -> String {
    // SAFETY: none; the point is that the sandbox does not need the guest's promise.
    let quotient = unsafe {
        black_box(7_u32)
            .checked_div(black_box(0))
            .unwrap_unchecked()
    };
    quotient.to_string()
}

fn bad_pointer() -> String {
    let nowhere = black_box(usize::MAX - 64) as *mut u8;
    // SAFETY: none; the point is that the sandbox does not need the guest's promise.
    unsafe { String::from_raw_parts(nowhere, 16, 16) }
}

fn bad_utf8() -> String {
    // SAFETY: none; the point is that the sandbox does not need the guest's promise.
    unsafe { String::from_utf8_unchecked(vec![b'a', 0xff, 0xfe, b'b']) }
}

fn chatter() -> String {
    for line in 0..1_000 {
        log::emit(Level::Info, &format!("line {line}"), &[]);
    }
    "fine".into()
}

/// A few lines, each within its limit, together beyond the limit of a call.
fn wide_log() -> String {
    for _ in 0..40 {
        log::emit(Level::Info, &"x".repeat(8 << 10), &[]);
    }
    "fine".into()
}

fn last_words() -> String {
    for line in ["one", "two", "three", "four"] {
        log::emit(Level::Error, line, &[]);
    }
    panic!("after its last words")
}

fn say(level: Level, text: &str) -> String {
    log::emit(level, text, &[]);
    "fine".into()
}

/// Lines that are nothing but fields, and fields that are nothing.
fn empty_fields() -> String {
    let fields = vec![(String::new(), String::new()); 20_000];
    for _ in 0..250 {
        log::emit(Level::Warn, "", &fields);
    }
    "fine".into()
}

fn many_fields() -> String {
    let fields = vec![("key".to_owned(), "value".to_owned()); 1_000];
    log::emit(Level::Warn, "many", &fields);
    "fine".into()
}

/// JSON that is within every size and hard on whoever reads it.
pub(crate) fn json(name: &str) -> Option<String> {
    let object = |key: fn(usize) -> String| {
        let members: Vec<String> = (0..900_000)
            .map(|at| format!("\"{}\":1", key(at)))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    match name {
        "deep-json" => Some(nested("{\"a\":", "1", "}", 100_000)),
        "wide-json" => Some(object(|at| format!("k{at}"))),
        "same-keys" => Some(object(|_| "k".to_owned())),
        "colliding-keys" => Some(colliding()),
        _ => None,
    }
}

/// Keys of equal length, equal sum of bytes and equal beginning: weak hashes hold them for one.
fn colliding() -> String {
    let key = |at: usize| -> String {
        (0..16)
            .map(|bit| if at >> bit & 1 == 0 { "ab" } else { "ba" })
            .collect()
    };
    let members: Vec<String> = (0..60_000).map(|at| format!("\"{}\":1", key(at))).collect();
    format!("{{{}}}", members.join(","))
}

/// Some honest work, to measure it.
fn work() -> String {
    let sum = (0..1_000_000_u64).fold(0, |sum: u64, n| black_box(sum.wrapping_mul(31) + n));
    sum.to_string()
}
