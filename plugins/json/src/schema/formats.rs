//! The formats that a schema may ask for.
//!
//! Those of the drafts, and the few that `ajv-formats` adds. As there, a format is about texts
//! and passes any other kind of value (the numeric ones are about numbers), and a name that
//! nobody knows passes everything.

use std::net::{Ipv4Addr, Ipv6Addr};

use runner_plugin::json::Value;

/// Whether a value has a format.
pub(super) fn fits(format: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text_fits(format, text),
        Value::Number(_) => number_fits(format, value),
        _ => true,
    }
}

fn number_fits(format: &str, number: &Value) -> bool {
    let whole = |limit: f64| {
        number
            .as_f64()
            .is_some_and(|n| n.fract() == 0.0 && (-limit..limit).contains(&n))
    };
    match format {
        "int32" => whole(2_147_483_648.0),
        "int64" => whole(9_223_372_036_854_775_808.0),
        _ => true,
    }
}

fn text_fits(format: &str, text: &str) -> bool {
    match format {
        "date" => date(text),
        "time" => time(text),
        "date-time" => date_time(text),
        "duration" => duration(text),
        "email" | "idn-email" => email(text),
        "hostname" | "idn-hostname" => hostname(text, format == "idn-hostname"),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" | "url" => uri(text, false),
        "uri-reference" => uri(text, true),
        "uri-template" => template(text),
        "uuid" => uuid(text),
        "json-pointer" => pointer(text),
        "relative-json-pointer" => relative_pointer(text),
        "regex" => regress::Regex::new(text).is_ok(),
        "byte" => base64(text),
        _ => true,
    }
}

/// A number of exactly `digits` digits.
fn digits(text: &str, digits: usize) -> Option<u32> {
    let all = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

fn date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut next = |count| digits(parts.next()?, count);
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A time of day with its offset, as RFC 3339 has it; a leap second only at midnight UTC.
fn time(text: &str) -> bool {
    let Some(at) = text.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (clock, zone) = text.split_at(at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let fields: Vec<Option<u32>> = clock.split(':').map(|field| digits(field, 2)).collect();
    let [Some(hour), Some(minute), Some(second)] = fields[..] else {
        return false;
    };
    let Some(offset) = offset(zone) else {
        return false;
    };
    let number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let minutes_utc = (i64::from(hour * 60 + minute) - offset).rem_euclid(24 * 60);
    let leap = second == 60 && minutes_utc == 23 * 60 + 59;
    number && hour < 24 && minute < 60 && (second < 60 || leap)
}

/// The minutes that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
}

fn date_time(text: &str) -> bool {
    let (Some(day), Some(clock)) = (text.get(..10), text.get(11..)) else {
        return false;
    };
    matches!(text.as_bytes()[10], b'T' | b't' | b' ') && date(day) && time(clock)
}

/// `P1Y2M3DT4H5M6S` or `P7W`: units in order, at least one, and one after a `T`.
fn duration(text: &str) -> bool {
    let Some(text) = text.strip_prefix('P') else {
        return false;
    };
    let (days, clock) = match text.split_once('T') {
        Some((days, clock)) => (days, Some(clock)),
        None => (text, None),
    };
    match clock {
        Some(clock) => (days.is_empty() || units(days, "YMD")) && units(clock, "HMS"),
        None => units(days, "YMD") || units(days, "W"),
    }
}

/// Numbers, each followed by one of the letters, in their order and without a gap.
fn units(text: &str, letters: &str) -> bool {
    let mut left = letters;
    let mut first = true;
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(letter) = rest[number..].chars().next() else {
            return false;
        };
        let place = left.find(letter);
        let follows = place.is_some_and(|place| first || place == 0);
        if number == 0 || !follows {
            return false;
        }
        left = &left[place.unwrap_or(0) + 1..];
        rest = &rest[number + letter.len_utf8()..];
        first = false;
    }
    !first
}

fn email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let literal = domain
        .strip_prefix('[')
        .and_then(|domain| domain.strip_suffix(']'));
    let domain = match literal.map(|literal| literal.strip_prefix("IPv6:").ok_or(literal)) {
        // One of a single label names nobody: `ann@localhost`.
        None => domain.contains('.') && hostname(domain, true),
        Some(Ok(v6)) => v6.parse::<Ipv6Addr>().is_ok(),
        Some(Err(v4)) => v4.parse::<Ipv4Addr>().is_ok(),
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let atom = |atom: &str| {
        let allowed = |c: char| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c);
        !atom.is_empty() && atom.chars().all(allowed)
    };
    domain && (quoted || local.split('.').all(atom))
}

fn hostname(text: &str, international: bool) -> bool {
    let label = |label: &str| {
        let allowed =
            |c: char| c.is_ascii_alphanumeric() || c == '-' || (international && !c.is_ascii());
        let edge = label.starts_with('-') || label.ends_with('-');
        (1..=63).contains(&label.len()) && label.chars().all(allowed) && !edge
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// The characters of RFC 3986, and a scheme unless a reference will do.
fn uri(text: &str, reference: bool) -> bool {
    let scheme = text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    (scheme || reference)
        && text.chars().all(allowed)
        && escapes(text)
        && text.matches('#').count() <= 1
}

/// Each `%` is followed by two hexadecimal digits.
fn escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let code = rest.get(..2);
        code.is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

/// A URI reference with expressions in braces.
fn template(text: &str) -> bool {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((expression, tail)) = after.split_once('}') else {
            return false;
        };
        if expression.is_empty() || expression.contains([' ', '{']) {
            return false;
        }
        plain.push_str(before);
        rest = tail;
    }
    plain.push_str(rest);
    !plain.contains(['}', ' ', '"', '<', '>', '\\', '^', '`', '|']) && escapes(&plain)
}

fn uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hexadecimal = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(hexadecimal)
}

fn pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text
            .split('~')
            .skip(1)
            .all(|rest| rest.starts_with(['0', '1']))
}

fn relative_pointer(text: &str) -> bool {
    let number = text.bytes().take_while(u8::is_ascii_digit).count();
    let (steps, rest) = text.split_at(number);
    let canonical = steps == "0" || !(steps.is_empty() || steps.starts_with('0'));
    canonical && (rest == "#" || pointer(rest))
}

fn base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(allowed)
}

#[cfg(test)]
mod tests;
