//! Recordings: every exchange of a run in a file, and runs that need nothing but that file.
//!
//! A recording is JSON lines: a head with the format's version, then one whole line per
//! exchange, written when it ends, in one piece. So a killed run leaves a recording of what it
//! had done; a last line without its end is left out. No SQLite: people read, cut and compare
//! such files, and put them beside their tests.
//!
//! Every line passes the masker of the whole run, request and response alike, and the credential
//! is no part of it: a replay needs none. What identifies a request is all the rest of it. Equal
//! requests are answered in the order in which they ended, each case with what that case got
//! as long as there is such an answer; when all are used up, the last one is given again. A call
//! that was cut off by its case's timeout has no end and so no line.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runner_store::Digest;

use super::cache::{anonymous_key, masked_pairs};
use super::masker::Masker;
use super::memory::{Cue, Envelope, NoTape, Take, Tape};

mod line;

#[cfg(test)]
mod tests;

use line::{HEAD, Line, is_head};

/// Why a recording can't be made or used.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The file can't be read or written.
    #[error("can't open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file has other content: it is neither replayed nor overwritten.
    #[error("{} is no recording of this version of runner", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A line can't be read.
    #[error("{}:{line}: not a recorded exchange", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Where the exchanges of a run come from.
#[derive(Debug, Clone, Default)]
pub enum Exchanges {
    /// From servers.
    #[default]
    Live,
    /// From servers, and they are kept.
    Record(Recording),
    /// From a recording only.
    Replay(Playback),
}

impl Exchanges {
    /// Whether nothing leaves the machine.
    pub fn is_offline(&self) -> bool {
        matches!(self, Self::Replay(_))
    }

    /// The tape of a run whose secrets `masker` knows.
    pub(crate) fn tape(self, masker: Masker) -> Box<dyn Tape> {
        match self {
            Self::Live => Box::new(NoTape),
            Self::Record(recording) => Box::new(Recorder { recording, masker }),
            Self::Replay(playback) => Box::new(Player { playback, masker }),
        }
    }
}

/// A recording that is being made. Clones are the same.
#[derive(Debug, Clone)]
pub struct Recording(Arc<Mutex<Reel>>);

#[derive(Debug)]
struct Reel {
    file: File,
    failure: Option<io::Error>,
}

impl Recording {
    /// Begins a recording, readable by the user alone; one that is there is replaced.
    ///
    /// # Errors
    /// When the file can't be written, or holds something else than a recording.
    pub fn create(path: &Path) -> Result<Self, TapeError> {
        let failed = |source| TapeError::Open {
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(failed)?;
        let mut first = String::new();
        let known = BufReader::new(&file).take(HEAD.len() as u64 + 1);
        let is_text = { known }.read_line(&mut first).is_ok();
        if !is_text || !(first.is_empty() || is_head(&first)) {
            return Err(TapeError::Foreign {
                path: path.to_owned(),
            });
        }
        let begun = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| writeln!(file, "{HEAD}"));
        begun.map_err(failed)?;
        let failure = None;
        Ok(Self(Arc::new(Mutex::new(Reel { file, failure }))))
    }

    /// What kept a line from being written; nothing is written after it.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.as_ref().map(ToString::to_string)
    }

    fn write(&self, line: &str) {
        let mut reel = self.lock();
        if reel.failure.is_none() {
            reel.failure = reel.file.write_all(line.as_bytes()).err();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Recorder {
    recording: Recording,
    masker: Masker,
}

impl Tape for Recorder {
    fn cue(&self, _envelope: &Envelope, _tag: u64) -> Cue {
        Cue::Live
    }

    fn record(&self, envelope: &Envelope, tag: u64, take: &Take) {
        let envelope = anonymous(&self.masker, envelope);
        let line = Line::new(&envelope, tag, take, &self.masker);
        self.recording.write(&line.text());
    }
}

/// A recording to run from. Clones are the same, and share what is used up.
#[derive(Debug, Clone)]
pub struct Playback(Arc<Deck>);

#[derive(Debug)]
struct Deck {
    path: PathBuf,
    spools: Mutex<HashMap<Digest, Vec<Slot>>>,
}

/// Where a recorded exchange stands in the file.
#[derive(Debug, Clone, Copy)]
struct Slot {
    tag: u64,
    offset: u64,
    is_used: bool,
}

impl Playback {
    /// Opens a recording. Reads it once; the answers stay on disk.
    ///
    /// # Errors
    /// When it can't be read, is none, or has a line that makes no sense.
    pub fn open(path: &Path) -> Result<Self, TapeError> {
        let mut spools: HashMap<Digest, Vec<Slot>> = HashMap::new();
        each_line(path, |offset, line| {
            let slot = Slot {
                tag: line.tag,
                offset,
                is_used: false,
            };
            let key = anonymous_key(&line.envelope());
            spools.entry(key).or_default().push(slot);
        })?;
        Ok(Self(Arc::new(Deck {
            path: path.to_owned(),
            spools: Mutex::new(spools),
        })))
    }

    fn take(&self, envelope: &Envelope, tag: u64) -> Option<Take> {
        let offset = {
            let key = anonymous_key(envelope);
            let mut spools = self.0.spools.lock().unwrap_or_else(PoisonError::into_inner);
            next(spools.get_mut(&key)?, tag)?
        };
        let mut file = File::open(&self.0.path).ok()?;
        file.seek(SeekFrom::Start(offset)).ok()?;
        let mut text = String::new();
        BufReader::new(file).read_line(&mut text).ok()?;
        Line::read(&text).ok().map(Line::take)
    }

    /// The recorded request that has most in common with one that is not there.
    fn nearest(&self, wanted: &Envelope) -> String {
        let mut best: Option<(Likeness, Envelope)> = None;
        // What can't be read any more is not near.
        let _ = each_line(&self.0.path, |_, line| {
            let candidate = line.envelope();
            let likeness = Likeness::of(wanted, &candidate);
            if best.as_ref().is_none_or(|(known, _)| likeness > *known) {
                best = Some((likeness, candidate));
            }
        });
        match best {
            None => ": it holds no exchange".to_owned(),
            Some((likeness, nearest)) => likeness.explain(wanted, &nearest),
        }
    }
}

/// The first unused one of the same case, else of any; when all are used, the last one.
fn next(slots: &mut [Slot], tag: u64) -> Option<u64> {
    let unused = |same: bool| move |slot: &Slot| !slot.is_used && (!same || slot.tag == tag);
    let place = slots
        .iter()
        .position(unused(true))
        .or_else(|| slots.iter().position(unused(false)))
        .or_else(|| slots.iter().rposition(|slot| slot.tag == tag))
        .or_else(|| slots.len().checked_sub(1))?;
    slots[place].is_used = true;
    Some(slots[place].offset)
}

/// How near a recorded request comes, the weightiest part first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    method_and_url: bool,
    url_bytes: usize,
    headers: bool,
    body_bytes: usize,
}

impl Likeness {
    fn of(wanted: &Envelope, candidate: &Envelope) -> Self {
        Self {
            method_and_url: wanted.method == candidate.method && wanted.url == candidate.url,
            url_bytes: in_common(wanted.url.as_bytes(), candidate.url.as_bytes()),
            headers: wanted.headers == candidate.headers,
            body_bytes: in_common(&wanted.body, &candidate.body),
        }
    }

    /// To follow "is not in the recording".
    fn explain(self, wanted: &Envelope, nearest: &Envelope) -> String {
        if !self.method_and_url {
            return format!("; the nearest is {} {}", nearest.method, nearest.url);
        }
        if wanted.body == nearest.body {
            let what = if self.headers { "repeat" } else { "headers" };
            return format!(" with these {what}");
        }
        let around = |body: &[u8]| {
            let start = self.body_bytes.saturating_sub(AROUND);
            let end = body.len().min(self.body_bytes + AROUND);
            String::from_utf8_lossy(&body[start..end]).into_owned()
        };
        let at = self.body_bytes;
        format!(
            " with this body; from byte {at} on the nearest has …{}…, and this one …{}…",
            around(&nearest.body),
            around(&wanted.body)
        )
    }
}

/// Bytes of a body that are shown on each side of the first difference.
const AROUND: usize = 30;

fn in_common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

struct Player {
    playback: Playback,
    masker: Masker,
}

impl Tape for Player {
    fn is_offline(&self) -> bool {
        true
    }

    fn cue(&self, envelope: &Envelope, tag: u64) -> Cue {
        let envelope = anonymous(&self.masker, envelope);
        match self.playback.take(&envelope, tag) {
            Some(take) => Cue::Replay(take),
            None => Cue::Missing {
                nearest: self.playback.nearest(&envelope),
            },
        }
    }

    fn record(&self, _envelope: &Envelope, _tag: u64, _take: &Take) {}
}

/// A request as it stands in a recording.
fn anonymous(masker: &Masker, envelope: &Envelope) -> Envelope {
    Envelope {
        method: envelope.method.clone(),
        url: masker.mask(&envelope.url).into_owned(),
        headers: masked_pairs(masker, &envelope.headers),
        body: masker.mask_bytes(&envelope.body).into_owned().into(),
        credential: None,
        repeat: envelope.repeat,
    }
}

/// Calls `seen` with each exchange of a recording and where it stands.
fn each_line(path: &Path, mut seen: impl FnMut(u64, Line)) -> Result<(), TapeError> {
    let failed = |source| TapeError::Open {
        path: path.to_owned(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut text = Vec::new();
    let (mut offset, mut number) = (0, 0);
    loop {
        text.clear();
        let bytes = file.read_until(b'\n', &mut text).map_err(failed)?;
        number += 1;
        let whole = text.last() == Some(&b'\n');
        if number == 1 && !(whole && is_head(&String::from_utf8_lossy(&text))) {
            return Err(TapeError::Foreign {
                path: path.to_owned(),
            });
        }
        if !whole {
            return Ok(());
        }
        if number > 1 {
            let line = Line::read(&String::from_utf8_lossy(&text));
            let line = line.map_err(|source| TapeError::Damaged {
                path: path.to_owned(),
                line: number,
                source,
            })?;
            seen(offset, line);
        }
        offset += bytes as u64;
    }
}
