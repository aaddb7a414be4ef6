//! How long an exchange may be sent again, and what is owed when it has ended.

use super::*;

/// Sends it once more, and it uses so much.
fn sent(bench: &mut Bench, id: ClaimId, used: Used) -> Result<(), Exceeded> {
    bench.spending.attempt(id)?;
    bench.spending.ended(id, used);
    Ok(())
}

fn refused(spent: u64, limit: u64) -> Result<(), Exceeded> {
    Err(Exceeded::Spent {
        owner: Owner::Run,
        measure: Measure::Tokens,
        limit,
        spent,
    })
}

#[test]
fn what_goes_alone_is_sent_again_until_all_is_spent() {
    let mut bench = Bench::new(budget(None, Some(100), None));
    let id = bench.granted(0, guess(Some(4096)));
    assert_eq!(sent(&mut bench, id, told(10, 40)), Ok(()));
    assert_eq!(sent(&mut bench, id, told(10, 39)), Ok(()));
    assert_eq!(sent(&mut bench, id, told(1, 0)), Ok(()), "one is left");
    assert_eq!(sent(&mut bench, id, Used::Nothing), refused(100, 100));
}

#[test]
fn what_goes_with_others_is_sent_again_as_long_as_its_reservation_still_fits() {
    let mut bench = Bench::new(budget(None, Some(200), None));
    let id = bench.granted(0, guess(Some(90)));
    assert_eq!(sent(&mut bench, id, told(10, 90)), Ok(()));
    assert_eq!(sent(&mut bench, id, told(1, 0)), Ok(()), "it just fits");
    assert_eq!(sent(&mut bench, id, Used::Nothing), refused(101, 200));
}

/// An exchange that belongs to no provider's call.
fn without_cost(bench: &mut Bench, guess: Guess) -> ClaimId {
    let want = Want {
        payers: bench.payers.clone(),
        lane: lane(0),
        guess,
        price: Some(Price::per_token(0.5)),
        has_cost: false,
    };
    let id = bench.spending.ask("acme", want);
    assert_eq!(bench.decided(), [(id, Ok(()))]);
    id
}

#[test]
fn what_has_no_cost_reserves_none_and_owes_none_when_it_has_ended() {
    let mut bench = Bench::new(budget(None, None, Some(1)));
    let id = without_cost(&mut bench, guess(Some(90)));
    assert_eq!(bench.reserved(), [1, 100, 0]);
    assert_eq!(bench.spending.open[&id].presumed_cost, 0);
    assert_eq!(sent(&mut bench, id, Used::Nothing), Ok(()));
    assert!(!bench.spending.finish(id));
    assert!(bench.spending.open.is_empty());
    assert_eq!(bench.spent(), [1, 0, 0]);
}

#[test]
fn what_ended_before_it_was_sent_owes_nothing() {
    let mut bench = Bench::new(budget(None, None, Some(1)));
    let id = bench.granted(0, guess(Some(90)));
    assert!(!bench.spending.finish(id));
    assert!(bench.spending.open.is_empty());
    assert_eq!((bench.spent(), bench.reserved()), ([0; 3], [0; 3]));
}
