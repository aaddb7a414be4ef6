//! `skill-used`: an agent used these skills. Agents report them in the completion's metadata,
//! as `skillCalls`: a list of names, or of objects with a `name`.

use runner_plugin::json::{self, Map, Value};
use runner_plugin::{Completion, Error, Grade, Input};

/// Grades by names (all must be there; for `not-`, none may) or by how often a name or a
/// pattern occurs.
pub(crate) fn skill_used(input: &Input) -> Result<Grade, Error> {
    let used = input.completion.as_ref().map_or(Ok(Vec::new()), used)?;
    match input.value::<Value>()? {
        Some(Value::String(name)) if !name.is_empty() => Ok(by_names(input, &[name], &used)),
        Some(Value::Array(items)) if !items.is_empty() => {
            let name = |item: &Value| item.as_str().filter(|n| !n.is_empty()).map(str::to_owned);
            let names: Option<Vec<String>> = items.iter().map(name).collect();
            Ok(by_names(input, &names.ok_or_else(|| takes(input))?, &used))
        }
        Some(Value::Object(wanted)) => by_count(input, &wanted, &used),
        _ => Err(takes(input)),
    }
}

fn by_names(input: &Input, names: &[String], used: &[String]) -> Grade {
    let (there, missing): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| used.contains(name));
    let list = |names: Vec<&String>| {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        names.join(", ")
    };
    if input.inverse {
        return match &there[..] {
            [] => Grade::pass("None of the skills was used"),
            _ => Grade::fail(format!("Skills used that must not be: {}", list(there))),
        };
    }
    match &missing[..] {
        [] => Grade::pass("The skills were used"),
        _ => Grade::fail(format!("Skills not used: {}", list(missing))),
    }
}

fn by_count(input: &Input, wanted: &Map<String, Value>, used: &[String]) -> Result<Grade, Error> {
    let text = |key: &str| wanted.get(key).and_then(Value::as_str);
    let count = |key: &str| match wanted.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| takes(input)),
    };
    let (min, max) = (count("min")?, count("max")?);
    let (shown, found) = match (text("name"), text("pattern")) {
        (Some(name), _) => (name, used.iter().filter(|skill| *skill == name).count()),
        (None, Some(pattern)) => {
            let found = used.iter().filter(|skill| matches(pattern, skill)).count();
            (pattern, found)
        }
        (None, None) => return Err(takes(input)),
    };
    let found = found as u64;
    // Asking for at most so many says nothing about the least.
    let least = min.unwrap_or(u64::from(max != Some(0)));
    let holds = found >= least && max.is_none_or(|max| found <= max);
    let bounds = match max {
        Some(max) => format!("{least} to {max}"),
        None => format!("at least {least}"),
    };
    let what = format!("come with {bounds} uses of the skill \"{shown}\"; there are {found}");
    Ok(input.judge(holds, what))
}

/// Whether a name fits a pattern in which `*` stands for any text and `?` for any character.
/// Takes time in proportion to both, whatever they are.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last `*` stands, and how far it reaches for now.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, reach)) = star else {
                    return false;
                };
                star = Some((at, reach + 1));
                (p, n) = (at + 1, reach + 1);
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

fn used(completion: &Completion) -> Result<Vec<String>, Error> {
    let Some(metadata) = &completion.metadata_json else {
        return Ok(Vec::new());
    };
    let metadata: Map<String, Value> = json::read("metadata", metadata)?;
    let calls = metadata.get("skillCalls").and_then(Value::as_array);
    let name = |call: &Value| call.get("name").unwrap_or(call).as_str().map(str::to_owned);
    Ok(calls.into_iter().flatten().filter_map(name).collect())
}

fn takes(input: &Input) -> Error {
    Error::invalid_request(format!(
        "`{}` takes the name of a skill, a list of names, or `name` or `pattern` with `min` and \
         `max` as its value",
        input.type_
    ))
}
