//! Results files of before, read row by row: this program's or promptfoo's version 3 JSON, or JSON lines.
//!
//! The document has its rows in the middle, and what describes them before and behind. So it is
//! read once for its head, the rows passed over, or once for its rows, the head passed over.
//! Neither reading holds more than one row, and no row, like all that describes them, may be
//! larger than [`MAX_PART`]. What is kept of the rows is up to who asks for them.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::Value;

/// Bytes of one row, and of everything before and behind the rows: the most that a row of this
/// program has.
const MAX_PART: u64 = 64 << 20;

/// Values of a part, as far as commas and brackets tell: some take 400 bytes of memory for two of the
/// file.
const MAX_VALUES: u64 = 1_000_000;

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Document,
    Lines,
}

impl Shape {
    /// As the name of the file says; `None` if it is neither.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_ascii_lowercase();
        match extension.to_str()? {
            "json" => Some(Self::Document),
            "jsonl" => Some(Self::Lines),
            _ => None,
        }
    }
}

/// Why a file is no results file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What describes the rows, as it is written.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) eval_id: Value,
    pub(crate) config: Value,
    pub(crate) version: Value,
    pub(crate) timestamp: Value,
    pub(crate) prompts: Value,
    pub(crate) stats: Value,
}

impl Head {
    /// Returns where a field belongs that stands so many maps above the rows.
    fn place(&mut self, above: usize, name: &str) -> Option<&mut Value> {
        Some(match (above, name) {
            (2, "evalId") => &mut self.eval_id,
            (2, "config") => &mut self.config,
            (1, "version") => &mut self.version,
            (1, "timestamp") => &mut self.timestamp,
            (1, "prompts") => &mut self.prompts,
            (1, "stats") => &mut self.stats,
            _ => return None,
        })
    }
}

/// Reads what describes the rows of a document.
///
/// # Errors
/// When there is no such file, or it is no document.
pub(crate) fn head(path: &Path) -> Result<Head, Unreadable> {
    let mut head = Head::default();
    let (file, room) = open(path)?;
    document(file, &room, &mut ReadFor::<IgnoredAny>::Head(&mut head))?;
    Ok(head)
}

/// Hands over each row, as far as a `T` has it.
///
/// # Errors
/// The first row that can't be read, or that `see` refuses.
pub(crate) fn rows<T: DeserializeOwned>(
    path: &Path,
    shape: Shape,
    see: &mut dyn FnMut(T) -> Result<(), Unreadable>,
) -> Result<(), Unreadable> {
    let (file, room) = open(path)?;
    if shape == Shape::Document {
        return document(file, &room, &mut ReadFor::Rows(see));
    }
    for (idx, line) in file.lines().enumerate() {
        let at = |why: &dyn fmt::Display| Unreadable(format!("line {}: {why}", idx + 1));
        let line = line.map_err(|error| at(&error))?;
        room.set(WHOLE);
        if !line.trim().is_empty() {
            see(serde_json::from_str(&line).map_err(|error| at(&error))?)?;
        }
    }
    Ok(())
}

/// How much may still be read before the end of a part.
type Room = Rc<Cell<ReadAllowance>>;

#[derive(Debug, Clone, Copy)]
struct ReadAllowance {
    bytes: u64,
    values: u64,
}

const WHOLE: ReadAllowance = ReadAllowance {
    bytes: MAX_PART,
    values: MAX_VALUES,
};

impl ReadAllowance {
    /// What is left after this, if anything.
    fn after(self, read: &[u8]) -> io::Result<Self> {
        let values = read.iter().filter(|byte| b",[{".contains(byte)).count();
        let less = |left: u64, taken: usize, what: &dyn fmt::Display| {
            let too_much = || io::Error::other(format!("a part of it {what}"));
            left.checked_sub(taken as u64).ok_or_else(too_much)
        };
        let max = MAX_PART >> 20;
        Ok(Self {
            bytes: less(
                self.bytes,
                read.len(),
                &format_args!("is larger than {max} MiB"),
            )?,
            values: less(
                self.values,
                values,
                &format_args!("has more than {MAX_VALUES} values"),
            )?,
        })
    }
}

/// Texts of JSON that are one part together, such as the columns of a row.
#[derive(Debug)]
pub(crate) struct JsonPart(ReadAllowance);

impl JsonPart {
    /// Nothing read of it yet.
    pub(crate) fn new() -> Self {
        Self(WHOLE)
    }

    /// Reads a text of it.
    ///
    /// # Errors
    /// When it is no JSON, or the part is too large with it.
    pub(crate) fn json(&mut self, text: &str) -> Result<Value, Unreadable> {
        let left = self.0.after(text.as_bytes());
        self.0 = left.map_err(|error| Unreadable(error.to_string()))?;
        serde_json::from_str(text).map_err(|error| Unreadable(error.to_string()))
    }
}

/// A file that ends with an error where a part of it is too large.
#[derive(Debug)]
struct BoundedFile {
    file: File,
    room: Room,
}

impl Read for BoundedFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.room.set(self.room.get().after(&into[..read])?);
        Ok(read)
    }
}

fn open(path: &Path) -> Result<(BufReader<BoundedFile>, Room), Unreadable> {
    let file = File::open(path);
    let file = file.map_err(|error| Unreadable(format!("it can't be read: {error}")))?;
    let room = Room::new(Cell::new(WHOLE));
    let parts = BoundedFile {
        file,
        room: room.clone(),
    };
    Ok((BufReader::new(parts), room))
}

/// Reads a document for one thing.
fn document<T: DeserializeOwned>(
    file: BufReader<BoundedFile>,
    room: &Room,
    wanted: &mut ReadFor<'_, T>,
) -> Result<(), Unreadable> {
    let mut reader = serde_json::Deserializer::from_reader(file);
    let place = RowsAt {
        path: &["results", "results"],
        room,
        wanted,
    };
    let read = place.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| Unreadable(error.to_string()))
}

/// What a document is read for.
enum ReadFor<'a, T> {
    Head(&'a mut Head),
    Rows(&'a mut dyn FnMut(T) -> Result<(), Unreadable>),
}

/// The rows, a list at a path of maps, and what stands beside them.
struct RowsAt<'a, 'w, T> {
    path: &'a [&'static str],
    room: &'a Room,
    wanted: &'a mut ReadFor<'w, T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for RowsAt<'_, '_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            deserializer.deserialize_seq(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for RowsAt<'_, '_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.first() {
            Some(name) => write!(f, "a map with `{name}`"),
            None => f.write_str("a list of results"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else {
            return Err(A::Error::custom(
                "a map where the list of results should be",
            ));
        };
        let mut is_there = false;
        while let Some(name) = map.next_key::<String>()? {
            let of_head = match self.wanted {
                ReadFor::Head(head) => head.place(self.path.len(), &name),
                ReadFor::Rows(_) => None,
            };
            if let Some(value) = of_head {
                *value = map.next_value()?;
            } else if name == *first {
                is_there = true;
                map.next_value_seed(RowsAt {
                    path: rest,
                    room: self.room,
                    wanted: &mut *self.wanted,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if is_there || rest.is_empty() {
            Ok(())
        } else {
            Err(A::Error::missing_field(first))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        if !self.path.is_empty() {
            return Err(A::Error::custom("a list where a map should be"));
        }
        loop {
            self.room.set(WHOLE);
            let more = match self.wanted {
                ReadFor::Head(_) => rows.next_element::<IgnoredAny>()?.map(|_| ()),
                ReadFor::Rows(see) => {
                    let row = rows.next_element::<T>()?;
                    row.map(see).transpose().map_err(A::Error::custom)?
                }
            };
            if more.is_none() {
                return Ok(());
            }
        }
    }
}
