//! The lines of a file, as far as they tell it from others.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};

/// Bytes of a line that are looked at.
const HEAD_BYTES: u64 = 512;

/// The beginnings of a file's lines, one at a time, without the line break.
pub(super) struct LineBeginnings<'a> {
    file: BufReader<&'a File>,
    head: Vec<u8>,
}

impl<'a> LineBeginnings<'a> {
    /// From the beginning of the file.
    pub(super) fn of(mut file: &'a File) -> io::Result<Self> {
        file.rewind()?;
        Ok(Self {
            file: BufReader::new(file),
            head: Vec::new(),
        })
    }

    /// Reads the next line; one that is no text is empty.
    pub(super) fn next(&mut self) -> io::Result<Option<&str>> {
        self.head.clear();
        let mut beginning = self.file.by_ref().take(HEAD_BYTES);
        if beginning.read_until(b'\n', &mut self.head)? == 0 {
            return Ok(None);
        }
        if self.head.pop_if(|last| *last == b'\n').is_none() {
            self.file.skip_until(b'\n')?;
        }
        let text = match str::from_utf8(&self.head) {
            Ok(text) => text,
            // Cut off in the middle of a character.
            Err(error) => str::from_utf8(&self.head[..error.valid_up_to()]).unwrap_or_default(),
        };
        Ok(Some(text))
    }
}
