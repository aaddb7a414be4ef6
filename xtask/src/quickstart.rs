//! `cargo xtask quickstart`: all set-up, then the example that a newcomer runs first.
//!
//! It needs nothing but a Rust and a C compiler: the example is offline, through `echo`. Only what it
//! needs is built before its table is there, guests beside the program, since neither keeps two cores busy
//! alone. What a config of one's own may need besides is built then, and put into the program: what
//! stands at the end is one file. A second run builds nothing.

use std::fs;
use std::path::{Path, PathBuf};
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
const NEEDED: [&str; 3] = ["echo", "json", "text"];

/// Builds what is missing and runs the example.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let guests = scope.spawn(|| plugins::own(place, Own::Some(&NEEDED)));
        program::build(place)?;
        guests.join().expect("it has no bug that panics")
    })?;
    let results = example(place, None)?;
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

/// Runs the example with the plugins that it needs and no others, also where there are more: what it
/// lacks on a fresh clone it lacks everywhere. Gives the file of its results. `home` is where the
/// program keeps its state, by default where it does for this user.
pub(crate) fn example(place: &Place, home: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = place.target.join("quickstart");
    let plugins = folder.join("plugins");
    fs::create_dir_all(&plugins)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", plugins.display())))?;
    for name in NEEDED.map(|name| format!("{name}.wasm")) {
        let built = place.release().join("plugins").join(&name);
        fs::copy(&built, plugins.join(&name))
            .map_err(|error| Failure::new(format!("cannot copy {}: {error}", built.display())))?;
    }
    let results = folder.join("results.json");
    let mut runner = Command::new(place.runner());
    step::forget_cargo(&mut runner);
    // Its build may have ended before that of the plugins, and then it does not know them.
    runner
        .current_dir(&place.root)
        .env("RUNNER_BUNDLED_PLUGINS", plugins)
        .args(["eval", "-c", CONFIG, "-o"])
        .arg(&results);
    if let Some(home) = home {
        runner.env("RUNNER_HOME", home);
    }
    step::run(&format!("runner eval -c {CONFIG}"), &mut runner)?;
    Ok(results)
}
