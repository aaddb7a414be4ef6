//! What a stranger's grader may say of a case: its own score, and metrics of its own.

use runner_sandbox::abi::Grade;

use crate::plugins::{Grader, Trust};

/// Holds a stranger's grader to what is its own. A score beyond 1 would outvote the others whatever their
/// weights. A named score could be taken for the metric of another assertion, of any test: so all of them stand
/// under the plugin's name (`acme/faithful`).
pub(super) fn held(grader: &Grader, mut grade: Grade) -> Grade {
    let plugin = &grader.plugin;
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
