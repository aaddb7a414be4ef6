//! Numbers as people read them. One place, so that a table, a summary and a progress line say
//! the same number the same way.

use std::time::Duration;

/// `part` of `whole` in percent with one decimal, cut and not rounded: 999 of 1,000 cases and
/// one more failing in a million must never read "100.0 %".
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let per_mille = u128::from(part) * 1000 / u128::from(whole);
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// A share from 0 to 1, in percent like [`percent`].
pub fn share(share: f64) -> String {
    // A thousandth of what is shown, so that 0.3 isn't 29.9 %.
    percent((share * 1e6).round() as u64, 1_000_000)
}

/// With a comma between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `2 cases`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Behind the mean of a metric how many cases are not in it, since a judge failed; nothing where there are none.
pub fn not_graded(cases: u64) -> String {
    match cases {
        0 => String::new(),
        cases => format!(" ({} not graded)", count(cases)),
    }
}

/// `12 ms`, `3.4 s`, `2 m 05 s`, `1 h 02 m`.
pub fn duration(duration: Duration) -> String {
    let ms = duration.as_millis() as u64;
    let s = duration.as_secs();
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} m {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} m", s / 3600, s % 3600 / 60),
    }
}

/// As [`duration`], to the second: for what is only guessed.
pub fn about(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => self::duration(Duration::from_secs(seconds)),
    }
}

/// US dollars: cents above one dollar, six decimals below, where calls cost fractions of a cent.
pub fn dollars(amount: f64) -> String {
    if amount == 0.0 || amount.abs() >= 1.0 {
        format!("${amount:.2}")
    } else {
        format!("${amount:.6}")
    }
}

/// A number with at most four digits behind the point.
pub fn number(number: f64) -> String {
    let text = format!("{number:.4}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_rounded_up_to_all() {
        let cases = [
            (0, 0, "–"),
            (0, 7, "0.0 %"),
            (2, 3, "66.6 %"),
            (99_999, 100_000, "99.9 %"),
            (5, 5, "100.0 %"),
        ];
        for (part, whole, text) in cases {
            assert_eq!(percent(part, whole), text);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(count(n), text);
        }
        assert_eq!(counted(1, "case", "cases"), "1 case");
        assert_eq!(counted(0, "case", "cases"), "0 cases");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_049, "1.0 s"),
            (59_999, "59.9 s"),
            (125_000, "2 m 05 s"),
            (3_720_000, "1 h 02 m"),
        ];
        for (ms, text) in cases {
            assert_eq!(duration(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn guesses_have_no_fractions() {
        for (ms, text) in [(900, "0 s"), (59_999, "59 s"), (65_300, "1 m 05 s")] {
            assert_eq!(about(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn a_number_has_no_zeros_at_its_end() {
        let cases = [
            (0.0, "0"),
            (100.0, "100"),
            (0.125, "0.125"),
            (2.0 / 3.0, "0.6667"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn small_amounts_keep_their_digits() {
        for (amount, text) in [
            (0.0, "$0.00"),
            (0.001_234, "$0.001234"),
            (12.345_6, "$12.35"),
        ] {
            assert_eq!(dollars(amount), text);
        }
    }
}
