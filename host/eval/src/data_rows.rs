//! How much of the results the rows and variables of data files take.
//!
//! What a row says may be short and what is kept of it long: its templates fill in other values, its lists
//! make many cases, and each of them keeps variables, prompt and answer. No look at the file tells. So it
//! is counted as it is kept, by file and column; documents whose texts are filled into the config's own tests count
//! together, as one file. Beyond [`MOST`] the file's further cases are errors that keep next to nothing; rows of the
//! config and of other files go on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use runner_config::plan::{Case, TooMuch};

/// Bytes that the rows of one file, and of those that it names, may take in one column.
const MOST: u64 = 16 << 30;

/// The name of all documents together: none that a file has.
const DOCUMENTS: &str = "";

/// Bytes that the rows of each file have taken, by column.
type Taken = BTreeMap<PathBuf, BTreeMap<u32, u64>>;

/// Counts what is kept of the rows of data files.
#[derive(Debug)]
pub(crate) struct DataRows {
    taken: Mutex<Taken>,
    most: u64,
}

impl DataRows {
    pub(crate) fn new() -> Self {
        Self {
            taken: Mutex::default(),
            most: MOST,
        }
    }

    /// Counts the bytes that are kept of a case, if a data file made it.
    pub(crate) fn add(&self, case: &Case, bytes: usize) {
        let Some(file) = writer(case) else {
            return;
        };
        let mut taken = self.taken();
        if !taken.contains_key(file) {
            taken.insert(file.to_owned(), BTreeMap::new());
        }
        if let Some(columns) = taken.get_mut(file) {
            *columns.entry(case.id.prompt_idx).or_default() += bytes as u64;
        }
    }

    /// Why a case may not begin, if the rows of its file have taken their share.
    pub(crate) fn refusal(&self, case: &Case) -> Option<TooMuch> {
        let taken = *self.taken().get(writer(case)?)?.get(&case.id.prompt_idx)?;
        (taken > self.most).then_some(TooMuch::Kept {
            gib: self.most >> 30,
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file that brought the words of others into a case; [`DOCUMENTS`] where only documents say some.
fn writer(case: &Case) -> Option<&Path> {
    match &case.test.words_of {
        Some(file) => Some(&file.root),
        None => case.has_others_words.then_some(Path::new(DOCUMENTS)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runner_config::DataFile;

    use super::*;
    use crate::fixture::case;

    fn case_of(file: Option<&str>, column: u32) -> Case {
        let mut case = case("prompts: [p]\nproviders: [echo]");
        case.id.prompt_idx = column;
        Arc::make_mut(&mut case.test).words_of = file.map(|file| {
            Arc::new(DataFile {
                shown: file.into(),
                real: format!("{file}.part").into(),
                root: file.into(),
                is_mixed: false,
                part: 0,
            })
        });
        case
    }

    #[test]
    fn rows_of_a_file_take_so_much_in_a_column_and_no_more() {
        let rows = DataRows {
            most: 100,
            ..DataRows::new()
        };
        let of_file = case_of(Some("a.csv"), 0);
        rows.add(&of_file, 100);
        assert_eq!(rows.refusal(&of_file), None);
        rows.add(&of_file, 1);
        assert!(rows.refusal(&of_file).is_some());
        for other in [
            case_of(Some("a.csv"), 1),
            case_of(Some("b.csv"), 0),
            case_of(None, 0),
        ] {
            rows.add(&other, 50);
            assert_eq!(rows.refusal(&other), None);
        }
        let mut of_document = case_of(None, 0);
        of_document.has_others_words = true;
        rows.add(&of_document, 101);
        assert!(rows.refusal(&of_document).is_some());
        assert_eq!(rows.refusal(&case_of(None, 0)), None);
    }
}
