//! Requests through `wasi:http` that a text says, whole, in part, or never ended.

use std::mem::forget;

use crate::bindings::wasi::http::outgoing_handler::handle;
use crate::bindings::wasi::http::types::{
    Fields, FutureIncomingResponse, IncomingBody, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme,
};
use crate::bindings::wasi::io::streams::StreamError;

/// What a request that can't be made gives.
const REFUSED: u64 = 1 << 40;

/// Sends a request with a body of `length` bytes (`text` is method, scheme, authority, path, and headers as `name:value`,
/// with blanks between); a figure of its answer. How it is sent is `how`; `None`: there is no such.
pub(crate) fn call(how: &str, length: u64, text: &str) -> Option<u64> {
    match how {
        "whole" | "unread" | "left" | "open" => {}
        _ => return None,
    }
    let Some(sent) = send(text, length, how == "open") else {
        return Some(REFUSED);
    };
    match how {
        "left" => Some(0),
        "unread" => {
            sent.subscribe().block();
            Some(1)
        }
        _ => Some(answer(&sent)),
    }
}

/// Waits for the answer to a body that never ends.
pub(crate) fn never_ends() -> String {
    call("open", 1, "POST https example.com /").map_or_else(String::new, |it| it.to_string())
}

fn send(text: &str, length: u64, stays_open: bool) -> Option<FutureIncomingResponse> {
    let mut words = text.split(' ');
    let mut word = || words.next().filter(|word| !word.is_empty());
    let (method, scheme, authority, path) = (word()?, word(), word(), word());
    let headers = Fields::new();
    for header in words {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        // Refused or not, the next is tried.
        let _ = headers.append(name, value.as_bytes());
    }
    let request = OutgoingRequest::new(headers);
    request.set_method(&named(method)).ok()?;
    request.set_scheme(scheme.map(scheme_named).as_ref()).ok()?;
    request.set_authority(authority).ok()?;
    request.set_path_with_query(path).ok()?;
    let options = RequestOptions::new();
    options.set_first_byte_timeout(Some(length)).ok()?;
    let body = (length > 0).then(|| request.body()).transpose().ok()?;
    let sent = handle(request, Some(options)).ok()?;
    let Some(body) = body else {
        return Some(sent);
    };
    let stream = body.write().ok()?;
    let mut left = usize::try_from(length).unwrap_or(usize::MAX);
    while left > 0 {
        let piece = left.min(4_096);
        if stream
            .blocking_write_and_flush(&[b'x'; 4_096][..piece])
            .is_err()
        {
            break;
        }
        left -= piece;
    }
    drop(stream);
    if stays_open {
        forget(body);
    } else {
        // Too late where the answer is there.
        let _ = OutgoingBody::finish(body, None);
    }
    Some(sent)
}

fn named(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        other => Method::Other(other.to_owned()),
    }
}

fn scheme_named(scheme: &str) -> Scheme {
    match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    }
}

/// Status, headers and length of an answer that is read to its end.
fn answer(sent: &FutureIncomingResponse) -> u64 {
    sent.subscribe().block();
    let Some(Ok(Ok(answer))) = sent.get() else {
        return REFUSED + 1;
    };
    let headers = answer.headers().entries().len() as u64;
    let mut figure = u64::from(answer.status()) + headers * 1_000;
    let Ok(body) = answer.consume() else {
        return figure;
    };
    if let Ok(stream) = body.stream() {
        loop {
            match stream.blocking_read(4_096) {
                Ok(bytes) => figure += bytes.len() as u64 * 1_000_000,
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(_)) => return REFUSED + 2,
            }
        }
    }
    let trailers = IncomingBody::finish(body);
    trailers.subscribe().block();
    figure + u64::from(trailers.get().is_some())
}
