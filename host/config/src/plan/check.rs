//! The entries of `assert`: assertions, sets of them, and when one is graded at all.
//!
//! Data only. What a set's members come to is the grading's business.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Position, Process, Script};

/// Largest weight that a row of data gives: its scores stand beside those of other rows in the sums of a run.
pub const MAX_WEIGHT_OF_DATA: f64 = 100.0;

/// An entry of `assert`: one assertion, or a set that is graded as one.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every check is one assertion"
)]
pub enum Check {
    /// A single assertion.
    One(Assertion),
    /// `type: assert-set` or `type: assert-any`.
    Set {
        /// What its members have to come to.
        rule: SetRule,
        /// Its members.
        assertions: Vec<Assertion>,
        /// Share of the test's score; 1 by default.
        weight: f64,
        /// The set passes from this score on; `None`: the rule alone decides.
        threshold: Option<f64>,
        /// Named score that the set's score counts toward (a template).
        metric: Option<String>,
        /// The set as written.
        json: Arc<Value>,
    },
}

/// What the members of a set have to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetRule {
    /// `assert-set`: every member passes; the score is their weighted mean.
    All,
    /// `assert-any`: one member passes; the score is that of the best.
    Any,
}

impl SetRule {
    /// The rule of a type; `None` if the type is no set.
    pub fn of(kind: &str) -> Option<Self> {
        match kind {
            "assert-set" => Some(Self::All),
            "assert-any" => Some(Self::Any),
            _ => None,
        }
    }

    /// The type as configs write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "assert-set",
            Self::Any => "assert-any",
        }
    }
}

impl Check {
    /// Its assertions.
    pub fn members(&self) -> &[Assertion] {
        match self {
            Self::One(assertion) => std::slice::from_ref(assertion),
            Self::Set { assertions, .. } => assertions,
        }
    }

    pub(crate) fn members_mut(&mut self) -> &mut [Assertion] {
        match self {
            Self::One(assertion) => std::slice::from_mut(assertion),
            Self::Set { assertions, .. } => assertions,
        }
    }

    /// The type as written, `not-` included.
    pub fn written_kind(&self) -> String {
        match self {
            Self::One(assertion) => assertion.written_kind(),
            Self::Set { rule, .. } => rule.word().to_owned(),
        }
    }

    /// The template of the named score that it counts toward.
    pub fn metric(&self) -> Option<&str> {
        match self {
            Self::One(assertion) => assertion.metric.as_deref(),
            Self::Set { metric, .. } => metric.as_deref(),
        }
    }
}

/// One assertion as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// The type without `not-`.
    pub kind: String,
    /// Whether it was written with `not-`.
    pub inverse: bool,
    /// `value`, files loaded, templates unrendered.
    pub value: Option<Value>,
    /// The file of code that `value` names. Of an assertion of its language it is what grades,
    /// of any other type it makes the value; then `value` is `None`.
    pub script: Option<Arc<Script>>,
    /// What runs its value outside the sandbox, where that is code; `None`: the sandbox does.
    pub process: Option<Arc<Process>>,
    /// Whether its value is code that may send requests from the sandbox.
    pub sends: bool,
    /// `transform`: makes another output for this assertion.
    pub transform: Option<Arc<Script>>,
    /// `contextTransform`: makes the context that the grader reads.
    pub context_transform: Option<Arc<Script>>,
    /// `threshold`.
    pub threshold: Option<f64>,
    /// Share of the score; 1 by default. At 0 the assertion can't fail its test.
    pub weight: f64,
    /// Named score that this one counts toward (a template).
    pub metric: Option<String>,
    /// `config`.
    pub config: Option<Map<String, Value>>,
    /// Keys beside `type` that are the grader's own: `rubricPrompt` (files loaded), `votes`.
    pub knobs: Map<String, Value>,
    /// Whom it asks, if its type asks models.
    pub judges: Judges,
    /// `when`: graded only if others before it came out so; `None`: always.
    pub when: Option<WhenCondition>,
    /// As written, for the results file; rows share it.
    pub json: Arc<Value>,
    /// Whether a row of data brought it: then its scores count from 0 to 1, whatever they are.
    pub of_data: bool,
    /// Where it stands.
    pub at: Position,
    /// Where its `value` stands; where it has none, as `at`.
    pub value_at: Position,
}

impl Assertion {
    /// The type as written, `not-` included.
    pub fn written_kind(&self) -> String {
        let not = if self.inverse { "not-" } else { "" };
        format!("{not}{}", self.kind)
    }
}

/// `when` of an assertion. What it looks at stands before it in the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhenCondition {
    /// Whether all of them must have passed, or one of them must have failed.
    pub passed: bool,
    /// Which of those before it count.
    pub of: Earlier,
}

/// Which of the entries before an assertion its `when` looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Earlier {
    /// All of them.
    All,
    /// Those of a type, as written.
    Kind(String),
    /// Those with this `metric`, as written.
    Metric(String),
}

/// A place in [`Plan::judges`](super::Plan::judges).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JudgeId(pub u32);

/// The models that an assertion asks, by kind of question; `None`: it asks none of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Judges {
    /// Answers in text.
    pub text: Option<JudgeId>,
    /// Vectors.
    pub embedding: Option<JudgeId>,
    /// Classes with scores.
    pub classification: Option<JudgeId>,
    /// Flags of harmful content.
    pub moderation: Option<JudgeId>,
}

impl Judges {
    /// `self`, and `other` where it says nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            text: self.text.or(other.text),
            embedding: self.embedding.or(other.embedding),
            classification: self.classification.or(other.classification),
            moderation: self.moderation.or(other.moderation),
        }
    }

    /// Those there are.
    pub fn all(self) -> impl Iterator<Item = JudgeId> {
        let all = [
            self.text,
            self.embedding,
            self.classification,
            self.moderation,
        ];
        all.into_iter().flatten()
    }
}
