//! What a file holds that something names, and so whose word it is.

use std::path::Path;

use super::links::{PathTarget, leads};
use super::{Files, has_extension, real, tidy};
use crate::model::TextOrigin;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileContents {
    /// A config.
    Config,
    /// Providers alone.
    Providers,
    /// Prompts.
    Prompts,
    /// Tests, one test, what all tests have, scenarios, or variables.
    Tests,
    /// Code that gives tests.
    Generator,
    /// Tests for which the config vouches.
    Vouched,
}

impl FileContents {
    /// Whether such a file is data, which gives values, and no part of the config. What holds tests is a part only as
    /// YAML: everything else is what others write.
    pub(super) fn are_data(self, path: &Path) -> bool {
        match self {
            Self::Config | Self::Providers | Self::Prompts | Self::Vouched => false,
            Self::Generator => true,
            Self::Tests => !has_extension(path, &["yaml", "yml"]),
        }
    }
}

impl Files {
    /// The rights of a data file.
    pub(crate) fn data(&self, shown: &Path) -> TextOrigin {
        TextOrigin::data(shown, real(&tidy(&self.cwd.join(shown))))
    }

    /// The rights of a file that somebody names for what it holds. No person's file is more than the config, and
    /// what is vouched for vouches for no other file.
    pub(crate) fn origin_of(
        &self,
        path: &Path,
        holds: FileContents,
        named_by: &TextOrigin,
    ) -> TextOrigin {
        let are_data = self.are_data(path, holds);
        match named_by {
            TextOrigin::Data(namer) if are_data => {
                // A file of its own, with no right that whoever names it has not.
                let own = self.data(path).under(namer);
                if namer.is_mixed || self.beyond(path, named_by).is_some() {
                    own.nameless()
                } else {
                    own
                }
            }
            TextOrigin::Data(_) => named_by.clone(),
            _ if are_data => self.data(path),
            // Tests that the person names and that lie elsewhere: somebody else's, as likely as not.
            TextOrigin::Person if holds == FileContents::Tests && self.is_elsewhere(path) => {
                self.data(path)
            }
            TextOrigin::Vouched => TextOrigin::Vouched,
            TextOrigin::Person | TextOrigin::Config => TextOrigin::Config,
        }
    }

    /// Whether a file is data, by its name and by that of the file behind a link.
    pub(crate) fn are_data(&self, path: &Path, holds: FileContents) -> bool {
        holds.are_data(path) || holds.are_data(&real(&tidy(&self.cwd.join(path))))
    }

    /// Whether a file lies neither in the config's folder nor in the current one.
    fn is_elsewhere(&self, path: &Path) -> bool {
        let path = self.cwd.join(path);
        let is_outside = |folder: &Path| matches!(leads(folder, &path), PathTarget::Outside(_));
        is_outside(&self.cwd) && is_outside(&self.cwd.join(&self.root))
    }
}
