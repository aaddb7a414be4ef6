//! How a window grows, shrinks and waits.

use proptest::prelude::*;

use super::*;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn window() -> Window {
    Window::new(LanePolicy::default(), Time::ZERO)
}

/// Ends `count` attempts well with the window full.
fn clean(window: &mut Window, count: u32) {
    for _ in 0..count {
        window.succeed(ms(0), window.size());
    }
}

/// Who asked for so many.
fn asked(start_window: u32) -> Window {
    let policy = LanePolicy {
        start_window,
        ..LanePolicy::default()
    };
    Window::new(policy, Time::ZERO)
}

/// Nothing was heard since the start.
const SILENT: LastAnswer = LastAnswer {
    at: Time::ZERO,
    took: Duration::ZERO,
};

/// What it becomes by waiting until then.
fn waited(window: &mut Window, known: ServerKnowledge, until: u64) -> u32 {
    let mut now = Time::ZERO;
    while let Some(due) = window.grow_when_due(now, known, SILENT)
        && due <= ms(until)
    {
        now = due;
    }
    window.size()
}

#[test]
fn it_opens_with_four_or_with_up_to_twenty_of_those_who_were_asked_for() {
    let sizes = [4, 20, 100].map(|start| asked(start).size());
    assert_eq!(sizes, [4, 20, 20]);
}

#[test]
fn what_was_asked_for_is_there_within_a_third_of_a_second() {
    let answers = ServerKnowledge::Answers;
    assert_eq!(waited(&mut asked(100), answers, 150), 46);
    assert_eq!(waited(&mut asked(100), answers, 300), 100);
    assert_eq!(waited(&mut asked(100), answers, 4999), 100, "and no more");
}

#[test]
fn where_nothing_is_heard_one_more_is_tried_after_ever_longer_waits() {
    for known in [
        ServerKnowledge::Answers,
        ServerKnowledge::Queue,
        ServerKnowledge::Refusals(Duration::from_secs(1)),
        ServerKnowledge::Limits(0),
    ] {
        let sizes = [4999, 5000, 9999, 10_000, 20_000, 39_999]
            .map(|until| waited(&mut window(), known, until));
        assert_eq!(sizes, [4, 5, 5, 6, 7, 7]);
    }
    let heard = LastAnswer {
        at: ms(1000),
        took: Duration::from_secs(5),
    };
    let due = window().grow_when_due(ms(1000), ServerKnowledge::Queue, heard);
    assert_eq!(
        due,
        Some(ms(21_000)),
        "four times as long as an answer takes"
    );
}

#[test]
fn answers_widen_it_up_to_its_ceiling() {
    let mut window = window();
    window.add(2);
    assert_eq!(window.size(), 6);
    window.add(1000);
    assert_eq!(window.size(), 256);
    window.limit(16, ms(0));
    window.add(2);
    assert_eq!(window.size(), 16, "it is known how many it takes");
    assert!(window.is_used(13) && !window.is_used(12));
}

#[test]
fn declared_limits_let_it_out_of_the_way_as_far_as_answers_paid() {
    let mut window = window();
    assert_eq!(
        window.grow_when_due(ms(5), ServerKnowledge::Limits(4), SILENT),
        Some(Time::ZERO + Duration::from_micros(11_250))
    );
    assert_eq!(waited(&mut window, ServerKnowledge::Limits(4), 1000), 16);
    assert_eq!(waited(&mut window, ServerKnowledge::Limits(16), 2000), 64);
}

#[test]
fn after_a_refusal_only_what_was_asked_for_comes_back_by_waiting() {
    let refusals = ServerKnowledge::Refusals(Duration::ZERO);
    let mut window = asked(20);
    window.halve(ms(0));
    assert_eq!(waited(&mut window, refusals, 4999), 20);
}

#[test]
fn a_refusal_begins_a_new_spell() {
    let mut window = window();
    window.halve(ms(0));
    window.begin_spell(ms(200));
    let quiet = Duration::from_secs(1);
    assert_eq!(
        window.grow_when_due(ms(201), ServerKnowledge::Refusals(quiet), SILENT),
        Some(ms(325))
    );
}

#[test]
fn it_stops_at_its_ceiling() {
    let mut window = Window::new(
        LanePolicy {
            max_window: 6,
            ..LanePolicy::default()
        },
        Time::ZERO,
    );
    assert_eq!(waited(&mut window, ServerKnowledge::Limits(4), 9000), 6);
    assert_eq!(
        window.grow_when_due(ms(9000), ServerKnowledge::Limits(4), SILENT),
        None
    );
}

#[test]
fn a_cut_halves_and_never_goes_below_the_floor() {
    let mut window = window();
    window.halve(ms(1));
    assert_eq!(window.size(), 2);
    for _ in 0..5 {
        window.halve(ms(1));
    }
    assert_eq!(window.size(), 1);
}

#[test]
fn an_idle_window_does_not_grow() {
    let mut window = window();
    window.limit(3, ms(1));
    for _ in 0..100 {
        window.succeed(ms(2), 1);
    }
    assert_eq!(window.size(), 3);
}

#[test]
fn each_confirmation_of_a_parallel_limit_doubles_the_rounds_before_the_next_try() {
    let mut window = window();
    window.resize(64, ms(0));
    window.limit(16, ms(1));
    assert_eq!(window.size(), 16);
    assert_eq!(
        window.grow_when_due(ms(9000), ServerKnowledge::Limits(u32::MAX), SILENT),
        None,
        "not by waiting"
    );
    clean(&mut window, 31);
    assert_eq!(window.size(), 16);
    clean(&mut window, 1);
    assert_eq!(window.size(), 17);
    window.limit(16, ms(2));
    clean(&mut window, 63);
    assert_eq!(window.size(), 16);
}

#[test]
fn the_largest_window_stays_the_largest() {
    let policy = LanePolicy {
        max_window: u32::MAX,
        ..LanePolicy::default()
    };
    let mut window = Window::new(policy, ms(0));
    window.resize(u32::MAX - 1, ms(0));
    assert_eq!(
        window.grow_when_due(ms(9000), ServerKnowledge::Limits(u32::MAX), SILENT),
        Some(ms(9000))
    );
    assert_eq!(window.size(), u32::MAX);
    assert_eq!(
        window.grow_when_due(ms(18_000), ServerKnowledge::Limits(u32::MAX), SILENT),
        None
    );
    window.add(u32::MAX);
    assert_eq!(window.size(), u32::MAX);
    assert!(window.is_used(u32::MAX) && !window.is_used(u32::MAX / 2));
}

/// Something that happens to a window.
#[derive(Debug, Clone)]
enum Happening {
    Held(ServerKnowledge, LastAnswer),
    Succeeds(u32),
    Added(u32),
    Resized(u32),
    Halved,
    Limited(u32),
    Freed,
    Obeys(LanePolicy),
}

/// Few, or as many as there can be.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..300_u32, 1 => any::<u32>(), 1 => Just(0), 1 => Just(u32::MAX)]
}

/// How long something takes: moments mostly, and now and then for ever.
fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..10_000_000_000_u64, 1 => any::<u64>()]
}

fn policy() -> impl Strategy<Value = LanePolicy> {
    let policy = |(start_window, min_window, max_window)| LanePolicy {
        start_window,
        min_window,
        max_window,
        ..LanePolicy::default()
    };
    (number(), number(), number()).prop_map(policy)
}

fn heard() -> impl Strategy<Value = LastAnswer> {
    (nanos(), nanos()).prop_map(|(at, took)| LastAnswer {
        at: Time::from_nanos(at),
        took: Duration::from_nanos(took),
    })
}

fn known() -> impl Strategy<Value = ServerKnowledge> {
    prop_oneof![
        Just(ServerKnowledge::Answers),
        Just(ServerKnowledge::Queue),
        nanos().prop_map(|quiet| ServerKnowledge::Refusals(Duration::from_nanos(quiet))),
        number().prop_map(ServerKnowledge::Limits),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (known(), heard()).prop_map(|(known, heard)| Happening::Held(known, heard)),
        2 => number().prop_map(Happening::Succeeds),
        2 => number().prop_map(Happening::Added),
        1 => number().prop_map(Happening::Resized),
        2 => Just(Happening::Halved),
        2 => number().prop_map(Happening::Limited),
        1 => Just(Happening::Freed),
        1 => policy().prop_map(Happening::Obeys),
    ]
}

proptest! {
    #[test]
    fn it_stays_between_floor_and_ceiling_whatever_happens(
        first in policy(),
        steps in prop::collection::vec((happening(), nanos()), 1..60),
    ) {
        let mut policy = first;
        let mut now = Time::ZERO;
        let mut window = Window::new(policy, now);
        for (happening, pause) in steps {
            now = now + Duration::from_nanos(pause);
            let before = window.size();
            let bounds = |policy: LanePolicy| {
                let ceiling = policy.max_window.max(1);
                (policy.min_window.clamp(1, ceiling), ceiling)
            };
            let (floor, ceiling) = bounds(policy);
            let allowed = match happening {
                Happening::Held(known, heard) => {
                    let grows = window.grow_when_due(now, known, heard).is_some_and(|due| due <= now);
                    prop_assert_eq!(grows, window.size() > before);
                    before..=before.saturating_add((before / 11).max(1))
                }
                Happening::Succeeds(others) => {
                    window.succeed(now, others);
                    before..=before.saturating_add(1)
                }
                Happening::Added(places) => {
                    window.add(places);
                    before..=before.saturating_add(places)
                }
                Happening::Resized(size) => {
                    window.resize(size, now);
                    size.clamp(floor, ceiling)..=size.clamp(floor, ceiling)
                }
                Happening::Halved => {
                    window.halve(now);
                    let half = (before / 2).max(floor);
                    half..=half
                }
                Happening::Limited(parallel) => {
                    window.limit(parallel, now);
                    let fit = parallel.min(before).max(floor);
                    fit..=fit
                }
                Happening::Freed => {
                    window.free(now);
                    before..=before
                }
                Happening::Obeys(other) => {
                    policy = policy.tighter(other);
                    window.obey(policy);
                    let fit = before.min(policy.max_window).max(1);
                    fit..=fit
                }
            };
            prop_assert!(allowed.contains(&window.size()), "{} of {allowed:?}", window.size());
            let (floor, ceiling) = bounds(policy);
            prop_assert!((floor..=ceiling).contains(&window.size()));
        }
    }
}
