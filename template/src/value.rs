//! Values as templates see them.
//!
//! JSON that somebody else holds is looked at where it lies: a value of it is as large as a
//! pointer, and no rendering copies a variable. What a template makes itself is shared, so that
//! giving it a name copies nothing either.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::{Map as JsonMap, Number, Value as Json};

mod function;

pub(crate) use function::{Function, Turns};

/// How deep lists and maps that a template makes may nest: as deep as those of a config. JSON in
/// them is nested as its reader allowed.
pub(crate) const MAX_NESTING: u32 = 64;

/// A value, in JavaScript's eyes.
#[derive(Debug, Clone, Default)]
pub enum Value<'a> {
    /// There is none.
    #[default]
    Undefined,
    /// Code will give it, and has not yet. Prints as nothing.
    Pending,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number, of which all digits are kept: what fits into 64 bits with or without sign.
    Whole(i128),
    /// Any other number; `NaN` and the infinities too.
    Float(f64),
    /// A text.
    Text(Text<'a>),
    /// A text that needs no escaping where it is printed.
    Safe(Text<'a>),
    /// A list: always true.
    List(List<'a>),
    /// A map in the order of its keys: always true.
    Map(Map<'a>),
    /// What can be called: always true; it has no text and no form in JSON.
    Function(Function<'a>),
}

/// A text, somebody's or shared.
#[derive(Clone)]
pub enum Text<'a> {
    /// It lies in a variable or in the template.
    Borrowed(&'a str),
    /// It was made.
    Shared(Rc<str>),
}

/// A list.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// A variable's.
    Json(&'a [Json]),
    /// One that was written as text.
    Answer(&'a Answer),
    /// One that the template made.
    Made(Rc<MadeList<'a>>),
}

/// A map.
#[derive(Debug, Clone)]
pub enum Map<'a> {
    /// A variable's.
    Json(&'a JsonMap<String, Json>),
    /// One that was written as text.
    Answer(&'a Answer),
    /// One that the template made.
    Made(Rc<MadeMap<'a>>),
    /// `loop`: the round, from 0, and how many there are.
    Round(usize, usize),
}

/// JSON as somebody wrote it. It is read by key (`{{ answer.name }}`) and prints as the text that
/// it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    json: Json,
    text: String,
}

/// The items of a list that was made.
#[derive(Debug)]
pub struct MadeList<'a> {
    items: Vec<Value<'a>>,
    nesting: u32,
}

/// The fields of a map that was made.
#[derive(Debug)]
pub struct MadeMap<'a> {
    fields: Vec<(Text<'a>, Value<'a>)>,
    /// Places of fields, in the order of their keys.
    places: Box<[usize]>,
    nesting: u32,
}

impl<'a> Value<'a> {
    /// A number, whole if it has no fraction and few enough digits to be exact.
    pub(crate) fn number(number: f64) -> Self {
        match exact(number) {
            Some(whole) => Self::Whole(whole.into()),
            None => Self::Float(number),
        }
    }

    /// How many, or at which place.
    pub(crate) fn count(count: usize) -> Self {
        Self::Whole(count as i128)
    }

    /// A list of values; `None` if it would nest too deep.
    pub(crate) fn list(items: Vec<Self>) -> Option<Self> {
        let list = Self::list_of_any_depth(items);
        (list.nesting() <= MAX_NESTING).then_some(list)
    }

    /// A list of what was JSON, which nests as deep as its reader allowed.
    pub(crate) fn list_of_any_depth(items: Vec<Self>) -> Self {
        Self::List(List::Made(Rc::new(MadeList::new(items))))
    }

    /// A map of values, of which the last with a name counts; `None` if it would nest too deep.
    pub(crate) fn map(fields: Vec<(Text<'a>, Self)>) -> Option<Self> {
        let map = Self::map_of_any_depth(fields);
        (map.nesting() <= MAX_NESTING).then_some(map)
    }

    /// A map of what was JSON, which nests as deep as its reader allowed.
    pub(crate) fn map_of_any_depth(fields: Vec<(Text<'a>, Self)>) -> Self {
        Self::Map(Map::Made(Rc::new(MadeMap::new(fields))))
    }

    /// Its text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&Text<'a>> {
        match self {
            Self::Text(text) | Self::Safe(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it counts as true.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Whole(number) => *number != 0,
            Self::Float(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) | Self::Safe(text) => !text.is_empty(),
            Self::Pending | Self::List(_) | Self::Map(_) | Self::Function(_) => true,
        }
    }

    /// How deep what a template made of it nests.
    fn nesting(&self) -> u32 {
        match self {
            Self::List(list) => list.nesting(),
            Self::Map(Map::Made(map)) => map.nesting,
            Self::Function(function) => function.nesting(),
            _ => 0,
        }
    }
}

/// A number without a fraction, if all of its digits are certain.
pub(crate) fn exact(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

fn json_number<'a>(number: &Number) -> Value<'a> {
    match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => Value::Whole(whole.into()),
        (_, Some(whole)) => Value::Whole(whole.into()),
        _ => Value::number(number.as_f64().unwrap_or_default()),
    }
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => json_number(number),
            Json::String(text) => Self::from(text.as_str()),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(fields) => Self::from(fields),
        }
    }
}

impl<'a> From<&'a JsonMap<String, Json>> for Value<'a> {
    fn from(fields: &'a JsonMap<String, Json>) -> Self {
        Self::Map(Map::Json(fields))
    }
}

/// What nobody else holds, as deep as it nests.
impl From<Json> for Value<'_> {
    fn from(json: Json) -> Self {
        match json {
            Json::String(text) => Self::from(text),
            Json::Array(items) => {
                Self::list_of_any_depth(items.into_iter().map(Self::from).collect())
            }
            Json::Object(fields) => {
                let field = |(key, json)| (Text::from(key), Self::from(json));
                Self::map_of_any_depth(fields.into_iter().map(field).collect())
            }
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => json_number(&number),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Text::Borrowed(text))
    }
}

impl From<char> for Value<'_> {
    fn from(letter: char) -> Self {
        let mut bytes = [0; 4];
        Self::Text(Text::Shared((*letter.encode_utf8(&mut bytes)).into()))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Text::from(text))
    }
}

impl<'a> From<&'a Answer> for Value<'a> {
    fn from(answer: &'a Answer) -> Self {
        match answer.json {
            Json::Array(_) => Self::List(List::Answer(answer)),
            _ => Self::Map(Map::Answer(answer)),
        }
    }
}

impl Answer {
    /// Reads a text; `None` if it is no list and no map in JSON.
    pub fn read(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        let text = text.to_owned();
        (json.is_array() || json.is_object()).then_some(Self { json, text })
    }
}

impl<'a> List<'a> {
    /// How many items it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Answer(answer) => answer.json.as_array().map_or(0, Vec::len),
            Self::Made(list) => list.items.len(),
        }
    }

    /// The item at `place`, from 0.
    pub(crate) fn get(&self, place: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(place).map(Value::from),
            Self::Answer(answer) => answer.json.get(place).map(Value::from),
            Self::Made(list) => list.items.get(place).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Value<'a>> + ExactSizeIterator {
        (0..self.len()).map(|place| self.get(place).unwrap_or_default())
    }

    /// How deep what a template made of it nests.
    fn nesting(&self) -> u32 {
        match self {
            Self::Made(list) => list.nesting,
            Self::Json(_) | Self::Answer(_) => 0,
        }
    }

    /// The text that it was written as.
    pub(crate) fn written(&self) -> Option<&'a str> {
        match self {
            Self::Answer(answer) => Some(&answer.text),
            Self::Json(_) | Self::Made(_) => None,
        }
    }

    /// Whether both are one and the same, as in JavaScript.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(a), Self::Json(b)) => std::ptr::eq(*a, *b),
            (Self::Answer(a), Self::Answer(b)) => std::ptr::eq(*a, *b),
            (Self::Made(a), Self::Made(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl<'a> Map<'a> {
    /// How many fields it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(fields) => fields.len(),
            Self::Answer(answer) => answer.json.as_object().map_or(0, JsonMap::len),
            Self::Made(map) => map.fields.len(),
            Self::Round(..) => ROUND.len(),
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Value<'a>> {
        match self {
            Self::Json(fields) => fields.get(key).map(Value::from),
            Self::Answer(answer) => answer.json.get(key).map(Value::from),
            Self::Made(map) => {
                let key_at = |place: &usize| (*map.fields[*place].0).cmp(key);
                let found = map.places.binary_search_by(key_at).ok()?;
                Some(map.fields[map.places[found]].1.clone())
            }
            Self::Round(index, length) => round(*index, *length, key),
        }
    }

    /// Its keys and values.
    pub(crate) fn fields(&self) -> Vec<(Text<'a>, Value<'a>)> {
        fn of(fields: &JsonMap<String, Json>) -> Vec<(Text<'_>, Value<'_>)> {
            let field = |(key, json)| (Text::Borrowed(String::as_str(key)), Value::from(json));
            fields.iter().map(field).collect()
        }
        match self {
            Self::Json(fields) => of(fields),
            Self::Answer(answer) => answer.json.as_object().map(of).unwrap_or_default(),
            Self::Made(map) => map.fields.clone(),
            Self::Round(..) => {
                let field = |key| Some((Text::Borrowed(key), self.get(key)?));
                ROUND.into_iter().filter_map(field).collect()
            }
        }
    }

    /// The text that it was written as.
    pub(crate) fn written(&self) -> Option<&'a str> {
        match self {
            Self::Answer(answer) => Some(&answer.text),
            Self::Json(_) | Self::Made(_) | Self::Round(..) => None,
        }
    }

    /// Whether both are one and the same, as in JavaScript.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(a), Self::Json(b)) => std::ptr::eq(*a, *b),
            (Self::Answer(a), Self::Answer(b)) => std::ptr::eq(*a, *b),
            (Self::Made(a), Self::Made(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// The fields of `loop`.
const ROUND: [&str; 7] = [
    "index",
    "index0",
    "revindex",
    "revindex0",
    "first",
    "last",
    "length",
];

/// A field of `loop` in round `index` of `length`.
fn round<'a>(index: usize, length: usize, key: &str) -> Option<Value<'a>> {
    Some(match key {
        "index" => Value::count(index + 1),
        "index0" => Value::count(index),
        "revindex" => Value::count(length - index),
        "revindex0" => Value::count(length - index - 1),
        "first" => Value::Bool(index == 0),
        "last" => Value::Bool(index + 1 == length),
        "length" => Value::count(length),
        _ => return None,
    })
}

impl<'a> MadeList<'a> {
    fn new(items: Vec<Value<'a>>) -> Self {
        let nesting = 1 + items.iter().map(Value::nesting).max().unwrap_or_default();
        Self { items, nesting }
    }
}

impl<'a> MadeMap<'a> {
    fn new(given: Vec<(Text<'a>, Value<'a>)>) -> Self {
        let (mut fields, mut places) = (Vec::with_capacity(given.len()), BTreeMap::new());
        let mut nesting = 1;
        for (key, value) in given {
            nesting = nesting.max(1 + value.nesting());
            let place = *places.entry(key.clone()).or_insert(fields.len());
            match fields.get_mut(place) {
                Some(field) => *field = (key, value),
                None => fields.push((key, value)),
            }
        }
        Self {
            fields,
            places: places.into_values().collect(),
            nesting,
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}
