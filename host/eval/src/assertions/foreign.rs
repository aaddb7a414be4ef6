//! What strangers see of a case, and may say of it: their own score, and metrics of their own.

use runner_sandbox::abi::ReadGrade;

use crate::plugins::{LoadedPlugin, Trust};
use crate::record::TestCase;
use crate::request::json;

/// The largest score that an answer of a judge or of a server has; also below 0.
pub(super) const MOST_STATED: f64 = 100.0;

/// Holds a stranger's grader, or the interpreter of a stranger's language, to what is its own. A score beyond 1 would
/// outvote the others whatever their weights. A named score could be taken for the metric of another assertion, of any
/// test: so all of them stand under the plugin's name (`acme/faithful`).
pub(super) fn held(plugin: &LoadedPlugin, mut grade: ReadGrade) -> ReadGrade {
    if !matches!(plugin.trust, Trust::Foreign(_)) {
        return grade;
    }
    for (name, _) in &mut grade.named_scores {
        name.insert_str(0, &format!("{}/", plugin.alias));
    }
    if !(0.0..=1.0).contains(&grade.score) {
        grade.reason = format!(
            "the grader of plugin '{}' gave the score {:e}; a plugin's score is from 0 to 1",
            plugin.alias, grade.score
        );
        (grade.pass, grade.score) = (false, 0.0);
    }
    grade
}

/// The test as this grader sees it.
pub(super) fn shown(plugin: &LoadedPlugin, test: &TestCase) -> String {
    match plugin.trust {
        Trust::Foreign(_) => test.for_strangers().to_string(),
        Trust::Bundled => json(test),
    }
}

/// A grade whose scores are all between two.
pub(super) fn clamped(mut grade: ReadGrade, least: f64, most: f64) -> ReadGrade {
    grade.score = grade.score.clamp(least, most);
    for (_, score) in &mut grade.named_scores {
        *score = score.clamp(least, most);
    }
    grade
}
