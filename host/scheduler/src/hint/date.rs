//! Points in time as servers write them: RFC 3339, and the three date formats of HTTP.
//!
//! **Calendar.** Days are counted in the Gregorian calendar, also where it did not yet apply;
//! a date that does not exist (31 February) is garbage. A 60th second is accepted, since both
//! formats allow leap seconds. We count ourselves because this crate has no dependencies; the
//! tests count once more, day by day.
//!
//! **HTTP.** RFC 9110 §5.6.7 asks recipients to read the format in use and two obsolete ones.
//! The name of the weekday is not compared with the date: it says nothing that the date does
//! not say. A year of two digits below 70 is in this century; the RFC's rule (at most 50 years
//! ahead) needs a clock and differs only for dates that are too far away to be believed.
//!
//! **Belief** is not decided here: see `reset`, which compares with a clock.

use super::cursor::Cursor;
use super::duration::SECOND;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Days of a common year before each month.
const DAYS_BEFORE_MONTH: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// A point in time: nanoseconds since 1970 began in UTC. Years from 0 to 9999 need 2⁶⁸.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) i128);

/// A date and a time of day.
#[derive(Debug, Clone, Copy)]
struct Civil {
    year: u32,
    /// From 1.
    month: u32,
    /// From 1.
    day: u32,
    /// Seconds since midnight.
    second: u32,
}

impl Civil {
    /// Seconds since 1970; `None`: there is no such day.
    fn seconds(self) -> Option<i64> {
        let year = i64::from(self.year);
        let month = usize::try_from(self.month).ok()?.checked_sub(1)?;
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let before = *DAYS_BEFORE_MONTH.get(month)?;
        let length = DAYS_BEFORE_MONTH.get(month + 1)? - before + i64::from(leap && month == 1);
        let day = i64::from(self.day);
        if !(1..=length).contains(&day) {
            return None;
        }
        let in_year = before + i64::from(leap && month > 1) + day - 1;
        let days = days_through(year - 1) - days_through(1969) + in_year;
        Some(days * 86_400 + i64::from(self.second))
    }
}

/// Days from the start of year 1 through the end of `year`.
fn days_through(year: i64) -> i64 {
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)
}

/// `2025-08-21T12:40:59.5+02:00`: the moment, and the step of its last digit in nanoseconds.
pub(super) fn rfc3339(text: &[u8]) -> Option<(Moment, u64)> {
    let mut at = Cursor::new(text);
    let year = at.number(4)?;
    at.eat(b'-')?;
    let month = at.number(2)?;
    at.eat(b'-')?;
    let day = at.number(2)?;
    at.eat(b'T')
        .or_else(|| at.eat(b't'))
        .or_else(|| at.eat(b' '))?;
    let second = time_of_day(&mut at)?;
    let (billionths, places) = at.fraction().unwrap_or_default();
    let offset = offset(&mut at)?;
    if !at.is_done() {
        return None;
    }
    let civil = Civil {
        year,
        month,
        day,
        second,
    };
    let moment = moment(civil.seconds()? - offset, billionths);
    Some((moment, (SECOND / 10_u64.pow(places.min(9))).max(1)))
}

/// `Z`, `+02:00`, `-00:30`: seconds to take away.
fn offset(at: &mut Cursor<'_>) -> Option<i64> {
    if at.eat(b'Z').or_else(|| at.eat(b'z')).is_some() {
        return Some(0);
    }
    let sign = match at.peek()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    at.eat(at.peek()?)?;
    let hours = at.number(2).filter(|hours| *hours < 24)?;
    at.eat(b':')?;
    let minutes = at.number(2).filter(|minutes| *minutes < 60)?;
    Some(sign * i64::from(hours * 3_600 + minutes * 60))
}

/// Any of HTTP's three formats; all of them have whole seconds.
pub(super) fn http(text: &[u8]) -> Option<Moment> {
    let mut at = Cursor::new(text);
    let weekday = at.run(|byte| byte.is_ascii_alphabetic());
    if weekday.is_empty() {
        return None;
    }
    let civil = if at.eat(b',').is_some() {
        after_comma(&mut at)?
    } else {
        asctime(&mut at)?
    };
    at.is_done().then_some(())?;
    Some(moment(civil.seconds()?, 0))
}

/// ` 06 Nov 1994 08:49:37 GMT`, or the older ` 06-Nov-94 08:49:37 GMT`.
fn after_comma(at: &mut Cursor<'_>) -> Option<Civil> {
    at.eat(b' ')?;
    let day = at.number(2)?;
    let old = at.eat(b'-').is_some();
    let separator = if old { b'-' } else { b' ' };
    if !old {
        at.eat(separator)?;
    }
    let month = month(at)?;
    at.eat(separator)?;
    let year = if old { short_year(at)? } else { at.number(4)? };
    at.eat(b' ')?;
    let second = time_of_day(at)?;
    at.eat(b' ')?;
    let zone = at.run(|byte| byte.is_ascii_alphabetic());
    (zone == b"GMT" || zone == b"UTC").then_some(Civil {
        year,
        month,
        day,
        second,
    })
}

/// ` Nov  6 08:49:37 1994`, as C's `asctime` writes it.
fn asctime(at: &mut Cursor<'_>) -> Option<Civil> {
    at.eat(b' ')?;
    let month = month(at)?;
    at.eat(b' ')?;
    let digits = if at.eat(b' ').is_some() { 1 } else { 2 };
    let day = at.number(digits)?;
    at.eat(b' ')?;
    let second = time_of_day(at)?;
    at.eat(b' ')?;
    let year = at.number(4)?;
    Some(Civil {
        year,
        month,
        day,
        second,
    })
}

/// `08:49:37` as seconds since midnight.
fn time_of_day(at: &mut Cursor<'_>) -> Option<u32> {
    let hour = at.number(2).filter(|hour| *hour < 24)?;
    at.eat(b':')?;
    let minute = at.number(2).filter(|minute| *minute < 60)?;
    at.eat(b':')?;
    let second = at.number(2).filter(|second| *second <= 60)?;
    Some(hour * 3_600 + minute * 60 + second)
}

/// The number of a month, from 1.
fn month(at: &mut Cursor<'_>) -> Option<u32> {
    let name = at.run(|byte| byte.is_ascii_alphabetic());
    let place = MONTHS
        .iter()
        .position(|month| month.as_bytes().eq_ignore_ascii_case(name))?;
    u32::try_from(place + 1).ok()
}

/// A year of two digits.
fn short_year(at: &mut Cursor<'_>) -> Option<u32> {
    let year = at.number(2)?;
    Some(year + if year < 70 { 2000 } else { 1900 })
}

/// Seconds and billionths since 1970 as a moment.
fn moment(seconds: i64, billionths: u32) -> Moment {
    Moment(i128::from(seconds) * i128::from(SECOND) + i128::from(billionths))
}

#[cfg(test)]
mod tests;
