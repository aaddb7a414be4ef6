//! What kind of limit refuses where none is declared: one of parallel requests, or one of rate.
//!
//! A refusal that nothing explains goes in, what follows from it comes out. No time goes in: what an
//! episode is, the lane decides.
//!
//! It looks at the number in flight. The first refusal says little. From then on
//! refusals that come at the same number each time are a matter of **parallel** requests;
//! refusals at any number, or in quick succession, are a matter of **rate**. That is for good:
//! a rate is measured better with each refusal, whatever they look like.

use std::fmt;

use crate::tuning::classifier::{SAME_HEIGHT, TOO_HASTY};

/// What kind of undeclared limit there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LimitKind {
    /// No refusal yet.
    #[default]
    Unknown,
    /// One episode, which says little.
    Suspected,
    Rate,
    Parallel,
}

/// The first refusal of an episode that nothing declared explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unexplained {
    /// Attempts in flight when the refused one was sent, itself included.
    pub(crate) in_flight: u32,
    /// It is the most that may be in flight anyway, so the number says nothing.
    pub(crate) at_ceiling: bool,
    /// As many attempts were accepted since the last episode as the window holds.
    pub(crate) earned: bool,
}

/// What follows from a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It could be either.
    Unclear,
    /// The server takes so many at once, and no more.
    Parallel(u32),
    /// Its rate was too high, however many were in flight.
    Rate,
}

/// Tells limits of parallel requests from limits of rate.
pub(crate) trait Classifier: fmt::Debug + Send {
    /// Takes in an unexplained refusal, and says what follows.
    fn refused(&mut self, refusal: Unexplained) -> Finding;

    /// Gives the kind of limit, as far as it is known.
    fn kind(&self) -> LimitKind;
}

/// Tells them by how many were in flight at each refusal, and how soon it came.
#[derive(Debug, Default)]
pub(crate) struct ByHeight {
    kind: LimitKind,
    /// How many were in flight at the last one.
    refused_at: u32,
    /// How many the server was found to take at once.
    fitted: u32,
    /// Refusals at the same height that came too soon after each other for a limit of parallel
    /// requests.
    hasty: u32,
}

impl Default for Box<dyn Classifier> {
    fn default() -> Self {
        Box::new(ByHeight::default())
    }
}

impl Classifier for ByHeight {
    fn refused(&mut self, refusal: Unexplained) -> Finding {
        let Unexplained {
            in_flight,
            at_ceiling,
            earned,
        } = refusal;
        let same_height = !at_ceiling
            && in_flight.abs_diff(self.refused_at) <= (self.refused_at / SAME_HEIGHT).max(1);
        self.refused_at = in_flight;
        match self.kind {
            LimitKind::Unknown => {
                self.kind = LimitKind::Suspected;
                return Finding::Unclear;
            }
            LimitKind::Suspected if same_height => self.kind = LimitKind::Parallel,
            LimitKind::Parallel if same_height && self.hasty < TOO_HASTY => {
                // A true limit of parallel requests doesn't refuse again at what it took.
                let tight = in_flight <= self.fitted;
                self.hasty = if earned && !tight { 0 } else { self.hasty + 1 };
            }
            _ => {
                self.kind = LimitKind::Rate;
                return Finding::Rate;
            }
        }
        self.fitted = in_flight - 1;
        Finding::Parallel(self.fitted)
    }

    fn kind(&self) -> LimitKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows from refusals at these heights, each earned or not.
    fn findings(refusals: &[(u32, bool)]) -> Vec<Finding> {
        let mut classifier = ByHeight::default();
        let refusals = refusals.iter();
        refusals
            .map(|&(in_flight, earned)| {
                classifier.refused(Unexplained {
                    in_flight,
                    at_ceiling: false,
                    earned,
                })
            })
            .collect()
    }

    #[test]
    fn refusals_at_the_same_height_are_of_parallel_requests() {
        use Finding::{Parallel, Unclear};
        let found = findings(&[(17, true), (17, true), (18, true), (17, true)]);
        assert_eq!(found, [Unclear, Parallel(16), Parallel(17), Parallel(16)]);
        let tenth = findings(&[(100, true), (110, true), (99, true)]);
        assert_eq!(tenth, [Unclear, Parallel(109), Parallel(98)]);
    }

    #[test]
    fn refusals_at_different_heights_are_of_rate_for_good() {
        use Finding::{Rate, Unclear};
        let found = findings(&[(20, true), (40, true), (40, true), (40, true)]);
        assert_eq!(found, [Unclear, Rate, Rate, Rate]);
    }

    #[test]
    fn three_hasty_refusals_at_the_same_height_are_of_rate_after_all() {
        let mut refusals = vec![(17, true), (17, true)];
        refusals.extend([(17, false); 4]);
        let found = findings(&refusals);
        let parallel = Finding::Parallel(16);
        assert_eq!(
            found[1..],
            [parallel, parallel, parallel, parallel, Finding::Rate]
        );
        let tight = findings(&[
            (17, true),
            (17, true),
            (16, true),
            (15, true),
            (14, true),
            (13, true),
        ]);
        assert_eq!(tight.last(), Some(&Finding::Rate), "it took that before");
    }

    #[test]
    fn an_earned_refusal_makes_up_for_the_hasty_ones() {
        let mut refusals = vec![(17, true), (17, true)];
        refusals.extend([(17, false), (17, false), (17, true)].repeat(3));
        assert!(!findings(&refusals).contains(&Finding::Rate));
    }

    #[test]
    fn a_height_that_is_the_ceiling_says_nothing() {
        let mut classifier = ByHeight::default();
        let refusal = Unexplained {
            in_flight: 20,
            at_ceiling: true,
            earned: true,
        };
        let found = [refusal; 3].map(|refusal| classifier.refused(refusal));
        assert_eq!(found, [Finding::Unclear, Finding::Rate, Finding::Rate]);
    }
}
