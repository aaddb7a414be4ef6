//! What one rendering may cost, and what many may cost together.
//!
//! Steps are counted, but one step may copy megabytes. So whatever makes a text or a list says
//! how large it is before it makes it, and whatever walks over a value says so as it walks: a
//! list that holds itself twice, thirty times over, is small and has a billion items. There is
//! no other way to print a value than by way of this count.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value as Json;

use crate::error::Line;
use crate::numbers::{float_text, json_number};
use crate::value::{List, MAX_NESTING, Map, Text, Value};

/// What an item of a list counts.
pub(crate) const ITEM: usize = 32;

/// What a list counts beside its items.
pub(crate) const LIST: usize = 2 * ITEM;

/// What a map counts beside its fields.
pub(crate) const MAP: usize = 4 * ITEM;

/// What a field of a map counts with its value, beside the text of its key.
pub(crate) const FIELD: usize = 3 * ITEM;

/// Bytes that are made or looked at in the time of a step.
const BYTES_OF_STEP: usize = 128;

/// What one rendering may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Expressions that are evaluated, and rounds of loops.
    pub steps: u64,
    /// Bytes of the text.
    pub output: usize,
    /// Bytes that expressions and captured blocks make.
    pub made: usize,
    /// Bytes that expressions look at.
    pub read: usize,
}

/// Tens of milliseconds and thousands of rounds, some times what may cross to a plugin, and a
/// second or so of reading.
impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 1_000_000,
            output: crate::MAX_TEXT,
            made: 4 * crate::MAX_TEXT,
            read: 64 * crate::MAX_TEXT,
        }
    }
}

/// What the renderings that share it may cost together, in steps: an owner with ten thousand
/// templates has ten thousand times the [`Limits`] of one.
#[derive(Debug)]
pub struct Allowance(AtomicU64);

impl Allowance {
    /// Allows `steps`.
    pub const fn new(steps: u64) -> Self {
        Self(AtomicU64::new(steps))
    }

    /// # Errors
    /// If nothing is left. A rendering that has begun may end, so that what is spent can be more
    /// than was allowed by the limits of one.
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.0.load(Ordering::Relaxed) == 0 {
            return refuse("takes, with the templates before it, too many steps");
        }
        Ok(())
    }

    pub(crate) fn spend(&self, steps: u64) {
        let less = |left: u64| Some(left.saturating_sub(steps));
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: Cow<'static, str>,
    /// Where, if that is not the tag that the expression stands in.
    pub(crate) line: Option<Line>,
}

impl Refusal {
    /// Of what stands in the tag at hand.
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        let (reason, line) = (reason.into(), None);
        Self { reason, line }
    }
}

/// What an expression comes to.
pub(crate) type Outcome<T> = Result<T, Refusal>;

/// An expression that can't be worked out.
pub(crate) fn refuse<T>(what: impl Into<Cow<'static, str>>) -> Outcome<T> {
    Err(Refusal::new(what))
}

/// Counts what one rendering costs.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    steps: u64,
    made: usize,
    read: usize,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            steps: 0,
            made: 0,
            read: 0,
        }
    }

    /// Counts a step.
    pub(crate) fn step(&mut self) -> Outcome<()> {
        self.steps += 1;
        if self.steps > self.limits.steps {
            return refuse("takes too many steps");
        }
        Ok(())
    }

    /// What was counted, in steps.
    pub(crate) fn cost(&self) -> u64 {
        let bytes = self.made.saturating_add(self.read);
        self.steps + (bytes / BYTES_OF_STEP) as u64
    }

    /// Counts `bytes` that are about to be made.
    pub(crate) fn make(&mut self, bytes: usize) -> Outcome<()> {
        self.made = self.made.saturating_add(bytes);
        if self.made > self.limits.made {
            let limit = self.limits.made >> 20;
            return refuse(format!("makes more than {limit} MiB in its expressions"));
        }
        Ok(())
    }

    /// Counts `bytes` that are about to be looked at.
    pub(crate) fn read(&mut self, bytes: usize) -> Outcome<()> {
        self.read = self.read.saturating_add(bytes);
        if self.read > self.limits.read {
            return refuse("looks at too much text in its expressions");
        }
        Ok(())
    }

    /// Counts a text that was made.
    pub(crate) fn made<'a>(&mut self, text: String) -> Outcome<Value<'a>> {
        self.make(text.len())?;
        Ok(Value::from(text))
    }

    /// Counts a list that was made.
    pub(crate) fn list<'a>(&mut self, items: Vec<Value<'a>>) -> Outcome<Value<'a>> {
        self.make(LIST + items.len() * ITEM)?;
        Value::list(items).map_or_else(too_deep, Ok)
    }

    /// Counts a map that was made.
    pub(crate) fn map<'a>(&mut self, fields: Vec<(Text<'a>, Value<'a>)>) -> Outcome<Value<'a>> {
        self.make(MAP + fields.len() * FIELD)?;
        Value::map(fields).map_or_else(too_deep, Ok)
    }

    /// Returns what `{{ … }}` prints for a value: as in JavaScript, but nothing for `null`, and JSON for
    /// a map and for a list that holds maps, which no prompt ever wanted as `[object Object]`.
    pub(crate) fn text<'v>(&mut self, value: &'v Value<'_>) -> Outcome<Cow<'v, str>> {
        Ok(match value {
            Value::Undefined | Value::Null | Value::Pending | Value::Function(_) => {
                Cow::Borrowed("")
            }
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            Value::Whole(number) => Cow::Owned(number.to_string()),
            Value::Float(number) => Cow::Owned(float_text(*number)),
            Value::Text(text) | Value::Safe(text) => Cow::Borrowed(text),
            Value::List(list) => match list.written() {
                Some(text) => Cow::Borrowed(text),
                None if self.holds_maps(list)? => Cow::Owned(self.printed(value)?),
                None => {
                    let mut text = String::new();
                    self.write_items(list, &mut text)?;
                    Cow::Owned(text)
                }
            },
            Value::Map(map) => match map.written() {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(self.printed(value)?),
            },
        })
    }

    /// Returns `String(value)`: unlike what is printed, it has words for what is missing.
    pub(crate) fn string<'v>(&mut self, value: &'v Value<'_>) -> Outcome<Cow<'v, str>> {
        match value {
            Value::Undefined => Ok(Cow::Borrowed("undefined")),
            Value::Null => Ok(Cow::Borrowed("null")),
            _ => self.text(value),
        }
    }

    fn printed(&mut self, value: &Value<'_>) -> Outcome<String> {
        Ok(self.json_text(value, 0)?.unwrap_or_default())
    }

    fn holds_maps(&mut self, list: &List<'_>) -> Outcome<bool> {
        self.read(list.len() * ITEM)?;
        for item in list.iter() {
            let found = match &item {
                Value::Map(_) => true,
                Value::List(list) => self.holds_maps(list)?,
                _ => false,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes items with commas between them, those of lists within as well.
    fn write_items(&mut self, list: &List<'_>, out: &mut String) -> Outcome<()> {
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            if let Value::List(list) = &item {
                self.make(1)?;
                self.write_items(list, out)?;
                continue;
            }
            let text = self.text(&item)?;
            self.make(1 + text.len())?;
            out.push_str(&text);
        }
        Ok(())
    }

    /// Returns a value as JSON; what is undefined is `None`, in a list `null`, and left out of a map.
    pub(crate) fn json(&mut self, value: &Value<'_>) -> Outcome<Option<Json>> {
        self.make(shallow(value))?;
        Ok(Some(match value {
            Value::Undefined | Value::Pending | Value::Function(_) => return Ok(None),
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Whole(_) | Value::Float(_) => json_number(value),
            Value::Text(text) | Value::Safe(text) => Json::from(&**text),
            Value::List(list) => {
                self.make(list.len().saturating_mul(size_of::<Json>()))?;
                let mut items = Vec::with_capacity(list.len());
                for item in list.iter() {
                    items.push(self.json(&item)?.unwrap_or_default());
                }
                Json::Array(items)
            }
            Value::Map(map) => {
                let mut fields = serde_json::Map::new();
                for (key, value) in map.fields() {
                    self.make(key.len() + FIELD)?;
                    if let Some(json) = self.json(&value)? {
                        fields.insert(key.to_string(), json);
                    }
                }
                Json::Object(fields)
            }
        }))
    }

    /// Returns the items of a list, the letters of a text: what a loop with one name goes over, and what
    /// filters on lists look at. Of a map there are none, as in nunjucks.
    pub(crate) fn items<'a>(&mut self, value: &Value<'a>) -> Outcome<Vec<Value<'a>>> {
        Ok(match value {
            Value::List(list) => {
                self.read(list.len() * ITEM)?;
                list.iter().collect()
            }
            Value::Text(text) | Value::Safe(text) => {
                self.make(text.len().saturating_mul(ITEM))?;
                text.chars().map(Value::from).collect()
            }
            _ => Vec::new(),
        })
    }

    /// Returns the fields of a map.
    pub(crate) fn fields<'a>(&mut self, map: &Map<'a>) -> Outcome<Vec<(Text<'a>, Value<'a>)>> {
        self.read(map.len() * 2 * ITEM)?;
        Ok(map.fields())
    }
}

/// The bytes of a JSON value itself, about.
fn shallow(value: &Value<'_>) -> usize {
    ITEM + value.as_text().map_or(0, |text| text.len())
}

fn too_deep<T>() -> Outcome<T> {
    refuse(format!("lists and maps nest more than {MAX_NESTING} deep"))
}
