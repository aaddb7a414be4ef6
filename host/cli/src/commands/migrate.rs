//! `runner migrate`: what of a config of promptfoo's will be different here, before anything is run.
//!
//! Three things: the differences of the list that the config shows signs of, those that every run meets, and what
//! `config check` finds, which is what is refused. Files that the config names are read by the check alone, by its
//! rules; a config that is a program is not run for its signs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{CommandContext, eval};
use crate::arguments::{self, Migrate};
use crate::exit::{SUCCESS, USAGE};
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::visible;

mod page;
mod places;
mod signs;
mod walk;

use page::Difference;

/// Bytes of a config.
const MAX_CONFIG: u64 = 16 << 20;

/// What was found.
#[derive(Debug)]
struct MigrationReport {
    /// The config, as it was named.
    config: String,
    /// Differences that it shows, with where.
    met: Vec<(Difference, Vec<String>)>,
    /// Differences that every run meets, of those that it does not show.
    general: Vec<Difference>,
    /// Variables that promptfoo reads and this program doesn't.
    unread: Vec<String>,
    /// Why it can't be run as it is.
    refused: Option<Failure>,
}

/// Looks at a config; gives the exit code.
pub(super) fn run(arguments: &Migrate, setting: &CommandContext) -> Result<u8, Failure> {
    if arguments.list {
        stdout::print(page::PAGE)?;
        return Ok(SUCCESS);
    }
    let named = match &arguments.config {
        Some(config) => config.clone(),
        None => default(setting)?,
    };
    let found = look(&named, setting)?;
    if arguments.json {
        stdout::json(&as_json(&found))?;
    } else {
        stdout::print(&told(&found, arguments.all))?;
    }
    Ok(match found.refused {
        None => SUCCESS,
        Some(_) => USAGE,
    })
}

/// The config of this folder.
fn default(setting: &CommandContext) -> Result<PathBuf, Failure> {
    let names = runner_config::DEFAULT_NAMES.into_iter();
    let found = names
        .map(PathBuf::from)
        .find(|name| setting.cwd.join(name).is_file());
    found.ok_or_else(|| {
        Failure::usage("there is no promptfooconfig.yaml here")
            .help("name a config: runner migrate FILE")
    })
}

fn look(named: &Path, setting: &CommandContext) -> Result<MigrationReport, Failure> {
    let path = setting.cwd.join(named);
    let path = if path.is_dir() {
        default_of(&path)?
    } else {
        path
    };
    let mut met = Vec::new();
    if let Some(config) = read(&path)? {
        met = walk::signs(&config);
    }
    let (shown, rest): (Vec<_>, Vec<_>) = page::differences()
        .into_iter()
        .partition(|it| met.iter().any(|(row, _)| *row == it.what));
    let met = shown.into_iter().map(|difference| {
        let at = met.iter().find(|(row, _)| *row == difference.what);
        let at = at.map(|(_, at)| at.clone()).unwrap_or_default();
        (difference, at)
    });
    Ok(MigrationReport {
        config: named.display().to_string(),
        met: met.collect(),
        general: rest.into_iter().filter(|it| it.is_general).collect(),
        unread: unread(setting),
        refused: refused(named, setting),
    })
}

fn default_of(folder: &Path) -> Result<PathBuf, Failure> {
    let names = runner_config::DEFAULT_NAMES.into_iter();
    let found = names
        .map(|name| folder.join(name))
        .find(|path| path.is_file());
    // Whoever made the folder may have led it anywhere; a run would ask.
    if let Some(link) = found.as_ref().filter(|path| path.is_symlink()) {
        let message = format!("{} is a link", link.display());
        let help = "name the config that is meant: runner migrate FILE";
        return Err(Failure::usage(message).help(help));
    }
    let message = || format!("there is no promptfooconfig.yaml in {}", folder.display());
    found.ok_or_else(|| Failure::usage(message()))
}

/// The config as a value; none of a program, or of what can't be read, which the check says.
fn read(path: &Path) -> Result<Option<Value>, Failure> {
    let extension = path.extension().unwrap_or_default();
    let is_json = extension == "json";
    if !is_json && extension != "yaml" && extension != "yml" {
        return Ok(None);
    }
    let shown = path.display();
    if !path.is_file() {
        return Err(Failure::usage(format!("there is no file {shown}")));
    }
    let text = runner_files::text_up_to(path, MAX_CONFIG);
    let text = text.with_context(|| format!("can't read {shown}"))?;
    Ok(runner_config::document(&text, is_json).ok())
}

/// Variables of promptfoo's that are set and that nothing here reads.
fn unread(setting: &CommandContext) -> Vec<String> {
    let ours = crate::environment::VARIABLES.iter();
    let ours = ours.filter_map(|it| it.name.strip_prefix("RUNNER_"));
    let of_configs = runner_config::VARIABLES.iter().map(|it| it.name);
    let known: Vec<&str> = ours.chain(of_configs).collect();
    let set = setting.environment.map().keys();
    let theirs = set.filter(|name| {
        let rest = name.strip_prefix("PROMPTFOO_");
        rest.is_some_and(|rest| !known.contains(&rest))
    });
    theirs.cloned().collect()
}

/// What `config check` says against it.
fn refused(named: &Path, setting: &CommandContext) -> Option<Failure> {
    let line = ["eval".into(), "-c".into(), named.as_os_str().to_owned()];
    let eval = arguments::parse_eval(line.into_iter())?;
    eval::check(&eval, setting).err()
}

fn as_json(found: &MigrationReport) -> Value {
    let one = |difference: &Difference| {
        json!({
            "what": difference.what, "promptfoo": difference.there, "runner": difference.here,
            "why": difference.why, "line": difference.line,
        })
    };
    let met = found.met.iter().map(|(difference, at)| {
        let mut told = one(difference);
        told["at"] = json!(at);
        told
    });
    json!({
        "config": found.config,
        "met": met.collect::<Vec<Value>>(),
        "inEveryRun": found.general.iter().map(one).collect::<Vec<Value>>(),
        "variablesThatAreNotRead": found.unread,
        "refused": found.refused.as_ref().map(Failure::render),
    })
}

fn told(found: &MigrationReport, all: bool) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let name = visible::line(&found.config);
    let _ = match found.met.len() as u64 {
        0 => writeln!(text, "{name} shows no sign of a difference from promptfoo."),
        met => {
            let count = figures::counted(met, "difference", "differences");
            writeln!(text, "{name} shows signs of {count} from promptfoo.")
        }
    };
    for (difference, at) in &found.met {
        let at: Vec<_> = at.iter().map(|at| visible::line(at)).collect();
        let _ = writeln!(text, "\n{}  ({})", difference.what, at.join(", "));
        paragraph(&mut text, difference);
    }
    if all {
        let _ = writeln!(text, "\nIn every run:");
        for difference in &found.general {
            let _ = writeln!(text, "\n{}", difference.what);
            paragraph(&mut text, difference);
        }
    } else {
        let count = figures::counted(found.general.len() as u64, "other", "others");
        let _ = writeln!(text, "\nEvery run meets {count}: --all shows them.");
    }
    if !found.unread.is_empty() {
        text.push_str("\nSet, and not read here:\n");
        for name in &found.unread {
            let here = page::in_place_of(name).map(|here| format!("  here: {here}"));
            let _ = writeln!(
                text,
                "  {}{}",
                visible::line(name),
                here.unwrap_or_default()
            );
        }
    }
    match &found.refused {
        None => text.push_str("\n`runner eval` accepts it.\n"),
        Some(failure) => {
            let _ = writeln!(
                text,
                "\n`runner eval` does not run it as it is:\n{}",
                failure.render()
            );
        }
    }
    text
}

fn paragraph(text: &mut String, difference: &Difference) {
    let Difference {
        there,
        here,
        why,
        line,
        ..
    } = difference;
    for (name, said) in [("promptfoo", there), ("runner", here), ("why", why)] {
        if !said.is_empty() {
            let _ = writeln!(text, "  {name:9}  {said}");
        }
    }
    let _ = writeln!(text, "  {:9}  {}, line {line}", "", page::SHOWN_BY);
}
