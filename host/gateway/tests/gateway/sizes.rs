//! However many large answers come at once, memory has its bound.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use futures_util::future::join_all;
use runner_gateway::{
    CALL_LIMIT, CallBodies, Code, Envelope, ExchangeError, ExchangeScope, Gateway, Held, Lane,
    RESPONSE_LIMIT, Reply, ResponseCache, Settings,
};

use crate::{grants, post, scope, settings};

const MIB: usize = 1 << 20;

/// All tests of a process share its memory: those that measure it take turns.
static MEASURING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Answers every request with as many zeros as an answer may have, and keeps none of them.
fn server(announced: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever hangs up has had enough.
            thread::spawn(move || drop(answer(stream, announced)));
        }
    });
    url
}

fn answer(mut stream: TcpStream, announced: bool) -> std::io::Result<()> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let mut head = Vec::new();
    while !head.ends_with(b"{\"q\":1}") {
        let mut part = [0; 1024];
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(());
        }
        head.extend_from_slice(&part[..read]);
    }
    let length = if announced {
        format!("content-length: {RESPONSE_LIMIT}\r\n")
    } else {
        String::new()
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nconnection: close\r\n{length}\r\n"
    )?;
    for _ in 0..RESPONSE_LIMIT / ZEROS.len() {
        stream.write_all(&ZEROS)?;
    }
    Ok(())
}

/// Has nothing and takes what it is given, a copy in its hands for a moment.
struct Forgetful;

#[async_trait]
impl ResponseCache for Forgetful {
    fn get(&self, _: &runner_store::Digest) -> Option<Held> {
        None
    }

    async fn put(&self, _: &runner_store::Digest, _: &Envelope, _: &Lane, held: Held) {
        tokio::task::yield_now().await;
        assert_eq!(held.response.body.len(), RESPONSE_LIMIT);
    }
}

/// Most memory that the process has had since this was asked with `true`, in bytes.
fn peak(afresh: bool) -> usize {
    if afresh {
        std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: usize = kib
        .and_then(|kib| kib.trim().parse().ok())
        .expect("a number");
    kib << 10
}

/// The answers to so many requests of one call at once.
async fn send_all(
    gateway: &Gateway,
    url: &str,
    count: usize,
    bodies: &Arc<CallBodies>,
) -> Vec<Result<Reply, ExchangeError>> {
    let grants = grants("bearer", &[url]);
    let scope = ExchangeScope {
        bodies: Arc::clone(bodies),
        ..scope()
    };
    let sends =
        (0..count).map(|index| gateway.send(&grants, post(format!("{url}/{index}")), &scope));
    join_all(sends).await
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_asks_for_64_of_the_largest_answers_gets_two() {
    let _turn = MEASURING.lock().await;
    for (announced, cached) in [(true, false), (false, false), (true, true), (false, true)] {
        let url = server(announced);
        let gateway = Gateway::new(Settings {
            cache: cached.then(|| Box::new(Forgetful) as _),
            ..settings()
        });
        let bodies = Arc::default();
        let before = peak(true);
        let replies = send_all(&gateway, &url, 64, &bodies).await;
        let grown = peak(false) - before;
        let case = format!(
            "announced {announced}, cached {cached}: {} MiB",
            grown / MIB
        );
        let (mut held, mut refused) = (0, 0);
        for reply in &replies {
            match reply {
                Ok(reply) => held += reply.body.len(),
                Err(error) => {
                    assert_eq!(error.code, Code::BadResponse, "{case}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused >= 62 && held <= CALL_LIMIT, "{case}: {held} bytes");
        assert!(grown < 640 * MIB, "{case}");
        println!("{case}, {refused} refused");

        // What the guest has counts no more.
        drop(replies);
        bodies.delivered();
        let next = send_all(&gateway, &url, 1, &bodies).await;
        assert!(next[0].is_ok(), "{case}: {:?}", next[0]);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_wait_for_each_other_and_none_is_refused() {
    let _turn = MEASURING.lock().await;
    let url = server(false);
    let gateway = Gateway::new(settings());
    let before = peak(true);
    let calls = (0..10).map(|_| {
        let (gateway, url) = (gateway.clone(), url.clone());
        tokio::spawn(async move {
            let bodies = Arc::default();
            let replies = send_all(&gateway, &url, 2, &bodies).await;
            replies
                .into_iter()
                .all(|reply| reply.is_ok_and(|it| it.body.len() == RESPONSE_LIMIT))
        })
    });
    for call in join_all(calls.collect::<Vec<_>>()).await {
        assert!(call.expect("no panic"));
    }
    let grown = peak(false) - before;
    assert!(grown < 640 * MIB, "{} MiB", grown / MIB);
    println!("{} MiB", grown / MIB);
}
