//! `runner completions` and `runner man`: what other programs have to know of the flags, made of the flags.

use std::fs;

use anyhow::Context as _;

use super::CommandContext;
use crate::arguments::{self, Completions, ManArguments};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::stdout;

/// Prints a shell's completions.
pub(super) fn completions(arguments: &Completions) -> Result<u8, Failure> {
    let mut script = Vec::new();
    let mut command = arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "runner", &mut script);
    let script = String::from_utf8(script).context("the completions are not UTF-8")?;
    stdout::print(&script)?;
    Ok(SUCCESS)
}

/// Writes a page for each command.
pub(super) fn man(arguments: &ManArguments, setting: &CommandContext) -> Result<u8, Failure> {
    let folder = setting.cwd.join(&arguments.folder);
    let shown = folder.display();
    let written = fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(arguments::command(), &folder));
    written.with_context(|| format!("can't write the pages to {shown}"))?;
    Ok(SUCCESS)
}
