//! A Rust that can build WebAssembly components, found or installed.
//!
//! The order, and why: the Rust that builds the host, if it has the standard library for
//! wasm (nothing to do); the same Rust after `rustup target add` (one download); Debian's
//! Rust, which ships the sources of the standard library to build it from, for machines that
//! reach a Debian mirror but not rustup's server. What was found, and why the better choice
//! was not, is said; when nothing is left, the error holds both remedies.
//!
//! Either way the linker is `wasm-component-ld`: a finished component in one step, without
//! WASI, so that a grader without host calls has no imports at all. rustc names the folder of
//! a target's libraries whether or not it exists, hence the look into the folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::step::{self, Failure, say};

pub(crate) mod clang;
mod debian;

/// The target of the guests.
const TARGET: &str = "wasm32-unknown-unknown";
/// How long `rustup target add` may take: some 20 MB, or a server that never answers.
const RUSTUP_LIMIT: Duration = Duration::from_mins(3);

/// What the person at the terminal asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The first that works.
    Any,
    /// The Rust that builds the host, or nothing.
    Rust,
    /// Debian's Rust with the sources of the standard library, or nothing.
    Debian,
}

impl Wish {
    /// The wish as written on the command line.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Any),
            "rust" => Some(Self::Rust),
            "debian" => Some(Self::Debian),
            _ => None,
        }
    }
}

/// A Rust that can build the guests.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// `rustc` of this toolchain; `None`: the one on the path.
    rustc: Option<PathBuf>,
    /// Where it keeps its libraries.
    sysroot: PathBuf,
    /// Its own target, for example `x86_64-unknown-linux-gnu`.
    host: String,
    /// One line for the person at the terminal.
    pub(crate) about: String,
}

impl Toolchain {
    /// Looks in the order of the module's description, and installs where it can. `notes`
    /// is a folder that may remember what an earlier search ended with.
    pub(crate) fn find(root: &Path, wish: Wish, notes: &Path) -> Result<Self, Failure> {
        let note = notes.join("toolchain");
        let mut reasons = Vec::new();
        if wish != Wish::Debian {
            // After a search that ended with Debian's, asking rustup's server again each
            // time would cost seconds on a machine that can't reach it.
            let ask_rustup = wish == Wish::Rust || !note.exists();
            match Self::of_the_host(root, ask_rustup) {
                Ok(found) => return Ok(found),
                Err(why) => reasons.push(why),
            }
        }
        if wish != Wish::Rust {
            match debian::find(root) {
                Ok(found) => {
                    if wish == Wish::Any && !note.exists() {
                        // Without the note the next search is slower, no more.
                        let _ = std::fs::create_dir_all(notes);
                        let _ = std::fs::write(&note, "debian\n");
                    }
                    return Ok(found);
                }
                Err(why) => reasons.push(why),
            }
        }
        Err(Failure::new(remedies(&reasons)))
    }

    /// The Rust on the path, with rustup's help where the target is missing.
    fn of_the_host(root: &Path, ask_rustup: bool) -> Result<Self, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let about = asked(root, &rustc, &["-vV"])?;
        let (version, host) = version_and_host(&about)?;
        let sysroot = PathBuf::from(asked(root, &rustc, &["--print", "sysroot"])?);
        let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
        let found = Self {
            rustc: None,
            sysroot,
            host,
            about: format!("rustc {version} with the target {TARGET}"),
        };
        if !has_std(&libraries) {
            if !ask_rustup {
                return Err(format!(
                    "rustc {version} has no {TARGET}; rustup was not asked again"
                ));
            }
            add_target(root)?;
            if !has_std(&libraries) {
                return Err(format!(
                    "rustc {version} on the path is not the one rustup serves"
                ));
            }
        }
        let linker = found.linker();
        if !linker.is_file() {
            return Err(format!("rustc {version} has no {}", linker.display()));
        }
        Ok(found)
    }

    /// The linker that turns a guest into a component.
    fn linker(&self) -> PathBuf {
        self.own_libraries().join("bin/wasm-component-ld")
    }

    /// Where this toolchain keeps what belongs to its own target.
    fn own_libraries(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(&self.host)
    }

    /// `cargo build` for guests, started in `folder`, without the choice of packages.
    /// `root` is the clone, whose path must not show in what is built.
    pub(crate) fn build(&self, root: &Path, folder: &Path) -> Command {
        self.cargo("build", root, folder)
    }

    /// `cargo rustc` for guests of the clone in `root`, without the choice of a package.
    pub(crate) fn rustc(&self, root: &Path) -> Command {
        self.cargo("rustc", root, root)
    }

    fn cargo(&self, subcommand: &str, root: &Path, folder: &Path) -> Command {
        let mut cargo = match &self.rustc {
            None => step::cargo(folder),
            Some(rustc) => debian::cargo(folder, rustc),
        };
        cargo.args([subcommand, "--locked", "--target", TARGET]);
        if self.rustc.is_some() {
            cargo.arg("-Zbuild-std=std,panic_abort");
        }
        let linker = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER";
        cargo.env(linker, self.linker());
        // Replaces the user's RUSTFLAGS: a component is the same whoever builds it.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", self.flags(root));
        cargo
    }

    /// Compiler flags that take the paths of this machine out of panic messages, and chance out of guests, in the
    /// form of `CARGO_ENCODED_RUSTFLAGS`.
    fn flags(&self, root: &Path) -> OsString {
        let registry = cargo_home().join("registry/src");
        let std_sources = self.sysroot.join("lib/rustlib/src/rust");
        let paths = [
            (registry.as_path(), "/cargo"),
            (&std_sources, "/rust"),
            (root, "/runner"),
        ];
        // A guest has no chance of its own: what asks for it is told so, where a library would ask a browser.
        let mut flags = OsString::from("--cfg=getrandom_backend=\"unsupported\"");
        for (path, name) in paths {
            flags.push("\u{1f}");
            flags.push("--remap-path-prefix=");
            flags.push(path);
            flags.push("=");
            flags.push(name);
        }
        flags
    }
}

/// The folder in which cargo keeps the sources of the libraries.
fn cargo_home() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .unwrap_or_default()
}

/// What `program` writes to standard output, trimmed; the reason if it can't.
fn asked(folder: &Path, program: &OsString, arguments: &[&str]) -> Result<String, String> {
    let name = program.display();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} {}: {}", arguments.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Release and host of `rustc -vV`.
fn version_and_host(about: &str) -> Result<(String, String), String> {
    let field = |name: &str| about.lines().find_map(|line| line.strip_prefix(name));
    match (field("release: "), field("host: ")) {
        (Some(version), Some(host)) => Ok((version.to_owned(), host.to_owned())),
        _ => Err("rustc -vV names no release and host".to_owned()),
    }
}

/// Does this folder hold a standard library?
fn has_std(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// Asks rustup for the target's standard library. The reason if that fails.
fn add_target(root: &Path) -> Result<(), String> {
    let there = Command::new("rustup")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        return Err(format!(
            "rustc has no {TARGET}, and there is no rustup to add it"
        ));
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).current_dir(root);
    // A machine without the server should know within seconds.
    rustup
        .env("RUSTUP_MAX_RETRIES", "1")
        .env("RUSTUP_DOWNLOAD_TIMEOUT", "20")
        .env_remove("RUST_BACKTRACE");
    let what = format!("adding the target {TARGET} (rustup target add)");
    step::run_within(&what, &mut rustup, RUSTUP_LIMIT).map_err(|failure| {
        say("rustup could not add it; looking further");
        failure
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}

/// The error when nothing can build the guests.
fn remedies(reasons: &[String]) -> String {
    let mut text = "no Rust here can build WebAssembly components:\n".to_owned();
    for reason in reasons {
        text.push_str("  - ");
        text.push_str(reason);
        text.push('\n');
    }
    text.push_str("one of these will do:\n");
    let debian = debian::install_line();
    text + &format!("  rustup target add {TARGET}\n  sudo {debian}   (Debian)")
}

#[cfg(test)]
mod tests;
