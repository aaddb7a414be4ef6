//! All of a run but the run: what `runner config check` does.

use runner_eval::gateway::Exchanges;
use serde_json::Value;

use super::super::{Setting, config};
use super::session::Session;
use super::watch::Touched;
use crate::arguments::{Beginning, Eval, Exchanges as Asked};
use crate::exit::Policy;
use crate::failure::Failure;
use crate::output::Output;

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
    let (plan, plugins) = super::plan(&session, setting, &touched.read)?;
    for output in &plan.output_paths {
        super::spare_inputs(&output.path, &touched.read)?;
    }
    Output::prepare(&plan.output_paths, session.eval.csv_raw)?;
    let exchanges = match &persistence.exchanges {
        // A recording is begun by writing it.
        Asked::Live | Asked::Record(_) => Exchanges::Live,
        replay @ Asked::Replay(_) => super::exchanges(replay, false, &touched)?.0,
    };
    let shown = runner_eval::without_secrets(&plan, config::shown(&plan, &plugins));
    // A database that is there is tried, too; none is made.
    setting.existing_store()?;
    let env = setting.environment.map();
    super::runtime()?
        .block_on(runner_eval::check(
            &plan,
            &plugins,
            env,
            exchanges.is_offline(),
        ))
        .map_err(|errors| Failure::usage_all(errors.0))?;
    Ok(shown)
}
