//! Paths in READMEs: every file of Rust that one names is there.
//!
//! A path with a folder is meant from the README's own folder, from its `src/` or from the root; a
//! name alone may be any file's below the README.

use std::collections::BTreeSet;

use super::{File, is_rust};
use crate::markdown::{folder_of, joined};

/// Every path in `readmes` that none of `files` has, as one line each.
pub(super) fn broken(readmes: &[File], files: &[File]) -> Vec<String> {
    let files: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
    let mut findings = Vec::new();
    for readme in readmes {
        let folder = folder_of(&readme.path);
        for (number, line) in (1..).zip(readme.text.lines()) {
            let quoted = line.split('`').skip(1).step_by(2);
            let paths = quoted.filter(|text| is_rust(text) && !text.contains([' ', '*', '<']));
            for path in paths.filter(|path| !is_there(path, folder, &files)) {
                findings.push(format!(
                    "{}:{number}: there is no {path}; say where it is now",
                    readme.path
                ));
            }
        }
    }
    findings
}

fn is_there(path: &str, folder: &str, files: &BTreeSet<&str>) -> bool {
    if path.contains('/') {
        let from = [folder.to_owned(), format!("{folder}/src"), String::new()];
        let mut from = from.iter().map(|from| joined(from, path));
        return from.any(|path| files.contains(&*path));
    }
    files.iter().any(|file| {
        let below = file.strip_prefix(folder);
        below.is_some_and(|below| below == path || below.ends_with(&format!("/{path}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_nowhere_is_found() {
        let files = [
            File::of("host/files/src/private.rs", ""),
            File::of("host/cli/src/results/file.rs", ""),
        ];
        let text = "`results/file.rs`, `file.rs` and `../files/src/private.rs` are there,\n\
                    `host/cli/src/results/file.rs` too, `src/file.rs`, `private.rs` and `*.rs` are not.\n";
        let found = broken(&[File::of("host/cli/README.md", text)], &files);
        let line =
            |path: &str| format!("host/cli/README.md:2: there is no {path}; say where it is now");
        assert_eq!(found, [line("src/file.rs"), line("private.rs")]);
        assert!(broken(&[File::of("README.md", "`private.rs`")], &files).is_empty());
    }
}
