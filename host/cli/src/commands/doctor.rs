//! `runner doctor`: what a run needs of this machine, looked at one by one, and what to do about it.
//!
//! Each look gives one finding, whatever the others gave: somebody whose runs fail wants all of them at
//! once. It asks the parts that a run uses, the same way, and knows no rules of its own. What it says may be
//! put into a report of a problem, so no value of a variable is in it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use runner_eval::plugins::BundleSource;
use runner_sandbox::{OnUntrustedCode, target};
use serde_json::{Value, json};

use super::list::when;
use super::{CommandContext, cache, eval};
use crate::arguments::Doctor;
use crate::bundle;
use crate::exit::{SUCCESS, USAGE};
use crate::failure::Failure;
use crate::figures;
use crate::memory_limit;
use crate::stdout;
use crate::visible;

mod machine;

/// Cases at once that a run may have without `-j`.
const USUAL_INSTANCES: usize = 256;

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Some configs will not run, or not well.
    Doubtful,
    /// Nothing runs.
    Bad,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Doubtful => "warning",
            Self::Bad => "error",
        }
    }
}

/// What a look gave.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    what: &'static str,
    state: State,
    /// The first line says how it is, those below what to do.
    text: String,
}

impl Finding {
    fn good(what: &'static str, text: impl Into<String>) -> Self {
        let (state, text) = (State::Good, text.into());
        Self { what, state, text }
    }

    fn doubtful(what: &'static str, text: impl Into<String>) -> Self {
        let state = State::Doubtful;
        Self {
            state,
            ..Self::good(what, text)
        }
    }

    /// What stops a run.
    fn bad(what: &'static str, failure: &Failure) -> Self {
        let text = failure.render();
        Self {
            state: State::Bad,
            ..Self::good(what, text.trim_start_matches("error: "))
        }
    }

    /// For programs.
    fn json(&self) -> Value {
        let mut lines = self.text.trim_end().lines();
        let text = lines.next();
        let help: Vec<&str> = lines
            .map(|line| line.trim_start_matches("help: "))
            .collect();
        json!({ "what": self.what, "state": self.state.word(), "text": text, "help": help })
    }

    /// How it is, or what stops a run.
    fn of(what: &'static str, looked: Result<String, Failure>) -> Self {
        match looked {
            Ok(text) => Self::good(what, text),
            Err(failure) => Self::bad(what, &failure),
        }
    }
}

/// Looks at everything; gives whether something stops a run. `setting` is what every command needs.
pub(super) fn run(
    arguments: &Doctor,
    setting: &Result<CommandContext, Failure>,
) -> Result<u8, Failure> {
    let now = Timestamp::now();
    let mut findings = vec![Finding::of("program", program())];
    match setting {
        Ok(setting) => {
            findings.push(Finding::of("plugins", plugins(setting)));
            findings.push(sandbox(setting));
            findings.push(home(setting));
            findings.push(database(setting, now));
            findings.push(Finding::of("answers", answers(setting)));
            findings.extend(machine::programs(&setting.environment));
            findings.push(machine::proxies(&setting.environment));
            findings.push(Finding::good("terminal", terminal(setting)));
        }
        Err(failure) => findings.push(Finding::bad("settings", failure)),
    }
    findings.push(encryption());
    findings.push(clock(now));
    #[cfg(unix)]
    findings.push(machine::open_files());
    findings.push(Finding::good("memory", memory()));
    if arguments.json {
        stdout::json(&findings.iter().map(Finding::json).collect())?;
    } else {
        stdout::print(&told(&findings))?;
    }
    let is_bad = findings.iter().any(|it| it.state == State::Bad);
    Ok(if is_bad { USAGE } else { SUCCESS })
}

/// One paragraph a finding; lines of help stand below what they are about.
fn told(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding {
        what,
        state,
        text: it,
    } in findings
    {
        let state = state.word();
        let it = visible::block(it.trim_end());
        let it = it.replace('\n', &format!("\n{:21}", ""));
        // Writing to a string can't fail.
        let _ = writeln!(text, "{state:8} {what:11} {it}");
    }
    text
}

fn program() -> Result<String, Failure> {
    let carried = bundle::carried()?;
    let commit = carried.as_ref().and_then(|carried| carried.commit());
    let commit = commit.map(|commit| format!(", commit {commit}"));
    let (version, commit) = (env!("CARGO_PKG_VERSION"), commit.unwrap_or_default());
    Ok(format!("runner {version}{commit}, for {}", target()))
}

/// Checks whether those that came with the program are there, and as they were built.
fn plugins(setting: &CommandContext) -> Result<String, Failure> {
    Ok(match bundle::plugins(&setting.environment, &setting.cwd)? {
        BundleSource::Carried(carried) => {
            carried.check().map_err(Failure::usage_from)?;
            let count = carried.components().count() as u64;
            format!(
                "{} in the program, as they were built",
                figures::count(count)
            )
        }
        BundleSource::Folder { directory, .. } => format!("those in {}", directory.display()),
    })
}

/// Checks whether as many instances as a run has can be reserved, and code of plugins can be kept.
fn sandbox(setting: &CommandContext) -> Finding {
    let (tell, told) = mpsc::channel();
    let on_untrusted = OnUntrustedCode::new(move |why| drop(tell.send(why.to_string())));
    if let Err(failure) = eval::sandbox_telling(on_untrusted, USUAL_INSTANCES, setting) {
        return Finding::bad("sandbox", &failure);
    }
    if let Ok(why) = told.try_recv() {
        let help =
            "none of it is run; if this is said again, set RUNNER_HOME to a folder of your own";
        return Finding::doubtful(
            "sandbox",
            format!("{why}, so plugins are compiled anew\nhelp: {help}"),
        );
    }
    let kept = setting.home.compiled_plugins();
    let text = format!(
        "there is room; code of plugins is kept in {}",
        kept.display()
    );
    Finding::good("sandbox", text)
}

fn home(setting: &CommandContext) -> Finding {
    if let Some(warning) = setting.home.warning() {
        return Finding::doubtful("results", warning);
    }
    let runs = setting.home.runs();
    let folder = runs
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    let room = setting.home.make().and_then(|()| {
        let store = setting.existing_store()?;
        let room = store.map_or(Ok(()), |store| store.check_room(&runs, 0));
        room.map_err(Failure::usage_from)
    });
    #[cfg(unix)]
    if room.is_ok()
        && let Some(finding) = machine::open_to_others(&setting.home)
    {
        return finding;
    }
    Finding::of(
        "results",
        room.map(|()| format!("kept in {folder}, where there is room")),
    )
}

fn database(setting: &CommandContext, now: Timestamp) -> Finding {
    let newest = setting.existing_store().and_then(|store| {
        let runs = store.map(|store| store.runs(1)).transpose();
        Ok(runs.map_err(anyhow::Error::new)?.unwrap_or_default().pop())
    });
    match newest {
        Err(failure) => Finding::bad("database", &failure),
        Ok(None) => Finding::good("database", "no runs yet"),
        Ok(Some(run)) => {
            let text = format!(
                "the newest run is of {}",
                when(run.created_at_ms, &TimeZone::system())
            );
            if run.created_at_ms > now.as_millisecond() {
                let help =
                    "that is in the future, so a clock is wrong\nhelp: set this machine's clock";
                return Finding::doubtful("database", format!("{text}: {help}"));
            }
            Finding::good("database", text)
        }
    }
}

/// Tells what is remembered, if anything is.
fn answers(setting: &CommandContext) -> Result<String, Failure> {
    if !setting.home.answers().exists() {
        return Ok("none remembered yet".to_owned());
    }
    let stats = cache::open(setting)?.stats();
    let stats = stats.map_err(Failure::usage_from)?;
    Ok(format!(
        "{} remembered in {}",
        figures::count(stats.entries),
        stats.path.display()
    ))
}

fn terminal(setting: &CommandContext) -> String {
    let terminal = setting.terminal;
    let can = |is: bool| if is { "" } else { "no " };
    format!(
        "{} columns, {}colours, {}bar, {}questions",
        terminal.width,
        can(terminal.color),
        can(terminal.bar),
        can(terminal.can_ask)
    )
}

fn encryption() -> Finding {
    match runner_gateway::tls() {
        Ok(()) => Finding::good(
            "encryption",
            "certificates of authorities were found, so servers can be verified",
        ),
        Err(why) => Finding::doubtful(
            "encryption",
            format!(
                "no request can be encrypted, so only servers without https are reached\nhelp: {why}"
            ),
        ),
    }
}

/// A clock that lags is found where nothing else is asked: this program was written later.
fn clock(now: Timestamp) -> Finding {
    let utc = now.to_zoned(TimeZone::UTC);
    let shown = utc.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    if utc.date() < civil::date(2026, 1, 1) {
        let help =
            "servers' certificates are not valid at that date\nhelp: set this machine's clock";
        return Finding::doubtful("clock", format!("{shown}: {help}"));
    }
    Finding::good("clock", shown)
}

fn memory() -> String {
    match memory_limit::of_machine() {
        Some(limit) => format!(
            "a run may take {} MiB; RUNNER_MEMORY_LIMIT sets another limit",
            figures::count(limit >> 20)
        ),
        None => "the system doesn't say how much memory there is, so there is no limit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_says_how_it_is_and_what_to_do() {
        let failure = Failure::usage("no room").help("make some");
        let findings = [
            Finding::good("clock", "now"),
            Finding::doubtful("proxies", "one"),
            Finding::bad("results", &failure),
        ];
        assert_eq!(
            told(&findings),
            "ok       clock       now\n\
             warning  proxies     one\n\
             error    results     no room\n                     help: make some\n"
        );
    }

    #[test]
    fn a_clock_that_lags_is_told() {
        let state = |text: &str| clock(text.parse().expect("a time")).state;
        assert_eq!(state("1970-01-01T00:00:03Z"), State::Doubtful);
        assert_eq!(state("2026-11-25T10:00:00Z"), State::Good);
    }
}
