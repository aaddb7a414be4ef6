//! Known dates, dates that do not exist, and the calendar against one that counts days.

use proptest::prelude::*;

use super::*;

const S: i128 = SECOND as i128;

fn seconds(text: &str) -> Option<i128> {
    http(text.as_bytes()).map(|moment| moment.0 / S)
}

fn nanos(text: &str) -> Option<(i128, u64)> {
    rfc3339(text.as_bytes()).map(|(moment, step)| (moment.0, step))
}

#[test]
fn the_three_formats_of_http_name_one_moment() {
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 nov 1994 08:49:37 UTC",
    ] {
        assert_eq!(seconds(text), Some(784_111_777), "{text}");
    }
    assert_eq!(seconds("Sun Nov 16 08:49:37 1994"), Some(784_975_777));
    assert_eq!(
        seconds("Friday, 02-Jan-26 03:04:05 GMT"),
        Some(1_767_323_045)
    );
}

#[test]
fn what_is_no_http_date_is_absent() {
    for text in [
        "",
        "Sun",
        ", 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun, 06-Nov 1994 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun Nov 006 08:49:37 1994",
    ] {
        assert_eq!(seconds(text), None, "{text}");
    }
}

#[test]
fn rfc_3339_has_fractions_and_offsets() {
    for (text, moment, step) in [
        ("1970-01-01T00:00:00Z", 0, SECOND),
        ("2025-08-21T12:40:59Z", 1_755_780_059 * S, SECOND),
        ("2025-08-21t12:40:59z", 1_755_780_059 * S, SECOND),
        ("2025-08-21 14:40:59+02:00", 1_755_780_059 * S, SECOND),
        ("2025-08-21T12:10:59-00:30", 1_755_780_059 * S, SECOND),
        (
            "2025-08-21T12:40:59.5Z",
            1_755_780_059 * S + S / 2,
            SECOND / 10,
        ),
        (
            "2025-08-21T12:40:59.123456789123Z",
            1_755_780_059 * S + 123_456_789,
            1,
        ),
        ("0001-01-01T00:00:00Z", -62_135_596_800 * S, SECOND),
        ("2024-02-29T23:59:60Z", 1_709_251_200 * S, SECOND),
    ] {
        assert_eq!(nanos(text), Some((moment, step)), "{text}");
    }
}

#[test]
fn what_is_no_rfc_3339_is_absent() {
    for text in [
        "",
        "2025-08-21",
        "2025-08-21T12:40:59",
        "2025-08-21T12:40Z",
        "2025-8-21T12:40:59Z",
        "2025-13-01T12:40:59Z",
        "2025-00-01T12:40:59Z",
        "2025-02-29T12:40:59Z",
        "2025-08-21T12:40:59.Z",
        "2025-08-21T12:40:59+2:00",
        "2025-08-21T12:40:59+24:00",
        "2025-08-21T12:40:59Z ",
        "-025-08-21T12:40:59Z",
        "99999-08-21T12:40:59Z",
    ] {
        assert_eq!(nanos(text), None, "{text}");
    }
}

/// A calendar that knows the lengths of months and counts.
fn days_by_counting(year: u32, month: u32, day: u32) -> i64 {
    let length = |year: u32, month: u32| match month {
        2 if year.is_multiple_of(400) => 29,
        2 if year.is_multiple_of(100) => 28,
        2 if year.is_multiple_of(4) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let since_zero = |year: u32, month: u32| -> i64 {
        let years = (0..year).flat_map(|year| (1..=12).map(move |month| (year, month)));
        let months = (1..month).map(|month| (year, month));
        years.chain(months).map(|(y, m)| length(y, m)).sum()
    };
    since_zero(year, month) + i64::from(day) - 1 - since_zero(1970, 1)
}

#[test]
fn every_day_of_four_centuries_is_one_after_the_day_before() {
    let mut expected = days_by_counting(1900, 1, 1);
    let mut existing = 0;
    for (year, month, day) in (1900..2300).flat_map(|year| {
        (1..=12).flat_map(move |month| (1..=31).map(move |day| (year, month, day)))
    }) {
        let civil = Civil {
            year,
            month,
            day,
            second: 0,
        };
        if let Some(seconds) = civil.seconds() {
            assert_eq!(seconds, expected * 86_400, "{year}-{month}-{day}");
            expected += 1;
            existing += 1;
        }
    }
    assert_eq!(existing, 146_097, "days in 400 years");
}

proptest! {
    #[test]
    fn a_written_date_reads_as_itself(
        year in 0_u32..10_000, month in 1_u32..=12, day in 1_u32..=28,
        hour in 0_u32..24, minute in 0_u32..60, second in 0_u32..60,
        nanos in 0_u32..1_000_000_000, offset in -1_439_i64..1_440,
    ) {
        let of_day = i64::from(hour * 3_600 + minute * 60 + second);
        let expected = days_by_counting(year, month, day) * 86_400 + of_day;
        let name = MONTHS[month as usize - 1];
        let clock = format!("{hour:02}:{minute:02}:{second:02}");

        let fixed = format!("Mon, {day:02} {name} {year:04} {clock} GMT");
        prop_assert_eq!(http(fixed.as_bytes()), Some(moment(expected, 0)));
        let asctime = format!("Mon {name} {day:2} {clock} {year:04}");
        prop_assert_eq!(http(asctime.as_bytes()), Some(moment(expected, 0)));
        if (1970..2070).contains(&year) {
            let old = format!("Monday, {day:02}-{name}-{:02} {clock} GMT", year % 100);
            prop_assert_eq!(http(old.as_bytes()), Some(moment(expected, 0)));
        }

        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
        let text = format!(
            "{year:04}-{month:02}-{day:02}T{clock}.{nanos:09}{sign}{hours:02}:{minutes:02}"
        );
        let read = rfc3339(text.as_bytes());
        prop_assert_eq!(read, Some((moment(expected - offset * 60, nanos), 1)));
    }
}
