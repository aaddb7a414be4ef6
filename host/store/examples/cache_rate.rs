//! How fast the cache answers and takes: the figures in the README.
//!
//! `cargo run --release -p runner-store --example cache_rate [-- RESPONSES [BYTES]]`
//!
//! `put` is the time until a response is confirmed: of one at a time, and per response with 100
//! on their way. `hit` and `miss` are lookups by one thread, in an order that no page cache of a
//! connection likes. `counted` and `file` are bytes per response, as the size limit counts them
//! and as the file has them.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use runner_store::{Cache, CacheLabels, CacheOptions, CachedResponse, Commit, Digest, OpenOptions};

/// Responses on their way at once.
const IN_FLIGHT: usize = 100;

/// An odd number without small factors: steps through all responses in a scattered order.
const STRIDE: u32 = 7919;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let responses = arguments.next().map_or(Ok(20_000), |text| text.parse())?;
    let bytes = arguments.next().map_or(Ok(2048), |text| text.parse())?;
    for (journal, wal) in [("wal", true), ("rollback", false)] {
        let figures = measure(wal, responses, bytes)?;
        writeln!(
            std::io::stdout(),
            "journal={journal} responses={responses} body_bytes={bytes} {figures}"
        )?;
    }
    Ok(())
}

fn measure(wal: bool, responses: u32, bytes: usize) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let options = CacheOptions {
        open: OpenOptions { wal },
        ..CacheOptions::default()
    };
    let cache = Cache::open(&folder.path().join("cache.db"), options)?;
    let alone = responses / 20;
    let prepared: Vec<_> = (0..responses)
        .map(|number| response(number, bytes))
        .collect();
    let mut prepared = (0..).zip(prepared);

    let began = Instant::now();
    for (number, response) in prepared.by_ref().take(alone as usize) {
        cache.put(key(number), labels(), response).wait()?;
    }
    let one_by_one = began.elapsed();

    let began = Instant::now();
    let mut commits: VecDeque<Commit> = VecDeque::new();
    for (number, response) in prepared {
        if commits.len() == IN_FLIGHT
            && let Some(commit) = commits.pop_front()
        {
            commit.wait()?;
        }
        commits.push_back(cache.put(key(number), labels(), response));
    }
    for commit in commits {
        commit.wait()?;
    }
    let together = began.elapsed();

    let look_up = |from: u32| {
        let began = Instant::now();
        let scattered = (0..responses).map(|number| from + number * STRIDE % responses);
        let found = scattered.filter(|number| cache.get(&key(*number), 0).is_some());
        (found.count(), began.elapsed())
    };
    let (hits, hitting) = look_up(0);
    let (strangers, missing) = look_up(responses);
    if strangers != 0 {
        return Err("a response was found that was never stored".into());
    }
    let stats = cache.stats()?;
    drop(cache);
    let file = std::fs::metadata(&stats.path)?.len();
    let each = |time: Duration, number: u32| time.as_secs_f64() * 1e6 / f64::from(number.max(1));
    Ok(format!(
        "put_us_alone={:.0} put_us_of_{IN_FLIGHT}={:.1} hit_us={:.1} miss_us={:.1} hits={hits} counted={} file={}",
        each(one_by_one, alone),
        each(together, responses - alone),
        each(hitting, responses),
        each(missing, responses),
        stats.bytes / stats.entries.max(1),
        file / stats.entries.max(1),
    ))
}

/// Scattered, as digests are.
fn key(number: u32) -> Digest {
    let mut bytes = [0; Digest::BYTES];
    let mut state = u64::from(number) + 1;
    for byte in &mut bytes {
        state = state.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (state >> 29);
        *byte = (state >> 56) as u8;
    }
    Digest::new(bytes)
}

fn labels() -> CacheLabels {
    CacheLabels {
        origin: "https://api.openai.com".to_owned(),
        bucket: "gpt-4o-2024-08-06".to_owned(),
        method: "POST".to_owned(),
        url: "https://api.openai.com/v1/chat/completions".to_owned(),
    }
}

/// An answer as a model's API gives it, with a body of about that length.
fn response(number: u32, bytes: usize) -> CachedResponse {
    const WORDS: [&str; 24] = [
        "the", "model", "answers", "question", "of", "a", "user", "and", "explains", "why",
        "because", "numbers", "between", "results", "change", "slowly", "with", "each", "step",
        "however", "it", "is", "known", "that",
    ];
    let mut seed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut body = format!(
        r#"{{"id":"chatcmpl-{number:029x}","object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":""#
    );
    while body.len() + 100 < bytes {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        body.push_str(WORDS[(seed % 24) as usize]);
        // One word in three is a name that nobody has seen before.
        if seed & 0x3000 == 0 {
            body.extend([" ", &(seed >> 40).to_string()]);
        }
        body.push(' ');
    }
    body.push_str(r#""},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}"#);
    let header = |name: &str, value: String| (name.to_owned(), value);
    CachedResponse {
        status: 200,
        headers: vec![
            header("content-type", "application/json".to_owned()),
            header("x-request-id", format!("req_{seed:032x}")),
            header("x-ratelimit-remaining-requests", "4999".to_owned()),
        ],
        body: body.into_bytes(),
        pieces: Vec::new(),
        latency_ms: 412,
        stored_at_ms: 0,
    }
}
