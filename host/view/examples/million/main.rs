//! How long `runner view` takes for a run of a million cases, and how much memory: `million [ROWS]`.
//!
//! It fails where a page takes longer than people wait for, or the server more memory than a small machine has. The
//! server is a process of its own, so that its memory is the server's alone.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use runner_store::{OpenOptions, Store};
use runner_view::Viewer;

#[path = "../gallery/runs.rs"]
mod runs;

type Failed = Box<dyn Error>;

const ROWS: u32 = 1_000_000;
const RUN: &str = "run-million";
/// Most time for the first page, and for any other that a filter gives.
const FIRST: Duration = Duration::from_millis(300);
const FILTERED: Duration = Duration::from_secs(1);
/// Most memory of the server, in MiB.
const MEMORY: u64 = 150;
/// What can be asked of a run, each as its address says it; the last ones need the lookup.
const FILTERS: [&str; 13] = [
    "?after=0:200000",
    "?verdict=failed",
    "?verdict=waiting",
    "?differ=verdicts",
    "?sort=-latency",
    "?latency-from=3000&score-to=0.4",
    "?column=1&cost-from=0.0001",
    "?q=checkout",
    "?error=timeout",
    "?metric=tone&metric-to=0.5",
    "?metadata=topic%3Dpool",
    "?differ=answers",
    "?only=flaky",
];

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("serve"), Some(folder)) => serve(Path::new(&folder)),
        (rows, _) => measure(rows.map_or(Ok(ROWS), str::parse)?),
    }
}

fn open(folder: &Path) -> Result<Store, Failed> {
    let path = folder.join("runs.db");
    Ok(Store::open(&path, OpenOptions::default())?)
}

fn serve(folder: &Path) -> Result<(), Failed> {
    let viewer = Viewer::bind(open(folder)?, Some(0))?;
    writeln!(std::io::stdout(), "{}", viewer.address())?;
    Ok(viewer.serve()?)
}

fn measure(rows: u32) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    say(&format!("a run of {rows} cases is made"))?;
    runs::fill(&open(folder.path())?, RUN, "A large run", 9, rows)?;
    let mut server = Server::start(folder.path())?;
    let at = format!("/runs/{RUN}");
    let mut slow = Vec::new();
    let mut check = |name: &str, took: Duration, most: Duration| {
        if took > most {
            slow.push(format!(
                "{name} took {took:.0?}, and shall take {most:?} at most"
            ));
        }
        say(&format!("{:6} ms  {name}", took.as_millis()))
    };
    check("first page", server.get(&at)?.1, FIRST)?;
    let began = Instant::now();
    // The page comes when the lookup is there, or after the moment that the server waits for it.
    let searched = format!("{at}?q=checkout");
    while server.get(&searched)?.0.contains("data-again") {}
    say(&format!(
        "{:6} ms  making the lookup, once",
        began.elapsed().as_millis()
    ))?;
    for filter in FILTERS {
        check(filter, server.get(&format!("{at}{filter}"))?.1, FILTERED)?;
    }
    for page in ["/figures", "/figures"] {
        say(&format!(
            "{:6} ms  {page}",
            server.get(&format!("{at}{page}"))?.1.as_millis()
        ))?;
    }
    let compared = server.get(&format!("/compare?run={RUN}&left=0&right=1"))?.1;
    say(&format!(
        "{:6} ms  two columns compared",
        compared.as_millis()
    ))?;
    if let Some(peak) = server.peak() {
        say(&format!("{peak:6} MiB  memory of the server, at most"))?;
        if peak > MEMORY {
            slow.push(format!(
                "the server took {peak} MiB, and shall take {MEMORY} at most"
            ));
        }
    }
    if slow.is_empty() {
        Ok(())
    } else {
        Err(slow.join("; ").into())
    }
}

fn say(text: &str) -> Result<(), Failed> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// A server, and who was let in.
struct Server {
    child: Child,
    port: u16,
    cookie: String,
}

impl Server {
    fn start(folder: &Path) -> Result<Self, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command
            .arg("serve")
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        let out = child.stdout.take().ok_or("the server has no output")?;
        BufReader::new(out).read_line(&mut address)?;
        let rest = address
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .ok_or("no address")?;
        let (port, token) = rest.split_once('/').ok_or("no token")?;
        let mut server = Self {
            child,
            port: port.parse()?,
            cookie: String::new(),
        };
        let answer = server.ask(&format!("/{token}"))?;
        let cookie = answer
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie
            .and_then(|it| it.split(';').next())
            .ok_or("nobody was let in")?;
        cookie.clone_into(&mut server.cookie);
        Ok(server)
    }

    fn ask(&self, path: &str) -> Result<String, Failed> {
        let Self { port, cookie, .. } = self;
        let mut stream = TcpStream::connect(("127.0.0.1", *port))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// A page, and how long it took.
    fn get(&mut self, path: &str) -> Result<(String, Duration), Failed> {
        let began = Instant::now();
        let answer = self.ask(path)?;
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(format!("{path}: {}", answer.lines().next().unwrap_or_default()).into());
        }
        Ok((answer, began.elapsed()))
    }

    /// The most memory that it had, in MiB, where the system says it.
    fn peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
