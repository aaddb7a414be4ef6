//! Metrics that are worked out of other metrics (`derivedMetrics`).

use std::sync::Arc;

use super::{Position, Script};
pub use crate::formula::{Formula, FormulaError};

/// One entry of `derivedMetrics`.
#[derive(Debug, Clone)]
pub struct DerivedMetric {
    /// What it is called among the named scores.
    pub name: String,
    /// How it is worked out.
    pub value: DerivedValue,
    /// Where it stands.
    pub at: Position,
}

/// How a derived metric is worked out of the sums of a column's named scores.
#[derive(Debug, Clone)]
pub enum DerivedValue {
    /// By a formula.
    Formula(Formula),
    /// By code, which is called with the sums by name.
    Code(Arc<Script>),
}
