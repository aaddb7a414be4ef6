//! What is asked of a run: whether it holds, and what it is in words. The command ends by it, and a page says it.

use crate::visible;

/// So much a mean may be beside its bound: sums of fractions are no more exact.
const TOLERANCE: f64 = 1e-9;
/// Characters of a metric's name.
const NAME_CHARS: usize = 60;

/// Whether so many of so many cases are the share that was asked for, in per cent.
pub fn passes(passed: u64, total: u64, percent: f64) -> bool {
    passed as f64 * 100.0 >= percent * total as f64
}

/// The least and the most that a metric may be in each column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricBounds {
    /// At least.
    pub min: Option<f64>,
    /// At most.
    pub max: Option<f64>,
}

impl MetricBounds {
    /// Whether a value is within them.
    pub fn hold(self, value: f64) -> bool {
        value.is_finite()
            && self.min.is_none_or(|min| value >= min - TOLERANCE)
            && self.max.is_none_or(|max| value <= max + TOLERANCE)
    }

    /// Whether they hold whatever a mean is that lies between these.
    pub fn hold_between(self, [least, most]: [f64; 2]) -> bool {
        self.hold(least) && self.hold(most)
    }

    /// Which of these is the worse one.
    pub fn worst(self, [least, most]: [f64; 2]) -> f64 {
        if self.hold(least) { most } else { least }
    }

    /// What is asked of the metric of this name, in words that are safe to show.
    pub fn wanted(self, name: &str) -> String {
        let name = visible::line(name);
        let name = visible::cut(&name, NAME_CHARS);
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{name} from {min} to {max}"),
            (Some(min), None) => format!("{name} at least {min}"),
            (None, Some(max)) => format!("{name} at most {max}"),
            (None, None) => name.into_owned(),
        }
    }
}
