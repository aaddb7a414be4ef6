//! `cargo xtask check pure`: what is pure, compiled to bare WebAssembly, imports nothing.
//!
//! A module can reach nothing that it does not import: no clock, no randomness, no file, no
//! thread. So this is the proof that time and chance are arguments of the scheduler, and that a
//! template gives the same text wherever it is filled in; clippy's list of forbidden names is
//! only the quicker word.

use std::fs;

use crate::place::Place;
use crate::step::{self, Failure, say};
use crate::toolchain::{Toolchain, Wish};

/// What is pure: in messages, the package, and its program that uses all of it.
const PURE: [(&str, &str, &str); 2] = [
    ("the scheduler", "runner-scheduler", "bare"),
    ("the template language", "runner-template", "bare-template"),
];

/// Fewest functions in a module: if there are less, the compiler found that it uses
/// nothing, and an empty module proves nothing.
const FEWEST_FUNCTIONS: u64 = 50;

/// Builds the programs and looks at their sections.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    let toolchain = Toolchain::find(&place.root, Wish::Any, &place.target.join("guests"))?;
    PURE.iter()
        .try_for_each(|(what, package, program)| check(place, &toolchain, what, package, program))
}

fn check(
    place: &Place,
    toolchain: &Toolchain,
    what: &str,
    package: &str,
    program: &str,
) -> Result<(), Failure> {
    let guests = place.target.join("guests");
    let mut cargo = toolchain.rustc(&place.root);
    cargo.args(["--package", package, "--bin", program]);
    cargo.args(["--features", "bare", "--profile", "guest"]);
    cargo.arg("--target-dir").arg(&guests);
    // A module as the compiler made it, not the component that the linker puts around it.
    cargo.args(["--", "-C", "link-arg=--skip-wit-component"]);
    step::run(&format!("compiling {what} to bare WebAssembly"), &mut cargo)?;
    let file = guests.join(format!("wasm32-unknown-unknown/guest/{program}.wasm"));
    let module = fs::read(&file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    let (imports, functions) =
        count(&module).ok_or_else(|| Failure::new(format!("{} is no module", file.display())))?;
    if imports > 0 {
        return Err(Failure::new(format!(
            "{what} imports {imports} functions from a system; it must be pure"
        )));
    }
    if functions < FEWEST_FUNCTIONS {
        return Err(Failure::new(format!(
            "the module has only {functions} functions: `{program}` uses too little of {what}"
        )));
    }
    say(&format!("{what} imports nothing ({functions} functions)"));
    Ok(())
}

/// Imports and functions of a module; `None` if it is none. The sections are those of the
/// WebAssembly core specification: an id, a length, and here a count.
fn count(module: &[u8]) -> Option<(u64, u64)> {
    const IMPORTS: u8 = 2;
    const FUNCTIONS: u8 = 3;
    let mut rest = module.strip_prefix(b"\0asm\x01\0\0\0")?;
    let (mut imports, mut functions) = (0, 0);
    while let Some((&id, after)) = rest.split_first() {
        let (length, body) = number(after)?;
        let (content, next) = body.split_at_checked(usize::try_from(length).ok()?)?;
        match id {
            IMPORTS => imports = number(content)?.0,
            FUNCTIONS => functions = number(content)?.0,
            _ => {}
        }
        rest = next;
    }
    Some((imports, functions))
}

/// An unsigned LEB128 number of at most 32 bits, and what follows it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_functions_are_counted() {
        // Two imports (the section's content after the count is not looked at), 300 functions.
        let module = [
            b"\0asm\x01\0\0\0".as_slice(),
            &[1, 2, 0xff, 0xff],
            &[2, 3, 2, 0xff, 0xff],
            &[3, 2, 0xac, 0x02],
        ]
        .concat();
        assert_eq!(count(&module), Some((2, 300)));
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_no_module() {
        assert_eq!(count(b"\x7fELF"), None);
        assert_eq!(count(b"\0asm\x01\0\0\0\x02\x09\x01"), None);
    }
}
