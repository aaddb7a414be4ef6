//! A config file as a tree in which every value knows where it stands.
//!
//! YAML and JSON are both read into this; readers of single keys walk it as
//! [`Entry`](crate::read::entry::Entry)s.

use serde_json::{Map, Number, Value};

use crate::bounds::Bound;

/// How deep values may nest. Deeper than any config; shallow enough for every recursion here.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many values one tree may hold.
const MAX_VALUES: usize = 4_000_000;

/// How much of [`Node::weight`] a tree may hold for each byte of its text. Only maps and lists that
/// take five bytes or less each come near that, and only where hardly anything else stands in the
/// file.
const MAX_WEIGHT: Bound = Bound {
    times: 112,
    base: 4 << 20,
};

/// What an allocation takes beside its bytes, with what it is rounded up to.
const ALLOCATION: usize = 32;

/// What a map of JSON takes beside its fields, and a field beside its name and value.
const MAP: usize = 96;
const FIELD: usize = 56;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) mark: Mark,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(Text),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A string, and what it became when its `{{ env.X }}` were filled in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) written: Box<str>,
    /// Few texts have it, so that it takes no more room than a pointer.
    filled: Option<Box<Filled>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Filled {
    text: String,
    is_credential: bool,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: Box<str>,
    pub(crate) mark: Mark,
}

/// Why a file can't be read as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) message: String,
    pub(crate) mark: Mark,
    pub(crate) help: Option<&'static str>,
}

impl Malformed {
    pub(crate) fn new(message: impl Into<String>, mark: Mark) -> Self {
        Self {
            message: message.into(),
            mark,
            help: None,
        }
    }

    /// Refuses two equal keys in one map, since one of them would be lost. The names are sorted
    /// rather than put into a set: a set would take more memory than the map itself.
    pub(crate) fn of_equal_keys(fields: &[(Key, Node)]) -> Result<(), Self> {
        let mut keys: Vec<&Key> = fields.iter().map(|(key, _)| key).collect();
        keys.sort_by(|one, other| one.name.cmp(&other.name));
        let pairs = keys.windows(2).filter(|pair| pair[0].name == pair[1].name);
        match pairs.min_by_key(|pair| (pair[1].mark.line, pair[1].mark.column)) {
            None => Ok(()),
            Some(pair) => {
                let Key { name, mark } = pair[1];
                let first = pair[0].mark.line;
                let message = format!("the key '{name}' is already on line {first}");
                Err(Self::new(message, *mark))
            }
        }
    }
}

/// What was read of a tree so far, so that it stays within its bounds.
pub(crate) struct Tally {
    values: usize,
    weight: usize,
    /// The most that it may weigh.
    max_weight: usize,
}

impl Tally {
    pub(crate) fn of(text: &str) -> Self {
        Self {
            values: 0,
            weight: 0,
            max_weight: MAX_WEIGHT.of(text.len()),
        }
    }

    /// Counts a value whose parts were counted.
    pub(crate) fn count(&mut self, node: &Node) -> Result<(), Malformed> {
        self.values += 1;
        self.weight += node.weight();
        let message = if self.values > MAX_VALUES {
            format!("more than {MAX_VALUES} values in one file")
        } else if self.weight > self.max_weight {
            "far more maps and lists than text in one file".to_owned()
        } else {
            return Ok(());
        };
        Err(Malformed {
            message,
            mark: node.mark,
            help: Some("split the file; rows of CSV and JSONL files are read one by one"),
        })
    }
}

/// Without room to spare. What is short is copied: cut off in its place, the rest would be a piece of
/// memory that is too small for what comes next, and there can be one for each few bytes of a file.
pub(crate) fn exact<T>(mut items: Vec<T>) -> Vec<T> {
    if items.len() > 64 {
        items.shrink_to_fit();
        return items;
    }
    let mut exact = Vec::with_capacity(items.len());
    exact.append(&mut items);
    exact
}

impl Text {
    pub(crate) fn new(written: impl Into<Box<str>>) -> Self {
        Self {
            written: written.into(),
            filled: None,
        }
    }

    /// Sets what it became.
    pub(crate) fn fill(&mut self, filled: Option<String>, is_credential: bool) {
        self.filled = filled.map(|text| {
            Box::new(Filled {
                text,
                is_credential,
            })
        });
    }

    /// Whether it is a credential into which something was filled in.
    pub(crate) fn is_filled_credential(&self) -> bool {
        self.filled
            .as_ref()
            .is_some_and(|filled| filled.is_credential)
    }

    /// With environment templates filled in.
    pub(crate) fn get(&self) -> &str {
        match &self.filled {
            Some(filled) => &filled.text,
            None => &self.written,
        }
    }
}

impl Node {
    pub(crate) fn text(text: impl Into<Box<str>>, mark: Mark) -> Self {
        Self {
            kind: Kind::Text(Text::new(text)),
            mark,
        }
    }

    /// A value that no file holds, all of it at `mark`; `None` if it nests deeper than
    /// [`MAX_DEPTH`].
    pub(crate) fn made(value: Value, mark: Mark) -> Option<Self> {
        fn at_depth(value: Value, mark: Mark, depth: usize) -> Option<Node> {
            if depth > MAX_DEPTH {
                return None;
            }
            let kind = match value {
                Value::Null => Kind::Null,
                Value::Bool(value) => Kind::Bool(value),
                Value::Number(value) => Kind::Number(value),
                Value::String(text) => Kind::Text(Text::new(text)),
                Value::Array(items) => {
                    let items = items.into_iter();
                    let items = items.map(|item| at_depth(item, mark, depth + 1));
                    Kind::List(items.collect::<Option<_>>()?)
                }
                Value::Object(fields) => {
                    let field = |(name, value): (String, _)| {
                        let value = at_depth(value, mark, depth + 1)?;
                        let name = name.into();
                        Some((Key { name, mark }, value))
                    };
                    Kind::Map(fields.into_iter().map(field).collect::<Option<_>>()?)
                }
            };
            Some(Node { kind, mark })
        }
        at_depth(value, mark, 0)
    }

    /// Calls `each` with the place of every text in which an environment template was filled in.
    pub(crate) fn each_filled(&self, each: &mut dyn FnMut(Mark)) {
        match &self.kind {
            Kind::Text(text) if text.filled.is_some() => each(self.mark),
            Kind::List(items) => items.iter().for_each(|item| item.each_filled(each)),
            Kind::Map(fields) => fields.iter().for_each(|(_, value)| value.each_filled(each)),
            Kind::Text(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
    }

    /// The memory that it takes beside the values within, as a node and once more as JSON.
    pub(crate) fn weight(&self) -> usize {
        let text = |len: usize| 2 * (len + ALLOCATION);
        let field = |key: &Key| text(key.name.len()) + size_of::<Key>() + FIELD;
        let more = match &self.kind {
            Kind::Text(written) => text(written.written.len()),
            Kind::List(_) => ALLOCATION,
            Kind::Map(fields) => MAP + fields.iter().map(|(key, _)| field(key)).sum::<usize>(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => 0,
        };
        size_of::<Self>() + size_of::<Value>() + more
    }

    /// How many values it is.
    pub(crate) fn values(&self) -> usize {
        1 + match &self.kind {
            Kind::List(items) => items.iter().map(Self::values).sum(),
            Kind::Map(fields) => fields.iter().map(|(_, value)| value.values()).sum(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => 0,
        }
    }

    /// As JSON, environment templates filled in.
    pub(crate) fn json(&self) -> Value {
        self.convert(true)
    }

    /// As JSON as it was written: holds nothing that came from the environment.
    pub(crate) fn json_as_written(&self) -> Value {
        self.convert(false)
    }

    fn convert(&self, filled: bool) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(text) => {
                let text = if filled { text.get() } else { &text.written };
                Value::String(text.to_owned())
            }
            Kind::List(items) => items.iter().map(|item| item.convert(filled)).collect(),
            Kind::Map(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| (key.name.to_string(), value.convert(filled)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}
