//! Data sets of Hugging Face, as a config names them:
//! `huggingface://datasets/owner/name?split=test&config=default&limit=100`.
//!
//! What an address means is decided here, page by page; whoever makes a plan hands in what asks the server
//! ([`Scripts::fetch`](crate::Scripts::fetch)).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::bounds::MAX_FETCHED;

/// What an address of a data set begins with.
pub(crate) const SCHEME: &str = "huggingface://";

/// How one is written.
pub(crate) const FORM: &str =
    "huggingface://datasets/OWNER/NAME?config=default&split=test&limit=100";

/// Rows that the server gives at once at most.
const PAGE: u64 = 100;

/// The part of a data set where none is named, and the rows: what promptfoo takes.
const USUAL_CONFIG: &str = "default";
const USUAL_SPLIT: &str = "test";

/// Reads the rows of a data set that a config means.
#[derive(Debug)]
pub struct Dataset {
    name: String,
    config: String,
    split: String,
    /// How many rows are wanted.
    wanted: u64,
    rows: Vec<Map<String, Value>>,
    /// Rows in which the server shortened a cell.
    shortened: usize,
    bytes: usize,
    /// There are no more.
    is_whole: bool,
}

/// One answer of the server.
#[derive(Debug, Deserialize)]
struct Page {
    rows: Vec<PageRow>,
    num_rows_total: u64,
}

#[derive(Debug, Deserialize)]
struct PageRow {
    row: Map<String, Value>,
    /// Names of cells that the server shortened.
    #[serde(default)]
    truncated_cells: Vec<String>,
}

impl Dataset {
    /// Reads an address.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix(SCHEME).unwrap_or(text);
        let no_name = "names no data set";
        let rest = path.strip_prefix("datasets/").ok_or(no_name)?;
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let is_word = |word: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !word.is_empty() && word.chars().all(is_plain) && word.chars().any(|c| c != '.')
        };
        if name.split('/').count() > 2 || !name.split('/').all(is_word) {
            return Err(no_name.to_owned());
        }
        let mut given: Map<String, Value> = Map::new();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            if !["config", "subset", "split", "limit"].contains(&&*key) {
                return Err(format!(
                    "has '{key}', which is none of config, split and limit"
                ));
            }
            given.insert(key.into_owned(), value.into());
        }
        let text = |key: &str| given.get(key).and_then(Value::as_str);
        let limit = text("limit").map(|limit| {
            let limit: Option<u64> = limit.parse().ok().filter(|limit| *limit > 0);
            limit.ok_or_else(|| "has a `limit` that is no number of rows, from 1".to_owned())
        });
        Ok(Self {
            name: name.to_owned(),
            // promptfoo's examples name a part by both; its server knows one of them.
            config: text("config")
                .or(text("subset"))
                .unwrap_or(USUAL_CONFIG)
                .to_owned(),
            split: text("split").unwrap_or(USUAL_SPLIT).to_owned(),
            wanted: limit.transpose()?.unwrap_or(u64::MAX),
            rows: Vec::new(),
            shortened: 0,
            bytes: 0,
            is_whole: false,
        })
    }

    /// What the server is asked next: names and values of the query. `None`: all rows are there.
    pub fn query(&self) -> Option<[(&'static str, Cow<'_, str>); 5]> {
        let offset = self.rows.len() as u64;
        let left = self.wanted.saturating_sub(offset).min(PAGE);
        let query = || {
            [
                ("dataset", Cow::Borrowed(&*self.name)),
                ("config", Cow::Borrowed(&*self.config)),
                ("split", Cow::Borrowed(&*self.split)),
                ("offset", offset.to_string().into()),
                ("length", left.to_string().into()),
            ]
        };
        (!self.is_whole && left > 0).then(query)
    }

    /// Takes what the server answered.
    ///
    /// # Errors
    /// One line: it holds no rows, or all of them are more than is kept.
    pub fn take(&mut self, body: &[u8]) -> Result<(), String> {
        self.bytes += body.len();
        if self.bytes > MAX_FETCHED {
            let most = MAX_FETCHED >> 20;
            return Err(format!(
                "its rows take more than {most} MiB; say `limit=` for fewer"
            ));
        }
        let page: Page = serde_json::from_slice(body)
            .map_err(|error| format!("the server's answer holds no rows: {error}"))?;
        let left = self.wanted.saturating_sub(self.rows.len() as u64).min(PAGE);
        self.is_whole = page.rows.is_empty();
        for row in page.rows.into_iter().take(left as usize) {
            self.shortened += usize::from(!row.truncated_cells.is_empty());
            self.rows.push(row.row);
        }
        self.is_whole |= self.rows.len() as u64 >= page.num_rows_total;
        Ok(())
    }

    /// All rows, and in how many of them the server shortened a cell.
    pub(crate) fn into_rows(self) -> (Vec<Map<String, Value>>, usize) {
        (self.rows, self.shortened)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dataset(text: &str) -> Dataset {
        Dataset::read(text).expect("an address")
    }

    #[test]
    fn an_address_says_which_rows_are_meant() {
        for (text, expected) in [
            ("a/b", ["a/b", "default", "test", "0", "100"]),
            (
                "squad?split=train",
                ["squad", "default", "train", "0", "100"],
            ),
            ("a/b?config=x%20y&limit=7", ["a/b", "x y", "test", "0", "7"]),
            ("a/b?subset=x", ["a/b", "x", "test", "0", "100"]),
            ("a/b?subset=x&config=y", ["a/b", "y", "test", "0", "100"]),
        ] {
            let dataset = dataset(&format!("huggingface://datasets/{text}"));
            let query = dataset.query().expect("a first page");
            assert_eq!(query.map(|(_, value)| value), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_said() {
        for text in [
            "models/a/b",
            "datasets/",
            "datasets/a/b/c",
            "datasets/../b",
            "datasets/a/b?limit=0",
            "datasets/a/b?limit=all",
            "datasets/a/b?offset=3",
        ] {
            assert!(Dataset::read(&format!("{SCHEME}{text}")).is_err(), "{text}");
        }
    }

    /// Reads from a server with `total` rows; which pages it was asked for.
    fn served(dataset: &mut Dataset, total: u64) -> Vec<(u64, u64)> {
        let mut asked = Vec::new();
        while let Some(query) = dataset.query() {
            let [offset, length] = [3, 4].map(|n: usize| query[n].1.parse().expect("a number"));
            asked.push((offset, length));
            let rows = (offset..total.min(offset + length)).map(|n| json!({ "row": { "n": n } }));
            let page = json!({ "rows": rows.collect::<Vec<_>>(), "num_rows_total": total });
            dataset.take(page.to_string().as_bytes()).expect("rows");
        }
        asked
    }

    #[test]
    fn every_row_is_read_once_page_by_page() {
        for (limit, total, pages) in [
            (None, 250, vec![(0, 100), (100, 100), (200, 100)]),
            (None, 200, vec![(0, 100), (100, 100)]),
            (None, 0, vec![(0, 100)]),
            (Some(130), 250, vec![(0, 100), (100, 30)]),
            (Some(3), 250, vec![(0, 3)]),
            (Some(300), 120, vec![(0, 100), (100, 100)]),
        ] {
            let query = limit.map_or_else(String::new, |limit| format!("?limit={limit}"));
            let mut dataset = dataset(&format!("{SCHEME}datasets/a/b{query}"));
            let asked = served(&mut dataset, total);
            let (rows, _) = dataset.into_rows();
            let numbers: Vec<u64> = rows.iter().filter_map(|row| row["n"].as_u64()).collect();
            let expected: Vec<u64> = (0..total.min(limit.unwrap_or(total))).collect();
            assert_eq!((numbers, asked), (expected, pages), "{limit:?} of {total}");
        }
    }

    #[test]
    fn a_server_gives_no_more_than_was_asked_for_and_ends_some_time() {
        let row = json!({ "row": { "text": "x".repeat(1 << 20) } });
        let page = json!({ "rows": vec![row; 100], "num_rows_total": u64::MAX }).to_string();
        let mut few = dataset("huggingface://datasets/a/b?limit=2");
        few.take(page.as_bytes()).expect("rows");
        assert_eq!((few.query(), few.rows.len()), (None, 2));
        let mut all = dataset("huggingface://datasets/a/b");
        let taken = (0..4).find_map(|_| all.take(page.as_bytes()).err());
        let expected = "its rows take more than 256 MiB; say `limit=` for fewer";
        assert_eq!(taken.as_deref(), Some(expected));
        let mut empty = dataset("huggingface://datasets/a/b");
        empty
            .take(br#"{"rows":[],"num_rows_total":9}"#)
            .expect("a page");
        assert_eq!(empty.query(), None);
    }

    #[test]
    fn shortened_rows_are_counted_and_other_answers_are_errors() {
        let mut dataset = dataset("huggingface://datasets/a/b");
        let cut = json!({ "row": { "a": "x" }, "truncated_cells": ["a"] });
        let page = json!({ "rows": [cut, { "row": { "a": "y" } }], "num_rows_total": 9 });
        dataset.take(page.to_string().as_bytes()).expect("rows");
        let error = dataset.take(b"<html>").expect_err("no rows");
        assert_eq!(
            error,
            "the server's answer holds no rows: expected value at line 1 column 1"
        );
        let (rows, shortened) = dataset.into_rows();
        assert_eq!((rows.len(), shortened), (2, 1));
    }
}
