//! JSON whose texts have a bound: a parser keeps each of them whole until it ends.

use std::io::{self, Read};

/// The longest text, in bytes as written: that of a row.
const LONGEST: usize = 64 << 20;

/// Passes JSON on, until a text in it is too long.
pub(super) struct BoundedStrings<R> {
    inner: R,
    /// The length so far of the text that it is in.
    text: Option<usize>,
    /// Whether the byte before began an escape.
    is_escaped: bool,
}

impl<R: Read> BoundedStrings<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            text: None,
            is_escaped: false,
        }
    }
}

impl<R: Read> Read for BoundedStrings<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        for &byte in &buffer[..read] {
            self.text = match (self.text, byte) {
                (None, b'"') => Some(0),
                (None, _) => None,
                (Some(_), b'"') if !self.is_escaped => None,
                (Some(LONGEST), _) => {
                    let mib = LONGEST >> 20;
                    let message = format!("a text in the existing file is longer than {mib} MiB");
                    return Err(io::Error::other(message));
                }
                (Some(length), _) => Some(length + 1),
            };
            self.is_escaped = self.text.is_some() && byte == b'\\' && !self.is_escaped;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&str], filler: usize) -> Result<usize, String> {
        let filler = "x".repeat(filler);
        let json = parts.join(&filler);
        let mut bounded = BoundedStrings::new(json.as_bytes());
        io::copy(&mut bounded, &mut io::sink())
            .map(|_| json.len())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_text_ends_where_its_quote_is_not_escaped() {
        let too_long = Err("a text in the existing file is longer than 64 MiB".to_owned());
        for (parts, filler, fits) in [
            (&["{\"", "\":1}"][..], LONGEST, true),
            (&["{\"", "\":1}"], LONGEST + 1, false),
            (&["\"", "\" \"", "\""], LONGEST, true),
            (&["\"\\\"", "\""], LONGEST - 1, false),
            (&["\"\\\\\"", "\"\""], LONGEST, true),
            (&["1", "2"], LONGEST + 1, true),
        ] {
            let seen = read(parts, filler);
            if fits {
                assert!(seen.is_ok(), "{parts:?}");
            } else {
                assert_eq!(seen, too_long, "{parts:?}");
            }
        }
    }
}
