//! A plain client of a model API: one connection, one request after the other, no retries.
//!
//! It shows what a server of this harness says and how much it can take, without anything of
//! the program's between. Blocking and by hand, so that it costs a test no second runtime and
//! can't share a fault with the client that is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// How long it waits for a byte before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection that is kept for all requests.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// A response.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when it is no JSON.
    pub json: Value,
}

impl Client {
    /// Connects to a server on the loopback interface.
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_nodelay(true).expect("a socket has the option");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("the time is not zero");
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Asks `model` and waits for the answer.
    pub fn ask(&mut self, model: &str, text: &str) -> Reply {
        let messages = json!([{ "role": "user", "content": text }]);
        let body = json!({ "model": model, "messages": messages }).to_string();
        let request = format!(
            "POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = self.stream.get_mut();
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        self.reply()
    }

    fn reply(&mut self) -> Reply {
        let status = self.line();
        let status = status.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut headers = Vec::new();
        while let Some((name, value)) = self.line().split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply {
            status: status.expect("a status line"),
            headers,
            json: Value::Null,
        };
        let length = reply.header("content-length").map(str::parse);
        let length = length.expect("a whole body").expect("a number");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a whole body");
        reply.json = serde_json::from_slice(&body).unwrap_or_default();
        reply
    }

    /// A line of the head, without its end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).expect("a head in time");
        assert!(read > 0, "the server closed the connection");
        line.trim_end().to_owned()
    }
}

impl Reply {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self
            .headers
            .iter()
            .find(|(candidate, _)| candidate == name)?;
        Some(value)
    }
}
