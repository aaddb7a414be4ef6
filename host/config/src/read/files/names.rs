//! Names of files as texts have them, before anything is looked at.

use std::path::{Component, Path, PathBuf};

/// What the name of a file begins with where it could be another text.
const SCHEME: &str = "file://";

/// Whether `written` has wildcards.
pub(crate) fn is_pattern(written: &str) -> bool {
    written.contains(['*', '?', '['])
}

/// Whether a path ends in one of `extensions` (lower case, no dot).
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension.to_ascii_lowercase().as_str()))
}

/// Without `file://`.
pub(crate) fn without_scheme(written: &str) -> &str {
    path_named(written).unwrap_or(written)
}

/// The path that a text names with `file://`, if it does.
pub(crate) fn path_named(text: &str) -> Option<&str> {
    text.strip_prefix(SCHEME)
}

/// Whether a text names a file with `file://`.
pub(crate) fn names_file(text: &str) -> bool {
    path_named(text).is_some()
}

/// A path as it is named from a folder; both are absolute.
pub fn relative(path: &Path, folder: &Path) -> PathBuf {
    let (path, folder) = (tidy(path), tidy(folder));
    let shared = folder.components().zip(path.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared);
    let up = up.map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

/// Without `.` and `folder/..`.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(tidy.components().next_back(), Some(Component::Normal(_))) =>
            {
                tidy.pop();
            }
            // Above the root there is the root.
            Component::ParentDir if tidy.has_root() && tidy.parent().is_none() => {}
            other => tidy.push(other),
        }
    }
    tidy
}
