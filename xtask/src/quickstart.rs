//! `cargo xtask quickstart`: all set-up, then the example that a newcomer runs first.
//!
//! It needs nothing but a Rust and a C compiler: the example is offline, through `echo`. Only what it
//! needs is built before its table is there, guests beside the program, since neither keeps two cores busy
//! alone. What a config of one's own may need besides is built then, and put into the program: what
//! stands at the end is one file. A second run builds nothing.

use std::fs;
use std::process::Command;

use crate::bundle::{self, Effort};
use crate::place::{self, Place};
use crate::plugins::{self, Own};
use crate::program;
use crate::python;
use crate::step::{self, Failure, say};

/// The example's config.
const CONFIG: &str = "examples/quickstart/promptfooconfig.yaml";

/// The plugins that it needs.
const NEEDED: [&str; 2] = ["echo", "text"];

/// Builds what is missing and runs the example.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let guests = scope.spawn(|| plugins::own(place, Own::Some(&NEEDED)));
        program::build(place)?;
        guests.join().expect("it has no bug that panics")
    })?;
    let folder = place.target.join("quickstart");
    let results = folder.join("results.json");
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    let mut runner = Command::new(place.runner());
    step::forget_cargo(&mut runner);
    // Its build may have ended before that of the plugins, and then it does not know them.
    let plugins = place.release().join("plugins");
    runner
        .current_dir(&place.root)
        .env("RUNNER_BUNDLED_PLUGINS", plugins)
        .args(["eval", "-c", CONFIG, "-o"])
        .arg(&results);
    step::run(&format!("runner eval -c {CONFIG}"), &mut runner)?;
    say(&format!(
        "the results as JSON: {}",
        place::relative(&results)
    ));
    say("now what other configs need");
    plugins::own(place, Own::Quick)?;
    plugins::own(place, Own::StartedAhead)?;
    python::if_possible(place);
    // The program knows its plugins by their digests, and more have come.
    program::build(place)?;
    bundle::bundle(place, Effort::Little)?;
    say(&format!("next: change {CONFIG} and run this again"));
    Ok(())
}
