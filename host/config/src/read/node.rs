//! A config file as a tree in which every value knows where it stands.
//!
//! YAML and JSON are both read into this; readers of single keys walk it as
//! [`Entry`](crate::read::entry::Entry)s.

use serde_json::{Map, Number, Value};

/// How deep values may nest. Deeper than any config; shallow enough for every recursion here.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many values one tree may hold. A value takes up to 300 bytes while it is read, and as
/// little as two in its file.
pub(crate) const MAX_VALUES: usize = 4_000_000;

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
    pub(crate) written: String,
    pub(crate) filled: Option<String>,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: String,
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

    /// A tree of more than [`MAX_VALUES`].
    pub(crate) fn too_many_values(mark: Mark) -> Self {
        Self {
            message: format!("more than {MAX_VALUES} values in one file"),
            mark,
            help: Some("split the file; rows of CSV and JSONL files are read one by one"),
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

impl Text {
    pub(crate) fn new(written: impl Into<String>) -> Self {
        Self {
            written: written.into(),
            filled: None,
        }
    }

    /// With environment templates filled in.
    pub(crate) fn get(&self) -> &str {
        self.filled.as_deref().unwrap_or(&self.written)
    }
}

impl Node {
    pub(crate) fn text(text: impl Into<String>, mark: Mark) -> Self {
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
                    let field = |(name, value)| {
                        let value = at_depth(value, mark, depth + 1)?;
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
                Value::String(if filled { text.get() } else { &text.written }.to_owned())
            }
            Kind::List(items) => items.iter().map(|item| item.convert(filled)).collect(),
            Kind::Map(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| (key.name.clone(), value.convert(filled)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}
