//! YAML 1.2 to [`Node`]s.
//!
//! Scalars follow the core schema, so `yes`, `no` and dates are text. Anchors, aliases and merge
//! keys (`<<`) work. Built on the parser's events rather than on a loader because a loader gives
//! no limits: here depth is bounded, and what aliases copy is too, so that ten lines can't
//! become gigabytes. Two equal keys in one map are an error, since one of them would be lost.
//!
//! Memory: [`Tally`] bounds the tree, [`MAX_ALIASED`] what aliases add to it, and [`events`] what the
//! parser keeps beside it. A value is kept for its anchor only where an alias will ask for it.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, ScalarStyle, Tag};
use serde_json::Number;

use crate::read::node::{Key, Kind, MAX_DEPTH, Malformed, Mark, Node, Tally, Text, exact};

mod events;

use events::Events;

/// What aliases may copy in all, in bytes of memory: some thousand times what shared blocks in real
/// configs come to.
const MAX_ALIASED: usize = 16 << 20;

/// Reads one document.
pub(crate) fn parse(text: &str) -> Result<Node, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Reader {
        events: Events::of(text),
        stack: Vec::new(),
        asked: aliases(text),
        anchors: HashMap::new(),
        aliased: 0,
        tally: Tally::of(text),
    }
    .document()
}

/// How many aliases ask for each anchor.
fn aliases(text: &str) -> HashMap<usize, usize> {
    let mut asked = HashMap::new();
    if text.contains('&') && text.contains('*') {
        // An error is met again by whoever reads the values.
        let events = Events::of(text).map_while(Result::ok);
        for (event, _) in events {
            if let Event::Alias(id) = event {
                *asked.entry(id).or_default() += 1;
            }
        }
    }
    asked
}

struct Reader<'a> {
    events: Events<'a>,
    stack: Vec<Open>,
    /// How many aliases will still ask for each anchor.
    asked: HashMap<usize, usize>,
    /// What they will ask for, with its weight.
    anchors: HashMap<usize, (Node, usize)>,
    aliased: usize,
    tally: Tally,
}

/// A list or map that has begun.
struct Open {
    anchor: usize,
    mark: Mark,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map {
        fields: Vec<(Key, Node)>,
        merges: Vec<Node>,
        key: Option<Key>,
    },
}

impl Reader<'_> {
    fn document(mut self) -> Result<Node, Malformed> {
        let mut root: Option<Node> = None;
        while let Some(event) = self.events.next() {
            let (event, mark) = event?;
            if root.is_some() && matches!(event, Event::DocumentStart(_)) {
                return Err(Malformed::new(
                    "a second YAML document begins here; only one is read",
                    mark,
                ));
            }
            if let Some(node) = self.event(event, mark)? {
                root = Some(node);
            }
        }
        Ok(root.unwrap_or(Node {
            kind: Kind::Null,
            mark: Mark { line: 1, column: 1 },
        }))
    }

    /// Takes an event; returns the document's value, once it is complete.
    fn event(&mut self, event: Event<'_>, mark: Mark) -> Result<Option<Node>, Malformed> {
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let kind = scalar(&text, style, tag.as_deref())
                    .map_err(|message| Malformed::new(message, mark))?;
                (Node { kind, mark }, anchor)
            }
            Event::Alias(id) => (self.alias(id, mark)?, 0),
            Event::SequenceStart(anchor, _) => {
                return self.open(Open {
                    anchor,
                    mark,
                    kind: OpenKind::List(Vec::new()),
                });
            }
            Event::MappingStart(anchor, _) => {
                let (fields, merges) = (Vec::new(), Vec::new());
                return self.open(Open {
                    anchor,
                    mark,
                    kind: OpenKind::Map {
                        fields,
                        merges,
                        key: None,
                    },
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.stack.pop() else {
                    return Ok(None);
                };
                let kind = match open.kind {
                    OpenKind::List(items) => Kind::List(exact(items)),
                    OpenKind::Map { fields, merges, .. } => Kind::Map(merged(fields, merges)?),
                };
                (
                    Node {
                        kind,
                        mark: open.mark,
                    },
                    open.anchor,
                )
            }
            _ => return Ok(None),
        };
        self.tally.count(&node)?;
        if self.asked.contains_key(&anchor) {
            let weight = weight(&node);
            self.copied(weight, mark)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        self.add(node)
    }

    /// Counts a copy that is about to be made.
    fn copied(&mut self, weight: usize, mark: Mark) -> Result<(), Malformed> {
        self.aliased += weight;
        if self.aliased > MAX_ALIASED {
            let message = format!("aliases copy more than {} MiB", MAX_ALIASED >> 20);
            return Err(Malformed::new(message, mark));
        }
        Ok(())
    }

    fn open(&mut self, open: Open) -> Result<Option<Node>, Malformed> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(Malformed::new(
                format!("nested deeper than {MAX_DEPTH} levels"),
                open.mark,
            ));
        }
        self.stack.push(open);
        Ok(None)
    }

    fn alias(&mut self, id: usize, mark: Mark) -> Result<Node, Malformed> {
        let Some((node, weight)) = self.anchors.remove(&id) else {
            return Err(Malformed::new("an alias inside its own anchor", mark));
        };
        if self.stack.len() + depth(&node) > MAX_DEPTH {
            return Err(Malformed::new(
                format!("nested deeper than {MAX_DEPTH} levels"),
                mark,
            ));
        }
        let still_asked = self.asked.entry(id).or_default();
        *still_asked = still_asked.saturating_sub(1);
        if *still_asked > 0 {
            self.copied(weight, mark)?;
            self.anchors.insert(id, (node.clone(), weight));
        }
        Ok(node)
    }

    /// Puts a finished value where it belongs.
    fn add(&mut self, node: Node) -> Result<Option<Node>, Malformed> {
        let Some(open) = self.stack.last_mut() else {
            return Ok(Some(node));
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map {
                fields,
                merges,
                key,
            } => match key.take() {
                None => {
                    let mark = node.mark;
                    let name = key_name(node)?;
                    *key = Some(Key { name, mark });
                }
                Some(name) if *name.name == *"<<" => merges.push(node),
                Some(name) => fields.push((name, node)),
            },
        }
        Ok(None)
    }
}

fn key_name(node: Node) -> Result<Box<str>, Malformed> {
    match node.kind {
        Kind::Text(text) => Ok(text.written),
        Kind::Number(number) => Ok(number.to_string().into()),
        Kind::Bool(value) => Ok(value.to_string().into()),
        Kind::Null => Ok("null".into()),
        Kind::List(_) | Kind::Map(_) => Err(Malformed {
            message: "a key must be text".to_owned(),
            mark: node.mark,
            help: Some("a value that begins with '{' needs quotes, for example \"{{name}}\""),
        }),
    }
}

/// `fields` and, under them, what `<<` brings in.
fn merged(mut fields: Vec<(Key, Node)>, merges: Vec<Node>) -> Result<Vec<(Key, Node)>, Malformed> {
    Malformed::of_equal_keys(&fields)?;
    if merges.is_empty() {
        return Ok(exact(fields));
    }
    let mut known: HashSet<Box<str>> = fields.iter().map(|(key, _)| key.name.clone()).collect();
    for source in merges {
        let mark = source.mark;
        let sources = match source.kind {
            Kind::List(items) => items,
            _ => vec![source],
        };
        for source in sources {
            let Kind::Map(more) = source.kind else {
                return Err(Malformed::new("'<<' takes a map or a list of maps", mark));
            };
            let new = more.into_iter();
            fields.extend(new.filter(|(key, _)| known.insert(key.name.clone())));
        }
    }
    Ok(fields)
}

fn weight(node: &Node) -> usize {
    node.weight()
        + match &node.kind {
            Kind::List(items) => items.iter().map(weight).sum(),
            Kind::Map(fields) => fields.iter().map(|(_, value)| weight(value)).sum(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => 0,
        }
}

fn depth(node: &Node) -> usize {
    match &node.kind {
        Kind::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Kind::Map(fields) => {
            1 + fields
                .iter()
                .map(|(_, value)| depth(value))
                .max()
                .unwrap_or(0)
        }
        _ => 0,
    }
}

/// A scalar by the core schema, or by its tag.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Kind, String> {
    let core = tag
        .filter(|tag| tag.is_yaml_core_schema())
        .map(|tag| tag.suffix.as_str());
    match (core, style) {
        (Some("str"), _) => return Ok(Kind::Text(Text::new(text))),
        (Some("int" | "float" | "bool" | "null"), _) | (_, ScalarStyle::Plain) => {}
        _ => return Ok(Kind::Text(Text::new(text))),
    }
    let kind = match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => number(text)?.map_or_else(|| Kind::Text(Text::new(text)), Kind::Number),
    };
    Ok(kind)
}

fn number(text: &str) -> Result<Option<Number>, String> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(
        unsigned,
        ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN"
    ) {
        return Err(format!(
            "{text} has no JSON form; put it in quotes if text is meant"
        ));
    }
    let radix = |prefix: &str, radix| i64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Ok(Some(number.into()));
    }
    let starts = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !starts || !unsigned.contains(|c: char| c.is_ascii_digit()) || !unsigned.chars().all(digits)
    {
        return Ok(None);
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let whole = plain
        .parse::<i64>()
        .map(Number::from)
        .or_else(|_| plain.parse::<u64>().map(Number::from));
    Ok(whole
        .ok()
        .or_else(|| plain.parse().ok().and_then(Number::from_f64)))
}

#[cfg(test)]
mod tests;
