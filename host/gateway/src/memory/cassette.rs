//! Recordings: every exchange of a run in a file, and runs that need nothing but that file.
//!
//! A recording is JSON lines: a head with the format's version, then one whole line per
//! exchange, written when it ends, in one piece. So a killed run leaves a recording of what it
//! had done; a last line without its end is left out. No SQLite: people read, cut and compare
//! such files, and put them beside their tests.
//!
//! Every line passes the masker of the whole run, request and response alike, and the credential
//! is no part of it: a replay needs none. What identifies a request is all the rest of it, and who
//! made it (`whose`). Equal requests are answered in the order in which they ended, each case with
//! what that case got as long as there is such an answer; when all are used up, the last one is given
//! again. A call that was cut off by its case's timeout has no end and so no line.
//!
//! Memory of a replay: places of lines, at most three times the file's size where all are as short as
//! can be; one line at a time, at most three times its size; and the requests among which the nearest
//! is looked for, 64 MiB (`nearest`).

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use runner_files::{Folder, ReadAccess, Replacement};
use runner_store::Digest;

use crate::exchange::ExchangeCode;
use crate::memory::cache::anonymous_key;
use crate::memory::remembered::{
    Caller, Cassette, CassetteMatch, Ending, Envelope, Interaction, NoCassette,
};
use crate::policy::masker::Masker;

mod line;
mod nearest;
mod whose;

#[cfg(test)]
mod tests;

use line::{HEAD, Line, is_head};
use nearest::Index;
use whose::{Keys, NameTable, Slot};

/// Why a recording can't be made or used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
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
    #[error("{}:{line}: not a recorded exchange: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it, in one line, whatever the file says.
        why: String,
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

    /// The cassette of a run whose secrets `masker` knows.
    pub fn cassette(self, masker: &Masker) -> Box<dyn Cassette> {
        // A replay is given no tokens, and has to know its requests again.
        let masker = masker.declared();
        match self {
            Self::Live => Box::new(NoCassette),
            Self::Record(recording) => Box::new(RecordCassette {
                recording,
                masker,
                keys: Mutex::default(),
            }),
            Self::Replay(playback) => Box::new(ReplayCassette { playback, masker }),
        }
    }
}

/// A recording that is being made. Clones are the same.
#[derive(Debug, Clone)]
pub struct Recording(Arc<Mutex<OpenFile>>);

#[derive(Debug)]
struct OpenFile {
    file: File,
    failure: Option<io::Error>,
}

impl Recording {
    /// Begins a recording, readable by the user alone; one that is there is replaced.
    ///
    /// # Errors
    /// When the file can't be written, is a link, or holds something else than a recording.
    pub fn create(path: &Path) -> Result<Self, CassetteError> {
        Self::open(path, false)
    }

    /// Goes on with a recording, or begins it if there is none. A line that was cut off by the
    /// end of its process goes.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn go_on(path: &Path) -> Result<Self, CassetteError> {
        Self::open(path, true)
    }

    fn open(path: &Path, keeps: bool) -> Result<Self, CassetteError> {
        let failed = |source| CassetteError::Open {
            path: path.to_owned(),
            source,
        };
        let (folder, name) = Folder::of(path).map_err(failed)?;
        let older = folder.open(&name).map_err(failed)?;
        let mut first = String::new();
        if let Some(older) = &older {
            let known = BufReader::new(older).take(HEAD.len() as u64 + 1);
            let is_text = { known }.read_line(&mut first).is_ok();
            if !is_text || !(first.is_empty() || is_head(&first)) {
                return Err(CassetteError::Foreign {
                    path: path.to_owned(),
                });
            }
        }
        let begun = match older {
            Some(mut older) if keeps && !first.is_empty() => close_to_others(&older)
                .and_then(|()| cut_to_lines(&mut older))
                .map(|()| older),
            _ => Replacement::begin(folder, &name, ReadAccess::Owner).and_then(|mut new| {
                writeln!(new, "{HEAD}")?;
                new.commit()
            }),
        };
        let file = begun.map_err(failed)?;
        let failure = None;
        Ok(Self(Arc::new(Mutex::new(OpenFile { file, failure }))))
    }

    /// What kept a line from being written; nothing is written after it.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.as_ref().map(ToString::to_string)
    }

    fn write(&self, line: &str) {
        let mut open = self.lock();
        if open.failure.is_none() {
            open.failure = open.file.write_all(line.as_bytes()).err();
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the rights of everybody else from a file that is open.
fn close_to_others(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Drops what comes after the last whole line, and stands behind it.
fn cut_to_lines(file: &mut File) -> io::Result<()> {
    const STEP: u64 = 64 << 10;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let begin = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(begin))?;
        let mut part = vec![0; (end - begin) as usize];
        file.read_exact(&mut part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            end = begin + at as u64 + 1;
            break;
        }
        end = begin;
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end)).map(drop)
}

struct RecordCassette {
    recording: Recording,
    masker: Masker,
    keys: Mutex<Keys>,
}

impl Cassette for RecordCassette {
    fn find(&self, _envelope: &Envelope, _caller: &Caller<'_>) -> CassetteMatch {
        CassetteMatch::Live
    }

    fn record(&self, envelope: &Envelope, caller: &Caller<'_>, interaction: &Interaction) {
        if let Ending::Failed {
            code: ExchangeCode::Draining,
            ..
        } = interaction.ending
        {
            return;
        }
        let anonymous = anonymous(&self.masker, envelope);
        let mut line = Line::new(&anonymous, caller.tag, interaction, &self.masker);
        if let Some(name) = caller.name {
            let name = self.masker.mask(name).into_owned();
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            line.key = keys.number(&name, envelope.credential.as_ref());
            line.by = Some(name);
        }
        self.recording.write(&line.text());
    }
}

/// A recording to run from. Clones are the same, and share what is used up.
#[derive(Debug, Clone)]
pub struct Playback(Arc<Interactions>);

#[derive(Debug)]
struct Interactions {
    path: PathBuf,
    file: Mutex<File>,
    by_request: Mutex<HashMap<Digest, Vec<Slot>>>,
    names: NameTable,
    index: OnceLock<Index>,
}

impl Interactions {
    /// Reads the line at a place; `None` when the file has changed since it was opened.
    fn read(&self, place: LinePlace) -> Option<Line> {
        let mut text = vec![0; place.bytes];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(place.offset)).ok()?;
            file.read_exact(&mut text).ok()?;
        }
        Line::read(&text).ok()
    }
}

/// Where a line stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LinePlace {
    offset: u64,
    bytes: usize,
}

impl Playback {
    /// Opens a recording. Reads it once; the answers stay on disk.
    ///
    /// # Errors
    /// When it can't be read, is none, or has a line that makes no sense.
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let failed = |source| CassetteError::Open {
            path: path.to_owned(),
            source,
        };
        // Before it is read: should it be replaced meanwhile, this is noticed at the first line.
        let file = File::open(path).map_err(failed)?;
        let mut by_request: HashMap<Digest, Vec<Slot>> = HashMap::new();
        let mut names = NameTable::default();
        for line in Lines::of(path)? {
            let (place, mut line) = line?;
            let slot = Slot {
                tag: line.tag,
                place,
                by: line.by.take().map(|name| names.id(name)),
                key: line.key,
                is_used: false,
            };
            let key = anonymous_key(&line.envelope());
            by_request.entry(key).or_default().push(slot);
        }
        Ok(Self(Arc::new(Interactions {
            path: path.to_owned(),
            file: Mutex::new(file),
            by_request: Mutex::new(by_request),
            names,
            index: OnceLock::new(),
        })))
    }

    /// The answer, or whose the answers are that are none of this caller's.
    fn take(
        &self,
        envelope: &Envelope,
        caller: &Caller<'_>,
    ) -> Result<Option<Interaction>, String> {
        let place = {
            let key = anonymous_key(envelope);
            let by_request = self.0.by_request.lock();
            let mut by_request = by_request.unwrap_or_else(PoisonError::into_inner);
            match by_request.get_mut(&key) {
                Some(slots) => self.0.names.take(slots, caller)?,
                None => None,
            }
        };
        Ok(place.and_then(|it| self.0.read(it)).map(Line::interaction))
    }

    /// Bytes of the longest line that answers this request.
    fn most_bytes(&self, envelope: &Envelope) -> usize {
        let key = anonymous_key(envelope);
        let by_request = self
            .0
            .by_request
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let slots = by_request.get(&key).into_iter().flatten();
        slots.map(|slot| slot.place.bytes).max().unwrap_or_default()
    }

    /// What comes nearest to a request that is not there. The index is made by the first that
    /// is not: a replay that has everything never pays for it.
    fn nearest(&self, wanted: &Envelope) -> String {
        let recorded = &*self.0;
        let index = recorded.index.get_or_init(|| {
            // What can't be read any more is not near.
            let lines = Lines::of(&recorded.path).into_iter().flatten();
            Index::new(lines.map_while(Result::ok).map(|(_, line)| line.envelope()))
        });
        index.explain(wanted)
    }
}

struct ReplayCassette {
    playback: Playback,
    masker: Masker,
}

impl Cassette for ReplayCassette {
    fn is_offline(&self) -> bool {
        true
    }

    fn is_recording(&self) -> bool {
        false
    }

    fn most_bytes(&self, envelope: &Envelope) -> usize {
        let envelope = anonymous(&self.masker, envelope);
        self.playback.most_bytes(&envelope)
    }

    fn find(&self, envelope: &Envelope, caller: &Caller<'_>) -> CassetteMatch {
        let envelope = anonymous(&self.masker, envelope);
        let name = caller.name.map(|name| self.masker.mask(name));
        let caller = Caller {
            name: name.as_deref(),
            ..*caller
        };
        match self.playback.take(&envelope, &caller) {
            Ok(Some(interaction)) => CassetteMatch::Replay(interaction),
            Ok(None) => CassetteMatch::Missing {
                nearest: self.playback.nearest(&envelope),
            },
            Err(whose) => CassetteMatch::Ambiguous { whose },
        }
    }

    fn record(&self, _envelope: &Envelope, _caller: &Caller<'_>, _interaction: &Interaction) {}
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

/// Headers without the masker's secrets.
fn masked_pairs(masker: &Masker, headers: &[(String, String)]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let name = masker.mask(name).into_owned();
            (name, masker.mask(value).into_owned())
        })
        .collect()
}

/// The longest line of a recording that is read, in bytes: a request and an answer of 32 MiB each,
/// with as many escapes as text usually has, and no more than a machine has room for.
const LONGEST_LINE: usize = 256 << 20;

/// The exchanges of a recording, one after the other, each with its place.
struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    offset: u64,
    number: usize,
}

impl Lines {
    /// # Errors
    /// When the file can't be read, or does not begin as a recording does.
    fn of(path: &Path) -> Result<Self, CassetteError> {
        let path = path.to_owned();
        let opened = File::open(&path);
        let mut lines = match opened {
            Ok(file) => Self {
                path,
                file: BufReader::new(file),
                offset: 0,
                number: 0,
            },
            Err(source) => return Err(CassetteError::Open { path, source }),
        };
        match lines.whole(HEAD.len() + 2) {
            Ok(Some((_, text))) if is_head(&String::from_utf8_lossy(&text)) => Ok(lines),
            Err(error @ CassetteError::Open { .. }) => Err(error),
            _ => Err(CassetteError::Foreign { path: lines.path }),
        }
    }

    /// Reads the next line that has its end, which may have `most` bytes.
    fn whole(&mut self, most: usize) -> Result<Option<(LinePlace, Vec<u8>)>, CassetteError> {
        let mut text = Vec::new();
        let file = Read::by_ref(&mut self.file);
        let read = file.take(most as u64 + 1).read_until(b'\n', &mut text);
        let bytes = read.map_err(|source| CassetteError::Open {
            path: self.path.clone(),
            source,
        })?;
        let offset = self.offset;
        self.offset += bytes as u64;
        self.number += 1;
        if bytes > most {
            return Err(CassetteError::Damaged {
                path: self.path.clone(),
                line: self.number,
                why: format!("it is longer than {most} bytes"),
            });
        }
        let whole = text.last() == Some(&b'\n');
        Ok(whole.then_some((LinePlace { offset, bytes }, text)))
    }
}

impl Iterator for Lines {
    type Item = Result<(LinePlace, Line), CassetteError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (place, text) = match self.whole(LONGEST_LINE) {
            Ok(whole) => whole?,
            Err(error) => return Some(Err(error)),
        };
        let line = Line::read(&text).map(|line| (place, line));
        Some(line.map_err(|error| CassetteError::Damaged {
            path: self.path.clone(),
            line: self.number,
            why: in_one_line(&error.to_string()),
        }))
    }
}

/// The beginning of a text that may quote a file, without what would begin a line: a line of our own
/// is read as our own words.
fn in_one_line(text: &str) -> String {
    const MOST: usize = 200;
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let signs = text.chars().take(MOST);
    signs.map(|c| if breaks(c) { ' ' } else { c }).collect()
}
