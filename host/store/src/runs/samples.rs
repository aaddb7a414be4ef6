//! Runs and rows for tests.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::path::PathBuf;

use tempfile::TempDir;

use super::{NewRun, Outcome, Row, RunEnd, RunStatus, Store};
use crate::database::OpenOptions;
use crate::digest::Digest;

/// A store in a folder of its own, which lives as long as this.
pub(crate) struct Fresh {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl Fresh {
    pub(crate) fn new() -> Self {
        Self::with(OpenOptions::default())
    }

    pub(crate) fn with(options: OpenOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.db"), options).unwrap();
        Self { folder, store }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("runs.db-wal")
    }

    /// Around the store's back.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.store.path()).unwrap()
    }

    pub(crate) fn read(&self, id: &str) -> Vec<Row> {
        self.store
            .rows(id)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    /// A finished run with these rows.
    pub(crate) fn finished(
        &self,
        id: &str,
        created_at_ms: i64,
        rows: impl IntoIterator<Item = Row>,
    ) {
        let writer = self
            .store
            .begin_run(NewRun {
                created_at_ms,
                ..new_run(id)
            })
            .unwrap();
        for row in rows {
            writer.push(row).unwrap();
        }
        writer.finish(end()).unwrap();
    }
}

pub(crate) fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        created_at_ms: 1_700_000_000_000,
        description: Some(format!("the run {id}")),
        tags_json: r#"{"team":"a"}"#.to_owned(),
        config_json: r#"{"prompts":["hi"]}"#.to_owned(),
        columns_json: r#"[{"provider":"echo"}]"#.to_owned(),
        plugins_json: r#"[{"name":"echo"}]"#.to_owned(),
        options_json: r#"{"maxConcurrency":4}"#.to_owned(),
        seed: u64::MAX - 1,
    }
}

pub(crate) fn end() -> RunEnd {
    RunEnd {
        status: RunStatus::Finished,
        ended_at_ms: 1_700_000_001_000,
        summary_json: r#"{"passed":1}"#.to_owned(),
    }
}

pub(crate) fn row(test_idx: u32, prompt_idx: u32) -> Row {
    Row {
        test_idx,
        prompt_idx,
        row_id: format!("case-{test_idx}-{prompt_idx}"),
        identity: Some(identity(test_idx, prompt_idx)),
        outcome: Outcome::Passed,
        score: 1.0,
        latency_ms: Some(12),
        cost_usd: Some(0.000_25),
        grading_usd: Some(0.000_05),
        saved_usd: Some(0.000_1),
        input_tokens: Some(7),
        output_tokens: None,
        cached: false,
        record_json: format!(r#"{{"output":"{test_idx}/{prompt_idx}"}}"#),
    }
}

/// The identity of the case that stands here at first.
pub(crate) fn identity(test_idx: u32, prompt_idx: u32) -> Digest {
    let mut bytes = [7; Digest::BYTES];
    bytes[..4].copy_from_slice(&test_idx.to_le_bytes());
    bytes[4..8].copy_from_slice(&prompt_idx.to_le_bytes());
    Digest::new(bytes)
}
