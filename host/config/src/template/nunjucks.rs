//! From nunjucks to the engine's language, tag by tag.
//!
//! The engine has its own idea of operators, precedence, scope and truth. Rather than bending it
//! at each place, a template is read by nunjucks' grammar and written again in the few words of
//! the engine that mean the same: what loops and branches, and filters for all the rest.
//!
//! A variable that a loop sets lies in a cell (`cells`), which every `set` of it writes: the
//! engine would forget it after each round.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;

use super::pieces::{self, Piece, is_tag};
use cells::Cells;
use expression::Parser;
use tokens::{Token, tokens};

mod cells;
mod expression;
mod tokens;

/// What the engine compiles.
pub(crate) struct Translated {
    pub(crate) source: String,
    /// Variables that it reads and the engine can't see: names that are none in its language.
    pub(crate) odd_names: BTreeSet<String>,
    /// Filters that it names and that nunjucks has not.
    pub(crate) custom: BTreeSet<String>,
}

/// How deep blocks may nest.
const MAX_BLOCKS: usize = 60;

/// What variables begin with that no template can name: this translation's own.
pub(crate) const OWN: &str = "__own_";

/// Before the name of a cell's variable.
const CELL: &str = "__own_cell_";

/// What a template reads, and which of it lies in cells.
#[derive(Default)]
struct Names {
    /// Names in cells, by the blocks they live in.
    cells: RefCell<Vec<BTreeSet<String>>>,
    /// Cells that something was written to so far.
    written: RefCell<BTreeSet<String>>,
    odd: RefCell<BTreeSet<String>>,
    /// Filters that nunjucks has not.
    custom: RefCell<BTreeSet<String>>,
}

impl Names {
    fn in_cell(&self, name: &str) -> bool {
        self.cells.borrow().iter().any(|names| names.contains(name))
    }

    /// How `name` is read, if not simply by its name.
    fn read(&self, name: &str) -> Option<String> {
        if self.in_cell(name) {
            if !self.written.borrow().contains(name) {
                self.odd.borrow_mut().insert(name.to_owned());
            }
            return Some(format!("{CELL}{name}|_read"));
        }
        if is_identifier(name) && !is_reserved(name) {
            return None;
        }
        if name.starts_with(OWN) {
            // Not a template's to read: a cell could be put into itself.
            return Some("\"\"|_variable(\"\")".to_owned());
        }
        self.odd.borrow_mut().insert(name.to_owned());
        Some(format!("\"\"|_variable({})", text_literal(name)))
    }
}

/// Words that the engine keeps for itself and nunjucks doesn't.
fn is_reserved(name: &str) -> bool {
    matches!(name, "True" | "False" | "None") || name.starts_with(OWN)
}

fn is_identifier(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// A text as the engine reads it back.
fn text_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            _ => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// A tag's code: without delimiters and the dashes that trim.
fn code(tag: &str) -> &str {
    // A `raw` that never ends is a tag without its delimiter, and may end in any character.
    let inner = tag.get(2..tag.len() - 2).unwrap_or_default();
    let inner = inner.strip_prefix('-').unwrap_or(inner);
    inner.strip_suffix('-').unwrap_or(inner)
}

/// `text` in the engine's language.
pub(crate) fn translate(text: &str) -> Result<Translated, String> {
    let pieces = pieces::pieces(text);
    let cells: Cells = cells::find(&pieces);
    let mut writer = Writer {
        source: String::with_capacity(text.len() + text.len() / 2),
        names: Rc::default(),
        loops: cells.loops.into_iter(),
        open: Vec::new(),
        line: 1,
    };
    writer.make_cells(cells.text);
    for (index, piece) in pieces.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| pieces.get(index));
        let trims = (
            before.is_some_and(|piece| trims_after(*piece)),
            pieces
                .get(index + 1)
                .is_some_and(|piece| trims_before(*piece)),
        );
        writer
            .piece(*piece, trims)
            .map_err(|reason| match writer.line {
                1 => reason,
                line => format!("{reason} (line {line})"),
            })?;
        writer.line += tag_of(*piece).matches('\n').count();
    }
    Ok(Translated {
        source: writer.source,
        odd_names: writer.names.odd.take(),
        custom: writer.names.custom.take(),
    })
}

fn tag_of(piece: Piece<'_>) -> &str {
    let (Piece::Text(tag)
    | Piece::Stray(tag)
    | Piece::Expression(tag)
    | Piece::Statement(tag)
    | Piece::Comment(tag)) = piece;
    tag
}

/// Whether a tag takes the white space before it away.
fn trims_before(piece: Piece<'_>) -> bool {
    matches!(piece, Piece::Expression(tag) | Piece::Statement(tag) | Piece::Comment(tag) if tag[2..].starts_with('-'))
}

/// Whether a tag takes the white space after it away.
fn trims_after(piece: Piece<'_>) -> bool {
    matches!(piece, Piece::Expression(tag) | Piece::Statement(tag) | Piece::Comment(tag)
        if tag.len() > 4 && tag[..tag.len() - 2].ends_with('-'))
}

/// A block that waits for its end.
#[derive(Debug, PartialEq)]
enum Open {
    If,
    For,
    /// `{% set a, b %}…{% endset %}`
    Set(Vec<String>),
    /// `{% filter f %}…{% endfilter %}`, the filter with its arguments.
    Filter(String),
}

struct Writer {
    source: String,
    names: Rc<Names>,
    /// The cells of the loops still to come.
    loops: std::vec::IntoIter<BTreeSet<String>>,
    open: Vec<Open>,
    /// Line where the piece in hand begins, from 1.
    line: usize,
}

impl Writer {
    /// Makes cells, which begin with the value that the name has here.
    fn make_cells(&mut self, names: BTreeSet<String>) {
        for name in &names {
            self.write(&format!("set {CELL}{name} = \"{name}\"|_cell"), "");
        }
        self.names.cells.borrow_mut().push(names);
    }

    fn piece(&mut self, piece: Piece<'_>, (start, end): (bool, bool)) -> Result<(), String> {
        match piece {
            Piece::Text(text) => {
                let text = if start { text.trim_start() } else { text };
                let text = if end { text.trim_end() } else { text };
                if self.captures() {
                    // What is captured is counted, and only what is printed is.
                    self.print(&text_literal(text), "");
                } else {
                    self.source.push_str(text);
                }
                Ok(())
            }
            Piece::Stray(opening) => {
                self.print(&text_literal(opening), "");
                Ok(())
            }
            Piece::Comment(tag) => {
                let lines = "\n".repeat(tag.matches('\n').count());
                write!(self.source, "{{#{lines}#}}").expect("a string takes everything");
                Ok(())
            }
            Piece::Expression(tag) => {
                let words = tokens(code(tag))?;
                let value = Parser::new(&words, &self.names, "variable block").rest()?;
                self.print(&value, tag);
                Ok(())
            }
            Piece::Statement(tag) => self.statement(tag),
        }
    }

    fn captures(&self) -> bool {
        let captures = |open: &Open| matches!(open, Open::Set(_) | Open::Filter(_));
        self.open.iter().any(captures)
    }

    /// Prints a value; `tag` is where it comes from, for the lines of messages.
    fn print(&mut self, value: &str, tag: &str) {
        let lines = "\n".repeat(tag.matches('\n').count());
        write!(self.source, "{{{{ {value}{lines} }}}}").expect("a string takes everything");
    }

    fn write(&mut self, statement: &str, tag: &str) {
        let lines = "\n".repeat(tag.matches('\n').count());
        write!(self.source, "{{% {statement}{lines} %}}").expect("a string takes everything");
    }

    fn statement(&mut self, tag: &str) -> Result<(), String> {
        if let Some(raw) = raw_content(tag) {
            self.print(&text_literal(raw?), "");
            return Ok(());
        }
        let words = tokens(code(tag))?;
        let Some((Token::Name(word), words)) = words.split_first() else {
            return Err("unexpected end of block, expected the name of a statement".to_owned());
        };
        let names = Rc::clone(&self.names);
        let mut parser = Parser::new(words, &names, "block");
        let done = match word.as_str() {
            "if" => self.branch("if", &mut parser, tag),
            "elif" | "elseif" => self
                .inside(&[Open::If], word)
                .and_then(|()| self.branch("elif", &mut parser, tag)),
            "else" => self
                .inside(&[Open::If, Open::For], word)
                .map(|()| self.write("else", tag)),
            "for" => self.each(&mut parser, tag),
            "set" => self.set(&mut parser, tag),
            "filter" => self.filter(&mut parser),
            "endif" | "endfor" | "endset" | "endfilter" => self.close(word, tag),
            other => Err(unknown(other)),
        };
        done.and_then(|()| parser.end())
    }

    /// Opens a block.
    fn enter(&mut self, block: Open) -> Result<(), String> {
        if self.open.len() == MAX_BLOCKS {
            return Err(format!("blocks nest more than {MAX_BLOCKS} deep"));
        }
        self.open.push(block);
        Ok(())
    }

    /// Refuses a word that belongs to a block which isn't open.
    fn inside(&self, blocks: &[Open], word: &str) -> Result<(), String> {
        if self.open.last().is_some_and(|open| blocks.contains(open)) {
            Ok(())
        } else {
            Err(format!("`{word}` without a beginning"))
        }
    }

    fn branch(&mut self, word: &str, parser: &mut Parser<'_>, tag: &str) -> Result<(), String> {
        let condition = parser.rest()?;
        if word == "if" {
            self.enter(Open::If)?;
        }
        self.write(&format!("{word} {condition}"), tag);
        Ok(())
    }

    fn each(&mut self, parser: &mut Parser<'_>, tag: &str) -> Result<(), String> {
        let targets = targets(parser)?;
        if !parser.word("in") {
            return Err("`for` wants `for name in list`".to_owned());
        }
        let list = parser.rest()?;
        let items = match targets.len() {
            1 => "_items".to_owned(),
            count => format!("_pairs({count})"),
        };
        let cells = self.loops.next().unwrap_or_default();
        self.make_cells(cells);
        self.enter(Open::For)?;
        self.write(
            &format!("for {} in {list}|{items}", targets.join(", ")),
            tag,
        );
        Ok(())
    }

    fn set(&mut self, parser: &mut Parser<'_>, tag: &str) -> Result<(), String> {
        let targets = targets(parser)?;
        if parser.symbol("=") {
            let value = parser.rest()?;
            self.assign(&targets, &value, tag);
        } else {
            parser.end()?;
            self.write("set __own_captured", tag);
            self.enter(Open::Set(targets))?;
        }
        Ok(())
    }

    fn assign(&mut self, targets: &[String], value: &str, tag: &str) {
        for (index, target) in targets.iter().enumerate() {
            // Every target gets the same value, which is worked out once.
            let value = match index {
                0 => value.to_owned(),
                _ => self
                    .names
                    .read(&targets[0])
                    .unwrap_or_else(|| targets[0].clone()),
            };
            let statement = if self.names.in_cell(target) {
                self.names.written.borrow_mut().insert(target.clone());
                format!("set __own_written = {CELL}{target}|_write({value})")
            } else {
                format!("set {target} = {value}")
            };
            self.write(&statement, if index == 0 { tag } else { "" });
        }
    }

    fn filter(&mut self, parser: &mut Parser<'_>) -> Result<(), String> {
        let filter = parser.filter()?;
        self.write("set __own_captured", "");
        self.enter(Open::Filter(filter))
    }

    fn close(&mut self, word: &str, tag: &str) -> Result<(), String> {
        match (self.open.pop(), word) {
            (Some(Open::If), "endif") => self.write(word, tag),
            (Some(Open::For), "endfor") => {
                self.write(word, tag);
                self.names.cells.borrow_mut().pop();
            }
            (Some(Open::Set(targets)), "endset") => {
                self.write(word, tag);
                self.assign(&targets, "__own_captured", "");
            }
            (Some(Open::Filter(filter)), "endfilter") => {
                self.write("endset", tag);
                self.print(&format!("__own_captured|{filter}"), "");
            }
            _ => return Err(format!("`{word}` without a beginning")),
        }
        Ok(())
    }
}

/// The names that a loop or a `set` gives values.
fn targets(parser: &mut Parser<'_>) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    loop {
        match parser.name() {
            Some(name) if is_identifier(&name) && !is_reserved(&name) => names.push(name),
            Some(name) => return Err(format!("'{name}' can't be the name of a variable here")),
            None => return Err("a name is missing".to_owned()),
        }
        if !parser.symbol(",") {
            return Ok(names);
        }
    }
}

/// What stands in `{% raw %}…{% endraw %}`.
fn raw_content(tag: &str) -> Option<Result<&str, String>> {
    let open = tag.find("%}").map(|at| &tag[..at + 2])?;
    if !is_tag(open, &["raw", "verbatim"]) {
        return None;
    }
    let close = tag
        .rfind("{%")
        .filter(|at| *at >= open.len() && tag.len() > at + 4);
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
        "macro" | "call" => "use a loop, or a variable that holds a template",
        "switch" | "case" => "use `if` and `elif`",
        "asyncEach" | "asyncAll" => "use `for`",
        _ => return format!("unknown statement {word}"),
    };
    format!("`{word}` is not supported: {instead}")
}
