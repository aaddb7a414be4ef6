//! Virtual WASI 0.2: what a toolchain insists on importing, with nothing behind it.
//!
//! No environment, no arguments, no files. The clock starts at a fixed moment and
//! advances by a microsecond each time it is read, so that a loop that waits for it ends; the
//! random numbers follow from the call's id; standard output and error become log lines. So
//! the same call gives the same answer on any machine and any day.
//!
//! `wasi:http` is in `network`, over the host's own requests. Nothing inherits from the process, and
//! a component that imports anything else is refused by name before this is asked (`P008`). Nothing
//! here knows the call that has it: what links it, and denies sockets, is `call::linking`.

mod network;

pub(crate) use network::Requests;

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWrite;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView};
use wasmtime_wasi_http::WasiHttpCtxView;

use crate::abi::Level;
use crate::limits::{MAX_HANDLES, MAX_LOG_LINE_BYTES, MAX_RANDOM_BYTES};
use crate::log::LogSink;

/// The interfaces that `call::linking` links, without versions: any 0.2 is served.
pub(crate) const OFFERED: [&str; 29] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:http/outgoing-handler",
    "wasi:http/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Start of virtual time: 2025-01-01T00:00:00Z. Late enough for certificates and file formats
/// that refuse 1970.
const START_OF_TIME: Duration = Duration::from_hours(20_089 * 24);

/// Bytes of pseudo-randomness before they repeat. CPython takes 2,500 to seed its generator.
const RANDOM_PERIOD: usize = 4_096;

/// State of one call, made when the guest first touches WASI: most never do, although their
/// toolchain imports it.
pub(crate) struct VirtualWasi {
    context: WasiCtx,
    table: ResourceTable,
    requests: Requests,
    /// The log says that sockets are denied.
    told_sockets: bool,
}

impl VirtualWasi {
    /// For the call of this id, whose log lines go to `log`.
    pub(crate) fn new(call_id: &str, log: &LogSink, requests: Requests) -> Self {
        let noise = noise(call_id);
        let seed = noise[..16]
            .iter()
            .fold(0, |seed: u128, byte| seed << 8 | u128::from(*byte));
        let mut builder = WasiCtx::builder();
        builder
            .secure_random(Deterministic::new(noise.clone()))
            .insecure_random(Deterministic::new(noise))
            .insecure_random_seed(seed)
            .max_random_size(MAX_RANDOM_BYTES)
            .wall_clock(VirtualClock::default())
            .monotonic_clock(VirtualClock::default())
            .allow_tcp(false)
            .allow_udp(false)
            .stdout(LogStream::new(Level::Info, log))
            .stderr(LogStream::new(Level::Warn, log));
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            context: builder.build(),
            table,
            requests,
            told_sockets: false,
        }
    }

    pub(crate) fn requests(&mut self) -> WasiHttpCtxView<'_> {
        self.requests.view(&mut self.table)
    }

    /// Notes that the guest asks for a socket; says whether it is the first time.
    pub(crate) fn first_socket(&mut self) -> bool {
        !std::mem::replace(&mut self.told_sockets, true)
    }

    pub(crate) fn view(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.context,
            table: &mut self.table,
        }
    }
}

/// Expands the call's id to [`RANDOM_PERIOD`] bytes: SHA-256 for the seed, then the SplitMix64
/// sequence (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn noise(call_id: &str) -> Vec<u8> {
    let digest = Sha256::digest(call_id.as_bytes());
    let mut state = digest
        .iter()
        .take(8)
        .fold(0, |state: u64, byte| state << 8 | u64::from(*byte));
    let mut noise = Vec::with_capacity(RANDOM_PERIOD);
    while noise.len() < RANDOM_PERIOD {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        noise.extend((word ^ (word >> 31)).to_le_bytes());
    }
    noise
}

/// Time that passes only when it is looked at.
#[derive(Default)]
struct VirtualClock {
    readings: AtomicU64,
}

impl VirtualClock {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.readings.fetch_add(1, Ordering::Relaxed))
    }
}

impl HostWallClock for VirtualClock {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        START_OF_TIME + self.elapsed()
    }
}

impl HostMonotonicClock for VirtualClock {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        self.elapsed().as_nanos() as u64
    }
}

/// Standard output or error: text up to each line feed is one log line. What stands after the
/// last line feed becomes a line when the guest flushes or the stream is dropped.
struct LogStream {
    level: Level,
    log: LogSink,
    pending: Vec<u8>,
}

impl LogStream {
    fn new(level: Level, log: &LogSink) -> Self {
        Self {
            level,
            log: log.clone(),
            pending: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // One byte more than fits makes the sink mark the cut; the rest is not kept.
            let room = (MAX_LOG_LINE_BYTES + 1).saturating_sub(self.pending.len());
            let line = piece.strip_suffix(b"\n");
            let text = line.unwrap_or(piece);
            self.pending
                .extend_from_slice(&text[..text.len().min(room)]);
            if line.is_some() {
                self.emit();
            }
        }
    }

    fn emit(&mut self) {
        let line = String::from_utf8_lossy(&self.pending);
        self.log.line(self.level, line.trim_end(), Vec::new());
        self.pending.clear();
    }
}

impl Drop for LogStream {
    fn drop(&mut self) {
        if !self.pending.is_empty() {
            self.emit();
        }
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Self::new(self.level, &self.log))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Self::new(self.level, &self.log))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_LOG_LINE_BYTES)
    }
}

impl AsyncWrite for LogStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
