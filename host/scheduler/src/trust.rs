//! How far the limits that a server declares are taken for the whole truth.
//!
//! A refusal although by the declared limits there was credit is a **disappointment**. A few are
//! forgiven with time, counted in accepted attempts; too many without that, and the lane looks for
//! a limit that nobody declared.

use crate::tuning::trust::{BETRAYED, FORGIVEN_AFTER, FORGOTTEN_AFTER};

/// The trust of a lane in what its server declares.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    /// Refusals against it that are not forgiven.
    pub(crate) disappointments: u32,
    /// Accepted attempts since the last episode of refusals.
    calm: u32,
}

/// What an accepted attempt makes up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amends {
    Nothing,
    /// A disappointment is forgiven.
    Forgiven,
    /// And that bursts were too much for it is forgotten.
    Forgotten,
}

impl Trust {
    /// Whether what is declared is taken for the whole truth.
    pub(crate) fn holds(&self) -> bool {
        self.disappointments < BETRAYED
    }

    /// Takes in a refusal against the declared limits.
    pub(crate) fn disappointed(&mut self) {
        self.disappointments += 1;
    }

    /// Takes in that an episode of refusals has begun, whatever explains it.
    pub(crate) fn refused(&mut self) {
        self.calm = 0;
    }

    /// Takes in an accepted attempt.
    pub(crate) fn accepted(&mut self) -> Amends {
        self.calm += 1;
        if !self.calm.is_multiple_of(FORGIVEN_AFTER) {
            return Amends::Nothing;
        }
        self.disappointments = self.disappointments.saturating_sub(1);
        if self.calm.is_multiple_of(FORGOTTEN_AFTER) {
            Amends::Forgotten
        } else {
            Amends::Forgiven
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_accepted_attempts_in_a_row_make_up_for_a_disappointment() {
        let mut trust = Trust::default();
        (0..3).for_each(|_| trust.disappointed());
        assert!(!trust.holds(), "three are too many");
        (0..99).for_each(|_| assert_eq!(trust.accepted(), Amends::Nothing));
        trust.refused();
        (0..99).for_each(|_| assert_eq!(trust.accepted(), Amends::Nothing));
        assert!(!trust.holds());
        assert_eq!(trust.accepted(), Amends::Forgiven);
        assert!(trust.holds());
    }

    #[test]
    fn a_thousand_make_up_for_bursts() {
        let mut trust = Trust::default();
        let amends: Vec<_> = (0..1000).map(|_| trust.accepted()).collect();
        let forgotten = amends
            .iter()
            .position(|amends| *amends == Amends::Forgotten);
        assert_eq!(forgotten, Some(999));
    }
}
