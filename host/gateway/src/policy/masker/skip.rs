//! Skips what is of no interest, many bytes at a time.

/// Where the first of these bytes is.
pub(super) fn position(text: &[u8], bytes: [u8; 3]) -> Option<usize> {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = LOW << 7;
    let patterns = bytes.map(|byte| LOW * u64::from(byte));
    let (words, rest) = text.as_chunks::<8>();
    for (nth, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // A byte that becomes zero sets its highest bit; only above it may others, too.
        let zero = |pattern: u64| {
            let differs = word ^ pattern;
            differs.wrapping_sub(LOW) & !differs
        };
        let found = (zero(patterns[0]) | zero(patterns[1]) | zero(patterns[2])) & HIGH;
        if found != 0 {
            return Some(nth * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| bytes.contains(byte))?;
    Some(words.len() * 8 + found)
}
