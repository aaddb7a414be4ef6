//! However many large answers come at once, memory has its bound.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use futures_util::future::join_all;
use runner_gateway::{
    CALL_LIMIT, CachedReply, CallBodies, Envelope, ExchangeCode, ExchangeError, ExchangeScope,
    Gateway, Lane, Precedence, RESPONSE_LIMIT, Reply, ResponseCache, Settings,
};
use tokio::sync::watch;

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
    fn get(&self, _: &runner_store::Digest) -> Option<CachedReply> {
        None
    }

    async fn put(&self, _: &runner_store::Digest, _: &Envelope, _: &Lane, held: CachedReply) {
        tokio::task::yield_now().await;
        assert_eq!(held.response.body.len(), RESPONSE_LIMIT);
    }
}

/// Calls at once.
const CALLS: usize = 10;

/// Of calls that go first in the order in which they began, as those of cases do. Without it the one that has
/// leave to go beyond may wait for the lane that those behind it hold, who wait for space.
#[derive(Debug)]
struct Turn(usize, watch::Receiver<[bool; CALLS]>);

impl Precedence for Turn {
    fn first(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let Self(nth, ended) = self;
        let mut ended = ended.clone();
        Box::pin(async move {
            let first = ended.wait_for(|ended| ended[..*nth].iter().all(|it| *it));
            drop(first.await);
        })
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
                    assert_eq!(error.code, ExchangeCode::BadResponse, "{case}: {error}");
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
    let ended = Arc::new(watch::Sender::new([false; CALLS]));
    let calls = (0..CALLS).map(|nth| {
        let (gateway, url, ended) = (gateway.clone(), url.clone(), Arc::clone(&ended));
        tokio::spawn(async move {
            let turn = Turn(nth, ended.subscribe());
            let bodies = Arc::new(CallBodies::of(Arc::new(turn)));
            let replies = send_all(&gateway, &url, 2, &bodies).await;
            let is_whole = |reply: Result<Reply, _>| {
                reply.is_ok_and(|reply| reply.body.len() == RESPONSE_LIMIT)
            };
            let all = replies.into_iter().all(is_whole);
            ended.send_modify(|ended| ended[nth] = true);
            all
        })
    });
    for call in join_all(calls.collect::<Vec<_>>()).await {
        assert!(call.expect("no panic"));
    }
    let grown = peak(false) - before;
    assert!(grown < 640 * MIB, "{} MiB", grown / MIB);
    println!("{} MiB", grown / MIB);
}
