//! `runner diff A B`: what is different between two kept runs, and what may be why.
//!
//! Or between two columns, of two runs or of one. First what changed in what was asked: prompts, providers, plugins, graders. Then, for each
//! pair of columns, the sums; then the cases that ended differently, the worst first. The exit
//! code says only whether the comparison could be made, since whether a change is bad is for the
//! reader; unless `--fail-on` asks for more.

use std::io::Write;

use anyhow::Context as _;
use runner_eval::record::{CaseRecord, Outcome};
use runner_store::{Row, Store, StoreError};
use runner_view::changes::{Change, Changes, ComparedColumn, ComparedRun};
use runner_view::edits;
use runner_view::pairing::{self, ColumnNames};
use serde_json::{Value, json};

use super::CommandContext;
use crate::arguments::Diff;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::output::RegressionSummary;
use crate::stdout;
use crate::stored::{self, StoredRun};
use crate::verdict::Policy;

mod cases;
mod gate;
mod metrics;
mod sums;
mod told;
mod words;

use cases::{CaseSummary, Index, Kind};
use gate::Gate;
use metrics::Metrics;
use sums::PairTotals;

/// Edits of assertions that are told, and cases that are read for them.
const MOST_EDITS: usize = 20;
const MOST_EDITED: u64 = 200;
/// Cases that broke, in a summary.
const MOST_EXAMPLES: usize = 10;

/// Compares two runs.
pub(super) fn run(arguments: &Diff, setting: &CommandContext) -> Result<u8, Failure> {
    let Some(store) = setting.existing_store()? else {
        return Err(stored::unfound(StoreError::NoRuns));
    };
    let policy = Policy::from_environment(&setting.environment)?;
    let find = |wanted| StoredRun::find(store.clone(), wanted);
    let (before, after) = (find(&arguments.before)?, find(&arguments.after)?);
    if before.info.id == after.info.id && arguments.columns.is_none() {
        let message = format!("{} would be compared with itself", before.info.id);
        let help = "`runner list` shows the runs that are kept; `--columns 0,1` compares two columns of a run";
        return Err(Failure::usage(message).help(help));
    }
    let comparison = Comparison::new(&store, &before, &after, arguments.columns)?;
    let gate = arguments.fail_on.map(|allowed| Gate {
        allowed,
        not_run: after.not_run(),
        code: policy.code(),
    });
    let mut verdict = None;
    if arguments.json {
        stdout::stream_json(|out| {
            let totals = json(out, &comparison)?;
            if let Some(gate) = &gate {
                let judged = gate.judge(&totals);
                write!(out, ",\n\"failOn\":{}", gate.json(&totals, &judged))?;
                verdict = Some(judged);
            }
            Ok(writeln!(out, "}}")?)
        })?;
    } else {
        let width = setting.terminal.width;
        let (mut text, totals) = told::text(&comparison, arguments.rows, width)?;
        if let Some(gate) = &gate {
            let judged = gate.judge(&totals);
            text.push_str(&gate.text(&totals, &judged));
            verdict = Some(judged);
        }
        stdout::print(&text)?;
    }
    Ok(match (gate, verdict) {
        (None, _) => SUCCESS,
        (Some(_), Some(judged)) => judged.code,
        // Who reads it has gone; what it comes to is the same.
        (Some(gate), None) => gate.judge(&comparison.walk(|_| Ok(()))?).code,
    })
}

/// The earlier run that a later one is held against.
///
/// # Errors
/// When there is none such.
pub(super) fn baseline(store: &Store, wanted: Option<&str>) -> Result<Option<StoredRun>, Failure> {
    let find = |wanted| StoredRun::find(store.clone(), wanted);
    wanted.map(find).transpose()
}

/// What an earlier run says of a later one, for its summary.
pub(super) fn against(
    store: &Store,
    before: &StoredRun,
    after: &StoredRun,
) -> Result<RegressionSummary, Failure> {
    let comparison = Comparison::new(store, before, after, None)?;
    let mut examples = Vec::new();
    let totals = comparison.walk(|case| {
        if case.kind == Kind::Broke && examples.len() < MOST_EXAMPLES {
            examples.push(told::example(case));
        }
        Ok(())
    })?;
    let mut against = RegressionSummary {
        run_id: before.info.id.clone(),
        significance: told::significances(&totals),
        examples,
        flaky: totals.flaky,
        repeats_apart: totals.repeats_apart(),
        gone: totals.gone(),
        ..RegressionSummary::default()
    };
    for sums in &totals.columns {
        against.cases += sums.pairs.total();
        against.broke += sums.pairs.worse;
        against.fixed += sums.pairs.better;
    }
    Ok(against)
}

/// Two runs, their columns paired.
struct Comparison<'a> {
    store: &'a Store,
    before: &'a StoredRun,
    after: &'a StoredRun,
    /// For each column of the later run its partner.
    partners: Vec<Option<usize>>,
    /// The only columns that are compared, if not all that have a partner.
    chosen: Option<[usize; 2]>,
    /// What changed but for single cases.
    changes: Changes<'a>,
}

/// A case that is in both runs.
struct Compared<'a> {
    record: &'a CaseRecord,
    before: &'a CaseSummary,
    after: &'a CaseSummary,
    kind: Kind,
    causes: &'a [&'static str],
}

/// What a comparison comes to.
struct Totals {
    /// By column of the later run.
    columns: Vec<PairTotals>,
    /// Cases whose prompt, plugin, assertions or config changed, by that word.
    causes: Vec<(&'static str, u64)>,
    /// What was edited in how cases are tested, each thing once.
    edits: Vec<Change<'static>>,
    metrics: Metrics,
    /// Cases that passed before but not now whose repeats within one of the runs went both ways.
    flaky: u64,
    only_after: u64,
    /// Those of them that are no first repeats.
    repeats_after: u64,
    only_before: Vec<CaseSummary>,
}

impl Totals {
    /// Cases of the earlier run that the later one has not, but for repeats of those it has.
    fn gone(&self) -> u64 {
        self.only_before.iter().filter(|it| !it.is_repeat).count() as u64
    }

    fn new(columns: usize) -> Self {
        Self {
            columns: vec![PairTotals::default(); columns],
            causes: ["prompt", "plugin", "grader", "config"]
                .map(|word| (word, 0))
                .into(),
            edits: Vec::new(),
            metrics: Metrics::default(),
            flaky: 0,
            only_after: 0,
            repeats_after: 0,
            only_before: Vec::new(),
        }
    }

    /// Counts why cases may have ended differently.
    fn add_causes(&mut self, causes: &[&'static str]) {
        for (word, count) in &mut self.causes {
            *count += u64::from(causes.contains(word));
        }
    }

    /// Cases that were tested otherwise.
    fn edited(&self) -> u64 {
        self.causes
            .iter()
            .find(|it| it.0 == "grader")
            .map_or(0, |it| it.1)
    }

    /// Cases of one run only that repeat a test: the other run, which repeated it less often, has nothing that they are
    /// compared with.
    fn repeats_apart(&self) -> u64 {
        let before = self.only_before.iter().filter(|it| it.is_repeat);
        self.repeats_after + before.count() as u64
    }
}

impl<'a> Comparison<'a> {
    fn new(
        store: &'a Store,
        before: &'a StoredRun,
        after: &'a StoredRun,
        chosen: Option<[usize; 2]>,
    ) -> Result<Self, Failure> {
        let [mut old_columns, mut new_columns] = [before, after].map(compared);
        let names = |columns: &[ComparedColumn<'a>]| -> Vec<ColumnNames<'a>> {
            columns.iter().map(|it| it.names).collect()
        };
        let mut partners = pairing::columns(&names(&old_columns), &names(&new_columns));
        let mut paired = partners.clone();
        if let Some([left, right]) = chosen {
            old_columns = vec![the_column(old_columns, left, before)?];
            new_columns = vec![the_column(new_columns, right, after)?];
            partners.fill(None);
            partners[right] = Some(left);
            paired = vec![Some(0)];
        }
        let plugins = |run: &StoredRun| -> anyhow::Result<Value> {
            let head = store.run_head(&run.info.id)?;
            Ok(serde_json::from_str(&head.plugins_json).unwrap_or_default())
        };
        let (old, new) = (plugins(before)?, plugins(after)?);
        let earlier = ComparedRun {
            columns: old_columns,
            config: &before.config,
            plugins: old,
        };
        let later = ComparedRun {
            columns: new_columns,
            config: &after.config,
            plugins: new,
        };
        let changes = Changes::between(&earlier, &later, &paired);
        Ok(Self {
            store,
            before,
            after,
            partners,
            chosen,
            changes,
        })
    }

    /// Whether the cases of a column of the earlier run, or of the later, are looked at.
    fn is_chosen(&self, side: usize, column: usize) -> bool {
        self.chosen.is_none_or(|chosen| chosen[side] == column)
    }

    /// Compares case by case, telling each that is in both runs to `see`.
    fn walk(
        &self,
        mut see: impl FnMut(&Compared<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Totals> {
        let mut index = Index::default();
        let mut totals = Totals::new(self.after.columns.len());
        for row in self.store.rows(&self.before.info.id)? {
            let (record, ended) = read(&row?)?;
            if self.is_chosen(0, record.prompt_idx as usize) {
                totals.metrics.note(&record);
                index.add(&record, ended);
            }
        }
        let partner = |record: &CaseRecord| {
            let partner = self.partners.get(record.prompt_idx as usize);
            partner.copied().flatten().map(|column| column as u32)
        };
        for row in self.store.rows(&self.after.info.id)? {
            let (record, ended) = read(&row?)?;
            if let Some(column) = partner(&record) {
                index.expect(&record, &ended, column);
            }
        }
        index.ready();
        for row in self.store.rows(&self.after.info.id)? {
            let (record, after) = read(&row?)?;
            let column = record.prompt_idx as usize;
            if !self.is_chosen(1, column) {
                continue;
            }
            let before = partner(&record).and_then(|column| index.claim(&record, column));
            let Some(before) = &before else {
                totals.only_after += 1;
                totals.repeats_after += u64::from(after.is_repeat);
                continue;
            };
            let kind = Kind::of(before, &after, index.is_flaky(before, &after));
            totals.flaky += u64::from(kind == Kind::Flaky && before.outcome == Outcome::Passed);
            let causes = cases::causes(before, &after);
            totals.add_causes(&causes);
            if causes.contains(&"grader") {
                self.note_edits(&mut totals, before, &record)?;
            }
            totals.metrics.add(before, &record);
            if let Some(sums) = totals.columns.get_mut(column) {
                sums.add(before, &after);
            }
            see(&Compared {
                record: &record,
                before,
                after: &after,
                kind,
                causes: &causes,
            })?;
        }
        totals.only_before = index.rest();
        Ok(totals)
    }
}

impl Comparison<'_> {
    /// Notes what was edited in how a case is tested, while there are few.
    fn note_edits(
        &self,
        totals: &mut Totals,
        before: &CaseSummary,
        after: &CaseRecord,
    ) -> anyhow::Result<()> {
        if totals.edits.len() >= MOST_EDITS || totals.edited() > MOST_EDITED {
            return Ok(());
        }
        let mut earlier = self
            .before
            .cases(before.test_idx, Some(before.prompt_idx))?;
        if let Some(before) = earlier.next().transpose()? {
            for edit in edits::of_test(&before.test_case, &after.test_case) {
                if !totals.edits.contains(&edit) {
                    totals.edits.push(edit);
                }
            }
        }
        Ok(())
    }
}

fn the_column<T>(columns: Vec<T>, idx: usize, run: &StoredRun) -> Result<T, Failure> {
    let count = columns.len();
    columns.into_iter().nth(idx).ok_or_else(|| {
        let message = format!("{} has no column {idx}", run.info.id);
        let last = count.saturating_sub(1);
        Failure::usage(message).help(format!("its columns are counted from 0 to {last}"))
    })
}

fn compared(run: &StoredRun) -> Vec<ComparedColumn<'_>> {
    let columns = run.columns.iter();
    columns
        .map(|it| ComparedColumn {
            names: [
                &*it.provider,
                it.variant.as_deref().unwrap_or_default(),
                &*it.label,
                &*it.raw,
            ],
            config: it.config.as_ref(),
        })
        .collect()
}

fn read(row: &Row) -> anyhow::Result<(CaseRecord, CaseSummary)> {
    let record: CaseRecord =
        serde_json::from_str(&row.record_json).context("a stored record is damaged")?;
    let ended = CaseSummary::of(&record, row.identity);
    Ok((record, ended))
}

/// The comparison as one document, but for the bracket at its end; cases are written as they are found.
fn json(out: &mut dyn Write, comparison: &Comparison<'_>) -> anyhow::Result<Totals> {
    let Comparison { before, after, .. } = comparison;
    let (was, is) = (json!(before.info.id), json!(after.info.id));
    write!(out, "{{\"before\":{was},\"after\":{is},\n\"changed\":[")?;
    let mut separator = "";
    for change in &comparison.changes.told {
        write!(out, "{separator}{}", change.json())?;
        separator = ",";
    }
    let more = comparison.changes.are_more;
    writeln!(out, "],\n\"moreChanged\":{more},\n\"cases\":[")?;
    separator = "";
    let totals = comparison.walk(|case| {
        if case.kind == Kind::Same {
            return Ok(());
        }
        let record = case.record;
        let case = json!({
            "kind": case.kind.word(),
            "description": record.test_case.get("description"),
            "vars": *record.vars,
            "repeatIndex": record.repeat_index,
            "before": case.before.json(),
            "after": case.after.json(),
            "changed": case.causes,
        });
        write!(out, "{separator}{case}")?;
        separator = ",\n";
        Ok(())
    })?;
    let columns = totals.columns.iter().enumerate();
    let columns: Value = columns
        .filter(|(idx, _)| comparison.is_chosen(1, *idx))
        .map(|(idx, sums)| {
            let column = &after.columns[idx];
            let mut json = sums.json();
            json["provider"] = json!(column.model());
            json["prompt"] = json!(column.label);
            json["before"] = json!(comparison.partners[idx]);
            json["after"] = json!(idx);
            json["metrics"] = totals.metrics.json(idx);
            json
        })
        .collect();
    let causes = totals.causes.iter();
    let causes: serde_json::Map<String, Value> = causes
        .map(|(word, count)| ((*word).to_owned(), json!(count)))
        .collect();
    let edits: Value = totals.edits.iter().map(Change::json).collect();
    let only_before: Value = totals.only_before.iter().map(CaseSummary::json).collect();
    write!(
        out,
        "\n],\n\"casesWithChanged\":{},\n\"testsChanged\":{edits},\n\"columns\":{columns},\n\"onlyBefore\":{only_before},\n\"onlyAfter\":{}",
        Value::Object(causes),
        totals.only_after
    )?;
    Ok(totals)
}
