//! `cargo xtask mutants`: the pure modules with one mistake each, which a unit test has to notice.
//!
//! cargo-mutants makes the mistakes. `.cargo/mutants.toml` says which tests are run, and which mistakes
//! may stay unnoticed and why. The modules are listed here: what a person names would come in addition to
//! a list there, not in its place. Everything is built without optimisation, the libraries too, in a
//! folder of its own: it is built far more often than it is run.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::Place;
use crate::step::{self, Failure};
use crate::tool::Tool;

const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    features: "",
    takes: "a minute",
};

/// How cargo-mutants ends where a mistake lets a test wait for ever, whatever others were missed. Such a
/// mistake is noticed, too.
const SOME_HANG: i32 = 3;

/// Modules of one crate.
struct Mutated {
    name: &'static str,
    folder: &'static str,
    /// Those that decide and touch nothing. A mistake in one of them makes a run lose a case, pass what
    /// failed, or spend what it may not.
    files: &'static [&'static str],
}

const CRATES: [Mutated; 2] = [
    Mutated {
        name: "runner-gateway",
        folder: "host/gateway/",
        files: &[
            "host/gateway/src/admission/budget/spending.rs",
            "host/gateway/src/admission/budget/estimate.rs",
            "host/gateway/src/admission/budget/price.rs",
        ],
    },
    Mutated {
        name: "runner-eval",
        folder: "host/eval/",
        files: &[
            "host/eval/src/grading.rs",
            "host/eval/src/comparison/verdict.rs",
            "host/eval/src/record/conclusion.rs",
            "host/eval/src/state.rs",
            "host/eval/src/state/*.rs",
        ],
    },
];

/// Runs them all, or those that `words` choose in cargo-mutants' own words (`--file`, `--shard`).
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    let (files, words) = named(words);
    let unknown = |file: &&&str| !CRATES.iter().any(|it| file.starts_with(it.folder));
    if let Some(file) = files.iter().find(unknown) {
        let folders = CRATES.map(|it| it.folder).join(" or ");
        return Err(Failure::new(format!("{file} is not below {folders}")));
    }
    let program = MUTANTS.installed(place)?;
    let ran = CRATES.map(|it| of_crate(place, &program, &it, &files, &words));
    ran.into_iter().collect()
}

/// The files that `words` name, and the other words.
fn named(words: &[String]) -> (Vec<&str>, Vec<&str>) {
    let (mut files, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix("--file=") {
            Some(file) => files.push(file),
            None if word == "--file" => files.extend(words.next()),
            None => others.push(word),
        }
    }
    (files, others)
}

/// Runs those of one crate. Together, the crates would have other features than each has alone, and
/// their libraries would be built once more.
fn of_crate(
    place: &Place,
    program: &Path,
    mutated: &Mutated,
    files: &[&str],
    words: &[&str],
) -> Result<(), Failure> {
    let Mutated { name, folder, .. } = mutated;
    let all = if files.is_empty() {
        mutated.files
    } else {
        files
    };
    let own = all.iter().filter(|file| file.starts_with(folder));
    let own: Vec<&str> = own.flat_map(|file| ["--file", file]).collect();
    if own.is_empty() {
        return Ok(());
    }
    let built = place.target.join("mutants");
    fs::create_dir_all(&built)
        .map_err(|error| Failure::new(format!("{}: {error}", built.display())))?;
    let mut mutants = Command::new(program);
    step::forget_cargo(&mut mutants);
    mutants.current_dir(&place.root).arg("mutants");
    mutants.args(["--package", name]).args(own).args(words);
    let output = built.join(name);
    mutants.arg("--output").arg(&output);
    mutants.env("CARGO_TARGET_DIR", built);
    mutants.env("CARGO_INCREMENTAL", "1");
    mutants.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    mutants.env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    // Nobody reads by which input a mistake was noticed.
    mutants.env("PROPTEST_MAX_SHRINK_ITERS", "0");
    let what = format!("making mistakes in {name} that a test has to notice");
    step::say(&what);
    let status = mutants.status();
    let status = status.map_err(|error| step::not_started(&what, &mutants, &error))?;
    let missed = fs::read_to_string(output.join("mutants.out/missed.txt")).unwrap_or_default();
    if status.code() == Some(SOME_HANG) && missed.is_empty() {
        return Ok(());
    }
    step::judge(&what, &mutants, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_what_is_cargo_mutants_own() {
        let words = ["--shard", "1/8", "--file", "a.rs", "--list", "--file=b.rs"];
        let words = words.map(str::to_owned);
        let (files, others) = named(&words);
        assert_eq!(files, ["a.rs", "b.rs"]);
        assert_eq!(others, ["--shard", "1/8", "--list"]);
    }
}
