//! `fuzz [TARGET] [--seconds N | --hours N] [--seed S]`: tries each target, or one, for so many
//! seconds; or shares the hours among all.
//!
//! `cargo xtask fuzz` builds and starts it. The first input that breaks a promise ends it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use runner_fuzz::{Fuzzing, TARGETS, folder};

const USAGE: &str = "usage: fuzz [TARGET] [--seconds N | --hours N] [--seed S]";

/// What the words say.
struct Wish {
    target: Option<String>,
    seconds: u64,
    seed: u64,
}

fn wish(mut words: impl Iterator<Item = String>) -> Option<Wish> {
    let mut wish = Wish {
        target: None,
        seconds: 60,
        seed: std::process::id().into(),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => wish.seconds = words.next()?.parse().ok()?,
            "--hours" => {
                let hours: u64 = words.next()?.parse().ok()?;
                wish.seconds = hours.checked_mul(3600)? / TARGETS.len() as u64;
            }
            "--seed" => wish.seed = words.next()?.parse().ok()?,
            name if TARGETS.iter().any(|target| target.name == name) => {
                wish.target = Some(word);
            }
            _ => return None,
        }
    }
    Some(wish)
}

fn main() -> ExitCode {
    let Some(wish) = wish(std::env::args().skip(1)) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("{USAGE}\ntargets: {}", names.join(" "));
        return ExitCode::from(2);
    };
    let work = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let work = PathBuf::from(work).join("fuzz");
    let mut code = ExitCode::SUCCESS;
    for target in TARGETS {
        if wish
            .target
            .as_deref()
            .is_some_and(|name| name != target.name)
        {
            continue;
        }
        if !one(target, &wish, &work) {
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Whether a target kept its promises.
fn one(target: &runner_fuzz::Target, wish: &Wish, work: &Path) -> bool {
    let mut fuzzing = Fuzzing::new(target, wish.seed, work);
    fuzzing.watch();
    let found = fuzzing.replay();
    let found = found.and_then(|()| fuzzing.run(Duration::from_secs(wish.seconds)));
    let (tried, outcomes) = (fuzzing.tried(), fuzzing.outcomes());
    println!("{}: {tried} inputs, {outcomes} outcomes", target.name);
    let Err(found) = found else { return true };
    println!(
        "{}: {}\ninput: {} (seed {})\nto keep it: cp it to {}",
        target.name,
        found.what,
        found.file.display(),
        wish.seed,
        folder(target.name).display()
    );
    false
}
