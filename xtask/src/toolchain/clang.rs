//! A C compiler for guests with C in them, found or installed.
//!
//! The JavaScript engine is written in C. Its crate brings the C library for wasm; what it needs
//! besides is a clang with the target, which every clang of a Linux distribution has and
//! Apple's has not. No linker: that is Rust's. `CC_wasm32_unknown_unknown`, which the build scripts
//! of such crates read, wins if it is set.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::debian;
use crate::step::{Failure, say};

/// What the build scripts read, and we set.
pub(crate) const CC: &str = "CC_wasm32_unknown_unknown";

/// Its flags, likewise.
pub(crate) const CFLAGS: &str = "CFLAGS_wasm32_unknown_unknown";

/// The oldest release whose headers go with the C library of the engine's crate.
const OLDEST: u32 = 16;

/// The newest release that is looked for by name.
const NEWEST: u32 = 40;

/// A clang that compiles for wasm; installed if there is none and we may.
pub(crate) fn find() -> Result<OsString, Failure> {
    if let Some(wish) = env::var_os(CC) {
        return Ok(wish);
    }
    if let Some(found) = installed() {
        return Ok(found.into());
    }
    let reason = match debian::newest("clang", OLDEST) {
        Some(package) => match debian::install(&[package]) {
            Ok(()) => match installed() {
                Some(found) => return Ok(found.into()),
                None => "it was installed, but can't compile for wasm32".to_owned(),
            },
            Err(why) => why,
        },
        None => "there is no apt-get that knows one".to_owned(),
    };
    say("no clang for wasm; looking no further");
    Err(Failure::new(format!(
        "the JavaScript plugin needs clang {OLDEST} or later with the target wasm32: {reason}\n\
         install one (Debian: sudo apt-get install -y --no-install-recommends clang-19, or a later \
         one), or name it in {CC}"
    )))
}

/// Flags that take the paths of this machine out of the compiled C code.
pub(crate) fn flags(root: &Path, target: &Path) -> String {
    let maps = [(target, "/target"), (root, "/runner")];
    let maps = maps.map(|(path, name)| format!("-ffile-prefix-map={}={name}", path.display()));
    maps.join(" ")
}

/// The first that works: the plain name, then by release, newest first.
fn installed() -> Option<String> {
    let by_release = (OLDEST..=NEWEST).rev().map(|n| format!("clang-{n}"));
    let mut names = std::iter::once("clang".to_owned()).chain(by_release);
    names.find(|name| {
        let asked = |argument: &str| {
            let output = Command::new(name).arg(argument).output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let works = asked("--print-targets").is_some_and(|targets| has_wasm(&targets));
        works && asked("-dumpversion").is_some_and(|version| release(&version) >= Some(OLDEST))
    })
}

/// Is the target in the list that clang prints?
fn has_wasm(targets: &str) -> bool {
    let mut names = targets.lines().map(|line| line.split_whitespace().next());
    names.any(|name| name == Some("wasm32"))
}

/// The first number of a version.
fn release(version: &str) -> Option<u32> {
    version.trim().split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clang_is_judged_by_its_targets_and_release() {
        assert!(has_wasm(
            "  Registered Targets:\n    wasm32     - WebAssembly 32-bit\n"
        ));
        assert!(!has_wasm(
            "  Registered Targets:\n    x86-64     - 64-bit X86 with wasm32\n"
        ));
        assert_eq!(release("19.1.7\n"), Some(19));
        assert_eq!(release("unknown"), None);
    }

    #[test]
    fn the_paths_of_the_machine_are_mapped() {
        let flags = flags(Path::new("/home/me/clone"), Path::new("/tmp/t"));
        let expected = "-ffile-prefix-map=/tmp/t=/target -ffile-prefix-map=/home/me/clone=/runner";
        assert_eq!(flags, expected);
    }
}
