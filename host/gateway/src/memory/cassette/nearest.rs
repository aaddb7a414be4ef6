//! What of a recording comes nearest to a request that is not in it, for the error message.
//!
//! A prompt that was edited misses with every case, so a miss must not read the whole file. The
//! requests are read once, at the first miss, and sorted: of sorted texts the neighbours have the
//! longest beginnings in common, so that a look-up compares a handful of them. They stay in
//! memory, up to a bound: this makes a hint better and no result right.

use super::line::header_bytes;
use crate::memory::remembered::Envelope;

/// Bytes of requests that are kept, with what a request takes itself, and how many. What comes later
/// in the file is not looked at: tens of thousands of requests are enough to find one that is alike.
const MAX_BYTES: usize = 64 << 20;
const MAX_REQUESTS: usize = 20_000;

/// Bytes of a body that are shown on each side of the first difference.
const AROUND: usize = 30;

/// The requests of a recording, sorted by URL, method, headers and body.
#[derive(Debug, Default)]
pub(super) struct Index(Vec<Envelope>);

impl Index {
    /// Of requests in whatever order; stops asking for more when there are enough.
    pub(super) fn new(requests: impl Iterator<Item = Envelope>) -> Self {
        let mut bytes = 0_usize;
        let enough = |request: &Envelope| {
            bytes += request_bytes(request);
            bytes <= MAX_BYTES
        };
        let requests = requests.take(MAX_REQUESTS);
        let mut kept: Vec<_> = requests.take_while(enough).collect();
        kept.sort_by(|a, b| order(a).cmp(&order(b)));
        kept.dedup_by(|a, b| order(a) == order(b));
        Self(kept)
    }

    /// Says what comes nearest, to follow "is not in the recording".
    pub(super) fn explain(&self, wanted: &Envelope) -> String {
        let from = self
            .0
            .partition_point(|request| call(request) < call(wanted));
        let calls = &self.0[from..];
        let calls = &calls[..calls.partition_point(|request| call(request) == call(wanted))];
        if calls.is_empty() {
            return self.other_call(from, wanted);
        }
        let same = by_headers(calls).find(|group| group[0].headers == wanted.headers);
        let nearest = match same {
            Some(group) => nearest_body(group, wanted),
            None => by_headers(calls)
                .map(|group| nearest_body(group, wanted))
                .max_by_key(|request| in_common(&request.body, &wanted.body))
                .expect("requests have headers, if only none"),
        };
        difference(wanted, nearest)
    }

    /// The call whose URL, and then method, has most in common with one that is not there; it
    /// would stand at `place`.
    fn other_call(&self, place: usize, wanted: &Envelope) -> String {
        let nearest = neighbours(&self.0, place).max_by_key(|request| {
            let url = in_common(request.url.as_bytes(), wanted.url.as_bytes());
            (url, request.method == wanted.method)
        });
        match nearest {
            Some(Envelope { method, url, .. }) => format!("; the nearest is {method} {url}"),
            None => ": it holds no exchange".to_owned(),
        }
    }
}

/// What a request takes in memory.
fn request_bytes(request: &Envelope) -> usize {
    let headers: usize = request.headers.iter().map(header_bytes).sum();
    size_of::<Envelope>() + request.method.len() + request.url.len() + headers + request.body.len()
}

/// Where a request goes to.
fn call(request: &Envelope) -> (&str, &str) {
    (&request.url, &request.method)
}

/// What requests are sorted by.
fn order(request: &Envelope) -> (&str, &str, &[(String, String)], &[u8]) {
    (
        &request.url,
        &request.method,
        &request.headers,
        &request.body,
    )
}

/// Sorted requests to one URL in groups of equal headers.
fn by_headers(calls: &[Envelope]) -> impl Iterator<Item = &[Envelope]> {
    calls.chunk_by(|a, b| a.headers == b.headers)
}

/// The one of a sorted group whose body has the longest beginning in common.
fn nearest_body<'a>(group: &'a [Envelope], wanted: &Envelope) -> &'a Envelope {
    let place = group.partition_point(|request| request.body < wanted.body);
    neighbours(group, place)
        .max_by_key(|request| in_common(&request.body, &wanted.body))
        .expect("a group is not empty")
}

/// Those before and after a place between two.
fn neighbours(requests: &[Envelope], place: usize) -> impl Iterator<Item = &Envelope> {
    let end = requests.len().min(place + 1);
    requests[place.saturating_sub(1)..end].iter()
}

/// In what a request differs from a recorded one to the same URL.
fn difference(wanted: &Envelope, nearest: &Envelope) -> String {
    if wanted.body == nearest.body {
        let same_headers = wanted.headers == nearest.headers;
        let what = if same_headers { "repeat" } else { "headers" };
        return format!(" with these {what}");
    }
    let at = in_common(&wanted.body, &nearest.body);
    let around = |body: &[u8]| {
        let start = at.saturating_sub(AROUND);
        let end = body.len().min(at + AROUND);
        String::from_utf8_lossy(&body[start..end]).into_owned()
    };
    format!(
        " with this body; from byte {at} on the nearest has …{}…, and this one …{}…",
        around(&nearest.body),
        around(&wanted.body)
    )
}

fn in_common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(url: &str, header: &str, body: &str) -> Envelope {
        Envelope {
            method: "POST".to_owned(),
            url: url.to_owned(),
            headers: vec![("x".to_owned(), header.to_owned())],
            body: body.to_owned().into(),
            credential: None,
            repeat: 0,
        }
    }

    fn explained(recorded: &[Envelope], wanted: &Envelope) -> String {
        Index::new(recorded.iter().cloned()).explain(wanted)
    }

    #[test]
    fn of_thousands_of_bodies_the_nearest_is_found() {
        let system = "be brief. ".repeat(30);
        let body = |n: usize| format!("{system}case {n:04}, and now: {}", "x".repeat(n % 50));
        let recorded: Vec<_> = (0..3000)
            .rev()
            .map(|n| envelope("u", "h", &body(n)))
            .collect();
        for n in [0, 7, 1234, 2999] {
            let told = explained(&recorded, &envelope("u", "h", &format!("{} but", body(n))));
            let at = body(n).len();
            assert!(told.contains(&format!("; from byte {at} on ")), "{told}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded_whatever_the_requests_are_made_of() {
        let large = "x".repeat(MAX_BYTES / 4);
        let in_header = |n: u8| envelope("u", &large, &n.to_string());
        let in_method = |n: u8| Envelope {
            method: large.clone(),
            ..envelope("u", "h", &n.to_string())
        };
        let requests: [&dyn Fn(u8) -> Envelope; 2] = [&in_header, &in_method];
        for request in requests {
            let mut read = 0;
            let index = Index::new((0..10).map(request).inspect(|_| read += 1));
            assert_eq!((index.0.len(), read), (3, 4));
        }
        let small = (0..).map(|n: u32| envelope("u", "h", &n.to_string()));
        assert_eq!(Index::new(small).0.len(), MAX_REQUESTS);
    }

    #[test]
    fn equal_headers_count_more_than_the_body_and_less_than_the_url() {
        let recorded = [
            envelope("u", "h", "a body that ends like this"),
            envelope("u", "other", "a body that ends like that"),
            envelope("v", "h", "a body that ends like that one"),
        ];
        let wanted = envelope("u", "h", "a body that ends like that");
        let told = explained(&recorded, &wanted);
        assert!(
            told.starts_with(" with this body; from byte 24 on"),
            "{told}"
        );
        assert_eq!(explained(&recorded[1..], &wanted), " with these headers");
        assert_eq!(explained(&recorded, &recorded[0]), " with these repeat");
    }

    #[test]
    fn of_other_urls_the_one_with_the_longest_beginning_is_named() {
        let urls = [
            "https://a/v1/chat",
            "https://a/v1/chat/completions",
            "https://b/",
        ];
        let recorded = urls.map(|url| envelope(url, "h", "body"));
        for (wanted, nearest) in [
            (
                "https://a/v1/chat/complete",
                "https://a/v1/chat/completions",
            ),
            ("https://a/v1/chap", "https://a/v1/chat"),
            ("https://b/x", "https://b/"),
        ] {
            let told = explained(&recorded, &envelope(wanted, "h", ""));
            assert_eq!(told, format!("; the nearest is POST {nearest}"));
        }
        assert_eq!(explained(&[], &recorded[0]), ": it holds no exchange");
    }
}
