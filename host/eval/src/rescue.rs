//! What the database could not take goes into a plain file.
//!
//! A full disk or a locked database ends a run, but answers that are in memory were paid for.
//! They are written as one record per line, in the shape of a `.jsonl` results file, beside the
//! database; or, since the disk may be the trouble, in the folder for temporary files. Others
//! can't read it.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_files::{Folder, ReadAccess, Replacement};
use uuid::Uuid;

use crate::record::CaseRecord;

/// Writes `records` beside `database`, or else among the temporary files; says where. One from a
/// rescue of the same run before is replaced: its rows were not stored, so their cases were run
/// again. `has_room` says whether a file may grow by so many bytes.
///
/// # Errors
/// When neither takes them: what the second one said.
pub(crate) fn rescue(
    database: &Path,
    run_id: &str,
    records: &[Arc<CaseRecord>],
    has_room: impl Fn(&Path, u64) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let beside = database.parent().unwrap_or(Path::new("."));
    let beside = beside.join(format!("{run_id}.rescue.jsonl"));
    // Everybody may write there, so nobody may foresee the name.
    let name = format!("{run_id}.{}.rescue.jsonl", Uuid::new_v4().simple());
    let elsewhere = std::env::temp_dir().join(name);
    write(beside, records, &has_room).or_else(|_| write(elsewhere, records, &has_room))
}

fn write(
    path: PathBuf,
    records: &[Arc<CaseRecord>],
    has_room: impl Fn(&Path, u64) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let (folder, name) = Folder::of(&path)?;
    let mut out = BufWriter::new(Replacement::begin(folder, &name, ReadAccess::Owner)?);
    for record in records {
        let mut line = serde_json::to_string(&**record)?;
        line.push('\n');
        has_room(&path, line.len() as u64)?;
        out.write_all(line.as_bytes())?;
    }
    let complete = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    complete.commit()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::samples::record;

    #[test]
    fn each_record_is_a_line_beside_the_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let records = [record(0), record(1)].map(Arc::new);
        let path = rescue(&folder.path().join("runs.db"), "run-1", &records, |_, _| {
            Ok(())
        })
        .expect("written");
        assert_eq!(path, folder.path().join("run-1.rescue.jsonl"));
        let text = std::fs::read_to_string(path).expect("it is there");
        let read: Vec<CaseRecord> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record"))
            .collect();
        assert_eq!(read, records.map(|record| (*record).clone()));
    }

    #[test]
    fn where_the_database_is_cannot_be_written_to_another_place_is_found() {
        let nowhere = Path::new("/dev/null/no folder/runs.db");
        let id = format!("run-{}", Uuid::new_v4());
        let path = rescue(nowhere, &id, &[Arc::new(record(0))], |_, _| Ok(())).expect("written");
        assert!(path.starts_with(std::env::temp_dir()), "{}", path.display());
        std::fs::remove_file(path).expect("it was there");
    }

    #[test]
    fn a_disk_without_room_is_not_filled() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("runs.db");
        let id = format!("run-{}", Uuid::new_v4());
        let full = |path: &Path, bytes: u64| {
            assert!(bytes > 100, "a whole record");
            if path.starts_with(folder.path()) {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        };
        let path = rescue(&database, &id, &[Arc::new(record(0))], full).expect("written");
        assert!(path.starts_with(std::env::temp_dir()), "{}", path.display());
        std::fs::remove_file(path).expect("it was there");
        let left = std::fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(left.count(), 0);
        let nowhere = |_: &Path, _| Err(io::ErrorKind::StorageFull.into());
        let error = rescue(&database, &id, &[Arc::new(record(0))], nowhere).expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
