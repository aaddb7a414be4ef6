//! What may go under which budget and in which order, and that sums hold whatever happens when.

use super::*;
use crate::admission::budget::Price;
use crate::admission::tokens::{Guess, USUAL_OUTPUT};

mod interleavings;
mod retries;

const NANO: u64 = 1_000_000_000;

fn lane(n: u8) -> Lane {
    Lane {
        bucket: Some(format!("model-{n}")),
        ..Lane::default()
    }
}

fn budget(requests: Option<u64>, tokens: Option<u64>, usd: Option<u64>) -> Budget {
    Budget {
        requests,
        tokens,
        nano_usd: usd.map(|usd| usd * NANO),
    }
}

/// Of a body that is no JSON.
const NOTHING: Guess = Guess {
    input: 0,
    output: Some(0),
};

fn guess(output: Option<u64>) -> Guess {
    Guess { input: 10, output }
}

/// What whoever asks is told.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Granted(ClaimId),
    Wait,
    Refused(Exceeded),
}

/// One budget, and exchanges of provider calls in lanes.
struct Bench {
    spending: Spending,
    payers: Vec<BudgetId>,
    price: Option<Price>,
}

impl Bench {
    fn new(budget: Budget) -> Self {
        let mut spending = Spending::default();
        let payers = vec![spending.open(Owner::Run, budget)];
        Self {
            spending,
            payers,
            price: None,
        }
    }

    /// Lines up, and stays in its line.
    fn line_up(&mut self, plugin: &str, lane: Lane, guess: Guess) -> ClaimId {
        let want = Want {
            payers: self.payers.clone(),
            lane,
            guess,
            price: self.price,
            has_cost: true,
        };
        self.spending.ask(plugin, want)
    }

    /// All that is decided by now.
    fn decided(&mut self) -> Vec<(ClaimId, Result<(), Exceeded>)> {
        std::iter::from_fn(|| self.spending.decide()).collect()
    }

    /// Asks, and leaves the line where it would have to wait.
    fn ask_for(&mut self, plugin: &str, lane: Lane, guess: Guess) -> Answer {
        let id = self.line_up(plugin, lane, guess);
        let mut decided = self.decided();
        assert!(decided.iter().all(|(whose, _)| *whose == id));
        match decided.pop() {
            Some((_, Ok(()))) => Answer::Granted(id),
            Some((_, Err(why))) => Answer::Refused(why),
            None => {
                self.spending.release(id);
                Answer::Wait
            }
        }
    }

    fn ask(&mut self, in_lane: u8, guess: Guess) -> Answer {
        self.ask_for("acme", lane(in_lane), guess)
    }

    #[track_caller]
    fn granted(&mut self, in_lane: u8, guess: Guess) -> ClaimId {
        match self.ask(in_lane, guess) {
            Answer::Granted(id) => id,
            other => panic!("not granted: {other:?}"),
        }
    }

    fn spent(&self) -> Amounts {
        self.spending.list[0].spent
    }

    fn reserved(&self) -> Amounts {
        let sums = self.spending.list[0].reserved;
        sums.map(|sum| u64::try_from(sum).expect("a sum of few"))
    }

    /// One whole call.
    #[track_caller]
    fn call(&mut self, in_lane: u8, guess: Guess, output: u64, said: StatedCost) {
        let id = self.granted(in_lane, guess);
        self.spending.attempt(id).expect("a request is left");
        self.spending.ended(id, told(10, output));
        self.spending.finish(id);
        self.spending.settle(&[id], said);
    }
}

fn told(input_tokens: u64, output_tokens: u64) -> Used {
    Used::Told(Tokens {
        input_tokens,
        output_tokens,
    })
}

fn spent(measure: Measure, limit: u64, spent: u64) -> Answer {
    Answer::Refused(Exceeded::Spent {
        owner: Owner::Run,
        measure,
        limit,
        spent,
    })
}

#[test]
fn what_is_dearer_than_can_be_leaves_room_for_the_rest_when_it_is_given_back() {
    let mut bench = Bench::new(budget(Some(10), None, None));
    bench.call(0, guess(Some(1)), 1, StatedCost::Cost(u64::MAX));
    let claims = [0, 0, 1].map(|lane| bench.granted(lane, guess(Some(u64::MAX))));
    for id in claims {
        bench.spending.release(id);
    }
    assert_eq!(bench.reserved(), [0; 3]);
}

/// A body that is no JSON is taken for no prompt; the first answer says what it is.
#[test]
fn what_seems_to_take_nothing_neither_waits_for_ever_nor_goes_twice() {
    let mut bench = Bench::new(budget(None, Some(5), None));
    bench.call(0, NOTHING, 90, StatedCost::Nothing);
    assert_eq!(bench.ask(0, NOTHING), spent(Measure::Tokens, 5, 100));
    let elsewhere = bench.granted(1, NOTHING);
    assert_eq!(bench.spending.attempt(elsewhere), Ok(()));
}

#[test]
fn what_looks_like_no_prompt_goes_alone_until_its_lane_has_shown_that_it_is_none() {
    let mut bench = Bench::new(budget(None, Some(5), None));
    let end = |bench: &mut Bench, id: ClaimId, used: Used| {
        bench.spending.attempt(id).expect("unlimited");
        bench.spending.ended(id, used);
        bench.spending.finish(id);
        bench.spending.settle(&[id], StatedCost::Nothing);
    };
    let first = bench.granted(0, NOTHING);
    assert_eq!(bench.ask(0, NOTHING), Answer::Wait);
    // A refusal shows nothing.
    end(&mut bench, first, Used::Nothing);
    let first = bench.granted(0, NOTHING);
    assert_eq!(bench.ask(0, NOTHING), Answer::Wait);
    end(&mut bench, first, Used::Untold);
    bench.granted(0, NOTHING);
    bench.granted(0, NOTHING);
    // One that turns out to be a prompt: what came before it is all that may pass the limit.
    for spent in [0, 4] {
        assert_eq!(bench.spent()[1], spent);
        let id = bench.granted(1, NOTHING);
        assert_eq!(bench.ask(1, NOTHING), Answer::Wait);
        end(&mut bench, id, told(0, 4));
    }
    assert_eq!(bench.ask(1, NOTHING), spent(Measure::Tokens, 5, 8));
    bench.granted(0, NOTHING);
}

#[test]
fn who_waits_for_room_is_not_passed_and_who_waits_for_its_lane_is() {
    let mut bench = Bench::new(budget(None, Some(1000), None));
    let probe = bench.granted(0, guess(None));
    let for_lane = bench.line_up("acme", lane(0), guess(None));
    assert_eq!(bench.decided(), []);
    let small = bench.granted(1, guess(Some(300)));
    let large = bench.line_up("acme", lane(2), guess(Some(1000)));
    assert_eq!(
        bench.decided(),
        [(large, Ok(()))],
        "alone, for something is left"
    );
    let behind: Vec<_> = (3..6)
        .map(|n| bench.line_up("acme", lane(n), guess(Some(1))))
        .collect();
    bench.spending.release(small);
    assert_eq!(bench.decided(), []);
    bench.spending.release(behind[1]);
    bench.spending.release(probe);
    assert_eq!(
        bench.decided(),
        [],
        "the first has no room, the others none before it"
    );
    bench.spending.release(large);
    let next = [for_lane, behind[0], behind[2]];
    assert_eq!(bench.decided(), next.map(|id| (id, Ok(()))));
}

#[test]
fn lanes_that_a_plugin_invents_are_one_once_they_are_too_many() {
    let mut bench = Bench::new(budget(None, Some(1_000_000), None));
    let ask = |bench: &mut Bench, bucket: usize, plugin: &str| {
        let lane = Lane {
            bucket: Some(bucket.to_string()),
            ..Lane::default()
        };
        bench.ask_for(plugin, lane, guess(None))
    };
    let granted = |verdict: &Answer| matches!(verdict, Answer::Granted(_));
    for bucket in 0..=MOST_LANES {
        assert!(granted(&ask(&mut bench, bucket, "acme")), "{bucket}");
    }
    for bucket in MOST_LANES..2 * MOST_LANES {
        assert_eq!(ask(&mut bench, bucket, "acme"), Answer::Wait, "{bucket}");
    }
    assert_eq!(bench.spending.lanes.len(), MOST_LANES + 1);
    assert!(granted(&ask(&mut bench, MOST_LANES, "other")));
}

#[test]
fn requests_are_exact() {
    let mut bench = Bench::new(budget(Some(2), None, None));
    let first = bench.granted(0, guess(None));
    let second = bench.granted(0, guess(None));
    assert_eq!(bench.ask(0, guess(None)), Answer::Wait);
    bench.spending.attempt(first).expect("reserved");
    assert_eq!(
        bench.ask(0, guess(None)),
        Answer::Wait,
        "the other may not go"
    );
    bench.spending.release(second);
    let third = bench.granted(0, guess(None));
    bench.spending.attempt(third).expect("reserved");
    assert_eq!(bench.ask(0, guess(None)), spent(Measure::Requests, 2, 2));
    let why = bench
        .spending
        .attempt(first)
        .expect_err("a retry is a request");
    assert!(why.to_string().contains("(2 of 2 requests)"), "{why}");
}

#[test]
fn calls_whose_answers_are_bounded_go_together_as_long_as_they_fit() {
    let mut bench = Bench::new(budget(None, Some(100), None));
    bench.granted(0, guess(Some(40)));
    bench.granted(0, guess(Some(40)));
    assert_eq!(
        bench.ask(0, guess(Some(40))),
        Answer::Wait,
        "nothing is left beside them"
    );
}

#[test]
fn until_a_lane_has_answered_its_calls_go_one_by_one() {
    let mut bench = Bench::new(budget(None, Some(10_000), None));
    let probe = bench.granted(0, guess(None));
    assert_eq!(bench.ask(0, guess(None)), Answer::Wait);
    bench.granted(1, guess(None));
    bench.spending.attempt(probe).expect("unlimited");
    bench.spending.ended(probe, told(10, 100));
    bench.spending.finish(probe);
    bench.granted(0, guess(None));
    bench.granted(0, guess(None));
    let longest_twice = 2 * (10 + 2 * 100);
    assert_eq!(bench.reserved()[1], longest_twice + 10 + USUAL_OUTPUT);
}

#[test]
fn what_does_not_fit_goes_alone_while_something_is_left() {
    let mut bench = Bench::new(budget(None, Some(100), None));
    for calls in 0..5 {
        assert_eq!(bench.spent()[1], calls * 20);
        let id = bench.granted(0, guess(Some(4096)));
        assert_eq!(bench.ask(0, guess(Some(4096))), Answer::Wait);
        assert_eq!(
            bench.ask(1, guess(Some(4096))),
            Answer::Wait,
            "it may take all"
        );
        bench.spending.attempt(id).expect("unlimited");
        bench.spending.ended(id, told(10, 10));
        bench.spending.finish(id);
        bench.spending.settle(&[id], StatedCost::Nothing);
    }
    assert_eq!(
        bench.ask(0, guess(Some(4096))),
        spent(Measure::Tokens, 100, 100)
    );
}

#[test]
fn a_cost_stays_reserved_until_its_call_has_ended() {
    let mut bench = Bench::new(budget(None, None, Some(1)));
    let probe = bench.granted(0, guess(None));
    bench.spending.attempt(probe).expect("unlimited");
    bench.spending.ended(probe, told(10, 10));
    assert!(bench.spending.finish(probe));
    assert_eq!(
        bench.ask(0, guess(None)),
        Answer::Wait,
        "nobody knows what it cost"
    );
    bench.spending.settle(&[probe], StatedCost::Cost(NANO / 10));
    let sure: Vec<_> = (0..4).map(|_| bench.granted(0, guess(None))).collect();
    assert_eq!(
        bench.reserved()[2],
        NANO * 8 / 10,
        "twice the dearest so far, each"
    );
    bench.granted(0, guess(None));
    assert_eq!(bench.ask(0, guess(None)), Answer::Wait);
    for id in sure {
        bench.spending.release(id);
    }
    assert_eq!(bench.spent()[2], NANO / 10);
}

#[test]
fn with_a_price_tokens_say_what_a_call_costs() {
    let mut bench = Bench::new(budget(None, None, Some(1)));
    bench.price = Some(Price::per_token(0.001));
    bench.granted(0, guess(Some(390)));
    bench.granted(0, guess(Some(390)));
    assert_eq!(bench.reserved()[2], NANO * 8 / 10);
    let mut bench = Bench::new(budget(None, None, Some(1)));
    bench.price = Some(Price::per_token(0.001));
    bench.call(0, guess(None), 90, StatedCost::Failed);
    assert_eq!(
        bench.spent()[2],
        NANO / 10,
        "an answer that was of no use is paid, too"
    );
}

#[test]
fn dollars_are_no_bound_where_nobody_states_any() {
    let mut bench = Bench::new(budget(None, None, Some(1)));
    bench.call(0, guess(None), 10, StatedCost::Nothing);
    let owner = Owner::Run;
    assert_eq!(
        bench.ask(0, guess(None)),
        Answer::Refused(Exceeded::Unpriced { owner })
    );
    bench.granted(1, guess(None));
    let mut bench = Bench::new(budget(None, Some(1000), None));
    bench.call(0, guess(None), 10, StatedCost::Nothing);
    bench.granted(0, guess(None));
}

#[test]
fn a_call_without_a_cost_among_those_that_state_one_counts_as_the_dearest() {
    let mut bench = Bench::new(budget(None, None, Some(1)));
    bench.call(0, guess(None), 10, StatedCost::Cost(NANO / 10));
    bench.call(0, guess(None), 10, StatedCost::Nothing);
    assert_eq!(bench.spent()[2], NANO * 2 / 10);
}

#[test]
fn at_nothing_only_what_takes_nothing_goes() {
    let mut bench = Bench::new(budget(None, Some(0), None));
    assert_eq!(bench.ask(0, guess(None)), spent(Measure::Tokens, 0, 0));
    bench.granted(0, NOTHING);
    let mut bench = Bench::new(budget(Some(0), None, None));
    assert_eq!(bench.ask(0, NOTHING), spent(Measure::Requests, 0, 0));
}

#[test]
fn what_is_cut_off_on_the_wire_counts_as_guessed_and_before_it_as_nothing() {
    let mut bench = Bench::new(budget(Some(9), Some(1000), None));
    let queued = bench.granted(0, guess(Some(90)));
    bench.spending.release(queued);
    assert_eq!(bench.spent(), [0, 0, 0]);
    let sent = bench.granted(0, guess(Some(90)));
    bench.spending.attempt(sent).expect("reserved");
    bench.spending.release(sent);
    assert_eq!((bench.spent(), bench.reserved()), ([1, 100, 0], [0, 0, 0]));
    bench.price = Some(Price::per_token(0.001));
    let priced = bench.granted(1, guess(Some(90)));
    bench.spending.attempt(priced).expect("reserved");
    bench.spending.release(priced);
    assert_eq!(bench.spent(), [2, 200, NANO / 10]);
}

#[test]
fn who_has_room_does_not_pass_an_earlier_one_that_waits_for_room_elsewhere() {
    let mut bench = Bench::new(budget(None, Some(10_000), None));
    let run = bench.payers.clone();
    let owner = Owner::Provider("small".to_owned());
    let small = bench.spending.open(owner, budget(None, Some(100), None));
    bench.payers.push(small);
    let first = bench.granted(0, guess(Some(90)));
    let waits = bench.line_up("acme", lane(1), guess(Some(90)));
    bench.payers = run;
    let behind = bench.line_up("acme", lane(2), guess(Some(1)));
    assert_eq!(bench.decided(), []);
    bench.spending.release(first);
    assert_eq!(bench.decided(), [waits, behind].map(|id| (id, Ok(()))));
}

#[test]
fn a_throttled_attempt_costs_a_request_and_no_tokens() {
    let mut bench = Bench::new(budget(Some(9), Some(100), None));
    let id = bench.granted(0, guess(Some(90)));
    for _ in 0..3 {
        bench
            .spending
            .attempt(id)
            .expect("what was reserved is still there");
        bench.spending.ended(id, told(0, 0));
    }
    assert_eq!(bench.spent(), [3, 0, 0]);
    bench.spending.attempt(id).expect("a request is left");
    bench.spending.ended(id, Used::Cut);
    let why = bench
        .spending
        .attempt(id)
        .expect_err("its tokens may be used");
    assert!(why.to_string().contains("100 of 100 tokens"), "{why}");
}

#[test]
fn every_limit_counts_and_the_one_that_is_spent_is_named() {
    let mut spending = Spending::default();
    let run = spending.open(Owner::Run, budget(None, None, Some(100)));
    let owner = Owner::Provider("fast".to_owned());
    let provider = spending.open(owner.clone(), budget(Some(1), None, None));
    let mut bench = Bench {
        spending,
        payers: vec![run, provider],
        price: None,
    };
    bench.call(0, guess(None), 10, StatedCost::Cost(NANO));
    let verdict = bench.ask(0, guess(None));
    let Answer::Refused(why) = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(
        why.to_string(),
        "not run: the budget of provider 'fast' is spent (1 of 1 requests); to run it: raise `requests` in its \
         `budget`, then runner eval --resume"
    );
    let lines: Vec<String> = bench
        .spending
        .statements()
        .iter()
        .map(Statement::line)
        .collect();
    assert_eq!(
        lines,
        [
            "the run: $1.00 of $100.00",
            "provider 'fast': 1 of 1 requests"
        ]
    );
    for statement in bench.spending.statements() {
        assert_eq!(Statement::from_json(&statement.to_json()), Some(statement));
    }
}

#[test]
fn a_run_does_not_pay_for_what_a_plugin_says_beyond_its_own_limit() {
    let mut spending = Spending::default();
    let run = spending.open(Owner::Run, budget(None, None, Some(5_000)));
    let plugin = Owner::Plugin("acme".to_owned());
    let own = spending.open(plugin, budget(None, None, Some(500)));
    spending.charge(&[run, own], 200 * NANO);
    spending.charge(&[run, own], 900_000 * NANO);
    spending.charge(&[run, own], 900_000 * NANO);
    let spent = |id: BudgetId| spending.list[id.0].spent[Measure::Cost as usize];
    assert_eq!((spent(run), spent(own)), (500 * NANO, 1_800_200 * NANO));
}
