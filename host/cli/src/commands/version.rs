//! `runner --version`, and with `--verbose` what whoever reports a problem should add.
//!
//! It looks at nothing but the program: it answers also where no folder can be made.

use std::fmt::Write as _;

use runner_sandbox::{API, target};

use crate::bundle;
use crate::failure::Failure;
use crate::stdout;

/// Prints it.
pub(super) fn run(verbose: bool) -> Result<(), Failure> {
    let version = concat!("runner ", env!("CARGO_PKG_VERSION"), "\n");
    let rest = if verbose { more()? } else { String::new() };
    Ok(stdout::print(&format!("{version}{rest}"))?)
}

/// Commit, target, contract, plugins.
fn more() -> Result<String, Failure> {
    let carried = bundle::carried()?;
    let commit = carried.as_ref().and_then(|carried| carried.commit());
    let commit = commit.unwrap_or("unknown, since it carries no plugins");
    let mut text = format!(
        "commit      {commit}\ntarget      {}\nplugin API  {API}\n",
        target()
    );
    let mut line = |name: &str, sha256: &str| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "plugin      {name:14} sha256 {sha256}");
    };
    match carried {
        Some(carried) => carried
            .components()
            .for_each(|about| line(&about.name, &about.sha256)),
        None => bundle::known().for_each(|sha256| line("beside it", sha256)),
    }
    Ok(text)
}
