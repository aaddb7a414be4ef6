//! `runner view` with a browser that has opened the address it printed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::run::{Finished, Run, Running};

/// How long a text may take to be told before the test fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// A server of kept runs, and who is let in.
#[derive(Debug)]
pub struct Viewed {
    running: Running,
    address: String,
    cookie: String,
}

impl Viewed {
    /// Starts the server for the runs of this home, and opens its address.
    pub fn of(run: &Run) -> Self {
        let run = run.clone().args(["view", "--port", "0", "--no-open"]);
        let running = run.start();
        running.wait_for_stderr("Ctrl-C ends the server");
        let url = running.wait_for_stdout("?token=");
        let url = url.trim().strip_prefix("http://").expect("an address");
        let (address, path) = url.split_once('/').expect("a path");
        let welcome = ask(address, &format!("/{path}"), "");
        let (_, cookie) = welcome.split_once("set-cookie: ").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        let address = address.to_owned();
        Self {
            running,
            address,
            cookie,
        }
    }

    /// The whole answer for a path.
    pub fn page(&self, path: &str) -> String {
        ask(&self.address, path, &self.cookie)
    }

    /// The whole answer to a form that is sent to a path.
    pub fn post(&self, path: &str, form: &str) -> String {
        let Self {
            address, cookie, ..
        } = self;
        let length = form.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\ncookie: {cookie}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{form}"
        );
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Listens to what is told at a path until a text has come; gives all that was told by then.
    pub fn hears(&self, path: &str, text: &str) -> String {
        let mut stream = request(&self.address, path, &self.cookie);
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket takes a limit");
        let (mut told, mut bytes) = (String::new(), [0; 4096]);
        while !told.contains(text) {
            let count = stream.read(&mut bytes).unwrap_or_default();
            assert_ne!(count, 0, "`{text}` was not told:\n{told}");
            told.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        told
    }

    /// The whole answer for a path to somebody who is not let in.
    pub fn refusal(&self, path: &str) -> String {
        ask(&self.address, path, "")
    }

    /// Ends it by Ctrl-C.
    pub fn end(self) -> Finished {
        self.running.interrupt();
        self.running.finish()
    }
}

/// Sends a request for `path`; gives the whole answer.
fn ask(address: &str, path: &str, cookie: &str) -> String {
    let mut answer = Vec::new();
    let mut stream = request(address, path, cookie);
    stream.read_to_end(&mut answer).expect("it answers");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends a request for `path`; gives the connection.
fn request(address: &str, path: &str, cookie: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
    )
    .expect("it reads");
    stream
}
