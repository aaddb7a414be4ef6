//! What a file holds that something names, and so whose word it is.

use std::path::Path;

use super::has_extension;

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
