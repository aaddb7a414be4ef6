//! All of a run but the run: what `runner config check`, `runner trust` and `runner plugin lock` do.

use runner_config::{FilesRead, LoadRequest};
use runner_eval::gateway::Exchanges;
use runner_eval::trust::{Agreements, Level};
use serde_json::Value;

use super::super::{Setting, config};
use super::planned::{consent, consented, plan, request};
use super::session::Session;
use super::watch::Touched;
use super::{inputs, runtime};
use crate::arguments::{Beginning, Eval, Exchanges as Asked, Inputs, TrustFlags};
use crate::consent::{Asking, Consent, How, Purpose, Unseen, told};
use crate::exit::{Policy, SUCCESS, USAGE};
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
    let read = &touched.read;
    let purpose = Purpose::Look;
    let settled = consented(&session, setting, read, &runtime, is_offline, purpose)?;
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
    arguments: &Inputs,
    is_agreed: bool,
    setting: &Setting,
) -> Result<u8, Failure> {
    let request = requested(arguments, setting)?;
    let folders = request.folders();
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
        command: {
            let command = Asking::of(arguments, &setting.cwd, setting);
            if setting.terminal.can_ask {
                command
            } else {
                command.without_question()
            }
        },
        purpose: Purpose::Look,
        talk: &setting.talk,
    };
    let runtime = runtime()?;
    let planned = plan(&request, arguments, setting, &consent)?;
    let (prepared, held) = planned.prepare(setting, &consent, &runtime, false)?;
    let settled = consent.settle(prepared, &runtime)?;
    held.tell(&consent)?;
    stdout::print(&told(settled.needs(), &[]))?;
    Ok(SUCCESS)
}

/// Shows what a run with these flags would need, and asks nothing; gives the exit code.
///
/// # Errors
/// Why such a run would be refused for other reasons.
pub(in crate::commands) fn show(arguments: &Inputs, setting: &Setting) -> Result<u8, Failure> {
    let request = requested(arguments, setting)?;
    let folders = request.folders();
    let consent = Consent {
        unseen: Unseen::default(),
        folders: &folders,
        remembered: setting.remembered.clone(),
        // It shows what would be asked.
        how: How::Nobody,
        command: Asking::of(arguments, &setting.cwd, setting),
        purpose: Purpose::Look,
        talk: &setting.talk,
    };
    let agreements = Agreements {
        level: Level::Nothing,
        agreed: setting.remembered.of(&folders)?,
    };
    let runtime = runtime()?;
    let planned = plan(&request, arguments, setting, &consent)?;
    let (prepared, held) = planned.prepare(setting, &consent, &runtime, false)?;
    let (needs, open) = match runtime.block_on(prepared.settle(&agreements)) {
        Ok(settled) => (settled.needs().to_vec(), Vec::new()),
        Err(unsettled) => (unsettled.prepared.needs(), unsettled.open),
    };
    stdout::print(&told(&needs, &open))?;
    if open.is_empty() {
        held.tell(&consent)?;
        return Ok(SUCCESS);
    }
    Ok(USAGE)
}

/// Writes down the components of a config; gives the exit code.
///
/// # Errors
/// When the config or one of them can't be used.
pub(in crate::commands) fn lock(arguments: &Inputs, setting: &Setting) -> Result<u8, Failure> {
    let request = requested(arguments, setting)?;
    let folders = request.folders();
    let command = Asking::of(arguments, &setting.cwd, setting);
    let flags = TrustFlags::default();
    let consent = consent(&flags, command, Purpose::Look, setting, &folders)?;
    let planned = plan(&request, arguments, setting, &consent)?;
    let file = planned.lock.write(&planned.plugins)?;
    planned.held.tell(&consent)?;
    let shown = file.display().to_string();
    stdout::print(&format!("written: {}\n", visible::line(&shown)))?;
    Ok(SUCCESS)
}

/// The config of flags that say what is read, where nothing is run.
fn requested(arguments: &Inputs, setting: &Setting) -> Result<LoadRequest, Failure> {
    let files_read = FilesRead::default();
    let overrides = inputs(arguments, setting, &files_read)?;
    let cwd = &setting.cwd;
    Ok(request(arguments, cwd, overrides, setting, &files_read))
}
