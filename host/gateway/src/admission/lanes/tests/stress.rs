//! Many exchanges that end, are refused, are dropped anywhere: each has one end, and nothing
//! is left in flight.

use proptest::prelude::*;
use tokio::runtime::Builder;

use super::*;

/// What becomes of an exchange, and when.
#[derive(Debug, Clone)]
struct Fate {
    bucket: usize,
    begins: u64,
    /// How its attempts end, over and over: after how long, how, asking for what wait.
    attempts: Vec<(u64, Class, Option<u64>)>,
    /// When whoever asked for it goes away.
    patience: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Returned,
    Refused,
    Dropped,
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![
        12 => Just(Class::Ok),
        4 => Just(Class::Throttled),
        4 => Just(Class::Transient),
        1 => Just(Class::Timeout),
        1 => Just(Class::Permanent),
        1 => Just(Class::QuotaExhausted),
        1 => Just(Class::Auth),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    let attempt = (0u64..2000, class(), prop::option::of(0u64..20_000));
    (
        0usize..3,
        0u64..5000,
        prop::collection::vec(attempt, 1..5),
        prop::option::of(0u64..8000),
    )
        .prop_map(|(bucket, begins, attempts, patience)| Fate {
            bucket,
            begins,
            attempts,
            patience,
        })
}

/// Lives an exchange through.
async fn live(lanes: Arc<Lanes>, fate: Fate) -> Ending {
    sleep(ms(fate.begins)).await;
    let caller = Caller::of(["a", "b", "c"][fate.bucket]).at_most(2);
    let life = async {
        let mut turn = caller.enter(&lanes);
        for (length, class, wait) in fate.attempts.iter().cycle() {
            if turn.wait().await.is_err() {
                return Ending::Refused;
            }
            sleep(ms(*length)).await;
            let hint = Hint {
                retry_after: wait.map(ms),
                ..Hint::default()
            };
            if turn.finish(*class, &hint, None) == NextStep::Return {
                return Ending::Returned;
            }
        }
        unreachable!("there is at least one attempt to cycle through")
    };
    match fate.patience {
        Some(patience) => timeout(ms(patience), life).await.unwrap_or(Ending::Dropped),
        None => life.await,
    }
}

async fn all(fates: Vec<Fate>) -> Result<(), TestCaseError> {
    let (lanes, told) = lanes();
    let lives: Vec<_> = fates
        .into_iter()
        .map(|fate| tokio::spawn(live(lanes.clone(), fate)))
        .collect();
    let mut counted = 0;
    for life in lives {
        let ending = timeout(Duration::from_hours(24), life).await;
        let ending = ending.expect("nobody waits for ever").expect("no panic");
        counted += u64::from(ending != Ending::Dropped);
    }
    prop_assert_eq!(state(&lanes), (0, 0));
    sleep(book::LOOK * 2).await;
    prop_assert!(lanes.shared.lock().is_idle());
    let metrics = lanes.summaries();
    let ended: u64 = metrics
        .iter()
        .map(|lane| lane.metrics.completed_requests + lane.metrics.failed_requests)
        .sum();
    prop_assert_eq!(ended, counted, "each exchange is counted once");
    let notices = locked(&told.notices);
    let count = |name| notices.iter().filter(|n| n.event.name() == name).count();
    prop_assert_eq!(count("slot:acquired"), count("slot:released"));
    let mut last = Duration::ZERO;
    for notice in notices.iter() {
        prop_assert!(notice.at >= last, "told in order");
        last = notice.at;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_turn_has_one_end_and_nothing_stays_in_flight(
        fates in prop::collection::vec(fate(), 1..40),
    ) {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing");
        runtime.block_on(all(fates))?;
    }
}
