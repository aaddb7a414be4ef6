//! `cargo xtask …`: the chores of this repository, so that a fresh clone needs two commands.
//!
//! Programs of the toolchain do the work; this crate knows their order and their arguments
//! and says what it does. It is not a build system: what is up to date is cargo's to know.
//! It depends on next to nothing because it is compiled before anything else happens.
//! One file per command, each with one entry point.

mod authors;
mod bench;
mod bundle;
mod check;
mod compat;
mod crates;
mod deny;
mod dist;
mod fuzz;
mod house;
mod linker;
mod markdown;
mod mutants;
mod nightly;
mod nunjucks;
mod place;
mod plugins;
mod program;
mod pure;
mod pypi;
mod python;
mod quickstart;
mod servers;
mod sim;
mod site;
mod soak;
mod step;
mod test;
mod tool;
mod toolchain;

use std::process::ExitCode;

use place::Place;
use step::Failure;

/// What a wrong or missing command prints.
const USAGE: &str = "\
usage: cargo xtask <command>

  quickstart          build everything and run examples/quickstart
  bundle              build everything, and make one file of the program and its plugins
  dist [--quick]      the same, as archive and packages with licences, each tried; of the program
                      that is built, with few plugins, in a minute
  test                build everything, check, run all tests
  check [STAGE]       fmt, clippy, docs, house (sizes, names, who may depend on whom), pure (the
                      scheduler and templates need no system), deny (licences, sources and
                      versions of the dependencies) and site; with a stage: that one alone
  crates [--since COMMIT]
                      pack the crates for authors of plugins, and test what was packed; or look
                      whether what has changed in them since then fits their version
  site                make pages of the documents, and look where their links lead
  bench [MEASURE [ARGUMENT…]]
                      measure what admission costs (overhead), and whole runs of the program:
                      CPU a case and distance to the ideal (bench), use of a quota (lanes), that
                      of nginx and LiteLLM's proxy, promptfoo beside it (servers), how long the
                      viewer takes for a million cases (million), how often a case
                      takes memory, which may not grow (allocations, which needs heaptrack;
                      with --write what is counted is what it may take)
  servers             fetch nginx from Debian and LiteLLM's proxy from PyPI, which the tests use
                      where they can be had
  sim [FILTER] [--seeds N] | --write | --check | --trace NAME SEED
                      the scheduler against a clairvoyant client, in simulation: the score
                      table; put into the crate's README; one run, event by event
  sim --grid [--cells N] [--from M] [--write | --check]
                      the same with servers drawn by chance: what they reach, and the worst
  soak [--cycles N] [--seed S]
                      kill the program at random moments and let it go on, 2000 times
                      unless told otherwise, and look each time at what it left
  fuzz [TARGET] [--seconds N] [--seed S]
                      inputs that nobody would write, against everything that reads what
                      strangers wrote; each target for a minute unless told otherwise
  nightly [--hours N] crates and dist; fuzz for so long, one unless told otherwise;
                      bench million; soak
  mutants [--file F] [--shard I/N]
                      one mistake at a time in the pure modules, which a unit test has to
                      notice; for all an hour or two after the first build
  nunjucks [--write]  the table of templates against the real nunjucks, which npm brings
  compat [--stored] [--write] [NAME…]
                      the configs of tests/compat by promptfoo, which npm brings, and by the
                      program, row by row; against what promptfoo said before; keep what it
                      says; those whose names contain a word
  plugins [--toolchain auto|rust|debian]
                      build the plugins and the test guests to WebAssembly components;
                      auto looks for a Rust that can do it and says what it found
  plugins --python    build the plugin that runs the Python of configs, alone: needs Python
                      3.10 or later, and PyPI
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&words) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(failure)) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Runs the command that `words` name; `None` if they name none.
fn dispatch(words: &[&str]) -> Option<Result<(), Failure>> {
    type Task = Box<dyn FnOnce(&Place) -> Result<(), Failure>>;
    let task: Task = match *words {
        ["quickstart"] => Box::new(quickstart::run),
        ["bundle"] => Box::new(bundle::run),
        ["dist"] => Box::new(dist::run),
        ["dist", "--quick"] => Box::new(dist::quick),
        ["crates"] => Box::new(crates::run),
        ["crates", "--since", commit] => Box::new(crates::since(commit.to_owned())),
        ["site"] => Box::new(site::run),
        ["test"] => Box::new(test::run),
        ["bench", ref rest @ ..] => {
            let words = owned(rest);
            let is_known = words.first().is_none_or(|name| bench::knows(name));
            is_known.then_some(())?;
            Box::new(move |place| bench::run(place, &words))
        }
        ["sim", ref rest @ ..] => {
            let words = owned(rest);
            Box::new(move |place| sim::run(place, &words))
        }
        ["servers"] => Box::new(servers::run),
        ["soak", ref rest @ ..] => {
            let words = owned(rest);
            Box::new(move |place| soak::run(place, &words))
        }
        ["fuzz", ref rest @ ..] => {
            let words = owned(rest);
            Box::new(move |place| fuzz::run(place, &words))
        }
        ["mutants", ref rest @ ..] => {
            let words = owned(rest);
            Box::new(move |place| mutants::run(place, &words))
        }
        ["nightly"] => Box::new(|place| nightly::run(place, "1")),
        ["nightly", "--hours", hours] => {
            let hours = hours.to_owned();
            Box::new(move |place| nightly::run(place, &hours))
        }
        ["check"] => Box::new(check::run),
        ["check", stage] => {
            let stage = check::Stage::named(stage)?;
            Box::new(move |place| check::run_stage(place, stage))
        }
        ["nunjucks"] => Box::new(|place| nunjucks::run(place, false)),
        ["nunjucks", "--write"] => Box::new(|place| nunjucks::run(place, true)),
        ["compat", ref rest @ ..] => {
            let words = owned(rest);
            compat::knows(&words).then_some(())?;
            Box::new(move |place| compat::run(place, &words))
        }
        ["plugins"] => Box::new(|place| plugins::run(place, toolchain::Wish::Any)),
        ["plugins", "--python"] => Box::new(python::run),
        ["plugins", "--toolchain", name] => {
            let wish = toolchain::Wish::named(name)?;
            Box::new(move |place| plugins::run(place, wish))
        }
        _ => return None,
    };
    Some(Place::find().and_then(|place| task(&place)))
}
