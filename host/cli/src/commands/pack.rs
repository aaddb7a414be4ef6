//! `runner plugin pack`: a program that carries its plugins, compiled.
//!
//! Hidden, since it is a step of the build: `cargo xtask bundle` runs the program that was just built, so
//! the engine that compiles is the one that will load.

use std::fmt::Write as _;

use runner_sandbox::{Packing, pack};

use super::CommandContext;
use crate::arguments::Pack;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::stdout;

/// Writes the program; says how large what is in it.
pub(super) fn run(arguments: Pack, setting: &CommandContext) -> Result<u8, Failure> {
    let in_cwd = |path| setting.cwd.join(path);
    let program = in_cwd(arguments.program);
    let components: Vec<_> = arguments.components.into_iter().map(in_cwd).collect();
    let what = Packing {
        program: &program,
        components: &components,
        like: arguments.like.as_deref(),
        level: arguments.level,
        commit: arguments.commit,
    };
    let packed = pack(what, &setting.cwd.join(arguments.to)).map_err(Failure::usage_from)?;
    let mut text = String::new();
    let mut line = |name: &str, code: u64, bytes: u64| {
        let (code, bytes) = (figures::count(code), figures::count(bytes));
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name:20} {code:>12} {bytes:>12}");
    };
    line("the program", packed.program, packed.program);
    for (name, code, bytes) in &packed.parts {
        line(name, *code, *bytes);
    }
    let sum = |of: fn(&(String, u64, u64)) -> u64| packed.parts.iter().map(of).sum::<u64>();
    let (code, bytes) = (sum(|part| part.1), sum(|part| part.2));
    line("all", packed.program + code, packed.program + bytes);
    stdout::print(&text)?;
    Ok(SUCCESS)
}
