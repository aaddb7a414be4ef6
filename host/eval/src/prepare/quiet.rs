//! Which secrets can be kept out of what is told.
//!
//! Each byte of a secret costs the masker some thousand, so all of a run have a limit. It says something
//! of how long the values of variables are, and which of them are equal; so nothing is decided by it before
//! everything is agreed to, and no figure is said then. What is wrong before is told without the values
//! as they are, however many there are.

use std::collections::BTreeSet;

use runner_gateway::{Masker, SHORTEST_MASKED, Secret};

use super::PreparedRun;
use crate::plugins::BindError;

/// Secrets of a run in all, in bytes.
const MOST_SECRETS: usize = 32 << 10;

/// What stands for a secret.
const MASKED: &str = "[masked]";

/// Takes secrets out of errors.
pub(super) fn clean(secrets: BTreeSet<String>) -> impl Fn(&str) -> String {
    let few: BTreeSet<Secret> = secrets.iter().map(Secret::new).collect();
    let masker = fit(&few).then(|| Masker::new(&few));
    let mut values: Vec<String> = secrets.into_iter().collect();
    values.retain(|value| value.len() >= SHORTEST_MASKED);
    // One may be a part of another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    move |text| {
        if let Some(masker) = &masker {
            return masker.mask(text).into_owned();
        }
        let without = |text: String, value: &String| text.replace(value, MASKED);
        values.iter().fold(text.to_owned(), without)
    }
}

fn fit(secrets: &BTreeSet<Secret>) -> bool {
    secrets.iter().map(Secret::bytes).sum::<usize>() <= MOST_SECRETS
}

impl PreparedRun {
    /// Refuses a config that can't be run without showing its secrets, once all is agreed to.
    pub(super) fn unless_unmaskable(self) -> Result<Self, BindError> {
        if !self.is_agreed() || fit(&self.secrets()) {
            return Ok(self);
        }
        let most = MOST_SECRETS >> 10;
        Err(BindError::Config {
            at: "env, providers".to_owned().into(),
            problem: format!(
                "the secrets that stand there are too long: at most {most} KiB of them can be kept out of results"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_errors_however_many_there_are() {
        for count in [1, 10_000] {
            let secrets = (0..count).map(|n| format!("secret-{n:05}"));
            let clean = clean(secrets.chain(["short".to_owned()]).collect());
            assert_eq!(clean("it is secret-00000, short"), "it is [masked], short");
        }
    }

    #[test]
    fn all_secrets_together_have_a_limit() {
        let with = |bytes: usize| fit(&[Secret::new("s".repeat(bytes))].into());
        assert!(with(MOST_SECRETS) && !with(MOST_SECRETS + 1));
    }
}
