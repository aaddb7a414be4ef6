//! What the program asks of the system that runs it: a C library of some age, and where its files are here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{self, Failure};

/// How versions of the C library are called in programs.
const GLIBC: &[u8] = b"GLIBC_2.";

/// What it needs; nothing of it where another C library, or another system, was built for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needs {
    /// The oldest glibc 2 that will do.
    pub(super) glibc: Option<u32>,
    /// The files that are loaded with it.
    pub(super) libraries: Vec<PathBuf>,
}

impl Needs {
    /// Looks at a program.
    pub(super) fn of(program: &Path) -> Result<Self, Failure> {
        let bytes = fs::read(program)
            .map_err(|error| Failure::new(format!("{}: {error}", program.display())))?;
        let mut needs = Self {
            glibc: oldest(&bytes),
            libraries: Vec::new(),
        };
        if needs.glibc.is_some() {
            let mut ldd = Command::new("ldd");
            let listed = step::read("asking what it is linked to", ldd.arg(program))?;
            needs.libraries = libraries(&listed);
        }
        Ok(needs)
    }
}

/// The newest version that a program names is the oldest that will do.
fn oldest(program: &[u8]) -> Option<u32> {
    let places = program.windows(GLIBC.len()).enumerate();
    let places = places.filter(|(_, window)| *window == GLIBC);
    let number = |(place, _): (usize, _)| {
        let digits = program[place + GLIBC.len()..].iter();
        let digits: Vec<u8> = digits.copied().take_while(u8::is_ascii_digit).collect();
        String::from_utf8(digits).ok()?.parse().ok()
    };
    places.filter_map(number).max()
}

/// The files in what `ldd` prints.
fn libraries(listed: &str) -> Vec<PathBuf> {
    let words = listed.split_whitespace();
    let mut files: Vec<PathBuf> = words
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_is_named_counts() {
        let program = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0GLIBC_2.";
        assert_eq!(oldest(program), Some(34));
        assert_eq!(oldest(b"a program of musl"), None);
    }

    #[test]
    fn files_are_told_from_addresses() {
        let listed = "\tlinux-vdso.so.1 (0x7f)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x7f)\n\t/lib64/ld.so (0x7f)\n";
        let expected = ["/lib/x/libc.so.6", "/lib64/ld.so"];
        assert_eq!(libraries(listed), expected.map(PathBuf::from));
    }
}
