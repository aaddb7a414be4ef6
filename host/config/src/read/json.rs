//! JSON to [`Node`]s with positions.
//!
//! Why not the YAML reader, JSON being almost YAML: escapes of characters beyond the basic plane
//! (`"\ud83d\ude00"`, which Python writes for every emoji) are legal in JSON alone. The walk
//! here finds where each token ends; `serde_json` says what the token means.
//!
//! Memory: [`Tally`] bounds it.

use serde_json::Number;

use crate::read::node::{Key, Kind, MAX_DEPTH, Malformed, Mark, Node, Tally, Text, exact};

/// Reads one JSON text; `first_line` is the line it begins on in its file.
pub(crate) fn parse(text: &str, first_line: u32) -> Result<Node, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut walk = Walk {
        rest: text,
        mark: Mark {
            line: first_line,
            column: 1,
        },
        depth: 0,
        tally: Tally::of(text),
    };
    walk.space();
    let node = walk.value()?;
    walk.space();
    if walk.rest.is_empty() {
        Ok(node)
    } else {
        Err(walk.fail("something follows the value"))
    }
}

struct Walk<'a> {
    rest: &'a str,
    mark: Mark,
    depth: usize,
    tally: Tally,
}

impl<'a> Walk<'a> {
    fn fail(&self, what: &str) -> Malformed {
        Malformed::new(format!("not valid JSON: {what}"), self.mark)
    }

    /// Takes `len` bytes.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        for c in taken.chars() {
            if c == '\n' {
                self.mark = Mark {
                    line: self.mark.line + 1,
                    column: 1,
                };
            } else {
                self.mark.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn space(&mut self) {
        let trimmed = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.take(self.rest.len() - trimmed.len());
    }

    /// Takes `c` and the space around it, if it comes next.
    fn eat(&mut self, c: char) -> bool {
        self.space();
        let found = self.rest.starts_with(c);
        if found {
            self.take(c.len_utf8());
            self.space();
        }
        found
    }

    fn value(&mut self) -> Result<Node, Malformed> {
        let mark = self.mark;
        let kind = match self.rest.bytes().next() {
            Some(b'{') => self.nested(Self::map)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => Kind::Text(Text::new(self.string()?)),
            Some(_) => self.word()?,
            None => return Err(self.fail("a value is missing")),
        };
        let node = Node { kind, mark };
        self.tally.count(&node)?;
        Ok(node)
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Kind, Malformed>,
    ) -> Result<Kind, Malformed> {
        if self.depth >= MAX_DEPTH {
            return Err(Malformed::new(
                format!("nested deeper than {MAX_DEPTH} levels"),
                self.mark,
            ));
        }
        self.depth += 1;
        let kind = read(self);
        self.depth -= 1;
        kind
    }

    fn list(&mut self) -> Result<Kind, Malformed> {
        self.eat('[');
        let mut items = Vec::new();
        if self.eat(']') {
            return Ok(Kind::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.eat(']') {
                return Ok(Kind::List(exact(items)));
            }
            if !self.eat(',') {
                return Err(self.fail("expected ',' or ']'"));
            }
        }
    }

    fn map(&mut self) -> Result<Kind, Malformed> {
        self.eat('{');
        let mut fields: Vec<(Key, Node)> = Vec::new();
        if self.eat('}') {
            return Ok(Kind::Map(fields));
        }
        loop {
            let mark = self.mark;
            if !self.rest.starts_with('"') {
                return Err(self.fail("expected a key in double quotes"));
            }
            let name = self.string()?.into();
            if !self.eat(':') {
                return Err(self.fail("expected ':'"));
            }
            fields.push((Key { name, mark }, self.value()?));
            if self.eat('}') {
                Malformed::of_equal_keys(&fields)?;
                return Ok(Kind::Map(exact(fields)));
            }
            if !self.eat(',') {
                return Err(self.fail("expected ',' or '}'"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            return Err(self.fail("a string does not end"));
        };
        let token = &self.rest[..end + 2];
        let text = serde_json::from_str(token)
            .map_err(|_| self.fail("a string with a bad escape or a bare control character"))?;
        self.take(end + 2);
        Ok(text)
    }

    fn word(&mut self) -> Result<Kind, Malformed> {
        let len = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
        let word = &self.rest[..len.unwrap_or(self.rest.len())];
        let kind = match word {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            _ => match serde_json::from_str::<Number>(word) {
                Ok(number) => Kind::Number(number),
                Err(_) => return Err(self.fail("expected a value")),
            },
        };
        self.take(word.len());
        Ok(kind)
    }
}

#[cfg(test)]
mod tests;
