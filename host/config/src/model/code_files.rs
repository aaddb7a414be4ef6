//! Files of code, as they were read when the plan was made.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// A file of code with the files that it imports, directly or through others.
#[derive(Clone)]
pub struct CodeFiles {
    /// Where the file itself is: an absolute path.
    pub path: PathBuf,
    /// The file itself.
    pub main: CodeFile,
    /// What it imports, without itself, in the order found.
    pub modules: Vec<CodeFile>,
    /// What of them the sandbox can't give.
    pub needs: CodeNeeds,
    /// sha256 (hex) of all of them. Thousands of scripts of one config may be one file, and each
    /// case is known by what they do.
    digest: String,
}

/// By path and digest: a hundred thousand providers may name one file of megabytes, and each is held
/// against the others.
impl PartialEq for CodeFiles {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.path == other.path
    }
}

impl Eq for CodeFiles {}

/// Without the texts, for which the digest stands.
impl fmt::Debug for CodeFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeFiles")
            .field("path", &self.path)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl Hash for CodeFiles {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
        self.digest.hash(state);
    }
}

impl CodeFiles {
    /// sha256 (hex) of all of them.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Where the file of this path among them is: an absolute path.
    pub fn place(&self, path: &str) -> PathBuf {
        let below = self.main.path.split('/').count();
        let folder = self.path.ancestors().nth(below).unwrap_or(&self.path);
        folder.join(path)
    }

    /// A file, and what it imports.
    pub fn new(path: PathBuf, main: CodeFile, modules: Vec<CodeFile>, needs: CodeNeeds) -> Self {
        let mut digest = Sha256::new();
        for file in [&main].into_iter().chain(&modules) {
            for text in [&file.path, &file.source] {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text);
            }
        }
        Self {
            path,
            main,
            modules,
            needs,
            digest: HEXLOWER.encode(&digest.finalize()),
        }
    }
}

/// What code wants that the sandbox does not give unasked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeNeeds {
    /// The first of it, as the end of a sentence: `imports numpy`.
    pub first: Option<String>,
    /// The first of it that no grant of the config gives in the sandbox, either.
    pub beyond_requests: Option<String>,
    /// Whether it may send requests, which a grant gives.
    pub sends: bool,
}

impl CodeNeeds {
    /// Of code that is never run in the sandbox.
    pub(crate) fn outside(reason: &str) -> Self {
        Self {
            first: Some(reason.to_owned()),
            beyond_requests: Some(reason.to_owned()),
            sends: false,
        }
    }

    /// Those of this code and of more.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            first: self.first.or(more.first),
            beyond_requests: self.beyond_requests.or(more.beyond_requests),
            sends: self.sends || more.sends,
        }
    }
}

/// One file of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// Relative to the lowest folder that has all files of the script in it, with `/`.
    pub path: String,
    /// Its text.
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stands_where_its_neighbours_do() {
        let file = |path: &str| CodeFile {
            path: path.to_owned(),
            source: String::new(),
        };
        let modules = vec![file("lib/a.ts")];
        let files = CodeFiles::new(
            "/x/src/b/main.ts".into(),
            file("b/main.ts"),
            modules,
            CodeNeeds::default(),
        );
        assert_eq!(files.place("lib/a.ts"), PathBuf::from("/x/src/lib/a.ts"));
        assert_eq!(files.place("b/main.ts"), files.path);
    }
}
