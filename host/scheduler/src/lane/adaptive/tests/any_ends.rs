//! What holds of the strategy whatever happens to its attempts.

use proptest::prelude::{
    Just, ProptestConfig, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::strategy::Strategy as Values;

use super::*;

/// Something that happens to a lane.
#[derive(Debug, Clone)]
enum Happening {
    /// So many are sent, if they may.
    Sends(usize),
    /// A limit of the user's holds back what may go.
    Held,
    /// One of those in flight ends so.
    Ends(usize, Class, Hint),
    /// Nobody wants one of them any more.
    Cancelled(usize),
}

fn hint() -> impl Values<Value = Hint> {
    let wait = prop::option::of((0_u64..100_000).prop_map(Duration::from_millis));
    let figures = (1_u64..200, 0_u64..200, 1_u64..90);
    (wait, prop::option::of(figures)).prop_map(|(retry_after, stated)| Hint {
        retry_after,
        readings: stated
            .map(|(limit, left, reset)| reading(limit, left.min(limit), Duration::from_secs(reset)))
            .into_iter()
            .collect(),
        ..Hint::default()
    })
}

fn happening() -> impl Values<Value = Happening> {
    let class = prop_oneof![
        6 => Just(Class::Ok),
        4 => Just(Class::Throttled),
        2 => Just(Class::Transient),
        1 => Just(Class::Timeout),
        1 => Just(Class::Permanent),
    ];
    prop_oneof![
        4 => (1_usize..40).prop_map(Happening::Sends),
        1 => Just(Happening::Held),
        8 => (any::<usize>(), class, hint()).prop_map(|(one, class, hint)| Happening::Ends(one, class, hint)),
        1 => any::<usize>().prop_map(Happening::Cancelled),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn asking_twice_is_asking_once_and_the_window_stays_between_its_bounds(
        steps in prop::collection::vec((happening(), 0_u64..3000), 1..80),
    ) {
        let policy = LanePolicy { min_window: 2, max_window: 40, ..LanePolicy::default() };
        let mut rig = Rig::new(policy);
        let (mut now, mut flights) = (0, Vec::new());
        for (happening, pause) in steps {
            now += pause;
            let verdict = rig.check(now);
            let asked = format!("{:?}", rig.strategy);
            prop_assert_eq!(&rig.check(now), &verdict);
            prop_assert_eq!(format!("{:?}", rig.strategy), asked);
            match happening {
                Happening::Sends(most) => {
                    let sent = rig.send(now, most);
                    prop_assert!(sent.is_empty() != matches!(verdict, Verdict::Go(_)));
                    flights.extend(sent);
                }
                Happening::Held if matches!(verdict, Verdict::Go(_)) => {
                    rig.strategy.held();
                    let goes = rig.check(now);
                    prop_assert_eq!(goes, Verdict::Go(Pass { spaced: true }), "and that is noted");
                }
                Happening::Ends(one, class, hint) if !flights.is_empty() => {
                    let flight = flights.swap_remove(one % flights.len());
                    rig.end(now, &flight, class, &hint);
                }
                Happening::Cancelled(one) if !flights.is_empty() => {
                    let flight = flights.swap_remove(one % flights.len());
                    rig.in_flight -= 1;
                    rig.strategy.cancelled(&flight);
                }
                Happening::Held | Happening::Ends(..) | Happening::Cancelled(_) => {}
            }
            prop_assert!((2..=40).contains(&rig.strategy.window()));
        }
    }
}
