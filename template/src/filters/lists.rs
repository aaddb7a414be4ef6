//! Filters on lists and maps.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{Args, Filter};
use crate::conditions;
use crate::meter::{ITEM, Meter, Outcome, refuse};
use crate::numbers::to_number;
use crate::operators::get;
use crate::value::{Text, Value};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("batch", batch),
    ("dictsort", dictsort),
    ("first", |meter, value, _| {
        get(meter, value, &Value::Whole(0))
    }),
    ("groupby", groupby),
    ("join", join),
    ("last", last),
    ("length", length),
    ("list", to_list),
    ("reject", |meter, value, args| {
        select(meter, value, args, false)
    }),
    ("rejectattr", |meter, value, args| {
        select_attribute(meter, value, args, false)
    }),
    ("reverse", reverse),
    ("select", |meter, value, args| {
        select(meter, value, args, true)
    }),
    ("selectattr", |meter, value, args| {
        select_attribute(meter, value, args, true)
    }),
    ("slice", slice),
    ("sort", sort),
    ("sum", sum),
];

/// `attribute` of `of`, which may be a path: `a.b`.
fn attribute<'a>(meter: &mut Meter, of: &Value<'a>, path: &str) -> Outcome<Value<'a>> {
    let mut value = of.clone();
    for part in path.split('.') {
        value = get(meter, &value, &Value::from(part))?;
    }
    Ok(value)
}

/// The item, or its attribute if there is a path.
fn part<'a>(meter: &mut Meter, item: &Value<'a>, path: &Value<'_>) -> Outcome<Value<'a>> {
    match path.as_text() {
        Some(path) => attribute(meter, item, path),
        None => Ok(item.clone()),
    }
}

/// Lists of `size` items each; the last one filled up with `fill`, if given.
fn batch<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let size = args.count(0, "linecount", 1).max(1);
    let fill = args.get(1, "fill_with");
    let mut batches = Vec::new();
    for chunk in meter.items(value)?.chunks(size) {
        let mut chunk = chunk.to_vec();
        if fill.is_true() && chunk.len() < size {
            meter.make(size.saturating_mul(ITEM))?;
            chunk.resize(size, fill.clone());
        }
        batches.push(meter.list(chunk)?);
    }
    meter.list(batches)
}

/// So many lists, of nearly the same length; of a text, so many texts.
fn slice<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let (count, fill) = (args.count(0, "slices", 1), args.get(1, "fill_with"));
    meter.make(count.saturating_mul(ITEM))?;
    let items = meter.items(value)?;
    let (each, extra) = (items.len() / count.max(1), items.len() % count.max(1));
    let mut rest = items.as_slice();
    let mut slices = Vec::new();
    for index in 0..count {
        let (head, tail) = rest.split_at(each + usize::from(index < extra));
        rest = tail;
        if value.as_text().is_some() {
            let letters = head.iter().filter_map(Value::as_text);
            slices.push(meter.made(letters.map(|letter| &**letter).collect())?);
            continue;
        }
        let mut head = head.to_vec();
        if fill.is_true() && index >= extra {
            head.push(fill.clone());
        }
        slices.push(meter.list(head)?);
    }
    meter.list(slices)
}

/// A map's pairs in the order of keys, or of values.
fn dictsort<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let Value::Map(map) = value else {
        return refuse("dictsort wants a map");
    };
    let by_value = meter.text(&args.get(1, "by"))? == "value";
    let mut pairs = Vec::new();
    for (key, value) in meter.fields(map)? {
        let key = Value::Text(key);
        let by = if by_value { value.clone() } else { key.clone() };
        pairs.push((by, meter.list(vec![key, value])?));
    }
    let case_sensitive = args.get(0, "case_sensitive").is_true();
    let pairs = ordered(meter, pairs, case_sensitive, false)?;
    meter.list(pairs)
}

fn sort<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let path = args.get(2, "attribute");
    let mut keyed = Vec::new();
    for item in meter.items(value)? {
        keyed.push((part(meter, &item, &path)?, item));
    }
    let case_sensitive = args.get(1, "case_sensitive").is_true();
    let reverse = args.get(0, "reverse").is_true();
    let items = ordered(meter, keyed, case_sensitive, reverse)?;
    meter.list(items)
}

/// The second of each pair in the order of the first: numbers by size if all are, else texts by
/// letters. Equals stay in their order, also in reverse.
fn ordered<'a>(
    meter: &mut Meter,
    keyed: Vec<(Value<'a>, Value<'a>)>,
    case_sensitive: bool,
    reverse: bool,
) -> Outcome<Vec<Value<'a>>> {
    let turned = |order: Ordering| if reverse { order.reverse() } else { order };
    let is_number =
        |key: &Value<'_>| matches!(key, Value::Bool(_) | Value::Whole(_) | Value::Float(_));
    if keyed.iter().all(|(key, _)| is_number(key)) {
        let number = |(key, item)| (to_number(&key), item);
        let mut keyed: Vec<(f64, Value<'_>)> = keyed.into_iter().map(number).collect();
        keyed.sort_by(|(a, _), (b, _)| turned(a.total_cmp(b)));
        return Ok(keyed.into_iter().map(|(_, item)| item).collect());
    }
    let mut texts = Vec::with_capacity(keyed.len());
    for (key, item) in keyed {
        let key = meter.text(&key)?;
        meter.make(key.len())?;
        // Each is compared with some others.
        meter.read(key.len().saturating_mul(8))?;
        let key = if case_sensitive {
            key.into_owned()
        } else {
            key.to_lowercase()
        };
        texts.push((key, item));
    }
    texts.sort_by(|(a, _), (b, _)| turned(a.cmp(b)));
    Ok(texts.into_iter().map(|(_, item)| item).collect())
}

/// A map from each value of an attribute to the items that have it.
fn groupby<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let path = args.get(0, "attribute");
    let path = meter.text(&path)?;
    let mut groups: Vec<(String, Vec<Value<'a>>)> = Vec::new();
    let mut places = BTreeMap::new();
    for item in meter.items(value)? {
        let key = attribute(meter, &item, &path)?;
        let key = meter.string(&key)?;
        meter.make(2 * key.len())?;
        let place = *places.entry(key.to_string()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, items)) => items.push(item),
            None => groups.push((key.into_owned(), vec![item])),
        }
    }
    // JavaScript's maps have whole numbers first, in order.
    let number = |key: &str| {
        let number = key.parse::<u32>().ok()?;
        (number.to_string() == *key).then_some(number)
    };
    groups.sort_by(|(a, _), (b, _)| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    let mut fields = Vec::new();
    for (key, items) in groups {
        fields.push((Text::from(key), meter.list(items)?));
    }
    meter.map(fields)
}

/// One text; of each item, or of its attribute.
fn join<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    if matches!(value, Value::Undefined | Value::Null) {
        return refuse("'join' has nothing to join: there is no list");
    }
    let (joiner, path) = (args.at(0), args.get(1, "attribute"));
    let joiner = meter.text(&joiner)?;
    let mut parts = Vec::new();
    for item in meter.items(value)? {
        parts.push(part(meter, &item, &path)?);
    }
    joined(meter, &parts, &joiner).map(Value::from)
}

/// The texts of values with another between them.
pub(crate) fn joined(meter: &mut Meter, parts: &[Value<'_>], by: &str) -> Outcome<String> {
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        let (by, text) = (if index > 0 { by } else { "" }, meter.text(part)?);
        meter.make(by.len() + text.len())?;
        joined.push_str(by);
        joined.push_str(&text);
    }
    Ok(joined)
}

fn last<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    Ok(match value {
        Value::List(list) => list.iter().next_back().unwrap_or_default(),
        Value::Text(text) | Value::Safe(text) => {
            meter.read(1)?;
            let last = text.chars().next_back();
            last.map_or(Value::Undefined, Value::from)
        }
        _ => Value::Undefined,
    })
}

/// Of a text in units of UTF-16, of a map its keys; of nothing 0.
fn length<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    Ok(match value {
        Value::Map(map) => Value::count(map.len()),
        Value::Undefined | Value::Null | Value::Bool(false) => Value::count(0),
        _ => get(meter, value, &Value::from("length"))?,
    })
}

/// The letters of a text, `{key, value}` for each field of a map.
fn to_list<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    let Value::Map(map) = value else {
        let items = meter.items(value)?;
        return meter.list(items);
    };
    let mut pairs = Vec::new();
    for (key, value) in meter.fields(map)? {
        let fields = vec![
            (Text::Borrowed("key"), Value::Text(key)),
            (Text::Borrowed("value"), value),
        ];
        pairs.push(meter.map(fields)?);
    }
    meter.list(pairs)
}

fn reverse<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    if let Some(text) = value.as_text() {
        return meter.made(text.chars().rev().collect());
    }
    let mut items = meter.items(value)?;
    items.reverse();
    meter.list(items)
}

/// Selects the items that pass a test, or those that don't.
fn select<'a>(
    meter: &mut Meter,
    value: &Value<'a>,
    args: &Args<'a>,
    wanted: bool,
) -> Outcome<Value<'a>> {
    let name = args.at(0);
    let name = name.as_text().map_or("truthy", |name| name);
    let Some(holds) = conditions::find(name) else {
        return refuse(format!("there is no test '{name}'"));
    };
    let mut chosen = Vec::new();
    for item in meter.items(value)? {
        if holds(meter, &item, &args.at(1))? == wanted {
            chosen.push(item);
        }
    }
    meter.list(chosen)
}

/// Selects the items whose attribute is true, or those whose isn't.
fn select_attribute<'a>(
    meter: &mut Meter,
    value: &Value<'a>,
    args: &Args<'a>,
    wanted: bool,
) -> Outcome<Value<'a>> {
    let path = args.at(0);
    let path = meter.text(&path)?;
    let mut chosen = Vec::new();
    for item in meter.items(value)? {
        if attribute(meter, &item, &path)?.is_true() == wanted {
            chosen.push(item);
        }
    }
    meter.list(chosen)
}

/// The sum of the items, or of an attribute, and of a start.
fn sum<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let (path, start) = (args.get(0, "attribute"), args.get(1, "start"));
    let path = path.as_text().filter(|path| !path.is_empty());
    let mut sum = match start {
        Value::Undefined => 0.0,
        start => to_number(&start),
    };
    for item in meter.items(value)? {
        sum += match path {
            Some(path) => to_number(&attribute(meter, &item, path)?),
            None => to_number(&item),
        };
    }
    Ok(Value::number(sum))
}
