//! What is sealed is opened again, and nothing else is.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use proptest::prelude::*;

use super::*;
use crate::cache::samples::{key, response};

fn any_response() -> impl Strategy<Value = CachedResponse> {
    let headers = prop::collection::vec(("[a-z-]{0,12}", "\\PC{0,20}"), 0..6);
    let body = prop::collection::vec(any::<u8>(), 0..400);
    let pieces = prop::collection::vec(any::<(u32, u32)>(), 0..4);
    let times = (any::<u64>(), any::<i64>());
    (any::<u16>(), headers, body, pieces, times).prop_map(
        |(status, headers, body, pieces, (latency_ms, stored_at_ms))| CachedResponse {
            status,
            headers,
            body,
            pieces,
            latency_ms,
            stored_at_ms,
        },
    )
}

fn opened(sealed: &Sealed, number: u8, stored_at_ms: i64) -> Option<CachedResponse> {
    let bytes = sealed.plain_bytes as i64;
    open(&key(number), &sealed.payload, bytes, stored_at_ms)
}

proptest! {
    #[test]
    fn every_response_comes_back(response in any_response()) {
        let sealed = seal(&key(1), &response).unwrap();
        prop_assert_eq!(opened(&sealed, 1, response.stored_at_ms), Some(response));
    }

    #[test]
    fn a_changed_bit_never_changes_the_answer(response in any_response(), place in any::<prop::sample::Index>(), bit in 0..8u8) {
        let mut sealed = seal(&key(1), &response).unwrap();
        let place = place.index(sealed.payload.len());
        sealed.payload[place] ^= 1 << bit;
        let opened = opened(&sealed, 1, response.stored_at_ms);
        prop_assert!(opened.is_none() || opened == Some(response));
    }

    #[test]
    fn no_bytes_make_the_reader_fail(plain in prop::collection::vec(any::<u8>(), 0..200)) {
        // Behind the checksum, where only a bug of the writer could put them.
        let mut keyed = key(1).as_bytes().to_vec();
        keyed.extend(&plain);
        let read = unpack(&key(1), &keyed, 0);
        prop_assert!(read.is_none_or(|read| read.body.len() <= plain.len()));
    }
}

#[test]
fn a_cut_stream_is_damaged() {
    let sealed = seal(&key(1), &response("hello", 5)).unwrap();
    for length in 0..sealed.payload.len() {
        let payload = sealed.payload[..length].to_vec();
        let cut = Sealed { payload, ..sealed };
        assert_eq!(opened(&cut, 1, 5), None, "{length}");
    }
}

#[test]
fn another_requests_answer_is_not_opened() {
    let sealed = seal(&key(1), &response("hello", 5)).unwrap();
    assert_eq!(opened(&sealed, 2, 5), None);
}

#[test]
fn a_wrong_length_is_damaged_and_allocates_nothing_absurd() {
    let sealed = seal(&key(1), &response("hello", 5)).unwrap();
    for bytes in [-1, 0, sealed.plain_bytes as i64 - 1, i64::MAX] {
        let opened = open(&key(1), &sealed.payload, bytes, 5);
        assert_eq!(opened, None, "{bytes}");
    }
}

#[test]
fn a_usual_answer_becomes_smaller() {
    let text = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"}}]}"#;
    let sealed = seal(&key(1), &response(text.repeat(20), 5)).unwrap();
    assert!(sealed.payload.len() * 4 < sealed.plain_bytes);
}

#[test]
fn what_is_too_large_is_not_sealed() {
    let response = response(vec![0; PLAIN_LIMIT], 5);
    assert!(seal(&key(1), &response).is_none());
}
