use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::chance::Chance;

/// A server that works on `slots` at once, and what a lane makes of it: it is kept full.
struct Served {
    knee: Knee,
    size: u32,
    /// When each slot is free.
    slots: Vec<u64>,
    /// When an attempt was sent, as one of how many, and when it is answered; in the order of sending.
    out: VecDeque<(u64, u32, u64)>,
    sizes: Vec<u32>,
    now: u64,
}

impl Served {
    fn new(slots: u32) -> Self {
        Self {
            knee: Knee::default(),
            size: 4,
            slots: vec![0; slots as usize],
            out: VecDeque::new(),
            sizes: Vec::new(),
            now: 0,
        }
    }

    /// Answers so many, each after `work` of the server; the window is no larger than 256.
    fn answer(&mut self, count: usize, mut work: impl FnMut() -> u64) {
        let mut eighths = 0;
        for _ in 0..count {
            while (self.out.len() as u32) < self.size {
                let slot = self.slots.iter_mut().min().expect("there is one");
                *slot = self.now.max(*slot) + work();
                let end = *slot;
                let among = self.out.len() as u32 + 1;
                self.out.push_back((self.now, among, end));
            }
            let next = (0..self.out.len()).min_by_key(|index| self.out[*index].2);
            let next = next.expect("some are out");
            let out = self.out.len() as u32;
            let (sent, among, end) = self.out.remove(next).expect("it is there");
            self.now = end;
            let came = Came {
                among,
                took: Duration::from_millis(end - sent),
                rank: next as u32 + 1,
                out,
            };
            match self.knee.answered(came, self.size) {
                Finding::Stay => {}
                Finding::Grow { eighths: more } => eighths += more,
                Finding::Shrink(to) | Finding::Return(to) => self.size = to,
            }
            if eighths >= 8 {
                eighths = 0;
                self.size = (self.size + 1).min(256);
            }
            self.sizes.push(self.size);
        }
    }

    /// The largest and the smallest window of the newest answers.
    fn between(&self, newest: usize) -> (u32, u32) {
        let newest = &self.sizes[self.sizes.len() - newest..];
        let least = newest.iter().min().expect("there are some");
        (*least, *newest.iter().max().expect("there are some"))
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

#[test]
fn one_slot_is_found_with_the_first_four_answers() {
    let mut served = Served::new(1);
    served.answer(4, || 300);
    assert_eq!((served.size, served.between(4)), (2, (2, 4)));
    served.answer(200, || 300);
    assert_eq!(served.between(200), (2, 2));
    assert_eq!(served.knee.found(), Some(2));
}

#[test]
fn slots_are_kept_busy_and_little_waits_for_them() {
    for (slots, most_of_the_time) in [(1, 4), (8, 20), (64, 160)] {
        let mut sizes = Vec::new();
        for seed in 0..20 {
            let mut served = Served::new(slots);
            served.answer(1500, mixed(seed));
            sizes.extend_from_slice(&served.sizes[500..]);
        }
        sizes.sort_unstable();
        let at = |percent: usize| sizes[sizes.len() * percent / 100];
        let (least, middle, most) = (at(10), at(50), at(90));
        assert!(least * 4 >= slots * 3, "{slots} slots: {least}");
        assert!(middle >= slots, "{slots} slots: {middle}");
        assert!(most <= most_of_the_time, "{slots} slots: {most}");
    }
}

#[test]
fn a_server_without_a_queue_gets_more_and_more() {
    for seed in 0..20 {
        let mut served = Served::new(600);
        served.answer(2000, mixed(seed));
        assert_eq!(served.size, 256, "{seed}");
    }
}

#[test]
fn answers_that_all_take_the_same_overtake_nobody_and_are_no_queue() {
    let mut served = Served::new(600);
    served.answer(300, || 300);
    assert_eq!(served.size, 256);
}

#[test]
fn a_server_that_becomes_slower_for_everybody_keeps_its_window() {
    let mut served = Served::new(600);
    served.answer(100, || 300);
    let before = served.size;
    served.answer(600, || 900);
    assert!(served.size >= before, "{} of {before}", served.size);
}

#[test]
fn logarithms_and_their_powers_are_of_one_kind() {
    assert_eq!([1, 2, 1024].map(log2), [0, PARTS, 10 * PARTS]);
    for number in 1..2000 {
        assert_eq!(u64::from(exp2(log2(number))), number, "{number}");
    }
    assert_eq!(
        [-2 * PARTS, -PARTS, 0].map(exp2),
        [1, 1, 1],
        "a half is rounded up"
    );
}

proptest! {
    /// Whatever is answered, what follows is a window that somebody could use, and a trial ends.
    #[test]
    fn it_never_asks_for_nothing_or_more_than_there_was(
        answers in proptest::collection::vec((1u32..300, 1u64..100_000_000_000, 0u32..300), 1..400),
    ) {
        let mut knee = Knee::default();
        let mut size = 64;
        for (among, nanos, rank) in answers {
            let came = Came {
                among: among.min(size),
                took: Duration::from_nanos(nanos),
                rank: rank % size + 1,
                out: size,
            };
            match knee.answered(came, size) {
                Finding::Stay => {}
                Finding::Grow { eighths } => prop_assert!((1..=8).contains(&eighths)),
                Finding::Shrink(to) => {
                    prop_assert!(to >= 1 && to < size);
                    size = to;
                }
                Finding::Return(to) => {
                    prop_assert!(to > size && to <= 64);
                    size = to;
                }
            }
            prop_assert!(knee.trial.is_none_or(|trial| trial.to == size));
        }
    }
}
