//! What a run needs the person's agreement for, and whether they have given it.
//!
//! Pure: who is asked, and where answers are remembered, is the command's business. What a run
//! needs is found while it is prepared; nothing of it is sent, written or run before every
//! [`Need`] is covered by [`Agreements`], see [`Prepared::settle`](crate::Prepared::settle).

use std::collections::BTreeSet;
use std::path::PathBuf;

use runner_config::{Origin, TrustRequest, TrustSubject};
use serde::{Deserialize, Serialize};

/// Something that has to be agreed to before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What, and who wants it where.
    pub request: TrustRequest,
    /// Of a component that wants what nobody granted: the refusal (P009) with the YAML that grants
    /// it. Agreeing to the need grants it as well.
    pub not_granted: Option<String>,
}

/// Whose texts a person agrees to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The config's, and components that a flag names.
    Config,
    /// Those of this data file; its absolute path, links resolved.
    Data(PathBuf),
}

/// Something that was agreed to: exactly this, when this kind of text wants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreed {
    /// Whose text wants it.
    pub author: Author,
    /// What.
    pub subject: TrustSubject,
}

/// How much is trusted unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Nothing.
    #[default]
    Nothing,
    /// What the config says.
    Config,
    /// What the config and its data say.
    Data,
}

/// What the person agrees to.
#[derive(Debug, Clone, Default)]
pub struct Agreements {
    /// What is trusted unseen. It never grants a component what nobody has written down.
    pub level: Level,
    /// What was agreed to one by one.
    pub agreed: BTreeSet<Agreed>,
}

impl Need {
    /// A need without more to say.
    pub fn of(request: TrustRequest) -> Self {
        Self {
            request,
            not_granted: None,
        }
    }

    /// Whether the person wants it: it needs no agreement.
    pub fn is_persons(&self) -> bool {
        self.request.origin == Origin::Person && self.not_granted.is_none()
    }

    /// What agreeing to it means.
    pub fn agreed(&self) -> Agreed {
        Agreed {
            author: match &self.request.origin {
                Origin::Person | Origin::Config => Author::Config,
                Origin::Data(file) => Author::Data(file.real.clone()),
            },
            subject: self.request.subject.clone(),
        }
    }
}

impl Agreements {
    /// Whether a need is agreed to.
    pub fn cover(&self, need: &Need) -> bool {
        let unseen = match need.request.origin {
            Origin::Person => true,
            Origin::Config => self.level >= Level::Config,
            Origin::Data(_) => self.level >= Level::Data,
        };
        self.agreed.contains(&need.agreed()) || (unseen && need.not_granted.is_none())
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

    fn need(name: &str, origin: Origin) -> Need {
        Need::of(TrustRequest {
            subject: TrustSubject::Variable {
                name: name.to_owned(),
                to: "https://a.example".to_owned(),
            },
            origin,
            at: Position::default(),
        })
    }

    fn data() -> Origin {
        Origin::data(Path::new("rows.csv"), "/evals/rows.csv".into())
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
            let origins = [Origin::Person, Origin::Config, data()];
            let covered = origins.map(|origin| agreements.cover(&need("X", origin)));
            assert_eq!(covered, expected, "{level:?}");
        }
    }

    #[test]
    fn one_agreement_covers_exactly_what_it_says_for_who_said_it() {
        let agreements = Agreements {
            level: Level::Nothing,
            agreed: [need("X", Origin::Config).agreed()].into(),
        };
        assert!(agreements.cover(&need("X", Origin::Config)));
        assert!(!agreements.cover(&need("X", data())));
        assert!(!agreements.cover(&need("Y", Origin::Config)));
        let mut elsewhere = need("X", Origin::Config);
        elsewhere.request.subject = TrustSubject::Variable {
            name: "X".to_owned(),
            to: "https://a.example:8443".to_owned(),
        };
        assert!(!agreements.cover(&elsewhere));
    }

    #[test]
    fn what_rows_of_one_file_may_do_rows_of_another_may_not() {
        let agreements = Agreements {
            level: Level::Nothing,
            agreed: [need("X", data()).agreed()].into(),
        };
        let named = |shown: &str, real: &str| Origin::data(Path::new(shown), real.into());
        assert!(agreements.cover(&need("X", named("../rows.csv", "/evals/rows.csv"))));
        assert!(!agreements.cover(&need("X", named("rows.csv", "/evals/more/rows.csv"))));
        assert!(!agreements.cover(&need("X", Origin::Config)));
    }

    #[test]
    fn nothing_unseen_grants_what_nobody_wrote_down() {
        let mut ungranted = need("X", Origin::Person);
        ungranted.not_granted = Some("P009".to_owned());
        let mut agreements = Agreements {
            level: Level::Data,
            ..Agreements::default()
        };
        assert!(!agreements.cover(&ungranted));
        agreements.agreed.insert(ungranted.agreed());
        assert!(agreements.cover(&ungranted));
    }

    #[test]
    fn a_need_that_stands_twice_is_asked_for_once_for_each_author() {
        let needs = vec![
            need("X", Origin::Config),
            need("X", Origin::Config),
            need("X", data()),
        ];
        assert_eq!(each_once(needs).len(), 2);
    }

    #[test]
    fn needs_are_in_the_order_of_their_places() {
        let at = |name: &str, line| {
            let mut need = need(name, Origin::Config);
            need.request.at.line = line;
            need
        };
        let needs = each_once(vec![at("B", 9), at("A", 2), at("B", 1)]);
        let lines: Vec<u32> = needs.iter().map(|need| need.request.at.line).collect();
        assert_eq!(lines, [1, 2]);
    }
}
