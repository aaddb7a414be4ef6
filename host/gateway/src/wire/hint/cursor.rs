//! A place in a header's value, and how to step over digits.
//!
//! What is read by ourselves is read with it, one byte at a time and never backwards, so the
//! work is bounded by the length of the value. Bytes and not characters: the formats are ASCII,
//! and a slice of bytes has no boundaries to get wrong. There is no floating point: a decimal
//! is a whole number and billionths, which is exact for all that servers write.

/// What is still to be read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

/// A decimal as it was written: no sign, no exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    /// In front of the point.
    pub(super) whole: u64,
    /// Behind the point; what comes after the ninth digit is dropped.
    pub(super) billionths: u32,
    /// How many digits were written behind the point.
    pub(super) places: u32,
}

impl<'a> Cursor<'a> {
    /// At the start of `text`.
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Nothing is left.
    pub(super) const fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Steps over `byte`, if it is next.
    fn eat(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        (*first == byte).then(|| self.rest = rest)
    }

    /// Steps over all bytes that `fits` likes.
    pub(super) fn run(&mut self, fits: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !fits(*byte));
        let (run, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        run
    }

    /// Steps over spaces and tabs.
    pub(super) fn skip_space(&mut self) {
        self.run(|byte| matches!(byte, b' ' | b'\t'));
    }

    /// Reads a decimal: digits, and perhaps a point with digits. Stops before a point without.
    pub(super) fn decimal(&mut self) -> Option<Decimal> {
        let whole = value(self.run(|byte| byte.is_ascii_digit()))?;
        let (billionths, places) = self.fraction().unwrap_or_default();
        Some(Decimal {
            whole,
            billionths,
            places,
        })
    }

    /// Reads a point with digits behind it: billionths, and how many digits there were.
    fn fraction(&mut self) -> Option<(u32, u32)> {
        let mut ahead = self.clone();
        ahead.eat(b'.')?;
        let digits = ahead.run(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            return None;
        }
        *self = ahead;
        let digit_at = |place: usize| digits.get(place).map_or(0, |digit| u32::from(digit - b'0'));
        let billionths = (0..9).fold(0, |sum, place| sum * 10 + digit_at(place));
        Some((billionths, u32::try_from(digits.len()).unwrap_or(u32::MAX)))
    }
}

/// The value of digits; `None`: no digits, something else among them, or beyond 64 bits.
fn value(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

impl Decimal {
    /// This many units of `unit` nanoseconds, in nanoseconds. Cannot overflow: 2⁶⁴ days are
    /// 2¹¹¹ nanoseconds.
    pub(super) fn times(self, unit: u64) -> u128 {
        let unit = u128::from(unit);
        u128::from(self.whole) * unit + u128::from(self.billionths) * unit / 1_000_000_000
    }

    /// What one step of the last digit is worth, in nanoseconds: at least one.
    pub(super) fn step(self, unit: u64) -> u64 {
        (unit / 10_u64.pow(self.places.min(19))).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Option<(u64, u32, u32)> {
        let read = Cursor::new(text.as_bytes()).decimal()?;
        Some((read.whole, read.billionths, read.places))
    }

    #[test]
    fn a_decimal_is_read_exactly() {
        assert_eq!(decimal("20"), Some((20, 0, 0)));
        assert_eq!(decimal("8.64s"), Some((8, 640_000_000, 2)));
        assert_eq!(decimal("45.837906927"), Some((45, 837_906_927, 9)));
        assert_eq!(decimal("0.12345678999"), Some((0, 123_456_789, 11)));
        assert_eq!(
            decimal("7. Later"),
            Some((7, 0, 0)),
            "the point ends the sentence"
        );
    }

    #[test]
    fn what_does_not_fit_is_no_number() {
        for text in ["", ".5", "-1", "+1", "NaN", "18446744073709551616", "٣"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal("18446744073709551615"), Some((u64::MAX, 0, 0)));
    }

    #[test]
    fn the_last_digit_says_how_exact_a_decimal_is() {
        let step = |text: &str| {
            let read = Cursor::new(text.as_bytes()).decimal();
            read.map(|decimal| decimal.step(1_000_000_000))
        };
        assert_eq!(step("8"), Some(1_000_000_000));
        assert_eq!(step("8.64"), Some(10_000_000));
        assert_eq!(step("8.640000000000000000000000"), Some(1));
    }
}
