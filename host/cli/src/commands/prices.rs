//! `runner prices`: list prices of models that the person imported.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use runner_config::plan::PriceList;
use runner_files::{ReadAccess, Replacement};
use serde_json::json;

use super::CommandContext;
use crate::arguments::Prices;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::visible;

/// Largest table, in bytes; the one of 2026 has three and a half million.
const MAX_BYTES: u64 = 64 << 20;

/// Carries out `runner prices …`.
pub(super) fn run(arguments: &Prices, setting: &CommandContext) -> Result<u8, Failure> {
    let kept = setting.home.prices();
    let (told, said, as_json) = match arguments {
        Prices::Import { file, json } => {
            let list = imported(&setting.cwd.join(file))?;
            setting.home.make()?;
            let bytes = serde_json::to_vec(&list).map_err(anyhow::Error::new)?;
            Replacement::of(&kept, ReadAccess::Owner, &bytes).map_err(|error| {
                Failure::usage(format!("{} can't be written: {error}", kept.display()))
            })?;
            let count = figures::counted(list.len() as u64, "price", "prices");
            let said = format!("imported: {count} of {}", file.display());
            (json!({ "imported": list.len() }), said, *json)
        }
        Prices::Clear { json } => match fs::remove_file(&kept) {
            Ok(()) => {
                let said = "cleared: the prices of the program count again".to_owned();
                (json!({ "cleared": true }), said, *json)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let said = "no prices were imported".to_owned();
                (json!({ "cleared": false }), said, *json)
            }
            Err(error) => {
                let shown = kept.display();
                return Err(Failure::usage(format!("{shown} can't be removed: {error}")));
            }
        },
    };
    if as_json {
        stdout::json(&told)?;
    } else {
        setting.talk.line(&said);
    }
    Ok(SUCCESS)
}

fn imported(path: &Path) -> Result<PriceList, Failure> {
    let shown = visible::line(&path.to_string_lossy()).into_owned();
    let text = runner_files::text_up_to(path, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date().to_string();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    PriceList::of_litellm(&text, &today, &name).map_err(|problem| {
        Failure::usage(format!("{shown}: {problem}")).help(
            "give it LiteLLM's table: `model_prices_and_context_window.json` of its repository, \
             or `model_prices_and_context_window_backup.json` of its package",
        )
    })
}

/// Reads what was imported before, for a run.
///
/// # Errors
/// When it can't be read: a run without the prices that somebody imported would say other costs.
pub(super) fn kept(setting: &CommandContext) -> Result<Arc<PriceList>, Failure> {
    let path = setting.home.prices();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
        Err(error) => return Err(damaged(&path, &error.to_string())),
    };
    let list = serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))?;
    Ok(Arc::new(list))
}

fn damaged(path: &Path, problem: &str) -> Failure {
    Failure::usage(format!(
        "the prices in {} can't be read: {problem}",
        path.display()
    ))
    .help(
        "import them again with `runner prices import FILE`, or do without: `runner prices clear`",
    )
}
