//! Where programs are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Finds where a shell with this `PATH` finds a program, by its name or its path. An entry that is empty or
/// relative is the folder that one is in, which may be a stranger's: nothing is found there.
pub fn find(name: &Path, path: &OsStr) -> Option<PathBuf> {
    let is_file = |place: &PathBuf| place.is_file();
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(is_file);
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(is_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_where_a_shell_finds_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("runner");
        std::fs::write(&program, "").expect("written");
        let path =
            std::env::join_paths([Path::new("/nonexistent"), folder.path()]).expect("a path");
        let at = |name: &Path| find(name, &path);
        assert_eq!(at(Path::new("runner")).as_ref(), Some(&program));
        assert_eq!(at(&program).as_ref(), Some(&program));
        assert_eq!(at(Path::new("/x/runner")), None);
        assert_eq!(at(Path::new("other")), None);
        assert_eq!(find(Path::new("runner"), OsStr::new("")), None);
        let here = std::env::join_paths(["", "."]).expect("a path");
        assert_eq!(find(Path::new("Cargo.toml"), &here), None);
    }
}
