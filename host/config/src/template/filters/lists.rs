//! Filters on lists and maps.

use std::cmp::Ordering;

use minijinja::{Error, State, Value};

use super::{Args, Filter};
use crate::template::conditions;
use crate::template::effort::{self, refuse};
use crate::template::operators::{dict, get, items, list, made, to_number, to_text};
use crate::template::values::{Seen, number, printed, see, size};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("batch", batch),
    ("dictsort", dictsort),
    ("first", |state, value, _| {
        get(state, value, &Value::from(0))
    }),
    ("groupby", groupby),
    ("join", join),
    ("last", last),
    ("length", length),
    ("list", to_list),
    ("reject", |state, value, args| {
        select(state, value, args, false)
    }),
    ("rejectattr", |state, value, args| {
        select_attribute(state, value, args, false)
    }),
    ("reverse", reverse),
    ("select", |state, value, args| {
        select(state, value, args, true)
    }),
    ("selectattr", |state, value, args| {
        select_attribute(state, value, args, true)
    }),
    ("slice", slice),
    ("sort", sort),
    ("sum", sum),
];

/// `attribute` of `of`, which may be a path: `a.b`.
fn attribute(state: &mut State<'_, '_>, of: &Value, path: &str) -> Result<Value, Error> {
    let mut value = of.clone();
    for part in path.split('.') {
        value = get(state, &value, &Value::from(part))?;
    }
    Ok(value)
}

/// Lists of `size` items each; the last one filled up with `fill`, if given.
fn batch(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (size, fill) = (
        args.count(0, "linecount", 1).max(1),
        args.get(1, "fill_with"),
    );
    let items = items(value);
    let mut batches = Vec::new();
    for chunk in items.chunks(size) {
        let mut chunk = chunk.to_vec();
        if fill.is_true() && chunk.len() < size {
            effort::make(state, size.saturating_mul(effort::ITEM))?;
            chunk.resize(size, fill.clone());
        }
        batches.push(list(state, chunk)?);
    }
    list(state, batches)
}

/// So many lists, of nearly the same length.
fn slice(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (count, fill) = (args.count(0, "slices", 1), args.get(1, "fill_with"));
    effort::make(state, count.saturating_mul(effort::ITEM))?;
    let items = items(value);
    let (each, extra) = (items.len() / count.max(1), items.len() % count.max(1));
    let mut rest = items.as_slice();
    let mut slices = Vec::new();
    for index in 0..count {
        let (head, tail) = rest.split_at(each + usize::from(index < extra));
        rest = tail;
        let mut head = head.to_vec();
        if matches!(see(value), Seen::Text(_)) {
            // The parts of a text are texts.
            let part: String = head.iter().map(printed).collect();
            slices.push(made(state, part)?);
            continue;
        }
        if fill.is_true() && index >= extra {
            head.push(fill.clone());
        }
        slices.push(list(state, head)?);
    }
    list(state, slices)
}

/// A map's pairs in the order of keys, or of values.
fn dictsort(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let Seen::Map(map) = see(value) else {
        return Err(refuse("dictsort wants a map"));
    };
    let by_value = printed(&args.get(1, "by")) == "value";
    let mut pairs = Vec::new();
    for (key, value) in &map.fields {
        let key = Value::from(key.as_str());
        let by = if by_value { value.clone() } else { key.clone() };
        pairs.push((by, list(state, vec![key, value.clone()])?));
    }
    let case_sensitive = args.get(0, "case_sensitive").is_true();
    list(state, ordered(pairs, case_sensitive, false))
}

fn sort(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let path = args.get(2, "attribute");
    effort::read(state, 8 * size(value))?;
    let mut keyed = Vec::new();
    for item in items(value) {
        let key = match path.as_str() {
            Some(path) => attribute(state, &item, path)?,
            None => item.clone(),
        };
        keyed.push((key, item));
    }
    let case_sensitive = args.get(1, "case_sensitive").is_true();
    let reverse = args.get(0, "reverse").is_true();
    list(state, ordered(keyed, case_sensitive, reverse))
}

/// The second of each pair in the order of the first: numbers by size if all are, else texts by
/// letters. Equals stay in their order, also in reverse.
fn ordered(keyed: Vec<(Value, Value)>, case_sensitive: bool, reverse: bool) -> Vec<Value> {
    let turned = |order: Ordering| if reverse { order.reverse() } else { order };
    let is_number = |key: &Value| matches!(see(key), Seen::Number(_) | Seen::Bool(_));
    if keyed.iter().all(|(key, _)| is_number(key)) {
        let number = |(key, item)| (to_number(&key), item);
        let mut keyed: Vec<(f64, Value)> = keyed.into_iter().map(number).collect();
        keyed.sort_by(|(a, _), (b, _)| turned(a.total_cmp(b)));
        return keyed.into_iter().map(|(_, item)| item).collect();
    }
    let text = |(key, item)| {
        let text = printed(&key);
        let text = if case_sensitive {
            text
        } else {
            text.to_lowercase()
        };
        (text, item)
    };
    let mut keyed: Vec<(String, Value)> = keyed.into_iter().map(text).collect();
    keyed.sort_by(|(a, _), (b, _)| turned(a.cmp(b)));
    keyed.into_iter().map(|(_, item)| item).collect()
}

/// A map from each value of an attribute to the items that have it.
fn groupby(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let path = printed(&args.get(0, "attribute"));
    let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for item in items(value) {
        let key = to_text(&attribute(state, &item, &path)?);
        effort::make(state, key.len())?;
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, items)) => items.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    // JavaScript's maps have whole numbers first, in order.
    let number = |key: &str| {
        key.parse::<u32>()
            .ok()
            .filter(|number| number.to_string() == *key)
    };
    groups.sort_by(|(a, _), (b, _)| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    let mut fields = Vec::new();
    for (key, items) in groups {
        fields.push((key, list(state, items)?));
    }
    dict(state, fields)
}

/// One text; of each item, or of its attribute.
fn join(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (joiner, path) = (printed(&args.at(0)), args.get(1, "attribute"));
    if let Seen::Text(text) = see(value) {
        effort::make(state, text.len().saturating_mul(1 + joiner.len()))?;
    }
    let mut text = String::new();
    for (index, item) in items(value).iter().enumerate() {
        let start = text.len();
        if index > 0 {
            text.push_str(&joiner);
        }
        text.push_str(&match path.as_str() {
            Some(path) => printed(&attribute(state, item, path)?),
            None => printed(item),
        });
        effort::make(state, text.len() - start)?;
    }
    Ok(Value::from(text))
}

fn last(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    Ok(match see(value) {
        Seen::List(list) => list.items.last().cloned().unwrap_or_default(),
        Seen::Text(text) => {
            effort::read(state, 1)?;
            let last = text.chars().next_back();
            last.map_or(Value::UNDEFINED, |c| Value::from(c.to_string()))
        }
        _ => Value::UNDEFINED,
    })
}

/// Of a text in units of UTF-16, of a map its keys; of nothing 0.
fn length(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    Ok(match see(value) {
        Seen::List(_) | Seen::Text(_) => get(state, value, &Value::from("length"))?,
        Seen::Map(map) => Value::from(map.fields.len()),
        Seen::Undefined | Seen::Null | Seen::Bool(false) => Value::from(0),
        Seen::Bool(true) | Seen::Number(_) | Seen::Other => Value::UNDEFINED,
    })
}

/// The letters of a text, `{key, value}` for each field of a map.
fn to_list(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    let Seen::Map(map) = see(value) else {
        effort::make(state, size(value).saturating_mul(effort::ITEM))?;
        return list(state, items(value));
    };
    let mut fields = Vec::new();
    for (key, value) in &map.fields {
        let key = ("key".to_owned(), Value::from(key.as_str()));
        fields.push(dict(state, vec![key, ("value".to_owned(), value.clone())])?);
    }
    list(state, fields)
}

fn reverse(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    if let Seen::Text(text) = see(value) {
        return made(state, text.chars().rev().collect());
    }
    let mut items = items(value);
    items.reverse();
    list(state, items)
}

/// The items that pass a test, or those that don't.
fn select(
    state: &mut State<'_, '_>,
    value: &Value,
    args: &Args,
    wanted: bool,
) -> Result<Value, Error> {
    let name = match args.at(0).as_str() {
        Some(name) => name.to_owned(),
        None => "truthy".to_owned(),
    };
    let mut chosen = Vec::new();
    for item in items(value) {
        if conditions::holds(state, &name, &item, &args.at(1))? == wanted {
            chosen.push(item);
        }
    }
    list(state, chosen)
}

/// The items whose attribute is true, or those whose isn't.
fn select_attribute(
    state: &mut State<'_, '_>,
    value: &Value,
    args: &Args,
    wanted: bool,
) -> Result<Value, Error> {
    let path = printed(&args.at(0));
    let mut chosen = Vec::new();
    for item in items(value) {
        if attribute(state, &item, &path)?.is_true() == wanted {
            chosen.push(item);
        }
    }
    list(state, chosen)
}

/// The sum of the items, or of an attribute, and of a start.
fn sum(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (path, start) = (args.get(0, "attribute"), args.get(1, "start"));
    let mut sum = match see(&start) {
        Seen::Undefined => 0.0,
        _ => to_number(&start),
    };
    for item in items(value) {
        sum += match path.as_str().filter(|path| !path.is_empty()) {
            Some(path) => to_number(&attribute(state, &item, path)?),
            None => to_number(&item),
        };
    }
    Ok(number(sum))
}
