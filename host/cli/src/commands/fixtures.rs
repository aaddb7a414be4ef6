//! `runner plugin test`: asks a built component what its fixtures ask, and compares what comes of it.
//!
//! Nothing is sent: what servers answer stands in the fixture, and is played as a recording of a run is. So a
//! fixture tests the component itself, through the host that will call it, with the grants and limits of a run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use runner_gateway::{Exchanges, Playback};
use serde_json::{Value, json};

use super::CommandContext;
use super::trial::{Outcome, Subject};
use crate::arguments::Test;
use crate::exit::{BELOW_THRESHOLD, SUCCESS};
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::visible;

mod fixture;

pub(super) use fixture::{Fixture, PassingRecording};

/// The folder that has them.
const FOLDER: &str = "fixtures";

/// Endings of their files.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Asks all of them; gives the exit code.
pub(super) fn run(arguments: &Test, setting: &CommandContext) -> Result<u8, Failure> {
    let folder = arguments
        .folder
        .clone()
        .unwrap_or_else(|| PathBuf::from("."));
    let files = files(
        &setting.cwd.join(&folder).join(FOLDER),
        arguments.only.as_deref(),
    )?;
    // What is wrong with one is found before any is asked.
    let fixtures = files.iter().map(|path| Fixture::read(path));
    let fixtures: Vec<Fixture> = fixtures.collect::<Result<_, _>>()?;
    let named = arguments.plugin.as_deref().unwrap_or(&folder);
    let subject = Subject::find(named, setting)?;
    let (mut passed, mut all_told) = (0, Vec::new());
    for (path, fixture) in files.iter().zip(&fixtures) {
        let outcome = ask(fixture, (&subject, path), setting)?;
        let differences = differences(&fixture.expect, &outcome.to_json());
        passed += u64::from(differences.is_empty());
        if !arguments.json {
            stdout::print(&told(path, &outcome, &differences))?;
        }
        all_told.push(
            json!({ "fixture": name(path), "differences": differences, "came": outcome.to_json() }),
        );
    }
    let all = files.len() as u64;
    let fixtures = figures::counted(all, "fixture", "fixtures");
    let text = format!("\n{} of {fixtures} passed\n", figures::count(passed));
    let all_told = json!({ "passed": passed, "fixtures": all_told });
    stdout::told(arguments.json, &all_told, &text)?;
    Ok(if passed == all {
        SUCCESS
    } else {
        BELOW_THRESHOLD
    })
}

/// The fixtures of a folder, in the order of their names. A link could lead to any file of the person's,
/// which a message about a wrong fixture would quote.
fn files(folder: &Path, only: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let not_a_link = |path: &Path| {
        let message = || format!("{} is a link", path.display());
        let help = "a fixture is a file of the plugin's own folder; copy it there";
        let refusal = path.is_symlink().then(|| Failure::usage(message()));
        refusal.map_or(Ok(()), |refusal| Err(refusal.help(help)))
    };
    not_a_link(folder)?;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_fixture = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_meant = only.is_none_or(|text| name(path).contains(text));
        ending.is_some_and(|ending| ENDINGS.contains(&ending)) && is_meant
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(is_fixture)
        .collect();
    files.sort();
    files.iter().try_for_each(|path| not_a_link(path))?;
    files.retain(|path| path.is_file());
    if files.is_empty() {
        let which = only.map(|text| format!(" with {text} in its name"));
        let folder = folder.display();
        let message = format!("{folder} has no fixture{}", which.unwrap_or_default());
        return Err(Failure::usage(message).help(
            "`runner plugin call --record FILE` writes one; see `runner plugin test --help`",
        ));
    }
    Ok(files)
}

fn name(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn ask(
    fixture: &Fixture,
    (subject, path): (&Subject, &Path),
    setting: &CommandContext,
) -> Result<Outcome, Failure> {
    let kept = PassingRecording::written(&fixture.exchanges, setting)?;
    let playback = Playback::open(kept.path()).map_err(Failure::usage_from)?;
    let exchanges = Exchanges::Replay(playback);
    let shown = path.strip_prefix(&setting.cwd).unwrap_or(path);
    fixture
        .request
        .carry_out((subject, Some(shown)), exchanges, setting)
}

fn told(path: &Path, outcome: &Outcome, differences: &[String]) -> String {
    let word = if differences.is_empty() {
        "PASS"
    } else {
        "FAIL"
    };
    let name = name(path);
    let mut text = format!("{word}  {}\n", visible::line(&name));
    // Writing to a string can't fail.
    for difference in differences {
        let _ = writeln!(text, "      {}", visible::line(difference));
    }
    if !differences.is_empty() {
        for line in outcome.logged() {
            let _ = writeln!(text, "      log: {}", visible::line(&line));
        }
    }
    for figures in outcome.figures() {
        let _ = writeln!(text, "      {}", visible::line(&figures));
    }
    text
}

/// What came otherwise than expected, a line each. What nobody expects is not compared.
fn differences(expected: &Value, came: &Value) -> Vec<String> {
    let mut all = Vec::new();
    compare("", expected, Some(came), &mut all);
    all
}

fn compare(at: &str, expected: &Value, came: Option<&Value>, all: &mut Vec<String>) {
    match (expected, came) {
        (Value::Object(fields), Some(Value::Object(came))) => {
            for (name, expected) in fields {
                let at = if at.is_empty() {
                    name.clone()
                } else {
                    format!("{at}.{name}")
                };
                compare(&at, expected, came.get(name), all);
            }
        }
        (Value::Number(one), Some(Value::Number(other))) if one.as_f64() == other.as_f64() => {}
        (expected, Some(came)) if expected == came => {}
        (expected, Some(came)) => {
            all.push(format!("{at}: {expected} is expected, and {came} came"));
        }
        (expected, None) => all.push(format!("{at}: {expected} is expected, and nothing came")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_expected_is_compared_and_nothing_else() {
        let came =
            json!({ "outcome": "pass", "grade": { "score": 1.0, "parts": [1, 2] }, "calls": [] });
        for expected in [
            json!({}),
            json!({ "grade": { "score": 1 } }),
            json!({ "outcome": "pass", "grade": { "parts": [1, 2] } }),
        ] {
            assert_eq!(
                differences(&expected, &came),
                Vec::<String>::new(),
                "{expected}"
            );
        }
        let expected =
            json!({ "outcome": "fail", "grade": { "score": 1, "reason": "x", "parts": [1] } });
        assert_eq!(
            differences(&expected, &came),
            [
                "outcome: \"fail\" is expected, and \"pass\" came",
                "grade.reason: \"x\" is expected, and nothing came",
                "grade.parts: [1] is expected, and [1,2] came",
            ]
        );
    }

    #[test]
    fn fixtures_are_found_by_their_endings_and_names() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.yaml", "a.json", "notes.md", "c.yml"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        let found = |only| {
            let files = files(folder.path(), only).map_err(|failure| failure.render());
            files.map(|files| files.iter().map(|path| name(path)).collect::<Vec<_>>())
        };
        assert_eq!(
            found(None),
            Ok(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
        );
        assert_eq!(found(Some("b")), Ok(vec!["b".to_owned()]));
        let refused = found(Some("x")).expect_err("none");
        assert!(
            refused.contains("has no fixture with x in its name"),
            "{refused}"
        );
    }
}
