//! Thirty-two bytes that stand for a content: of a case, or of a request.
//!
//! The store does not compute any: what belongs to a content is known to who has it. It keeps
//! digests as bytes and shows them in hexadecimal.

use std::fmt;

/// A SHA-256, or whatever else of 32 bytes the caller identifies contents by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; Digest::BYTES]);

impl Digest {
    /// Bytes in a digest.
    pub const BYTES: usize = 32;

    /// A digest that was computed elsewhere.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// From a column; `None` when it has another length.
    pub(crate) fn from_column(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// 64 hexadecimal digits in lower case.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_in_lower_case_hexadecimal() {
        let mut bytes = [0; Digest::BYTES];
        (bytes[0], bytes[31]) = (0xAB, 0x05);
        let shown = Digest::new(bytes).to_string();
        assert_eq!(shown, format!("ab{}05", "00".repeat(30)));
    }

    #[test]
    fn a_column_of_another_length_is_no_digest() {
        assert_eq!(Digest::from_column(&[1; 31]), None);
        assert_eq!(Digest::from_column(&[]), None);
        assert_eq!(Digest::from_column(&[1; 32]), Some(Digest::new([1; 32])));
    }
}
