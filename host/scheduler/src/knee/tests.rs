//! What a lane makes of servers that work on so many requests at once, in order or not.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::chance::Chance;

/// How a server works on what it has taken.
#[derive(Clone, Copy)]
enum Service {
    /// So many at once, the others in order.
    Slots(usize),
    /// All at once, each as many times slower as there are more than so many.
    Shared(usize),
}

/// A request at a server.
struct Out {
    sent: u64,
    among: u32,
    /// What is left to be done, in ms of a server that does nothing else.
    work: f64,
}

/// A server, and what a lane makes of it that always has more to send.
struct Served {
    knee: Knee,
    service: Service,
    size: u32,
    /// In the order of sending.
    out: VecDeque<Out>,
    /// The window at each answer.
    sizes: Vec<u32>,
    now: u64,
    limited: bool,
}

impl Served {
    fn new(service: Service) -> Self {
        Self {
            knee: Knee::default(),
            service,
            size: 4,
            out: VecDeque::new(),
            sizes: Vec::new(),
            now: 0,
            limited: false,
        }
    }

    fn send(&mut self, work: &mut impl FnMut() -> u64) {
        while (self.out.len() as u32) < self.size {
            let among = self.out.len() as u32 + 1;
            self.knee.sent(among);
            self.out.push_back(Out {
                sent: self.now,
                among,
                work: work() as f64,
            });
        }
    }

    /// How many are worked on, and how much of each is done in a millisecond.
    fn speed(&self) -> (usize, f64) {
        let out = self.out.len();
        match self.service {
            Service::Slots(slots) => (out.min(slots), 1.0),
            Service::Shared(whole) => (out, (whole as f64 / out as f64).min(1.0)),
        }
    }

    /// Answers so many, each after `work` of the server; the window is no larger than 256.
    fn answer(&mut self, count: usize, mut work: impl FnMut() -> u64) {
        for _ in 0..count {
            self.send(&mut work);
            let (busy, speed) = self.speed();
            let left = |index: &usize| self.out[*index].work;
            let next = (0..busy).min_by(|a, b| left(a).total_cmp(&left(b)));
            let next = next.expect("some are out");
            let done = left(&next);
            self.now += (done / speed) as u64;
            self.out
                .iter_mut()
                .take(busy)
                .for_each(|out| out.work -= done);
            let out = self.out.len() as u32;
            let ended = self.out.remove(next).expect("it is there");
            self.knee.gone(ended.among);
            let came = AnsweredAttempt {
                among: ended.among,
                took: Duration::from_millis(self.now - ended.sent),
                ahead: ended.among - 1,
                rank: next as u32 + 1,
                beside: 0,
                out,
                filled: true,
                bounds: (1, 256),
                limited: self.limited,
            };
            match self.knee.answered(came, self.size) {
                Advice::Stay => {}
                Advice::Grow(places) => self.size = (self.size + places).min(256),
                Advice::Turn(to) => self.size = to.min(256),
            }
            self.sizes.push(self.size);
        }
    }
}

/// Spans around 300 ms that differ by factors: e^(N / 2), roughly.
fn mixed(seed: u64) -> impl FnMut() -> u64 {
    let mut chance = Chance::new(seed);
    move || {
        let sum: u64 = (0..12).map(|_| chance.below(1000)).sum();
        let octaves = (sum as f64 / 1000.0 - 6.0) * 0.72;
        (300.0 * octaves.exp2()) as u64
    }
}

/// The window at the tenth, the half and nine tenths of what twenty lanes had after a while.
fn windows(service: Service, answers: usize) -> [u32; 3] {
    let mut sizes = Vec::new();
    for seed in 0..20 {
        let mut served = Served::new(service);
        served.answer(answers, mixed(seed));
        sizes.extend_from_slice(&served.sizes[answers / 2..]);
    }
    sizes.sort_unstable();
    [10, 50, 90].map(|percent| sizes[sizes.len() * percent / 100])
}

#[test]
fn slots_are_kept_busy_and_little_waits_for_them() {
    for (slots, answers) in [(1, 200), (2, 200), (8, 800), (64, 3000)] {
        let [least, middle, most] = windows(Service::Slots(slots as usize), answers);
        assert!(least >= slots, "{slots} slots: {least}");
        assert!(middle <= slots * 3 / 2 + 1, "{slots} slots: {middle}");
        assert!(most <= slots * 9 / 4 + 2, "{slots} slots: {most}");
    }
}

#[test]
fn a_lane_opens_by_answers_and_floods_nobody() {
    for seed in 0..50 {
        let mut served = Served::new(Service::Slots(1));
        served.answer(60, mixed(seed));
        let most = *served.sizes.iter().max().expect("there are some");
        assert!(most <= 16, "{most} with seed {seed}");
    }
}

#[test]
fn a_server_that_works_on_all_at_once_is_found_by_how_long_it_takes() {
    let [_, middle, most] = windows(Service::Shared(4), 1500);
    assert!(middle <= 24 && most <= 48, "{middle}, {most}");
}

#[test]
fn where_something_else_limits_the_lane_only_the_order_tells() {
    let windows = |limited| {
        let window = |seed| {
            let mut served = Served::new(Service::Shared(4));
            served.limited = limited;
            served.answer(600, mixed(seed));
            served.size
        };
        let mut windows: Vec<u32> = (0..20).map(window).collect();
        windows.sort_unstable();
        windows[10]
    };
    let (free, limited) = (windows(false), windows(true));
    assert!(limited > free, "{limited}, {free}");
}

#[test]
fn a_server_without_a_queue_gets_more_and_more() {
    for seed in 0..50 {
        let mut served = Served::new(Service::Slots(600));
        served.answer(1200, mixed(seed));
        assert_eq!(served.size, 256, "{seed}");
    }
    let mut served = Served::new(Service::Slots(600));
    served.answer(600, || 300);
    assert_eq!(
        served.size, 256,
        "and so does one whose answers all take the same"
    );
}

#[test]
fn where_answers_become_slower_by_themselves_it_returns() {
    for seed in 0..20 {
        let mut served = Served::new(Service::Slots(600));
        served.answer(600, mixed(seed));
        let mut work = mixed(seed + 100);
        served.answer(3000, || 8 * work());
        assert!(served.size >= 128, "{} with seed {seed}", served.size);
    }
}

#[test]
fn a_queue_that_takes_less_than_a_tenth_of_a_second_is_nobody_s_trouble() {
    let mut served = Served::new(Service::Slots(8));
    served.answer(2000, || 1);
    assert_eq!(served.knee.found(), None);
    assert!(served.size >= 8, "{}", served.size);
}

#[test]
fn slots_that_are_added_are_found() {
    let mut served = Served::new(Service::Slots(2));
    let mut work = mixed(7);
    served.answer(300, &mut work);
    assert!(served.size <= 6, "{}", served.size);
    served.service = Service::Slots(16);
    served.answer(3000, &mut work);
    assert!(served.size >= 16, "{}", served.size);
}

#[test]
fn what_spaces_the_attempts_makes_a_queue_of_nothing() {
    let mut knee = Knee::default();
    for n in 1..=1000 {
        let among = 4 + n / 20;
        let came = AnsweredAttempt {
            among,
            took: Duration::from_millis(100 * u64::from(among)),
            ahead: among - 1,
            rank: 1,
            beside: 0,
            out: among,
            filled: true,
            bounds: (1, 256),
            limited: false,
        };
        knee.spaced();
        assert!(!matches!(knee.answered(came, among), Advice::Turn(_)));
    }
}

#[test]
fn what_takes_as_long_as_itself_is_no_base() {
    let mut octaves = Octaves::default();
    for among in 4..8 {
        octaves.answered(among, 12_000);
    }
    assert_eq!(octaves.base_below(4, 4), None);
    octaves.answered(1, 10_000);
    octaves.answered(2, 11_000);
    let base = octaves.base_below(4, 4).map(|base| base.taken);
    assert_eq!(base, Some(10_500), "few answers count together");
}

#[test]
fn only_what_was_held_against_fewer_says_how_many_at_once_paid() {
    let mut served = Served::new(Service::Slots(1));
    served.answer(4, || 300);
    assert_eq!(
        served.knee.paid(),
        0,
        "each took as long as there were before it"
    );
    let mut served = Served::new(Service::Slots(256));
    served.answer(1, || 300);
    assert_eq!(
        served.knee.paid(),
        0,
        "there is nothing to hold the first against"
    );
    served.answer(15, || 300);
    assert!(served.knee.paid() >= 4);
    served.knee.interrupt();
    assert_eq!(served.knee.paid(), 0);
}

#[test]
fn what_was_spaced_is_what_a_queue_is_held_against() {
    let sizes = [false, true].map(|spaced| {
        let mut served = Served::new(Service::Slots(1));
        served.limited = true;
        served.answer(3, || 300);
        // As after a refusal: nothing is known of fewer in flight, but for what was spaced.
        served.knee.octaves.forget();
        served.knee.shortest = i64::MAX;
        if spaced {
            served.knee.base_on(1, Duration::from_millis(300));
        }
        served.answer(40, || 300);
        served.sizes.iter().copied().max()
    });
    assert!(
        sizes[0] > Some(4),
        "with nothing to hold it against, each answer pays"
    );
    assert_eq!(sizes[1], Some(4));
}

#[test]
fn few_answers_may_be_alike_by_chance() {
    let mut octaves = Octaves::default();
    let vary = |octaves: &mut Octaves, answers: u32| {
        (0..answers).for_each(|_| octaves.answered(1, 10_000));
        octaves.vary(ALIKE)
    };
    assert!(vary(&mut octaves, FEWEST));
    assert!(!vary(&mut octaves, 1));
}

#[test]
fn one_quick_answer_is_no_base_and_thirty_are() {
    let mut octaves = Octaves::default();
    octaves.answered(1, 10_000);
    let far = |octaves: &Octaves| octaves.base(1).map(|base| base.taken - 10_000);
    assert_eq!(
        far(&octaves),
        Some(737),
        "by a factor of 1.65 it may be off"
    );
    for _ in 1..30 {
        octaves.answered(1, 10_000);
    }
    assert_eq!(far(&octaves), Some(0), "all took the same");
    octaves.sent(2);
    octaves.sent(2);
    octaves.answered(2, 5000);
    assert_eq!(far(&octaves), Some(0), "the quick one of two has come back");
}

#[test]
fn logarithms_and_powers_are_each_other_s_inverse() {
    for of in (1..100).chain([1000, 65_536]) {
        assert_eq!(exp2(log2(of.into())), of);
    }
    assert_eq!((log2(0), exp2(-5000), exp2(40_000)), (0, 1, 1 << 30));
}

proptest! {
    #[test]
    fn whatever_answers_say_the_window_asked_for_is_one_that_may_be(
        answers in proptest::collection::vec(
            (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<bool>()),
            1..400,
        ),
    ) {
        let mut knee = Knee::default();
        let mut size = 4_u32;
        for (among, took, rank, out, limited) in answers {
            let came = AnsweredAttempt {
                among: among.max(1),
                took: Duration::from_nanos(took),
                ahead: among,
                rank: rank.max(1),
                beside: 0,
                out: out.max(1),
                filled: true,
                bounds: (1, 256),
                limited,
            };
            knee.sent(came.among);
            knee.gone(came.among);
            match knee.answered(came, size) {
                Advice::Stay => {}
                Advice::Grow(places) => size = size.saturating_add(places).min(256),
                Advice::Turn(to) => {
                    prop_assert!(to >= 1);
                    size = to.min(256);
                }
            }
        }
    }
}
