//! Files that a person names, read up to the size that such files have.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file, or of a pipe, that has at most `most` bytes.
///
/// # Errors
/// As [`bytes_up_to`], and when it is no UTF-8.
pub fn text_up_to(path: &Path, most: u64) -> io::Result<String> {
    let bytes = bytes_up_to(path, most)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text in UTF-8"))
}

/// What is in a file, or in a pipe, that has at most `most` bytes. What has no end (`/dev/zero`) is read no
/// further.
///
/// # Errors
/// When it can't be read, or has more.
pub fn bytes_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {} MiB", most >> 20);
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("a.txt");
        std::fs::write(&file, "x".repeat(1 << 20)).expect("written");
        assert_eq!(text_up_to(&file, 1 << 20).expect("fits").len(), 1 << 20);
        std::fs::write(&file, "x".repeat((1 << 20) + 1)).expect("written");
        let refused = |path: &Path| text_up_to(path, 1 << 20).expect_err("too much").to_string();
        assert_eq!(refused(&file), "it has more than 1 MiB");
        #[cfg(unix)]
        assert_eq!(refused(Path::new("/dev/zero")), "it has more than 1 MiB");
        std::fs::write(&file, [0xff]).expect("written");
        assert_eq!(refused(&file), "it is no text in UTF-8");
    }
}
