//! All of a run but the run: what `runner config check`, `runner trust` and `runner plugin lock` do.

use runner_eval::gateway::Exchanges;
use serde_json::Value;

use super::super::{Setting, config};
use super::planned::{consented, plan};
use super::runtime;
use super::session::Session;
use super::watch::Touched;
use crate::arguments::{Beginning, Eval, Exchanges as Asked};
use crate::consent::{self, Consent, How, Unseen};
use crate::exit::{Policy, SUCCESS};
use crate::failure::Failure;
use crate::output::Output;
use crate::stdout;
use crate::visible;

/// Finds all that `eval` with these flags would find before its first case; gives the plan as
/// it was understood. Nothing is sent, recorded or evaluated.
///
/// # Errors
/// Why such a run would be refused.
pub(in crate::commands) fn check(arguments: &Eval, setting: &Setting) -> Result<Value, Failure> {
    Policy::from_environment(&setting.environment)?;
    let persistence = arguments.persistence.persistence(&setting.cwd)?;
    let session = Session::new(arguments, &Beginning::New, setting)?;
    let touched = Touched::default();
    let exchanges = match &persistence.exchanges {
        // A recording is begun by writing it.
        Asked::Live | Asked::Record(_) => Exchanges::Live,
        replay @ Asked::Replay(_) => super::exchanges(replay, false, &touched)?.0,
    };
    let runtime = runtime()?;
    let is_offline = exchanges.is_offline();
    let settled = consented(&session, setting, &touched.read, &runtime, is_offline)?;
    let plan = settled.plan();
    for output in &plan.output_paths {
        super::spare_inputs(&output.path, &touched.read)?;
    }
    Output::prepare(&plan.output_paths, session.eval.csv_raw)?;
    // A database that is there is tried, too; none is made.
    setting.existing_store()?;
    let shown = config::shown(plan, settled.plugins());
    Ok(runner_eval::without_secrets(plan, shown))
}

/// Gets the person's agreement to what a run with these flags would need; says what it is.
///
/// # Errors
/// Why such a run would be refused, and when something is not agreed to.
pub(in crate::commands) fn agree(
    arguments: &Eval,
    is_agreed: bool,
    setting: &Setting,
) -> Result<u8, Failure> {
    let session = Session::new(arguments, &Beginning::New, setting)?;
    let planned = plan(&session, setting, &Touched::default().read)?;
    let folders = planned.folders.clone();
    let runtime = runtime()?;
    let prepared = planned.prepare(setting, &runtime, false)?;
    let consent = Consent {
        // What was said about one run is not what is remembered.
        unseen: Unseen::default(),
        folders: &folders,
        remembered: setting.remembered.clone(),
        how: match (is_agreed, setting.terminal.can_ask) {
            (true, _) => How::Yes,
            (false, true) => How::Question,
            (false, false) => How::Nobody,
        },
        command: if setting.terminal.can_ask {
            consent::command(&session.eval)
        } else {
            // Nobody is there to answer.
            format!("{} --yes", consent::command(&session.eval))
        },
        talk: &setting.talk,
    };
    let settled = consent.settle(prepared, &runtime)?;
    let needs: Vec<_> = settled.needs().iter().collect();
    let mut text = String::new();
    if needs.is_empty() {
        text.push_str("nothing here needs your agreement\n");
    } else {
        text.push_str("agreed to:\n");
    }
    for line in consent::lines(&needs) {
        text.push_str(&line);
        text.push('\n');
    }
    stdout::print(&text)?;
    Ok(SUCCESS)
}

/// Writes down the components of a config; gives the exit code.
///
/// # Errors
/// When the config or one of them can't be used.
pub(in crate::commands) fn lock(arguments: &Eval, setting: &Setting) -> Result<u8, Failure> {
    let session = Session::new(arguments, &Beginning::New, setting)?;
    let planned = plan(&session, setting, &Touched::default().read)?;
    let file = planned.lock.write(&planned.plugins)?;
    let shown = file.display().to_string();
    stdout::print(&format!("written: {}\n", visible::line(&shown)))?;
    Ok(SUCCESS)
}
