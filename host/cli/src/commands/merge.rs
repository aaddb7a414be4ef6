//! `runner merge`: the parts of a run that were run by jobs side by side (`--shard`), put together.
//!
//! Parts are results files, since jobs share no database. Each says which part it is of how many, and has
//! the config and the columns of the run: a part that is missing, or that is of another run, is refused, so
//! that what was not run is never taken for all of it. What comes of it is a kept run, as if it had been
//! imported, with the rows of the whole run in their order; and it is judged as a run that has ended. The
//! same files under the same thresholds are the run that came of them before.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use runner_config::TextOrigin;
use runner_config::plan::{OutputPath, ShardRows, Thresholds};
use runner_eval::summary::End;
use runner_store::{NewRun, RunEnd, RunStatus, Store, StoreError};
use serde::Deserialize as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ended::EndedRun;
use super::import::{IMPORTED, Intake, ResultsFile, Survey, annotate, began, survey};
use super::{CommandContext, diff};
use crate::arguments::{Merge, ShownAs};
use crate::failure::Failure;
use crate::findings::{Findings, Limits};
use crate::output::Output;
use crate::stored::StoredRun;
use crate::thresholds;
use crate::verdict::Policy;
use crate::visible;

/// Rows of the table; the others are counted below it.
const TABLE_ROWS: usize = 25;
/// Characters of an answer in the table.
const CELL_CHARS: usize = 250;

/// A part of a run.
struct Part {
    /// As it is named.
    name: String,
    path: PathBuf,
    file: ResultsFile,
    survey: Survey,
    shard: ShardRows,
}

/// Merges parts.
pub(super) fn run(arguments: &Merge, setting: &CommandContext) -> Result<u8, Failure> {
    let policy = Policy::from_environment(&setting.environment)?;
    let paths = arguments.output.iter().map(|path| setting.cwd.join(path));
    let paths: Vec<_> = paths
        .map(|path| OutputPath::new(path, TextOrigin::Person))
        .collect();
    let outputs = Output::prepare(&paths, arguments.csv_raw)?;
    let mut parts: Vec<Part> = Vec::new();
    for file in &arguments.files {
        parts.push(Part::open(file, setting)?);
    }
    parts.sort_by_key(|part| part.shard.shard.index);
    check(&parts)?;
    if parts[0].file.config.get("derivedMetrics").is_some() {
        let said = "derived metrics are worked out of all cases of a run when it ends, so a merged run has none";
        setting.talk.warning(said);
    }
    let store = setting.store()?;
    let baseline = diff::baseline(&store, arguments.baseline.as_deref())?;
    let asked = asked(&parts, arguments);
    let id = id_of(&parts, &asked)?;
    if is_kept(&store, &id)? {
        let said = format!("these files are merged already, as {id}");
        setting.talk.note(&said);
    } else if let Err(error) = keep(&store, &id, &parts, &asked) {
        // A run that can't be completed is taken back.
        store.delete_run(&id).map_err(anyhow::Error::new)?;
        return Err(error.into());
    }
    let shown_as = ShownAs::of(arguments.json, arguments.no_table);
    let mut findings = Findings::new(Limits {
        rows: if shown_as == ShownAs::Table {
            TABLE_ROWS
        } else {
            0
        },
        cell_chars: CELL_CHARS,
        failing_only: false,
    });
    let merged = StoredRun::find(store.clone(), &id)?;
    let mut summary = merged.sum_up(|record| findings.add(record))?;
    // Nobody stopped this, and it can't be gone on with; what was not run counts as not passed.
    summary.end = End::Finished;
    let verdict = policy.judge(&summary);
    let ended = EndedRun {
        store: &store,
        baseline,
        verdict,
        shown_as,
    };
    ended.tell(&summary, &findings, &outputs, setting)
}

impl Part {
    fn open(file: &PathBuf, setting: &CommandContext) -> Result<Self, Failure> {
        let name = visible::line(&file.display().to_string()).into_owned();
        let refuse = |why: &str| {
            let help = "it takes files that `runner eval --shard I/N -o FILE.json` wrote";
            Failure::usage(format!("can't merge {name}: {}", visible::line(why))).help(help)
        };
        let path = setting.cwd.join(file);
        let file = ResultsFile::open(&path).map_err(|error| refuse(&error.0))?;
        let survey = survey(&file).map_err(|error| refuse(&error.0))?;
        let Ok(shard) = ShardRows::deserialize(&file.stats["shard"]) else {
            return Err(refuse("it is not a part of a run"));
        };
        if survey.twice > 0 {
            return Err(refuse("a case of it has more than one result"));
        }
        if survey.tests > shard.rows {
            return Err(refuse("it has more rows than it says"));
        }
        Ok(Self {
            name,
            path,
            file,
            survey,
            shard,
        })
    }

    fn total(&self) -> u64 {
        self.survey.ended.saturating_add(self.file.not_run)
    }
}

/// Whether the parts, in order, are one run.
fn check(parts: &[Part]) -> Result<(), Failure> {
    let first = &parts[0];
    let count = first.shard.shard.count;
    for (place, part) in (1..).zip(parts) {
        let Part { name, file, .. } = part;
        let shard = part.shard.shard;
        if shard.count != count {
            let (theirs, ours) = (shard.count, &first.name);
            let message = format!("{name} is one of {theirs} parts, and {ours} one of {count}");
            return Err(Failure::usage(message));
        }
        if shard.index < place {
            let message = format!(
                "{name} is part {} of {count}, as another file is",
                shard.index
            );
            return Err(Failure::usage(message));
        }
        if shard.index > place {
            return Err(missing(place, count));
        }
        if file.columns != first.file.columns || file.config != first.file.config {
            let message = format!("{name} and {} are of different configs", first.name);
            return Err(Failure::usage(message)
                .help("run all parts with the same config and the same flags"));
        }
        let thresholds = |file: &ResultsFile| thresholds::asked(&file.stats["thresholds"]);
        if thresholds(file) != thresholds(&first.file) {
            let message = format!("{name} and {} are held to different thresholds", first.name);
            return Err(Failure::usage(message).help("run all parts with the same flags"));
        }
    }
    let found = parts.len() as u32;
    if found < count {
        return Err(missing(found + 1, count));
    }
    let rows = parts.iter().map(|part| part.shard.rows);
    let rows = rows.fold(0_u64, u64::saturating_add);
    if rows > u64::from(u32::MAX) {
        return Err(Failure::usage(
            "together they have more rows than a run may have",
        ));
    }
    Ok(())
}

fn missing(index: u32, count: u32) -> Failure {
    Failure::usage(format!("part {index} of {count} is missing"))
        .help(format!("run it with `runner eval --shard {index}/{count} -o FILE.json`, or see why its job left no file"))
}

/// What the run has to come to: what was asked of the parts, or what is asked now.
fn asked(parts: &[Part], arguments: &Merge) -> Thresholds {
    let mut asked = thresholds::asked(&parts[0].file.stats["thresholds"]);
    asked.pass_rate = arguments.min_pass_rate.or(asked.pass_rate);
    for (name, least) in &arguments.min_metric {
        asked.ask(name, *least);
    }
    asked
}

/// When the first of the parts began, and digits that no other files and thresholds have.
fn id_of(parts: &[Part], asked: &Thresholds) -> anyhow::Result<String> {
    let mut digest = Sha256::new();
    digest.update(json!(asked).to_string());
    for Part { name, path, .. } in parts {
        let unread = || format!("can't read {name}");
        let mut file = BufReader::new(File::open(path).with_context(unread)?);
        loop {
            let bytes = file.fill_buf().with_context(unread)?;
            let count = bytes.len();
            if count == 0 {
                break;
            }
            digest.update(bytes);
            file.consume(count);
        }
    }
    let digest = HEXLOWER.encode(&digest.finalize()[..6]);
    let began = Timestamp::from_millisecond(began_at(parts)).unwrap_or_default();
    Ok(format!(
        "{IMPORTED}{}-{digest}",
        began.strftime("%Y%m%d-%H%M%S")
    ))
}

/// Whether there is such a run already; one that was not completed is taken away.
fn is_kept(store: &Store, id: &str) -> anyhow::Result<bool> {
    match store.run(id) {
        Ok(run) if run.summary_json.is_some() => Ok(true),
        Ok(_) => Ok(store.delete_run(id).map(|()| false)?),
        Err(StoreError::NoSuchRun { .. } | StoreError::NoRuns) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn began_at(parts: &[Part]) -> i64 {
    let began = parts.iter().map(|part| began(&part.file));
    began.min().unwrap_or(0)
}

/// Puts all parts into the database as one run.
fn keep(store: &Store, id: &str, parts: &[Part], asked: &Thresholds) -> anyhow::Result<()> {
    let began_at = began_at(parts);
    let writer = store.begin_run(new_run(id, parts, asked, began_at))?;
    let mut intake = Intake::new(writer);
    let mut down = 0_u64;
    for part in parts {
        let taken = intake.take(&part.file, down as u32);
        taken.with_context(|| format!("can't merge {}", part.name))?;
        down += part.shard.rows;
    }
    let Intake { writer, said, .. } = intake;
    writer.finish(end(parts, began_at))?;
    annotate(store, id, &said)
}

fn new_run(id: &str, parts: &[Part], asked: &Thresholds, began_at: i64) -> NewRun {
    let first = &parts[0].file;
    let config = &first.config;
    let concurrency = parts.iter();
    let concurrency = concurrency.filter_map(|part| part.file.stats["maxConcurrency"].as_u64());
    let names: Value = parts.iter().map(|part| json!(part.name)).collect();
    let tags = config.get("tags").filter(|tags| tags.is_object());
    NewRun {
        id: id.to_owned(),
        created_at_ms: began_at,
        description: config["description"].as_str().map(str::to_owned),
        tags_json: tags.cloned().unwrap_or_else(|| json!({})).to_string(),
        config_json: config.to_string(),
        columns_json: json!(first.columns).to_string(),
        plugins_json: "[]".to_owned(),
        options_json: json!({
            "maxConcurrency": concurrency.max().unwrap_or(1), "repeat": 1, "total": total(parts),
            "importedFrom": names, "thresholds": asked,
        })
        .to_string(),
        seed: 0,
    }
}

/// What is kept of how the run ended: it began with the first of its parts and ended with the last.
fn end(parts: &[Part], began_at: i64) -> RunEnd {
    let ends = parts.iter();
    let ends = ends.map(|part| began(&part.file).saturating_add(part.file.duration_ms() as i64));
    let ended_at = ends.max().unwrap_or(began_at);
    let complete = parts.iter().all(|part| part.survey.ended == part.total());
    let (status, end) = if complete {
        (RunStatus::Finished, "finished")
    } else {
        (RunStatus::Interrupted, "interrupted")
    };
    let of_lanes = |name: &str| {
        let lanes = parts.iter();
        let lanes = lanes.filter_map(|part| part.file.stats["lanes"].as_array());
        lanes
            .flatten()
            .filter_map(|lane| lane[name].as_u64())
            .sum::<u64>()
    };
    RunEnd {
        status,
        ended_at_ms: ended_at,
        summary_json: json!({
            "end": end, "total": total(parts), "durationMs": ended_at - began_at,
            "throttled": of_lanes("rateLimitHits"), "retries": of_lanes("retriedRequests"),
        })
        .to_string(),
    }
}

/// Cases of the plan.
fn total(parts: &[Part]) -> u64 {
    parts.iter().map(Part::total).fold(0, u64::saturating_add)
}
