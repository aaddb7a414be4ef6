//! Tools of others that PyPI brings, each in an environment of its own below the target directory, to the digit.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::step::{self, Failure};

/// The programs of a package (`NAME==VERSION`) that needs no others, which is installed below `home` if it isn't there.
pub(crate) fn programs(home: &Path, package: &str) -> Result<PathBuf, Failure> {
    let environment = home.join(package.replace("==", "-"));
    installed(&environment, &["--no-deps", package])
}

/// The programs of a package and of all that it needs, in this environment.
pub(crate) fn programs_with_all(environment: &Path, package: &str) -> Result<PathBuf, Failure> {
    installed(environment, &[package])
}

/// Installs what `words` name into an environment that isn't there yet; gives where its programs are.
fn installed(environment: &Path, words: &[&str]) -> Result<PathBuf, Failure> {
    let package = words.last().copied().unwrap_or_default();
    let bin = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let installed = environment.join("installed");
    if std::fs::read_to_string(&installed).is_ok_and(|noted| noted == package) {
        return Ok(bin);
    }
    python_is_there()?;
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(environment);
    make.stdout(Stdio::null());
    step::run("making a Python environment below target/", &mut make)?;
    let mut install = Command::new(bin.join("python"));
    install.args(["-m", "pip", "install", "--quiet"]);
    install.args(["--disable-pip-version-check", "--only-binary", ":all:"]);
    step::run(
        &format!("installing {package} from PyPI"),
        install.args(words),
    )?;
    // The last thing: an installation that was cut off is begun anew.
    let noted = std::fs::write(&installed, package);
    noted.map_err(|error| Failure::new(format!("{}: {error}", installed.display())))?;
    Ok(bin)
}

/// Fails with what to install, where Python or what makes environments is missing.
fn python_is_there() -> Result<(), Failure> {
    let missing = |what: &str| {
        Failure::new(format!(
            "{what}; this takes Python 3.10 or later, its venv and pip (Debian: apt-get install python3 \
             python3-venv)"
        ))
    };
    let has = |code: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", code]);
        python.stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    match has("import sys; sys.exit(sys.version_info < (3, 10))") {
        Err(error) => return Err(missing(&format!("cannot run python3: {error}"))),
        Ok(status) if !status.success() => return Err(missing("python3 is older than 3.10")),
        Ok(_) => {}
    }
    if !has("import venv, ensurepip").is_ok_and(|status| status.success()) {
        return Err(missing("python3 has no venv or no pip"));
    }
    Ok(())
}
