//! Flags of today over those of a kept run.
//!
//! A run that goes on is run as it was asked for, and a flag that is given now takes the place
//! of the same flag then. Lists are replaced as a whole: who names a config means that one and
//! not one more. What says how one session is shown or written down (`--events`, `--watch`, the
//! table) or where it begins is not taken over.

use std::path::Path;

use super::persistence::PersistenceFlags;
use super::replacing::list;
use super::{Eval, Filtering, Inputs, Spending};

/// A switch that is given now, undone now, or as it was.
fn switch(is_given: bool, is_undone: bool, was_given: bool) -> bool {
    is_given || (was_given && !is_undone)
}

impl Eval {
    /// These flags, and where they say nothing, those of `before`.
    pub(crate) fn over(self, before: Self) -> Self {
        let csv_raw = switch(self.csv_raw, self.no_csv_raw, before.csv_raw);
        Self {
            inputs: self.inputs.over(before.inputs),
            description: self.description.or(before.description),
            tag: list(self.tag, before.tag),
            max_concurrency: self.max_concurrency.or(before.max_concurrency),
            repeat: self.repeat.or(before.repeat),
            delay: self.delay.or(before.delay),
            timeout: self.timeout.or(before.timeout),
            max_eval_time: self.max_eval_time.or(before.max_eval_time),
            max_retry_after: self.max_retry_after.or(before.max_retry_after),
            spending: self.spending.over(&before.spending),
            persistence: self.persistence.over(before.persistence),
            output: list(self.output, before.output),
            baseline: self.baseline.or(before.baseline),
            min_pass_rate: self.min_pass_rate.or(before.min_pass_rate),
            min_metric: list(self.min_metric, before.min_metric),
            csv_raw,
            no_csv_raw: self.no_csv_raw,
            dry_run: self.dry_run,
            watch: self.watch,
            trust: self.trust,
            events: self.events,
            no_share: self.no_share,
            table: self.table,
            no_table: self.no_table,
            json: self.json,
            table_cell_max_length: self.table_cell_max_length,
            no_progress_bar: self.no_progress_bar,
        }
    }

    /// With every path that outlives a session made independent of the folder: `cwd` is the one
    /// in which it was typed.
    pub(crate) fn absolute(mut self, cwd: &Path) -> Self {
        self.inputs.make_absolute(cwd);
        for path in &mut self.output {
            *path = cwd.join(&*path);
        }
        let persistence = &mut self.persistence;
        let files = [
            &mut self.events,
            &mut persistence.record,
            &mut persistence.replay,
        ];
        for path in files.into_iter().flatten() {
            *path = cwd.join(&*path);
        }
        self
    }
}

impl Inputs {
    fn over(self, before: Self) -> Self {
        Self {
            config: list(self.config, before.config),
            replacing: self.replacing.over(before.replacing),
            var: list(self.var, before.var),
            prompt_prefix: self.prompt_prefix.or(before.prompt_prefix),
            prompt_suffix: self.prompt_suffix.or(before.prompt_suffix),
            extension: list(self.extension, before.extension),
            grader: self.grader.or(before.grader),
            filtering: self.filtering.over(before.filtering),
            lenient: switch(self.lenient, self.strict, before.lenient),
            strict: switch(self.strict, self.lenient || self.no_strict, before.strict),
            no_strict: self.no_strict,
            require_assertions: switch(
                self.require_assertions,
                self.no_require_assertions,
                before.require_assertions,
            ),
            no_require_assertions: self.no_require_assertions,
            plugin: list(self.plugin, before.plugin),
        }
    }

    fn make_absolute(&mut self, cwd: &Path) {
        let lists = [&mut self.config, &mut self.plugin];
        for path in lists.into_iter().flatten() {
            *path = cwd.join(&*path);
        }
        self.replacing.make_absolute(cwd);
        if let Some(name) = self.filtering.former_name()
            && cwd.join(&*name).is_file()
            && let Ok(path) = cwd.join(&*name).into_os_string().into_string()
        {
            *name = path;
        }
    }
}

impl Filtering {
    fn over(self, before: Self) -> Self {
        let former = |filtering: &Self| filtering.former().is_some();
        let (failing, failing_only, errors_only, test) = if former(&self) {
            (self.failing, self.failing_only, self.errors_only, self.test)
        } else {
            (
                before.failing,
                before.failing_only,
                before.errors_only,
                before.test,
            )
        };
        Self {
            pattern: self.pattern.or(before.pattern),
            first_n: self.first_n.or(before.first_n),
            range: self.range.or(before.range),
            sample: self.sample.or(before.sample),
            sample_seed: self.sample_seed.or(before.sample_seed),
            metadata: list(self.metadata, before.metadata),
            providers: self.providers.or(before.providers),
            prompts: self.prompts.or(before.prompts),
            failing,
            failing_only,
            errors_only,
            test,
            shard: self.shard.or(before.shard),
        }
    }
}

impl PersistenceFlags {
    /// Where answers come from, and whether they are remembered, stays as it was. Where a
    /// session begins is its own.
    fn over(self, before: Self) -> Self {
        let is_said = self.record.is_some() || self.replay.is_some();
        let (record, replay) = if is_said {
            (self.record, self.replay)
        } else {
            (before.record, before.replay)
        };
        Self {
            no_cache: switch(self.no_cache, self.cache, before.no_cache),
            cache: self.cache,
            record,
            replay,
            resume: self.resume,
            retry_errors: self.retry_errors,
            force: self.force,
            retry: self.retry,
        }
    }
}

impl Spending {
    fn over(&self, before: &Self) -> Self {
        Self {
            cost: self.cost.or(before.cost),
            tokens: self.tokens.or(before.tokens),
            requests: self.requests.or(before.requests),
        }
    }
}
