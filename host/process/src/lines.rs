//! A pipe, line by line.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Lines of a pipe, each of bounded length.
pub(crate) struct Lines<R> {
    from: BufReader<R>,
    most: usize,
    line: Vec<u8>,
    is_too_long: bool,
}

pub(crate) enum Line {
    /// Without its line break.
    Whole(Vec<u8>),
    /// Its rest is passed over.
    TooLong,
    /// The pipe is closed.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R, most: usize) -> Self {
        Self {
            from: BufReader::new(from),
            most,
            line: Vec::new(),
            is_too_long: false,
        }
    }

    /// Reads the next one, once it is whole.
    pub(crate) async fn next(&mut self) -> Line {
        loop {
            let bytes = match self.from.fill_buf().await {
                Ok(bytes) if !bytes.is_empty() => bytes,
                // A last line without a break.
                _ if !self.line.is_empty() => return Line::Whole(std::mem::take(&mut self.line)),
                _ => return Line::End,
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.is_too_long {
                self.is_too_long = end.is_none();
            } else if self.line.len() + part.len() > self.most {
                self.line = Vec::new();
                self.is_too_long = end.is_none();
                let read = part.len() + usize::from(end.is_some());
                self.from.consume(read);
                return Line::TooLong;
            } else {
                self.line.extend_from_slice(part);
                if end.is_some() {
                    let read = part.len() + 1;
                    self.from.consume(read);
                    return Line::Whole(std::mem::take(&mut self.line));
                }
            }
            let read = part.len() + usize::from(end.is_some());
            self.from.consume(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], most: usize) -> Vec<String> {
        let mut lines = Lines::new(text, most);
        let mut all = Vec::new();
        loop {
            match lines.next().await {
                Line::Whole(line) => all.push(String::from_utf8(line).expect("a text")),
                Line::TooLong => all.push("too long".to_owned()),
                Line::End => return all,
            }
        }
    }

    #[tokio::test]
    async fn lines_have_a_length_and_a_long_one_costs_only_itself() {
        assert_eq!(lines(b"a\n\nbc", 3).await, ["a", "", "bc"]);
        assert_eq!(lines(b"abcd\nef\n", 3).await, ["too long", "ef"]);
        let long = [vec![b'x'; 100_000], b"\nab\n".to_vec()].concat();
        assert_eq!(lines(&long, 10).await, ["too long", "ab"]);
        assert_eq!(lines(b"", 3).await, Vec::<String>::new());
    }
}
