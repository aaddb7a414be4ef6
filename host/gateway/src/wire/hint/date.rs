//! Points in time as servers write them: RFC 3339, and the three date formats of HTTP.
//!
//! `jiff` reads them all. RFC 9110 §5.6.7 asks recipients to read the format in use, which is the
//! one of mail with the zone GMT, and two obsolete ones. What is more than the standards say is
//! the leniency of `jiff`; a second that does not exist but in UTC (`:60`) is the one before.
//!
//! **Belief** is not decided here: see `reset`, which compares with a clock.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::{rfc2822, temporal};
use jiff::tz::Offset;

use super::duration::SECOND;

/// RFC 3339, in upper or lower case, or with a space for the `T`.
const INTERNET: temporal::DateTimeParser = temporal::DateTimeParser::new();

/// The format of mail. The weekday is not compared with the date: it says nothing that the date
/// does not say.
const MAIL: rfc2822::DateTimeParser = rfc2822::DateTimeParser::new().relaxed_weekday(true);

/// The obsolete formats of HTTP: RFC 850's, and that of C's `asctime`.
const OBSOLETE: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// Reads `2025-08-21T12:40:59.5+02:00`: the moment, and the step of its last digit in
/// nanoseconds.
pub(super) fn rfc3339(text: &[u8]) -> Option<(Timestamp, u64)> {
    let moment = INTERNET.parse_timestamp(text).ok()?;
    let fraction = text.splitn(2, |byte| *byte == b'.').nth(1);
    let digits = fraction.map_or(0, |digits| {
        digits
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    });
    Some((moment, (SECOND / 10_u64.pow(digits.min(9) as u32)).max(1)))
}

/// Reads any of HTTP's three formats; all of them have whole seconds.
pub(super) fn http(text: &[u8]) -> Option<Timestamp> {
    // Mail has many zones, HTTP one, for which servers have two names.
    if (text.ends_with(b"GMT") || text.ends_with(b"UTC"))
        && let Ok(moment) = MAIL.parse_timestamp(text)
    {
        return Some(moment);
    }
    let mut formats = OBSOLETE.iter();
    let read = formats.find_map(|format| DateTime::strptime(format, text).ok())?;
    Offset::UTC.to_timestamp(read).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<i64> {
        http(text.as_bytes()).map(Timestamp::as_second)
    }

    fn moment(text: &str) -> Option<(String, u64)> {
        rfc3339(text.as_bytes()).map(|(moment, step)| (moment.to_string(), step))
    }

    #[test]
    fn the_three_formats_of_http_name_one_moment() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 06 nov 1994 08:49:37 UTC",
            "Mon, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
        assert_eq!(seconds("Sun Nov 16 08:49:37 1994"), None, "a Wednesday");
        assert_eq!(seconds("Wed Nov 16 08:49:37 1994"), Some(784_975_777));
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
        const SECONDS: &str = "2025-08-21T12:40:59Z";
        for (text, expected, step) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", SECOND),
            ("2025-08-21T12:40:59Z", SECONDS, SECOND),
            ("2025-08-21t12:40:59z", SECONDS, SECOND),
            ("2025-08-21 14:40:59+02:00", SECONDS, SECOND),
            ("2025-08-21T12:10:59-00:30", SECONDS, SECOND),
            (
                "2025-08-21T12:40:59.5Z",
                "2025-08-21T12:40:59.5Z",
                SECOND / 10,
            ),
            (
                "2025-08-21T12:40:59.123456789Z",
                "2025-08-21T12:40:59.123456789Z",
                1,
            ),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", SECOND),
            ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59Z", SECOND),
        ] {
            assert_eq!(moment(text), Some((expected.to_owned(), step)), "{text}");
        }
    }

    #[test]
    fn what_is_no_rfc_3339_is_absent() {
        for text in [
            "",
            "2025-08-21",
            "2025-08-21T12:40:59",
            "2025-8-21T12:40:59Z",
            "2025-13-01T12:40:59Z",
            "2025-00-01T12:40:59Z",
            "2025-02-29T12:40:59Z",
            "2025-08-21T12:40:59.Z",
            "2025-08-21T12:40:59+2:00",
            "2025-08-21T12:40:59+99:00",
            "2025-08-21T12:40:59Z ",
            "-025-08-21T12:40:59Z",
            "99999-08-21T12:40:59Z",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
