//! Names what a file that is not WebAssembly seems to be, from its first bytes.

use crate::notice::{Finding, MessageCode};

/// Beginning, what it is, what to do.
const MAGIC: [(&[u8], &str, &str); 12] = [
    (
        b"version https://git-lfs",
        "a Git LFS pointer, whose content was not fetched",
        "run `git lfs pull`",
    ),
    (b"\x7fELF", "a program or library for Linux (ELF)", BUILD),
    (b"MZ", "a program or library for Windows", BUILD),
    (b"\xcf\xfa\xed\xfe", "a program or library for macOS", BUILD),
    (
        b"\xca\xfe\xba\xbe",
        "a universal program for macOS, or a Java class",
        BUILD,
    ),
    (b"PK\x03\x04", "a zip archive", UNPACK),
    (b"\x1f\x8b", "a gzip archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (b"!<arch>\n", "a static library", BUILD),
    (b"BC\xc0\xde", "LLVM bitcode", BUILD),
    (b"(module", "WebAssembly text", COMPILE_TEXT),
    (b"(component", "WebAssembly text", COMPILE_TEXT),
];

const BUILD: &str = "name the component that the build makes, usually a `.wasm` file";
const UNPACK: &str = "unpack it and name the `.wasm` file inside";
const COMPILE_TEXT: &str = "compile it with `wasm-tools parse`";

/// Refuses with `P001` unless the file begins as WebAssembly does.
pub(super) fn not_wasm(file: &[u8]) -> Result<(), Finding> {
    if file.starts_with(b"\0asm") {
        return Ok(());
    }
    if !file.is_empty() && b"\0asm".starts_with(file) {
        return Err(super::outline::damaged(file.len()));
    }
    let (what, help) = guess(file);
    Err(Finding::new(
        MessageCode::P001,
        format!("not a WebAssembly file, it looks like {what}"),
        help,
    ))
}

fn guess(file: &[u8]) -> (&'static str, &'static str) {
    if file.is_empty() {
        return ("an empty file", "build or download it again");
    }
    if let Some((_, what, help)) = MAGIC.iter().find(|(magic, ..)| file.starts_with(magic)) {
        return (what, help);
    }
    let head = &file[..file.len().min(1_024)];
    // A cut inside a character at the end of the head is still text.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return ("binary data of another kind", BUILD),
    };
    let start = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return (
            "an HTML page",
            "the download was probably answered by an error or login page; look at the file and download it again",
        );
    }
    if start.starts_with("(module") || start.starts_with("(component") || start.starts_with(";;") {
        return ("WebAssembly text", COMPILE_TEXT);
    }
    ("a text file", BUILD)
}
