//! Names that code asks for, each looked up once.
//!
//! An import that leads nowhere takes a few bytes and the system's time for a dozen paths, so a file
//! within all other limits could take minutes before anything is asked. What is looked up has limits
//! of its own, for each script and for all of a config: far more than any program imports.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use crate::model::{Findings, Position, TextOrigin};
use crate::read::files::{Files, PathKind};

/// Most paths that one script has looked up, each as often as it is asked for, and different ones.
const MAX_OF_PIECE: Counts = Counts {
    asked: 100_000,
    looked: 10_000,
};

/// Most paths of all scripts and commands of a config.
const MAX_OF_ALL: Counts = Counts {
    asked: 1_000_000,
    looked: 100_000,
};

/// How often something was asked for, and how much of it was looked up for that.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    asked: usize,
    looked: usize,
}

impl Counts {
    /// What is wrong with these, which are those of `whose`.
    fn beyond(self, most: Self, whose: &str) -> Option<String> {
        if self.looked > most.looked {
            let most = most.looked;
            return Some(format!(
                "names more files than are looked for: {most} for {whose}"
            ));
        }
        (self.asked > most.asked).then(|| {
            let most = most.asked;
            format!("names files more often than they are looked for: {most} times for {whose}")
        })
    }
}

/// What is known of a path.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    is_beyond: bool,
    there: Option<PathKind>,
}

/// What all code of a config has looked up.
#[derive(Debug, Default)]
pub(crate) struct LookedUp {
    known: RefCell<HashMap<(TextOrigin, PathBuf), Known>>,
    counts: Cell<Counts>,
}

impl LookedUp {
    /// What one script, or one command, looks up.
    pub(crate) fn piece(&self) -> Piece<'_> {
        Piece {
            all: self,
            before: self.counts.get(),
        }
    }
}

/// What one script, or one command, looks up.
pub(crate) struct Piece<'a> {
    all: &'a LookedUp,
    before: Counts,
}

impl Piece<'_> {
    /// What is wrong with what was looked up so far: nothing more is found then.
    pub(crate) fn too_many(&self) -> Option<String> {
        let all = self.all.counts.get();
        let own = Counts {
            asked: all.asked - self.before.asked,
            looked: all.looked - self.before.looked,
        };
        own.beyond(MAX_OF_PIECE, "one piece of code")
            .or_else(|| all.beyond(MAX_OF_ALL, "all code of a config"))
    }

    /// Whether a text may not name a path by itself.
    pub(crate) fn is_beyond(&self, shown: &Path, files: &Files, origin: &TextOrigin) -> bool {
        self.known(shown, files, origin)
            .is_none_or(|known| known.is_beyond)
    }

    /// What there is at a path. Where a text may not look, that is asked for.
    pub(crate) fn there(
        &self,
        shown: &Path,
        files: &Files,
        named: (&Position, &TextOrigin, &Findings),
    ) -> PathKind {
        let (_, origin, _) = named;
        let Some(known) = self.known(shown, files, origin) else {
            return PathKind::Nothing;
        };
        known.there.unwrap_or_else(|| {
            let there = files.there(shown, known.is_beyond, named);
            let known = Known {
                there: Some(there),
                ..known
            };
            let key = (origin.clone(), shown.to_owned());
            self.all.known.borrow_mut().insert(key, known);
            there
        })
    }

    /// What is known of a path; `None`: too much was asked for.
    fn known(&self, shown: &Path, files: &Files, origin: &TextOrigin) -> Option<Known> {
        let counted = |asked, looked| {
            let counts = self.all.counts.get();
            self.all.counts.set(Counts {
                asked: counts.asked + asked,
                looked: counts.looked + looked,
            });
        };
        counted(1, 0);
        if self.too_many().is_some() {
            return None;
        }
        let mut known = self.all.known.borrow_mut();
        Some(*match known.entry((origin.clone(), shown.to_owned())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                counted(0, 1);
                unknown.insert(Known {
                    is_beyond: files.beyond(shown, origin).is_some(),
                    there: None,
                })
            }
        })
    }
}
