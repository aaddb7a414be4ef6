//! What was agreed to before, in a file of the person's: by the folders of the configs, and exactly
//! what.
//!
//! It is kept with the results and never in the folder itself, which a stranger may have written.
//! A file that can't be understood agrees to nothing and is not written over: it may be a newer
//! program's. Changes are made under a lock, to a new file that takes the old one's place, so that
//! two processes lose nothing and none sees half of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runner_eval::trust::{Need, TrustAgreement};
use runner_files::{Folder, ReadAccess, Replacement, make_private};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// What this program writes.
const VERSION: u32 = 2;

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct Remembered(PathBuf);

/// What is in it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    version: u32,
    folders: Folders,
}

/// What was agreed to, by folder.
pub(crate) type Folders = BTreeMap<PathBuf, Vec<Entry>>;

/// One agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The day, in UTC.
    pub(crate) on: String,
    /// The folders of further configs that are read as one with those of the folder that the entry
    /// stands below, which is the first of them: it holds for all of them together.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) with: BTreeSet<PathBuf>,
    /// To what.
    pub(crate) agreed: TrustAgreement,
}

impl Book {
    /// Reads what a file holds; `None`: it is of a version that is not known here. In version 1 what was
    /// agreed to for data did not say for which file, so that is asked for again.
    fn read(text: &str) -> Result<Option<Self>, serde_json::Error> {
        let mut book: Value = serde_json::from_str(text)?;
        match book["version"].as_u64() {
            Some(1) => {
                let folders = book["folders"].as_object_mut();
                let entries = folders.into_iter().flat_map(|folders| folders.values_mut());
                for entries in entries.filter_map(Value::as_array_mut) {
                    entries.retain(|entry| entry["agreed"]["author"] != "data");
                }
                book["version"] = VERSION.into();
            }
            Some(version) if version != u64::from(VERSION) => return Ok(None),
            Some(_) | None => {}
        }
        serde_json::from_value(book).map(Some)
    }
}

impl Remembered {
    /// Kept in this file, which need not be there.
    pub(crate) fn at(file: PathBuf) -> Self {
        Self(file)
    }

    /// All of it.
    ///
    /// # Errors
    /// When the file can't be read or understood, or others may write it.
    pub(crate) fn all(&self) -> Result<Folders, Failure> {
        let shown = self.0.display();
        let bad = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("can't take agreements from {shown}: {why}")).help(format!(
                "nothing is trusted until that is mended; without the file you are asked again: mv {shown} {shown}.old"
            ))
        };
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Folders::new()),
            Err(error) => return Err(bad(&error)),
        };
        if others_may_write(&file).map_err(|error| bad(&error))? {
            return Err(bad(&"others may write to it"));
        }
        let text = io::read_to_string(file).map_err(|error| bad(&error))?;
        match Book::read(&text).map_err(|error| bad(&error))? {
            Some(book) => Ok(book.folders),
            None => Err(bad(&"another version of the program wrote it")),
        }
    }

    /// What was agreed to for configs in exactly these folders.
    ///
    /// # Errors
    /// As [`Self::all`].
    pub(crate) fn of(
        &self,
        folders: &BTreeSet<PathBuf>,
    ) -> Result<BTreeSet<TrustAgreement>, Failure> {
        let (first, with) = key(folders);
        let entries = self.all()?.remove(&first).into_iter().flatten();
        let entries = entries.filter(|entry| entry.with == with);
        Ok(entries.map(|entry| entry.agreed).collect())
    }

    /// Adds agreements for configs in these folders.
    ///
    /// # Errors
    /// When they can't be kept.
    pub(crate) fn add(&self, folders: &BTreeSet<PathBuf>, needs: &[&Need]) -> Result<(), Failure> {
        let on = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let (first, with) = key(folders);
        self.change(|all| {
            let entries = all.entry(first).or_default();
            for agreed in needs.iter().map(|need| need.agreed()) {
                let is_same = |entry: &Entry| entry.agreed == agreed && entry.with == with;
                if !entries.iter().any(is_same) {
                    let (on, with) = (on.clone(), with.clone());
                    entries.push(Entry { on, with, agreed });
                }
            }
        })
    }

    /// Forgets what has to do with these folders; says how many agreements each had.
    ///
    /// # Errors
    /// When that can't be kept.
    pub(crate) fn forget(
        &self,
        folders: BTreeSet<PathBuf>,
    ) -> Result<Vec<(PathBuf, u64)>, Failure> {
        let known = self.all()?;
        let count = |folder: &PathBuf| of_folder(&known, folder).count() as u64;
        let counts: Vec<u64> = folders.iter().map(count).collect();
        if counts.iter().any(|count| *count > 0) {
            self.change(|all| {
                all.retain(|first, entries| {
                    entries.retain(|entry| folders.is_disjoint(&entry.with));
                    !folders.contains(first) && !entries.is_empty()
                });
            })?;
        }
        Ok(folders.into_iter().zip(counts).collect())
    }

    fn change(&self, change: impl FnOnce(&mut Folders)) -> Result<(), Failure> {
        let cannot = || format!("can't keep agreements in {}", self.0.display());
        let (folder, name) = self.folder().with_context(cannot)?;
        let lock = self.0.with_extension("lock");
        let lock = lock.file_name().unwrap_or_default();
        let lock = folder.open_or_create(lock, ReadAccess::Owner);
        let lock = lock.with_context(cannot)?;
        lock.lock().with_context(cannot)?;
        let mut folders = self.all()?;
        change(&mut folders);
        let version = VERSION;
        let text = serde_json::to_string_pretty(&Book { version, folders });
        let text = text.with_context(cannot)?;
        let replace = || {
            let mut new = Replacement::begin(folder, &name, ReadAccess::Owner)?;
            new.write_all(text.as_bytes())?;
            new.commit()
        };
        replace().with_context(cannot)?;
        // The lock goes with its file handle.
        drop(lock);
        Ok(())
    }

    /// The folder that it is in, made if need be, and its name there.
    fn folder(&self) -> io::Result<(Folder, OsString)> {
        make_private(self.0.parent().unwrap_or(Path::new("/")))?;
        Folder::of(&self.0)
    }
}

fn others_may_write(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    #[cfg(unix)]
    let others = metadata.permissions().mode() & 0o022 != 0;
    #[cfg(not(unix))]
    let others = !metadata.is_file();
    Ok(others)
}

/// The folder that an agreement stands below, and the others that it is for.
fn key(folders: &BTreeSet<PathBuf>) -> (PathBuf, BTreeSet<PathBuf>) {
    let mut folders: BTreeSet<PathBuf> = folders.iter().map(|it| canonical(it)).collect();
    (folders.pop_first().unwrap_or_default(), folders)
}

/// The agreements that have to do with a folder.
pub(crate) fn of_folder<'a>(
    all: &'a Folders,
    folder: &'a Path,
) -> impl Iterator<Item = &'a Entry> + 'a {
    let all = all
        .iter()
        .flat_map(|(first, entries)| entries.iter().map(move |entry| (first, entry)));
    all.filter(move |(first, entry)| *first == folder || entry.with.contains(folder))
        .map(|(_, entry)| entry)
}

/// The folder as every path to it names it, also one that is gone.
pub(crate) fn canonical(folder: &Path) -> PathBuf {
    let found = folder.ancestors().find_map(|above| {
        let rest = folder.strip_prefix(above).ok()?;
        Some((fs::canonicalize(above).ok()?, rest))
    });
    match found {
        Some((above, rest)) if rest.as_os_str().is_empty() => above,
        Some((above, rest)) => above.join(rest),
        None => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use runner_config::plan::Position;
    use runner_config::{TextOrigin, TrustRequest, TrustSubject};
    use tempfile::TempDir;

    use super::*;

    fn need(name: &str) -> Need {
        Need {
            request: TrustRequest {
                subject: TrustSubject::Variable {
                    name: name.to_owned(),
                    to: "https://a.example".to_owned(),
                },
                origin: TextOrigin::Config,
                at: Position::default(),
            },
            not_granted: None,
        }
    }

    fn book() -> (TempDir, Remembered) {
        let home = TempDir::new().expect("a folder");
        let book = Remembered::at(home.path().join("data/trust.json"));
        (home, book)
    }

    fn folders(names: &[&Path]) -> BTreeSet<PathBuf> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn of(book: &Remembered, names: &[&Path]) -> usize {
        let found = book.of(&folders(names)).map_err(|failure| failure.render());
        found.expect("it can be read").len()
    }

    fn three(home: &TempDir) -> [PathBuf; 3] {
        ["a", "b", "c"].map(|name| {
            let folder = home.path().join(name);
            fs::create_dir(&folder).expect("made");
            folder
        })
    }

    fn forget(book: &Remembered, names: &[&Path]) -> Vec<u64> {
        let folders = names.iter().map(|name| canonical(name)).collect();
        let forgotten = book.forget(folders).map_err(|failure| failure.render());
        let forgotten = forgotten.expect("kept").into_iter();
        forgotten.map(|(_, count)| count).collect()
    }

    #[test]
    fn it_holds_for_the_folder_by_any_path_and_for_no_other() {
        let (home, book) = book();
        let [here, there, _] = three(&home);
        assert_eq!(of(&book, &[&here]), 0);
        let (first, second) = (need("A"), need("B"));
        book.add(&folders(&[&here]), &[&first, &second])
            .expect("kept");
        book.add(&folders(&[&here]), &[&second]).expect("kept");
        let another_way = there.join("../a");
        assert_eq!(of(&book, &[&here]), 2);
        assert_eq!(of(&book, &[&another_way]), 2);
        assert_eq!(of(&book, &[&there]), 0);
        assert_eq!(forget(&book, &[&another_way]), [2]);
        assert_eq!(forget(&book, &[&here]), [0]);
        assert_eq!(of(&book, &[&here]), 0);
    }

    #[test]
    fn what_configs_of_two_folders_may_together_neither_may_alone() {
        let (home, book) = book();
        let [a, b, c] = three(&home);
        book.add(&folders(&[&b, &a]), &[&need("A")]).expect("kept");
        for others in [&[&*a][..], &[&b], &[&a, &c], &[&a, &b, &c]] {
            assert_eq!(of(&book, others), 0, "{others:?}");
        }
        assert_eq!(of(&book, &[&a, &b]), 1);
        // And what each may alone is not what they may together.
        book.add(&folders(&[&a]), &[&need("X")]).expect("kept");
        book.add(&folders(&[&b]), &[&need("X")]).expect("kept");
        assert_eq!((of(&book, &[&a]), of(&book, &[&a, &b])), (1, 1));
        // Whoever takes it back from one takes it back from both.
        assert_eq!(forget(&book, &[&b]), [2]);
        assert_eq!(
            (of(&book, &[&a]), of(&book, &[&b]), of(&book, &[&a, &b])),
            (1, 0, 0)
        );
    }

    #[test]
    fn a_folder_that_is_gone_is_found_by_its_name() {
        let (home, book) = book();
        let [a, ..] = three(&home);
        book.add(&folders(&[&a]), &[&need("A")]).expect("kept");
        fs::remove_dir(&a).expect("empty");
        assert_eq!(forget(&book, &[&home.path().join("c")]), [0]);
        assert_eq!(forget(&book, &[&home.path().join("b/../a")]), [1]);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_opened_through_a_link() {
        let (home, book) = book();
        fs::create_dir(home.path().join("data")).expect("made");
        let victim = home.path().join("victim");
        std::os::unix::fs::symlink(&victim, home.path().join("data/trust.lock")).expect("linked");
        let refused = book.add(&folders(&[home.path()]), &[&need("A")]);
        assert!(refused.is_err_and(|it| it.render().contains("can't keep agreements")));
        assert!(!victim.exists());
    }

    #[test]
    fn it_is_the_persons_alone() {
        let (home, book) = book();
        book.add(&folders(&[home.path()]), &[&need("A")])
            .expect("kept");
        let mode = |name: &str| {
            let metadata = fs::metadata(home.path().join(name)).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!([mode("data"), mode("data/trust.json")], [0o700, 0o600]);
        let writable = fs::Permissions::from_mode(0o666);
        fs::set_permissions(home.path().join("data/trust.json"), writable).expect("ours");
        let refused = book.all().expect_err("anybody may have written it");
        assert!(refused.render().contains("others may write to it"));
    }

    #[test]
    fn a_file_that_is_none_of_ours_trusts_nothing_and_stays() {
        let (home, book) = book();
        fs::create_dir(home.path().join("data")).expect("made");
        for text in [
            "",
            "{",
            "[]",
            r#"{"version":3,"folders":{}}"#,
            r#"{"folders":{}}"#,
            r#"{"version":1,"folders":{"/":[{"agreed":"all"}]}}"#,
        ] {
            fs::write(&book.0, text).expect("written");
            fs::set_permissions(&book.0, fs::Permissions::from_mode(0o600)).expect("ours");
            let refused = book.of(&folders(&[home.path()])).expect_err(text).render();
            assert!(
                refused.contains("nothing is trusted until that is mended"),
                "{refused}"
            );
            assert!(book.add(&folders(&[home.path()]), &[&need("A")]).is_err());
            assert_eq!(fs::read_to_string(&book.0).expect("there"), text);
        }
    }

    #[test]
    fn what_the_first_version_kept_of_configs_still_holds_and_that_of_data_is_asked_again() {
        let (home, book) = book();
        fs::create_dir(home.path().join("data")).expect("made");
        let entry = |author: &str| {
            format!(
                r#"{{"on":"2026-11-22","agreed":{{"author":"{author}","subject":{{"variable":{{"name":"A","to":"https://a.example"}}}}}}}}"#
            )
        };
        let folder = canonical(home.path()).display().to_string();
        let text = format!(
            r#"{{"version":1,"folders":{{"{folder}":[{},{}]}}}}"#,
            entry("config"),
            entry("data")
        );
        fs::write(&book.0, text).expect("written");
        fs::set_permissions(&book.0, fs::Permissions::from_mode(0o600)).expect("ours");
        let here = folders(&[home.path()]);
        let held = book.of(&here).map_err(|failure| failure.render());
        assert_eq!(held, Ok([need("A").agreed()].into()));
        book.add(&here, &[&need("B")]).expect("kept");
        let kept = fs::read_to_string(&book.0).expect("there");
        assert!(kept.contains("\"version\": 2"), "{kept}");
        assert_eq!(of(&book, &[home.path()]), 2);
    }

    #[test]
    fn those_who_agree_at_the_same_time_lose_nothing() {
        let (home, book) = book();
        let folders = folders(&[home.path()]);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (book, folders) = (&book, &folders);
                scope.spawn(move || {
                    for m in 0..8 {
                        let need = need(&format!("N{n}_{m}"));
                        book.add(folders, &[&need]).expect("kept");
                    }
                });
            }
        });
        assert_eq!(of(&book, &[home.path()]), 64);
    }
}
