//! `human`: a person gives the verdict, when the answers are there. Its `value`, a text, says what to look at.

use crate::model::Findings;
use crate::plan::{Assertion, HUMAN};

/// Says what such an assertion can't have; nothing of any other.
pub(super) fn check(assertion: &Assertion, findings: &Findings) {
    if assertion.kind != HUMAN {
        return;
    }
    let refuse = |message: &str, help: &str| {
        let message = format!("'{}' {message}", assertion.written_kind());
        findings.error_help(assertion.at.clone(), message, help);
    };
    if assertion.inverse {
        let help = "write it without `not-`: a thumb down says no";
        refuse("has no meaning: a person says yes or no", help);
    }
    let unread = [
        ("threshold", assertion.threshold.is_some()),
        ("transform", assertion.transform.is_some()),
        ("contextTransform", assertion.context_transform.is_some()),
    ];
    for (key, _) in unread.iter().filter(|(_, is_there)| *is_there) {
        refuse(
            &format!("takes no `{key}`: a person sees the answer itself"),
            "remove the key",
        );
    }
    if assertion.script.is_some() || assertion.value.as_ref().is_some_and(|it| !it.is_string()) {
        let help = "value: Is the tone right for an angry customer?";
        refuse(
            "takes a text as its `value`, which says what to look at",
            help,
        );
    }
}
