//! From a text to its tree: text between tags, and the blocks that tags open and close.

use std::iter::Peekable;

use crate::error::{Error, Line};
use crate::pieces::{Piece, Pieces, is_tag, pieces};
use crate::references;
use crate::tokens::{Token, tokens};
use crate::tree::{Case, For, Macro, Node, Switch};
use expression::Words;

mod expression;

/// How deep blocks may nest.
const MAX_BLOCKS: usize = 60;

/// The longest text that is read as a template.
const MAX_SOURCE: usize = crate::MAX_TEXT;

/// Reads a template.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Error> {
    let mut parser = Parser {
        pieces: pieces(text).peekable(),
        depth: 0,
        line: 1,
        ends_at: 1,
        trims: false,
    };
    let read = if text.len() > MAX_SOURCE {
        Err(format!("is longer than {} MiB", MAX_SOURCE >> 20))
    } else {
        parser.block(&[])
    };
    let line = parser.line;
    let (nodes, _) = read.map_err(|reason| Error { reason, line })?;
    references::check_calls(&nodes)?;
    Ok(nodes)
}

/// The tag that ended a block: its word, and the rest.
type End<'t> = (&'t str, Words<'t>);

struct Parser<'t> {
    pieces: Peekable<Pieces<'t>>,
    /// Blocks that are open.
    depth: usize,
    /// Where the piece in hand begins.
    line: Line,
    /// Where it ends.
    ends_at: Line,
    /// Whether the piece in hand takes the white space after it away.
    trims: bool,
}

impl<'t> Parser<'t> {
    /// Reads the parts up to one of these tags; without any, up to the end of the text.
    fn block(&mut self, ends: &[&str]) -> Result<(Vec<Node>, Option<End<'t>>), String> {
        let mut nodes = Vec::new();
        let opened = self.line;
        while let Some(piece) = self.pieces.next() {
            self.line = self.ends_at;
            self.ends_at += piece.source().matches('\n').count() as Line;
            let trims = std::mem::replace(&mut self.trims, piece.trims_after());
            match piece {
                Piece::Text(text) => {
                    let text = if trims { text.trim_start() } else { text };
                    let ends = self.pieces.peek().is_some_and(Piece::trims_before);
                    push(&mut nodes, if ends { text.trim_end() } else { text });
                }
                Piece::Stray(opening) => push(&mut nodes, opening),
                Piece::Comment(_) => {}
                Piece::Expression(tag) => {
                    let value = Words::new(code(tag), "variable block")?.rest()?;
                    nodes.push(Node::Print(self.line, value));
                }
                Piece::Statement(tag) => {
                    if let Some(raw) = raw_content(tag) {
                        push(&mut nodes, raw?);
                        continue;
                    }
                    let mut words = Words::new(code(tag), "block")?;
                    let Some(word) = words.name() else {
                        return Err(
                            "unexpected end of block, expected the name of a statement".to_owned()
                        );
                    };
                    if ends.contains(&word) {
                        return Ok((nodes, Some((word, words))));
                    }
                    nodes.push(self.statement(word, words)?);
                }
            }
        }
        if ends.is_empty() {
            return Ok((nodes, None));
        }
        self.line = opened;
        Err("unexpected end of input, expected end of block".to_owned())
    }

    fn statement(&mut self, word: &str, words: Words<'t>) -> Result<Node, String> {
        match word {
            "if" => self.branches(words),
            "for" => self.each(words),
            "set" => self.set(words),
            "filter" => self.filter(words),
            "switch" => self.switch(words),
            "macro" => self.macro_(words),
            "call" => self.call_block(words),
            "elif" | "elseif" | "else" | "endif" | "endfor" | "endset" | "endfilter" | "case"
            | "default" | "endswitch" | "endmacro" | "endcall" => {
                Err(format!("`{word}` without a beginning"))
            }
            other => Err(unknown(other)),
        }
    }

    /// Reads a block within the one in hand, and the tag that ended it.
    fn inner(&mut self, ends: &[&str]) -> Result<(Vec<Node>, End<'t>), String> {
        if self.depth == MAX_BLOCKS {
            return Err(format!("blocks nest more than {MAX_BLOCKS} deep"));
        }
        self.depth += 1;
        let (nodes, end) = self.block(ends)?;
        self.depth -= 1;
        Ok((nodes, end.expect("a block with ends has one")))
    }

    /// Reads the last block of a statement, whose end says nothing more.
    fn last(&mut self, end: &str) -> Result<Vec<Node>, String> {
        let (nodes, (_, words)) = self.inner(&[end])?;
        words.end()?;
        Ok(nodes)
    }

    fn branches(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let mut branches = Vec::new();
        loop {
            let (line, condition) = (self.line, words.rest()?);
            let (body, (word, more)) = self.inner(&["elif", "elseif", "else", "endif"])?;
            branches.push((line, condition, body));
            words = more;
            if matches!(word, "elif" | "elseif") {
                continue;
            }
            words.end()?;
            let otherwise = match word {
                "else" => self.last("endif")?,
                _ => Vec::new(),
            };
            return Ok(Node::If(branches, otherwise));
        }
    }

    fn each(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let (line, targets) = (self.line, words.targets()?);
        if !words.word("in") {
            return Err("`for` wants `for name in list`".to_owned());
        }
        let of = words.rest()?;
        let (body, (word, words)) = self.inner(&["else", "endfor"])?;
        words.end()?;
        let otherwise = match word {
            "else" => self.last("endfor")?,
            _ => Vec::new(),
        };
        Ok(Node::For(Box::new(For {
            line,
            targets,
            of,
            body,
            otherwise,
        })))
    }

    fn set(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let (line, targets) = (self.line, words.targets()?);
        if words.symbol("=") {
            return Ok(Node::Set(line, targets, words.rest()?));
        }
        words.end()?;
        Ok(Node::Capture(targets, self.last("endset")?))
    }

    fn filter(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let (line, filter) = (self.line, words.filter()?);
        words.end()?;
        Ok(Node::Filtered(line, filter, self.last("endfilter")?))
    }

    fn switch(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let (line, of) = (self.line, words.rest()?);
        // What stands before the first case is said to nobody.
        let (_, (word, mut words)) = self.inner(&["case", "default", "endswitch"])?;
        if word != "case" {
            return Err("`switch` wants a `case`".to_owned());
        }
        let mut cases = Vec::new();
        loop {
            let (at, value) = (self.line, words.rest()?);
            let (body, (word, more)) = self.inner(&["case", "default", "endswitch"])?;
            cases.push(Case {
                line: at,
                value,
                body,
            });
            words = more;
            if word == "case" {
                continue;
            }
            words.end()?;
            let otherwise = match word {
                "default" => self.last("endswitch")?,
                _ => Vec::new(),
            };
            return Ok(Node::Switch(Box::new(Switch {
                line,
                of,
                cases,
                otherwise,
            })));
        }
    }

    fn macro_(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let line = self.line;
        let name = words.name().ok_or("`macro` wants a name")?;
        let parameters = words.parameters()?;
        words.end()?;
        Ok(Node::Macro(Box::new(Macro {
            line,
            name: name.into(),
            parameters,
            body: self.last("endmacro")?,
        })))
    }

    fn call_block(&mut self, mut words: Words<'t>) -> Result<Node, String> {
        let (line, parameters) = (self.line, words.parameters()?);
        let calling = words.calling()?;
        words.end()?;
        let caller = Macro {
            line,
            name: references::CALLER.into(),
            parameters,
            body: self.last("endcall")?,
        };
        Ok(Node::CallBlock(calling, Box::new(caller)))
    }
}

impl Words<'_> {
    /// Reads the names that a loop or a `set` gives values.
    fn targets(&mut self) -> Result<Vec<Box<str>>, String> {
        let mut names = Vec::new();
        loop {
            match self.name() {
                Some(name @ ("true" | "false" | "none" | "null")) => {
                    return Err(format!("'{name}' can't be the name of a variable here"));
                }
                Some(name) => names.push(Box::from(name)),
                None => return Err("a name is missing".to_owned()),
            }
            if !self.symbol(",") {
                return Ok(names);
            }
        }
    }
}

/// Adds text, to the text before it if there is one.
fn push(nodes: &mut Vec<Node>, text: &str) {
    match nodes.last_mut() {
        Some(Node::Text(before)) => before.push_str(text),
        _ if text.is_empty() => {}
        _ => nodes.push(Node::Text(text.to_owned())),
    }
}

/// A tag's code: without delimiters and the dashes that trim.
fn code(tag: &str) -> &str {
    let inner = &tag[2..tag.len() - 2];
    let inner = inner.strip_prefix('-').unwrap_or(inner);
    inner.strip_suffix('-').unwrap_or(inner)
}

/// What stands in `{% raw %}…{% endraw %}`.
fn raw_content(tag: &str) -> Option<Result<&str, String>> {
    let open = tag.find("%}").map(|at| &tag[..at + 2])?;
    if !is_tag(open, &["raw", "verbatim"]) {
        return None;
    }
    let close = tag.rfind("{%").filter(|at| *at >= open.len());
    let close = close.filter(|at| is_tag(&tag[*at..], &["endraw", "endverbatim"]));
    let Some(close) = close else {
        return Some(Err("unexpected end of input, `raw` has no end".to_owned()));
    };
    let content = &tag[open.len()..close];
    let content = if open.ends_with("-%}") {
        content.trim_start()
    } else {
        content
    };
    let trims = tag[close..].starts_with("{%-");
    Some(Ok(if trims { content.trim_end() } else { content }))
}

/// Why a statement is none.
fn unknown(word: &str) -> String {
    let instead = match word {
        "include" | "import" | "from" | "extends" | "block" => {
            "a template is one text here; put what is shared into a variable (`file://…`)"
        }
        "asyncEach" | "asyncAll" => "use `for`",
        _ => return format!("unknown statement {word}"),
    };
    format!("`{word}` is not supported: {instead}")
}
