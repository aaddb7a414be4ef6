//! A response in pieces, for who does not want to wait for all of it.
//!
//! The attempt on the wire writes, the call that asked reads, and a reader that is slow holds nobody up who waits for
//! the same response. Each piece ends with a line's end, since that is where the masker can look at it: no secret has
//! one within it.
//!
//! An attempt may break and be made again, after pieces of it were read. The reader is told so once and begins anew;
//! that way retries stay the host's here, too.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Whole lines; only the last of a response may end within one.
    Lines(Vec<u8>),
    /// Another attempt was begun: what was read until now is void.
    Again,
}

/// Until where a response had come at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceEnd {
    /// Bytes of the body.
    pub bytes: u32,
    /// Since the attempt began, in milliseconds.
    pub ms: u32,
}

/// Ends that are kept of a response: the first token of an answer is in one of its first pieces.
pub(crate) const MOST_ENDS: usize = 64;

/// Pieces that wait to be read: a server may send single bytes. Beyond them they are joined.
const MOST_UNREAD: usize = 1024;

/// The pieces of one response. See the module.
#[derive(Debug, Default)]
pub struct Pieces {
    state: Mutex<State>,
    more: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// When the attempt that writes was begun; `None`: none was.
    began: Option<Instant>,
    /// Each with the time at which it came since then, if that is known.
    unread: VecDeque<(Vec<u8>, Option<Duration>)>,
    /// Something came of this attempt.
    has_come: bool,
    /// Something of it was read; and when that which was read last had come.
    was_read: bool,
    read: Option<Duration>,
    first_token: Option<Duration>,
    is_void: bool,
}

impl Pieces {
    /// Waits for the next piece. Whether the response is at its end is known to who waits for that.
    pub async fn next(&self) -> Piece {
        loop {
            let more = self.more.notified();
            if let Some(piece) = self.take() {
                return piece;
            }
            more.await;
        }
    }

    /// Returns what came next, if anything has.
    pub fn take(&self) -> Option<Piece> {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_void) {
            return Some(Piece::Again);
        }
        let (lines, came) = state.unread.pop_front()?;
        state.was_read = true;
        state.read = came;
        Some(Piece::Lines(lines))
    }

    /// Notes that the piece that was read last holds the first token of an answer; the first time counts.
    pub fn note_first_token(&self) {
        let mut state = self.lock();
        state.first_token = state.first_token.or(state.read);
    }

    /// Time from the begin of the attempt that gave the answer to the piece that was noted.
    pub fn first_token(&self) -> Option<Duration> {
        self.lock().first_token
    }

    /// An attempt is begun.
    pub(crate) fn begin(&self) {
        let mut state = self.lock();
        *state = State {
            began: Some(Instant::now()),
            is_void: state.is_void || state.was_read,
            ..State::default()
        };
        drop(state);
        self.more.notify_one();
    }

    /// More lines of the attempt have come; returns how long after its begin.
    pub(crate) fn push(&self, lines: Vec<u8>) -> Duration {
        let mut state = self.lock();
        let came = state.began.map_or(Duration::ZERO, |began| began.elapsed());
        state.has_come = true;
        let is_full = state.unread.len() >= MOST_UNREAD;
        match state.unread.back_mut().filter(|_| is_full) {
            Some((last, _)) => last.extend(lines),
            None => state.unread.push_back((lines, Some(came))),
        }
        drop(state);
        self.more.notify_one();
        came
    }

    /// The response is there. If nothing was told while it came, since it came before or for another caller, it is told
    /// now, in the pieces in which it did.
    pub(crate) fn complete(&self, status: u16, body: &[u8], ends: &[PieceEnd]) {
        let mut state = self.lock();
        if state.has_come || !(200..300).contains(&status) {
            return;
        }
        let (mut from, mut came) = (0, None);
        for end in ends {
            let to = (end.bytes as usize).clamp(from, body.len());
            came = Some(Duration::from_millis(end.ms.into()));
            if from < to {
                state.unread.push_back((body[from..to].to_vec(), came));
            }
            from = to;
        }
        if from < body.len() {
            state.unread.push_back((body[from..].to_vec(), came));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an attempt tells of its response while it comes.
#[derive(Clone, Copy)]
pub(crate) struct PieceWriter<'a> {
    pub(crate) pieces: &'a Pieces,
    /// Takes the secrets out of some lines.
    pub(crate) mask: &'a (dyn Fn(&[u8]) -> Vec<u8> + Sync),
}

impl PieceWriter<'_> {
    /// Tells the whole lines of `body` that were not told, or all of it at its end, and notes until where.
    pub(crate) fn tell(&self, body: &[u8], told: &mut Told, is_end: bool) {
        // A line may be as long as the body: what was looked through is not looked through again.
        let from = told.bytes.max(told.searched);
        told.searched = body.len();
        let fresh = &body[told.bytes..];
        let lines = if is_end {
            fresh.len()
        } else {
            let end = body[from..].iter().rposition(|byte| *byte == b'\n');
            end.map_or(0, |at| from + at + 1 - told.bytes)
        };
        if lines == 0 {
            return;
        }
        let came = self.pieces.push((self.mask)(&fresh[..lines]));
        told.bytes += lines;
        if told.ends.len() < MOST_ENDS {
            told.ends.push(PieceEnd {
                bytes: u32::try_from(told.bytes).unwrap_or(u32::MAX),
                ms: u32::try_from(came.as_millis()).unwrap_or(u32::MAX),
            });
        }
    }
}

/// What an attempt has told of its response.
#[derive(Debug, Default)]
pub(crate) struct Told {
    bytes: usize,
    /// Until where a line's end was looked for.
    searched: usize,
    /// The first ends of pieces.
    pub(crate) ends: Vec<PieceEnd>,
}

/// The JSON objects of a body that is a stream of events or has an object on each line.
pub(crate) fn objects(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii();
        line.starts_with(b"{").then_some(line)
    })
}

#[cfg(test)]
mod tests;
