//! `cargo xtask servers`: servers that other people make, for the tests and for `bench servers`.
//!
//! nginx is a package of Debian, unpacked below the target folder and run from there by whoever runs the tests.
//! LiteLLM's proxy comes from PyPI, into an environment of its own. What can't be had on a machine is said
//! loudly and is no failure: the tests that want it say so, too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::place::Place;
use crate::pypi;
use crate::step::{self, Failure};

/// The proxy, to the digit; others may count otherwise.
const LITELLM: &str = "litellm[proxy]==1.106.12";

/// Fetches what isn't there.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    let home = place.target.join("servers");
    std::fs::create_dir_all(&home)
        .map_err(|error| Failure::new(format!("{}: {error}", home.display())))?;
    for (name, fetched) in [("nginx", nginx(&home)), ("LiteLLM", litellm(&home))] {
        match fetched {
            Ok(path) => step::say(&format!("{name}: {}", path.display())),
            Err(failure) => step::say(&format!("SKIPPED: no {name} for the tests: {failure}")),
        }
    }
    Ok(())
}

/// The one of this machine, or Debian's, unpacked.
fn nginx(home: &Path) -> Result<PathBuf, Failure> {
    let program = home.join("nginx/usr/sbin/nginx");
    let own = PathBuf::from("/usr/sbin/nginx");
    if let Some(there) = [own, program.clone()].into_iter().find(|path| runs(path)) {
        return Ok(there);
    }
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet", "nginx"]);
    step::run("downloading Debian's nginx", download.current_dir(home))?;
    let package = package(home)?;
    let mut unpack = Command::new("dpkg-deb");
    unpack
        .arg("--extract")
        .arg(&package)
        .arg(home.join("nginx"));
    step::run("unpacking it below target/", &mut unpack)?;
    if runs(&program) {
        return Ok(program);
    }
    Err(Failure::new(format!("{} doesn't run", program.display())))
}

/// The package that was downloaded.
fn package(home: &Path) -> Result<PathBuf, Failure> {
    let folder = std::fs::read_dir(home).into_iter().flatten().flatten();
    let mut files = folder.map(|file| file.path());
    let package = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
    package.ok_or_else(|| Failure::new("apt-get has downloaded nothing"))
}

/// Whether it starts at all.
fn runs(nginx: &Path) -> bool {
    let mut version = Command::new(nginx);
    version
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// LiteLLM's proxy, in the place where the tests look for it.
fn litellm(home: &Path) -> Result<PathBuf, Failure> {
    let bin = pypi::programs_with_all(&home.join("litellm"), LITELLM)?;
    Ok(bin.join("litellm"))
}
