//! `runner view`: the program serves what a run left, to whoever opens the address it printed, until
//! Ctrl-C. What the pages show is tested beside them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use runner_tests::{Finished, Run};

const CONFIG: &str = "
description: greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada }] }
";

/// Sends a request for `path`; gives the whole answer.
fn ask(address: &str, path: &str, cookie: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn a_run_is_served_to_whoever_opens_the_address_until_it_is_interrupted() {
    let evaluated = Run::new().config(CONFIG).arg("eval").finish();
    evaluated.expect_code(0);
    let running = evaluated
        .again()
        .args(["view", "--port", "0", "--no-open"])
        .start();
    running.wait_for_stderr("Ctrl-C ends the server");
    let url = running.wait_for_stdout("?token=");
    let url = url.trim().strip_prefix("http://").expect("an address");
    let (address, path) = url.split_once('/').expect("a path");
    assert!(ask(address, "/", "").starts_with("HTTP/1.1 403"));
    let welcome = ask(address, &format!("/{path}"), "");
    let (_, cookie) = welcome.split_once("set-cookie: ").expect("a cookie");
    let cookie = cookie.split(';').next().expect("a pair");
    assert!(ask(address, "/", cookie).contains("greetings"));
    running.interrupt();
    let finished: Finished = running.finish();
    finished.expect_code(0);
}

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its number").port().to_string();
    let finished = Run::new()
        .args(["view", "--no-open", "--port", &port])
        .finish();
    finished.expect_code(2);
    let said = format!("error: port {port} of 127.0.0.1 can't be listened on");
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
}
