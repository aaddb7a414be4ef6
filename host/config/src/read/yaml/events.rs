//! The events of a YAML text, and a bound to what their parser keeps.
//!
//! A list or map in brackets that stands where a key may stand could be a key itself, so the parser
//! reads on to its end before it tells of its beginning: a hundred bytes and more for each comma. No
//! option of the parser's bounds that, but it asks its input for a byte order mark at the beginning
//! of every token. So tokens are counted there, and where there are too many the text ends.

use std::cell::Cell;
use std::rc::Rc;

use saphyr_parser::{Event, Input, Marker, Parser, StrInput};

use crate::read::node::{Malformed, Mark};

/// How many tokens the parser may read ahead of an event: they take up to 200 bytes each.
const MAX_AHEAD: usize = 200_000;

const HELP: &str = "write it in lines (`- a`, `key: value`), or all of the file as JSON";

/// The events, each with the place where it begins.
pub(super) struct Events<'a> {
    parser: Parser<'a, Bounded<'a>>,
    ahead: Rc<Cell<usize>>,
}

impl<'a> Events<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let ahead = Rc::default();
        let text = Bounded {
            text: StrInput::new(text),
            ahead: Rc::clone(&ahead),
        };
        let parser = Parser::new(text);
        Self { parser, ahead }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<(Event<'a>, Mark), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.parser.next_event()?;
        let marker = match &next {
            Ok((_, span)) => span.start,
            Err(error) => *error.marker(),
        };
        let mark = mark(&marker);
        if self.ahead.take() > MAX_AHEAD {
            let message =
                format!("more than {MAX_AHEAD} commas and values in one pair of brackets");
            return Some(Err(Malformed {
                message,
                mark,
                help: Some(HELP),
            }));
        }
        Some(
            next.map(|(event, _)| (event, mark))
                .map_err(|error| Malformed::new(format!("not valid YAML: {}", error.info()), mark)),
        )
    }
}

fn mark(marker: &Marker) -> Mark {
    Mark {
        line: marker.line() as u32,
        column: marker.col() as u32 + 1,
    }
}

/// A text that ends where too many tokens were read of it since the last event.
struct Bounded<'a> {
    text: StrInput<'a>,
    ahead: Rc<Cell<usize>>,
}

impl Input for Bounded<'_> {
    fn lookahead(&mut self, count: usize) {
        if self.ahead.get() > MAX_AHEAD {
            self.text = StrInput::new("");
        }
        self.text.lookahead(count);
    }

    fn next_char_is(&self, c: char) -> bool {
        if c == '\u{feff}' {
            self.ahead.set(self.ahead.get() + 1);
        }
        self.text.next_char_is(c)
    }

    fn buflen(&self) -> usize {
        self.text.buflen()
    }

    fn bufmaxlen(&self) -> usize {
        self.text.bufmaxlen()
    }

    fn raw_read_ch(&mut self) -> char {
        self.text.raw_read_ch()
    }

    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.text.raw_read_non_breakz_ch()
    }

    fn skip(&mut self) {
        self.text.skip();
    }

    fn skip_n(&mut self, count: usize) {
        self.text.skip_n(count);
    }

    fn peek(&self) -> char {
        self.text.peek()
    }

    fn peek_nth(&self, n: usize) -> char {
        self.text.peek_nth(n)
    }

    fn peek_opt(&self) -> Option<char> {
        self.text.peek_opt()
    }
}
