//! What holds of a gate whatever happens to it.

use proptest::prelude::*;

use super::*;

/// Something that happens to a gate.
#[derive(Debug, Clone)]
enum Happening {
    Sends,
    Refused(Option<Duration>, bool),
    Ends(Class),
    /// For a quota that is filled again after so many milliseconds.
    RunsOut(u64),
    Cancelled,
}

fn happening() -> impl Strategy<Value = Happening> {
    let wish = prop::option::of((0_u64..3_000_000).prop_map(Duration::from_secs));
    let class = prop_oneof![
        20 => Just(Class::Transient),
        5 => Just(Class::Ok),
        5 => Just(Class::Permanent),
        5 => Just(Class::Throttled),
        5 => Just(Class::Timeout),
        1 => Just(Class::Auth),
        1 => Just(Class::NotFound),
        1 => Just(Class::QuotaExhausted),
    ];
    prop_oneof![
        3 => Just(Happening::Sends),
        1 => (wish, any::<bool>()).prop_map(|(asked, same)| Happening::Refused(asked, same)),
        4 => class.prop_map(Happening::Ends),
        1 => Just(Happening::Cancelled),
        1 => (0_u64..40_000).prop_map(Happening::RunsOut),
    ]
}

impl Watched {
    fn meets(&mut self, now: u64, age: u64, happening: &Happening) {
        let sent = now.saturating_sub(age);
        match happening {
            Happening::Sends => {
                self.sends(now);
            }
            Happening::Refused(asked, same) => self.gate.block(at(now), *asked, None, *same),
            Happening::Ends(class) => {
                self.ends(now, sent, *class);
            }
            Happening::RunsOut(wait) => self.runs_out(now, Some(now + wait)),
            Happening::Cancelled => self.gate.lost_probe(at(sent)),
        }
    }

    fn holder(&self) -> Holder {
        match self.gate.holding {
            Holding::Nothing => Holder::Nobody,
            Holding::Refused { .. } => Holder::Backoff,
            Holding::Broken(_) => Holder::Breaker,
            Holding::Ended(_) => Holder::End,
        }
    }
}

/// Who holds a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Nobody,
    Backoff,
    Breaker,
    End,
}

/// Who may hold it after that, who held it before.
fn next(before: Holder, happening: &Happening) -> Vec<Holder> {
    use Holder::{Backoff, Breaker, End, Nobody};
    let ends = matches!(
        happening,
        Happening::RunsOut(_)
            | Happening::Ends(Class::Auth | Class::NotFound | Class::QuotaExhausted)
    );
    let mut next = match (before, happening) {
        (End, Happening::Ends(Class::Ok)) => vec![End, Nobody],
        (End, Happening::Sends) => vec![End, Backoff],
        (End, _) => vec![End],
        (_, Happening::Refused(..)) => vec![Backoff],
        (Nobody, Happening::Ends(Class::Transient)) => vec![Nobody, Breaker],
        (_, Happening::Cancelled | Happening::Ends(Class::Timeout | Class::Transient)) => {
            vec![before]
        }
        (_, Happening::Sends | Happening::RunsOut(_) | Happening::Ends(_)) => vec![before, Nobody],
    };
    if ends {
        next.push(End);
    }
    next
}

type Steps = Vec<(Happening, u64, u64)>;

/// What happens, how long after the step before, and how old the attempt is.
fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec((happening(), 0_u64..5000, 0_u64..5000), 1..60)
}

proptest! {
    #[test]
    fn who_is_held_knows_a_later_time_at_which_it_is_not(steps in steps()) {
        let mut lane = Watched::new();
        let mut now = 0;
        for (happening, pause, age) in steps {
            now += pause;
            lane.meets(now, age, &happening);
            if let Some(HoldReason::Until(time, _)) = lane.gate.check(at(now), QUIET, false) {
                prop_assert!(time > at(now));
                now = (time - Time::ZERO).as_nanos().div_ceil(1_000_000) as u64;
                prop_assert_eq!(lane.gate.check(at(now), QUIET, false), None);
            }
        }
    }

    #[test]
    fn one_thing_holds_at_a_time_and_takes_turns_by_the_rules(steps in steps()) {
        let mut lane = Watched::new();
        let mut now = 0;
        for (happening, pause, age) in steps {
            now += pause;
            let before = lane.holder();
            lane.meets(now, age, &happening);
            let after = lane.holder();
            prop_assert!(next(before, &happening).contains(&after), "{before:?} {happening:?} {after:?}");
            let gate = &mut lane.gate;
            prop_assert_eq!(gate.is_broken(), after == Holder::Breaker);
            prop_assert_eq!(gate.is_broken(), after == Holder::Breaker);
            let is_held = matches!(after, Holder::Breaker | Holder::Backoff);
            prop_assert!(is_held || gate.in_vain().is_none());
            let blocked = gate.blocked_until();
            let said = match gate.check(at(now), QUIET, false) {
                None => None,
                Some(HoldReason::Ended(_)) => Some(Holder::End),
                Some(HoldReason::Until(_, WaitReason::Broken)) => Some(Holder::Breaker),
                Some(HoldReason::Until(until, _)) => {
                    prop_assert!(blocked.is_none_or(|known| known == until));
                    Some(Holder::Backoff)
                }
            };
            prop_assert!(said.is_none_or(|said| said == after), "{said:?} {after:?}");
        }
    }
}
