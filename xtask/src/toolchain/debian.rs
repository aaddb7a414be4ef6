//! Debian's Rust for building guests: `rustc-web` and friends, which carry the sources of
//! the standard library but not the library for wasm. Cargo builds that once (`-Zbuild-std`,
//! about a minute and a half of CPU); `RUSTC_BOOTSTRAP` lets a stable compiler do it.
//!
//! The packages install beside a rustup toolchain without conflict. Which `lld-NN` goes with
//! them changes with Debian's updates, so it is read from the link `/usr/bin/rust-lld`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Toolchain, asked, version_and_host};
use crate::step;

/// Debian's compiler. rustup's are elsewhere.
const RUSTC: &str = "/usr/bin/rustc";
/// Debian's cargo.
const CARGO: &str = "/usr/bin/cargo";
/// Names the linker's package by what it points to.
const LLD: &str = "/usr/bin/rust-lld";
/// The packages, but for the linker's.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm"];
/// The oldest release that builds this workspace.
const NEEDED: &str = env!("CARGO_PKG_RUST_VERSION");

/// Debian's toolchain, installed if it is not there and we may; the reason if it can't be.
pub(super) fn find(root: &Path) -> Result<Toolchain, String> {
    let missing = missing(root);
    if !missing.is_empty() {
        install(&missing)?;
        // Only now can the link say which linker goes with them.
        if let Some(package) = lld_package(std::fs::read_link(LLD).ok().as_deref())
            && !Path::new(LLD).exists()
        {
            install(&[package])?;
        }
    }
    let about = asked(root, &RUSTC.into(), &["-vV"])?;
    let (version, host) = version_and_host(&about)?;
    if number(&version) < number(NEEDED) {
        return Err(format!("Debian's rustc is {version}; this needs {NEEDED}"));
    }
    let found = Toolchain {
        rustc: Some(RUSTC.into()),
        sysroot: asked(root, &RUSTC.into(), &["--print", "sysroot"])?.into(),
        host,
        about: format!("Debian's rustc {version}, which builds its standard library once"),
    };
    if let Some(file) = needed_files(&found).iter().find(|file| !file.exists()) {
        return Err(format!(
            "Debian's rustc {version} is there, but not {}",
            file.display()
        ));
    }
    Ok(found)
}

/// What must exist for [`Toolchain::build`] to work.
fn needed_files(found: &Toolchain) -> [PathBuf; 4] {
    let sources = found
        .sysroot
        .join("lib/rustlib/src/rust/library/Cargo.lock");
    [CARGO.into(), sources, found.linker(), LLD.into()]
}

/// The packages that are not installed.
fn missing(root: &Path) -> Vec<String> {
    let sources = |root: &Path| {
        let sysroot = asked(root, &RUSTC.into(), &["--print", "sysroot"]).ok()?;
        Some(
            Path::new(&sysroot)
                .join("lib/rustlib/src/rust/library/Cargo.lock")
                .is_file(),
        )
    };
    let rust = Path::new(RUSTC).exists() && Path::new(CARGO).exists();
    let link = std::fs::read_link(LLD).ok();
    if !rust || link.is_none() || sources(root) != Some(true) {
        return PACKAGES.map(str::to_owned).to_vec();
    }
    if Path::new(LLD).exists() {
        Vec::new()
    } else {
        lld_package(link.as_deref()).into_iter().collect()
    }
}

/// The package of the linker that `/usr/bin/rust-lld` points to: its file's name.
fn lld_package(link: Option<&Path>) -> Option<String> {
    let name = link?.file_name().and_then(OsStr::to_str)?;
    name.starts_with("lld-").then(|| name.to_owned())
}

/// The package `NAME-N` with the highest N from `oldest` on; `None` without apt.
pub(super) fn newest(name: &str, oldest: u32) -> Option<String> {
    let list = || {
        let mut apt = Command::new("apt-cache");
        let output = apt.args(["pkgnames", &format!("{name}-")]).output().ok()?;
        newest_of(&String::from_utf8_lossy(&output.stdout), name, oldest)
    };
    list().or_else(|| {
        // Images come without a list of packages.
        let what = "reading Debian's list of packages (apt-get update)";
        is_root().then(|| run(&["update"], what).ok())?;
        list()
    })
}

/// The newest package of a list of names.
fn newest_of(names: &str, name: &str, oldest: u32) -> Option<String> {
    let number =
        |line: &str| -> Option<u32> { line.strip_prefix(name)?.strip_prefix('-')?.parse().ok() };
    let newest = names.lines().filter_map(number).max()?;
    (newest >= oldest).then(|| format!("{name}-{newest}"))
}

/// Installs packages, as root and with apt only; the reason if it can't.
pub(super) fn install(packages: &[String]) -> Result<(), String> {
    let names = packages.join(" ");
    if !silent(Command::new("apt-get").arg("--version")) {
        return Err(format!("no apt-get here to install {names}"));
    }
    if !is_root() {
        return Err(format!("installing {names} needs root"));
    }
    let known = packages
        .iter()
        .all(|name| silent(Command::new("apt-cache").args(["show", name])));
    if !known {
        run(
            &["update"],
            "reading Debian's list of packages (apt-get update)",
        )?;
    }
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(packages.iter().map(String::as_str));
    run(&arguments, &format!("installing {names} (apt-get install)"))
}

/// Runs apt-get without questions.
fn run(arguments: &[&str], what: &str) -> Result<(), String> {
    let mut apt = Command::new("apt-get");
    apt.args([
        "-qq",
        "-o",
        "DPkg::Lock::Timeout=120",
        "-o",
        "Acquire::Retries=2",
    ])
    .args(arguments);
    apt.env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    step::run(what, &mut apt).map_err(|failure| failure.to_string().replace('\n', "; "))
}

/// Does this command succeed?
fn silent(command: &mut Command) -> bool {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// May we install? Asked of `id`, since std does not know.
fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The line that installs everything, for messages.
pub(super) fn install_line() -> String {
    let lld = lld_package(std::fs::read_link(LLD).ok().as_deref());
    let lld = lld.unwrap_or_else(|| "\"$(basename $(readlink /usr/bin/rust-lld))\"".to_owned());
    let packages = PACKAGES.join(" ");
    let install = "apt-get install -y --no-install-recommends";
    format!("{install} {packages} && sudo {install} {lld}")
}

/// Debian's cargo, with Debian's compiler and nothing of rustup's in its way.
pub(super) fn cargo(folder: &Path, rustc: &Path) -> Command {
    let mut command = Command::new(CARGO);
    command.current_dir(folder);
    step::forget_cargo(&mut command);
    // Set by rustup's proxies and by `cargo run` for their own compiler's libraries.
    command
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("RUSTUP_TOOLCHAIN");
    command.env("PATH", step::path_with("/usr/bin"));
    command.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1");
    command
}

/// A release as numbers that compare, `1.96.0-beta` as 1.96.0.
fn number(version: &str) -> Vec<u32> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_names_the_linkers_package() {
        let package = |link| lld_package(Some(Path::new(link)));
        assert_eq!(package("lld-22").as_deref(), Some("lld-22"));
        assert_eq!(
            package("../lib/llvm-23/bin/lld-23").as_deref(),
            Some("lld-23")
        );
        assert_eq!(package("rust-lld.real"), None);
        assert_eq!(lld_package(None), None);
    }

    #[test]
    fn the_newest_package_is_chosen() {
        let names = "clang-14\nclang-19\nclang-19-doc\nclang-format-22\nclang-9\n";
        assert_eq!(newest_of(names, "clang", 16).as_deref(), Some("clang-19"));
        assert_eq!(newest_of("clang-14\n", "clang", 16), None);
        assert_eq!(newest_of("", "clang", 16), None);
    }

    #[test]
    fn releases_compare_as_numbers() {
        assert!(number("1.100.0") > number("1.95"));
        assert!(number("1.95.0") >= number("1.95"));
        assert!(number("1.85.0") < number("1.95"));
        assert_eq!(number("1.96.0-beta.2"), [1, 96, 0]);
    }
}
