//! All of a run but the run: what `runner config check`, `runner trust` and `runner plugin lock` do.

use std::collections::BTreeSet;
use std::path::PathBuf;

use runner_config::{FilesRead, LoadRequest};
use runner_eval::prepare;
use runner_eval::trust::Need;
use runner_gateway::Exchanges;
use serde_json::{Value, json};

use super::super::{CommandContext, shown_plan};
use super::expected::expected;
use super::planned::{
    PlanOptions, Planned, Unplanned, agreed_plan, consent, consented, masker, plan, request,
};
use super::session::Session;
use super::watch::Touched;
use super::{inputs, overrides, runtime};
use crate::arguments::{Beginning, Eval, Exchanges as Asked, Inputs, Lock, TrustFlags};
use crate::consent::{Asking, Consent, ConsentMode, LaterRequests, Purpose, Unseen, told};
use crate::excerpt::Excerpts;
use crate::exit::{SUCCESS, USAGE};
use crate::failure::Failure;
use crate::output::Output;
use crate::stdout;
use crate::verdict::Policy;
use crate::visible;

/// Finds all that `eval` with these flags would find before its first case; gives the plan as
/// it was understood. No provider is asked, nothing recorded or evaluated.
///
/// # Errors
/// Why such a run would be refused.
pub(in crate::commands) fn check(
    arguments: &Eval,
    setting: &CommandContext,
) -> Result<Value, Failure> {
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
    let shown = shown_plan::shown(plan, settled.plugins());
    Ok(runner_eval::without_secrets(plan, shown))
}

/// Gets the person's agreement to what a run with these flags would need; says what it is.
///
/// # Errors
/// Why such a run would be refused, and when something is not agreed to.
pub(in crate::commands) fn agree(
    arguments: &Inputs,
    is_agreed: bool,
    setting: &CommandContext,
) -> Result<u8, Failure> {
    let request = requested(arguments, setting)?;
    let folders = request.folders();
    let mut consent = looked_at(arguments, setting, &folders)?;
    // What was said about one run is not what is remembered.
    consent.unseen = Unseen::default();
    match (is_agreed, setting.terminal.can_ask) {
        (true, _) => consent.how = ConsentMode::Yes,
        (false, true) => {}
        (false, false) => consent.command = consent.command.without_question(),
    }
    let runtime = runtime()?;
    let mut known = consent.known();
    let excerpts = Excerpts::of(&request, &masker(setting), setting.terminal.width);
    let means = PlanOptions::to_look(&arguments.plugin, false);
    let planned = agreed_plan(request, means, setting, &consent, &mut known);
    let settled = planned.and_then(|planned| {
        let what = planned.preparation(setting, &known.agreements, false);
        consent.settle(what, known, (&runtime, &excerpts))
    });
    let settled = settled.inspect_err(|_| consent.tell_said())?;
    stdout::print(&told(settled.needs(), &[], LaterRequests::Nothing))?;
    Ok(SUCCESS)
}

/// Shows what a run with these flags would need, and asks nothing; gives the exit code.
///
/// # Errors
/// Why such a run would be refused for other reasons.
pub(in crate::commands) fn show(
    arguments: &Inputs,
    setting: &CommandContext,
) -> Result<u8, Failure> {
    let mut request = requested(arguments, setting)?;
    request.agreements.agreed = setting.remembered.of(&request.folders())?;
    let means = PlanOptions::to_look(&arguments.plugin, false);
    unasked(&request, means, setting, |_| Ok(String::new()))
}

/// Shows what a run with these flags would be and need, and asks nothing; gives the exit code.
///
/// # Errors
/// Why such a run would be refused for other reasons.
pub(super) fn dry_run(arguments: &Eval, setting: &CommandContext) -> Result<u8, Failure> {
    let session = Session::new(arguments, &Beginning::New, setting)?;
    let eval = &session.eval;
    let files_read = FilesRead::default();
    let overrides = overrides(eval, setting, &files_read)?;
    let mut request = request(&eval.inputs, &session.cwd, overrides, setting, &files_read);
    let folders = request.folders();
    let command = Asking::of(&eval.inputs, &session.cwd, setting);
    let consent = consent(&eval.trust, command, Purpose::Look, setting, &folders)?;
    request.agreements = consent.known().agreements;
    request.agreements.agreed = setting.remembered.of(&folders)?;
    let means = PlanOptions {
        remembers: !eval.persistence.no_cache,
        ..PlanOptions::to_look(&eval.inputs.plugin, false)
    };
    unasked(&request, means, setting, |planned| {
        planned.hold(eval.trust.locked, setting)?;
        Ok(expected(planned.plan()))
    })
}

/// Prints what a run would need, behind what `about` says of it.
fn unasked(
    request: &LoadRequest,
    means: PlanOptions<'_>,
    setting: &CommandContext,
    about: impl FnOnce(&Planned) -> Result<String, Failure>,
) -> Result<u8, Failure> {
    let planned = match plan(request, means, setting) {
        Ok(planned) => planned,
        Err(Unplanned::Refused(failure)) => return Err(failure),
        Err(Unplanned::NotAgreed(requests)) => {
            let open: Vec<Need> = requests.into_iter().map(Need::of).collect();
            stdout::print(&told(&[], &open, LaterRequests::Follows))?;
            return Ok(USAGE);
        }
    };
    stdout::print(&about(&planned)?)?;
    let runtime = runtime()?;
    let what = planned.preparation(setting, &request.agreements, false);
    let prepared = runtime.block_on(prepare(what));
    let excerpts = Excerpts::of(request, &masker(setting), setting.terminal.width);
    let prepared = prepared.map_err(|errors| Failure::usage_all(excerpts.told(errors)))?;
    let (needs, open) = match runtime.block_on(prepared.settle()) {
        Ok(settled) => (settled.needs().to_vec(), Vec::new()),
        Err(unsettled) => (unsettled.prepared.needs(), unsettled.open),
    };
    stdout::print(&told(&needs, &open, LaterRequests::Nothing))?;
    Ok(if open.is_empty() { SUCCESS } else { USAGE })
}

/// Writes down the components of a config; gives the exit code.
///
/// # Errors
/// When the config or one of them can't be used.
pub(in crate::commands) fn lock(arguments: &Lock, setting: &CommandContext) -> Result<u8, Failure> {
    let Lock {
        inputs: arguments,
        json,
    } = arguments;
    let request = requested(arguments, setting)?;
    let folders = request.folders();
    let consent = looked_at(arguments, setting, &folders)?;
    let (means, mut known) = (
        PlanOptions::to_look(&arguments.plugin, true),
        consent.known(),
    );
    let planned = agreed_plan(request, means, setting, &consent, &mut known)?;
    let file = planned.lock.write(&planned.plugins)?;
    let shown = file.display().to_string();
    let text = format!("written: {}\n", visible::line(&shown));
    stdout::told(*json, &json!({ "written": shown }), &text)?;
    Ok(SUCCESS)
}

/// How the person is asked where nothing is run.
fn looked_at<'a>(
    arguments: &Inputs,
    setting: &'a CommandContext,
    folders: &'a BTreeSet<PathBuf>,
) -> Result<Consent<'a>, Failure> {
    let command = Asking::of(arguments, &setting.cwd, setting);
    let flags = TrustFlags::default();
    consent(&flags, command, Purpose::Look, setting, folders)
}

/// The config of flags that say what is read, where nothing is run.
fn requested(arguments: &Inputs, setting: &CommandContext) -> Result<LoadRequest, Failure> {
    let files_read = FilesRead::default();
    let overrides = inputs(arguments, setting, &files_read)?;
    let cwd = &setting.cwd;
    Ok(request(arguments, cwd, overrides, setting, &files_read))
}
