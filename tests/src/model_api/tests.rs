//! The server itself, spoken to over a bare socket.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::*;
use crate::Gate;

/// Sends a chat request and reads until the server closes.
fn chat(api: &ModelApi, message: &str) -> io::Result<String> {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{message}"}}]}}"#);
    let mut stream = TcpStream::connect(("127.0.0.1", api.port()))?;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn without_instructions_it_repeats_the_last_user_message_and_notes_the_request() {
    let api = ModelApi::start();
    let response = chat(&api, "hello there").expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head and a body");
    let body: Value = serde_json::from_str(body).expect("a JSON body");
    assert!(head.starts_with("HTTP/1.1 200"));
    assert_eq!(body["choices"][0]["message"]["content"], "hello there");
    assert_eq!(
        (&body["model"], &body["usage"]["total_tokens"]),
        (&"m".into(), &4.into())
    );

    let seen = &api.requests()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some("Bearer k"));
    assert_eq!(seen.last_user_message(), Some("hello there"));
}

#[test]
fn the_script_comes_before_the_rules_and_the_rules_before_the_echo() {
    let api = ModelApi::start();
    api.rule(|seen| (seen.last_user_message() == Some("b")).then(|| Answer::status(418)));
    api.script([Answer::error(429, "rate_limit_exceeded", "slow").header("retry-after", "1")]);
    let scripted = chat(&api, "b").expect("a response");
    assert!(scripted.starts_with("HTTP/1.1 429") && scripted.contains("retry-after: 1\r\n"));
    assert!(scripted.contains(r#""code":"rate_limit_exceeded""#));
    assert!(
        chat(&api, "b")
            .expect("a response")
            .starts_with("HTTP/1.1 418")
    );
    assert!(
        chat(&api, "c")
            .expect("a response")
            .starts_with("HTTP/1.1 200")
    );
}

#[test]
fn deliveries_are_whole_dripping_cut_or_none() {
    let api = ModelApi::start();
    let drip = Answer::raw("0123456789").dripping(3, Duration::ZERO);
    api.script([
        Answer::raw("0123456789"),
        drip,
        Answer::raw("0123456789").cut_after(4),
    ]);
    assert!(
        chat(&api, "")
            .expect("whole")
            .ends_with("\r\n\r\n0123456789")
    );
    let dripped = chat(&api, "").expect("in chunks");
    assert!(dripped.ends_with("\r\n\r\n3\r\n012\r\n3\r\n345\r\n3\r\n678\r\n1\r\n9\r\n0\r\n\r\n"));
    let cut = chat(&api, "").unwrap_or_default();
    assert!(!cut.ends_with("0\r\n\r\n") && !cut.contains("45"), "{cut}");

    api.always(Answer::reset());
    assert_eq!(
        chat(&api, "").map_err(|error| error.kind()),
        Err(io::ErrorKind::ConnectionReset)
    );
}

#[test]
fn a_gate_holds_requests_and_the_most_at_once_is_counted() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("through").behind(&gate));
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| chat(&api, "x").expect("a response"));
        }
        api.wait_until(|view| view.in_flight == 20);
        gate.open();
    });
    let view = api.view();
    assert_eq!(
        (view.requests, view.in_flight, api.max_concurrent()),
        (20, 0, 20)
    );
}
