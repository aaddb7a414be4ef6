//! What a program prints, as text.

/// The text of bytes in UTF-8. What is none is read as Latin-1, in which programs of such a locale print: so a word that
/// has to be masked is still that word.
pub fn printed(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        text.extend(part.invalid().iter().copied().map(char::from));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_1_is_read_where_it_is_no_utf_8() {
        assert_eq!(printed("pässwörd ü".as_bytes()), "pässwörd ü");
        assert_eq!(printed(b"p\xe4ssw\xf6rd \xfc"), "pässwörd ü");
        assert_eq!(printed(b"\xe2\x82"), "â\u{82}", "a sign that is cut off");
    }
}
