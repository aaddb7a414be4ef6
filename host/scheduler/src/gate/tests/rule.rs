//! What holds of a gate whatever happens to it.

use proptest::prelude::*;

use super::*;

/// Something that happens to a gate.
#[derive(Debug, Clone)]
enum Happening {
    Sends,
    Refused(Option<Duration>, bool),
    Ends(Class),
    Cancelled,
}

fn happening() -> impl Strategy<Value = Happening> {
    let wish = prop::option::of((0_u64..3_000_000).prop_map(Duration::from_secs));
    prop_oneof![
        3 => Just(Happening::Sends),
        1 => (wish, any::<bool>()).prop_map(|(asked, same)| Happening::Refused(asked, same)),
        2 => Just(Happening::Ends(Class::Transient)),
        2 => prop_oneof![Just(Class::Ok), Just(Class::Permanent), Just(Class::Throttled), Just(Class::Timeout)]
            .prop_map(Happening::Ends),
        1 => Just(Happening::Cancelled),
    ]
}

proptest! {
    #[test]
    fn who_is_held_knows_a_later_time_at_which_it_is_not(
        steps in prop::collection::vec((happening(), 0_u64..5000, 0_u64..5000), 1..60),
    ) {
        let mut lane = Watched::new();
        let mut now = 0;
        for (happening, pause, age) in steps {
            now += pause;
            let sent = now.saturating_sub(age);
            match happening {
                Happening::Sends => {
                    lane.sends(now);
                }
                Happening::Refused(asked, same) => lane.gate.block(at(now), asked, None, same),
                Happening::Ends(class) => {
                    lane.ends(now, sent, class);
                }
                Happening::Cancelled => lane.gate.lost_probe(at(sent)),
            }
            if let Some(Held::Until(time, _)) = lane.gate.check(at(now), QUIET, false) {
                prop_assert!(time > at(now));
                now = (time - Time::ZERO).as_nanos().div_ceil(1_000_000) as u64;
                prop_assert_eq!(lane.gate.check(at(now), QUIET, false), None);
            }
        }
    }
}
