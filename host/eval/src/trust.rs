//! What a run needs the person's agreement for, and whether they have given it.
//!
//! Pure: who is asked, and where answers are remembered, is the command's business. What a run
//! needs is found while it is prepared; nothing of it is sent, written or run before every
//! [`Need`] is covered by [`Agreements`], see [`PreparedRun::settle`](crate::PreparedRun::settle).

use std::collections::BTreeSet;

use runner_config::plan::EnvRead;
pub use runner_config::{Agreements, Author, Level, TrustAgreement};
use runner_config::{TextOrigin, TrustRequest, TrustSubject};

/// Something that has to be agreed to before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What, and who wants it where.
    pub request: TrustRequest,
    /// Of a component that wants what nobody granted: the refusal (P009) with the YAML that grants
    /// it. Agreeing to the need grants it as well.
    pub not_granted: Option<String>,
}

impl Need {
    /// A need without more to say.
    pub fn of(request: TrustRequest) -> Self {
        Self {
            request,
            not_granted: None,
        }
    }

    /// Of a variable that what it is given to may keep, or answer with.
    pub(crate) fn keep(read: &EnvRead) -> Self {
        Self::of(TrustRequest::keep(&read.name, &read.at))
    }

    /// Whether the person wants it: it needs no agreement.
    pub fn is_persons(&self) -> bool {
        self.request.origin == TextOrigin::Person && self.not_granted.is_none()
    }

    /// Whether a program of the person's machine is to be run.
    pub fn is_program(&self) -> bool {
        matches!(self.request.subject, TrustSubject::Program { .. })
    }

    /// What agreeing to it means.
    pub fn agreed(&self) -> TrustAgreement {
        self.request.agreed()
    }

    /// Whether it is agreed to. What nobody has written down is not trusted unseen.
    pub(crate) fn is_covered(&self, agreements: &Agreements) -> bool {
        if self.not_granted.is_some() {
            agreements.name(&self.request)
        } else {
            agreements.cover(&self.request)
        }
    }
}

/// Each need once, at the first place that has it, in the order of places.
pub(crate) fn each_once(needs: Vec<Need>) -> Vec<Need> {
    let mut known = BTreeSet::new();
    let mut needs = needs;
    needs.sort_by(|one, other| one.request.at.cmp(&other.request.at));
    needs.retain(|need| known.insert(need.agreed()));
    needs
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use runner_config::plan::Position;

    use super::*;

    fn need(name: &str, origin: TextOrigin) -> Need {
        Need::of(TrustRequest {
            subject: TrustSubject::Variable {
                name: name.to_owned(),
                to: "https://a.example".to_owned(),
            },
            origin,
            at: Position::default(),
        })
    }

    fn data() -> TextOrigin {
        TextOrigin::data(Path::new("rows.csv"), "/evals/rows.csv".into())
    }

    #[test]
    fn what_is_trusted_unseen_covers_its_own_origin_and_those_above() {
        let table = [
            (Level::Nothing, [true, false, false]),
            (Level::Config, [true, true, false]),
            (Level::Data, [true, true, true]),
        ];
        for (level, expected) in table {
            let agreements = Agreements {
                level,
                ..Agreements::default()
            };
            let origins = [TextOrigin::Person, TextOrigin::Config, data()];
            let covered = origins.map(|origin| need("X", origin).is_covered(&agreements));
            assert_eq!(covered, expected, "{level:?}");
        }
    }

    #[test]
    fn one_agreement_covers_exactly_what_it_says_for_who_said_it() {
        let agreements = Agreements {
            level: Level::Nothing,
            agreed: [need("X", TextOrigin::Config).agreed()].into(),
        };
        assert!(need("X", TextOrigin::Config).is_covered(&agreements));
        assert!(!need("X", data()).is_covered(&agreements));
        assert!(!need("Y", TextOrigin::Config).is_covered(&agreements));
        let mut elsewhere = need("X", TextOrigin::Config);
        elsewhere.request.subject = TrustSubject::Variable {
            name: "X".to_owned(),
            to: "https://a.example:8443".to_owned(),
        };
        assert!(!elsewhere.is_covered(&agreements));
    }

    #[test]
    fn what_rows_of_one_file_may_do_rows_of_another_may_not() {
        let agreements = Agreements {
            level: Level::Nothing,
            agreed: [need("X", data()).agreed()].into(),
        };
        let named = |shown: &str, real: &str| TextOrigin::data(Path::new(shown), real.into());
        assert!(need("X", named("../rows.csv", "/evals/rows.csv")).is_covered(&agreements));
        assert!(!need("X", named("rows.csv", "/evals/more/rows.csv")).is_covered(&agreements));
        assert!(!need("X", TextOrigin::Config).is_covered(&agreements));
    }

    #[test]
    fn nothing_unseen_grants_what_nobody_wrote_down() {
        let mut ungranted = need("X", TextOrigin::Person);
        ungranted.not_granted = Some("P009".to_owned());
        let mut agreements = Agreements {
            level: Level::Data,
            ..Agreements::default()
        };
        assert!(!ungranted.is_covered(&agreements));
        agreements.agreed.insert(ungranted.agreed());
        assert!(ungranted.is_covered(&agreements));
    }

    #[test]
    fn a_need_that_stands_twice_is_asked_for_once_for_each_author() {
        let needs = vec![
            need("X", TextOrigin::Config),
            need("X", TextOrigin::Config),
            need("X", data()),
        ];
        assert_eq!(each_once(needs).len(), 2);
    }

    #[test]
    fn needs_are_in_the_order_of_their_places() {
        let at = |name: &str, line| {
            let mut need = need(name, TextOrigin::Config);
            need.request.at.line = line;
            need
        };
        let needs = each_once(vec![at("B", 9), at("A", 2), at("B", 1)]);
        let lines: Vec<u32> = needs.iter().map(|need| need.request.at.line).collect();
        assert_eq!(lines, [1, 2]);
    }
}
