//! A browser that does as it is told, over its own protocol: a socket, JSON, and nothing else.
//!
//! By hand, since the handful of commands that the tests need is less than a library for all of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long it waits for anything before the test fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// A page of a browser; both end with it.
pub(crate) struct Browser {
    child: Child,
    socket: BufReader<TcpStream>,
    last: u64,
    /// Errors of scripts, and what the content security policy refused.
    pub(crate) complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the first Chromium there is.
    pub(crate) fn start() -> Option<Self> {
        let chosen = std::env::var("RUNNER_CHROMIUM").ok();
        let names = ["chromium", "chromium-browser", "google-chrome"].map(str::to_owned);
        let profile = tempfile::tempdir().unwrap();
        let mut child = chosen.into_iter().chain(names).find_map(|name| {
            Command::new(name)
                .args([
                    "--headless=new",
                    "--no-sandbox",
                    "--no-first-run",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                ])
                .args([
                    "--hide-scrollbars",
                    "--remote-debugging-port=0",
                    "about:blank",
                ])
                .arg(format!("--user-data-dir={}", profile.path().display()))
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .ok()
        })?;
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.unwrap().split("ws://").nth(1).map(str::to_owned))
            .unwrap();
        // What else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let host = address.split('/').next().unwrap().to_owned();
        let page = new_page(&host);
        let url = page["webSocketDebuggerUrl"].as_str().unwrap();
        let socket = connect(&host, &url[5 + host.len()..]);
        let mut browser = Self {
            child,
            socket,
            last: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        for domain in ["Page", "Runtime", "Log"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Opens an address and waits until the page is there.
    pub(crate) fn open(&mut self, address: &str) {
        self.ask("Page.navigate", &json!({ "url": address }));
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// What an expression gives.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", &asked);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true, on whichever page is there by then.
    pub(crate) fn wait(&mut self, expression: &str) {
        let began = std::time::Instant::now();
        loop {
            let asked = format!(
                "new Promise((done) => {{ const look = (left) => {{ if ({expression}) done(true); \
                 else if (left) setTimeout(look, 20, left - 1); else done(false); }}; look(25); }})"
            );
            let asked = json!({ "expression": asked, "returnByValue": true, "awaitPromise": true });
            // The page may go while it is asked.
            if self.command("Runtime.evaluate", &asked)["result"]["result"]["value"] == true {
                return;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{expression} did not come about"
            );
        }
    }

    /// Presses a key that is one character.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "text": if kind == "keyDown" { key } else { "" } }));
        }
    }

    /// The width of the window, and whether it is dark.
    pub(crate) fn look(&mut self, width: u32, dark: bool) {
        self.ask("Emulation.setDeviceMetricsOverride", &json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 }));
        let scheme = if dark { "dark" } else { "light" };
        self.ask(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    /// The page as a picture, in base64.
    pub(crate) fn picture(&mut self) -> String {
        let answer = self.ask("Page.captureScreenshot", &json!({ "format": "png" }));
        answer["data"].as_str().unwrap().to_owned()
    }

    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let mut answer = self.command(method, parameters);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    fn command(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let text = json!({ "id": id, "method": method, "params": parameters }).to_string();
        send(self.socket.get_mut(), text.as_bytes());
        loop {
            let said: Value = serde_json::from_slice(&receive(&mut self.socket)).unwrap();
            if said["id"] == id {
                return said;
            }
            let method = said["method"].as_str().unwrap_or_default();
            let is_error = said["params"]["entry"]["level"] == "error";
            if method == "Runtime.exceptionThrown" || method == "Log.entryAdded" && is_error {
                self.complaints.push(said["params"].to_string());
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What the browser says of a page that it opens. It keeps the connection, so the answer has ended
/// when it can be read.
fn new_page(host: &str) -> Value {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("PUT /json/new?about:blank HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut bytes) = (String::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "it broke off: {answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let body = answer
            .find('{')
            .map(|at| serde_json::from_str(&answer[at..]));
        if let Some(Ok(page)) = body {
            return page;
        }
    }
}

fn connect(host: &str, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).unwrap();
    }
    stream
}

/// One masked text frame; the mask is nothing, which the protocol allows.
fn send(stream: &mut TcpStream, text: &[u8]) {
    let mut frame = vec![0x81];
    match text.len() {
        len @ 0..126 => frame.push(0x80 | len as u8),
        len @ 126..65_536 => {
            frame.push(0x80 | 0x7e);
            frame.extend((len as u16).to_be_bytes());
        }
        len => {
            frame.push(0x80 | 0x7f);
            frame.extend((len as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text);
    stream.write_all(&frame).unwrap();
}

/// One message, whatever number of frames it comes in.
fn receive(stream: &mut impl Read) -> Vec<u8> {
    let mut message = Vec::new();
    loop {
        let mut head = [0; 2];
        stream.read_exact(&mut head).unwrap();
        let mut long = [0; 8];
        let len = match head[1] & 0x7f {
            126 => {
                stream.read_exact(&mut long[6..]).unwrap();
                u64::from_be_bytes(long)
            }
            127 => {
                stream.read_exact(&mut long).unwrap();
                u64::from_be_bytes(long)
            }
            len => u64::from(len),
        };
        let mut part = vec![0; len as usize];
        stream.read_exact(&mut part).unwrap();
        message.extend(part);
        if head[0] & 0x80 != 0 {
            return message;
        }
    }
}
