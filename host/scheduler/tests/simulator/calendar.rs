//! Dates as servers write them: for headers that say *when* rather than *how long*.
//!
//! Its own few lines rather than the scheduler's, so that a parser and its text don't share
//! their mistakes.

use std::time::Duration;

use runner_scheduler::Time;

/// Unix time of the simulation's start: a Thursday in October 2025, before noon.
pub(crate) const START: Duration = Duration::from_secs(1_760_000_000);

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds since 1970 at `at`, rounded down.
pub(crate) fn unix_seconds(at: Time) -> u64 {
    (START + at.since(Time::ZERO)).as_secs()
}

/// `2025-10-09T08:53:20Z`
pub(crate) fn rfc3339(unix: u64) -> String {
    let (year, month, day) = civil(unix / 86_400);
    let (hour, minute, second) = clock(unix);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `Thu, 09 Oct 2025 08:53:20 GMT`
pub(crate) fn http_date(unix: u64) -> String {
    let days = unix / 86_400;
    let (year, month, day) = civil(days);
    let (hour, minute, second) = clock(unix);
    let weekday = WEEKDAYS[(days % 7) as usize];
    let month = MONTHS[month as usize - 1];
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

fn clock(unix: u64) -> (u64, u64, u64) {
    (unix / 3600 % 24, unix / 60 % 60, unix % 60)
}

/// Year, month and day of a day since 1970, by counting: clear, and fast enough.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    loop {
        let length = match month {
            2 => 28 + u64::from(leap(year)),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if days < length {
            return (year, month, days + 1);
        }
        days -= length;
        month += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_as_known() {
        assert_eq!(rfc3339(1_760_000_000), "2025-10-09T08:53:20Z");
        assert_eq!(http_date(1_760_000_000), "Thu, 09 Oct 2025 08:53:20 GMT");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
