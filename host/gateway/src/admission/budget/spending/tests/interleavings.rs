//! Calls in any order, held against a model.

use proptest::prelude::*;

use super::*;

/// One call of the model below.
#[derive(Debug, Clone)]
struct Model {
    lane: u8,
    stated: Option<u64>,
    output: u64,
    cost: u64,
}

fn any_call() -> impl Strategy<Value = Model> {
    (0u8..3, prop::option::of(0u64..400), 0u64..2000, 0u64..50).prop_map(
        |(lane, stated, output, cost)| Model {
            lane,
            stated,
            output,
            cost,
        },
    )
}

/// A call that is under way.
struct Running {
    id: ClaimId,
    model: Model,
    /// It keeps to what was reserved for it, unless it went alone.
    output: u64,
    cost: u64,
    stage: u8,
}

proptest! {
    /// Calls come, wait, leave, go on the wire, end, are settled or dropped in any order: no more is
    /// reserved than allowed, no limit is passed by more than one call of each lane, requests by
    /// none, sums are those of the calls, lines keep their order and forget nobody, and at the end
    /// nothing is held.
    #[test]
    fn limits_hold_under_any_interleaving(
        limits in (prop::option::of(0u64..12), prop::option::of(0u64..4000), prop::option::of(0u64..200)),
        calls in prop::collection::vec(any_call(), 1..30),
        steps in prop::collection::vec((0u8..5, any::<prop::sample::Index>()), 0..200),
    ) {
        let mut bench = Bench::new(Budget { requests: limits.0, tokens: limits.1, nano_usd: limits.2.map(|micro| micro * 1_000) });
        let limits = bench.spending.list[0].limits;
        let (mut coming, mut running): (Vec<Model>, Vec<Running>) = (calls, Vec::new());
        let mut waiting = BTreeMap::<ClaimId, Model>::new();
        let mut sums: Amounts = [0; 3];
        let mut alone = HashMap::<u8, Amounts>::new();
        let drained = std::iter::repeat_n((0, None), 1000);
        let steps = steps.into_iter().map(|(act, which)| (act, Some(which)));
        let mut last = HashMap::<u8, ClaimId>::new();
        for (act, which) in steps.chain(drained) {
            let at = |len: usize| which.map_or(0, |which| which.index(len));
            if act == 0 && !coming.is_empty() {
                let model = coming.remove(at(coming.len()));
                let guess = Guess { input: 10, output: model.stated };
                waiting.insert(bench.line_up("acme", lane(model.lane), guess), model);
            } else if act == 4 && !waiting.is_empty() {
                let gone = *waiting.keys().nth(at(waiting.len())).expect("there is one");
                waiting.remove(&gone);
                bench.spending.release(gone);
            } else if !running.is_empty() {
                let place = at(running.len());
                let Running { id, output, cost, stage, .. } = running[place];
                let dropped = act == 3;
                match stage {
                    _ if dropped => {
                        let open = &bench.spending.open[&id];
                        if open.on_wire {
                            sums[1] += total(open.presumed);
                            sums[2] += open.presumed_cost;
                            let of_lane = alone.entry(running[place].model.lane).or_default();
                            *of_lane = [0, of_lane[1].max(total(open.presumed)), of_lane[2].max(open.presumed_cost)];
                        }
                        bench.spending.release(id);
                    }
                    0 => {
                        bench.spending.attempt(id).expect("the first request was reserved");
                        sums[0] += 1;
                    }
                    1 => {
                        bench.spending.ended(id, told(10, output));
                        sums[1] += 10 + output;
                    }
                    2 => prop_assert!(bench.spending.finish(id)),
                    _ => {
                        bench.spending.settle(&[id], StatedCost::Cost(cost));
                        sums[2] += cost;
                    }
                }
                running[place].stage += 1;
                if dropped || stage == 3 {
                    running.remove(place);
                }
            }
            for (id, decision) in bench.decided() {
                let model = waiting.remove(&id).expect("it is decided once");
                // In a line: the first goes first.
                prop_assert!(last.insert(model.lane, id).is_none_or(|before| before < id));
                if decision.is_err() {
                    continue;
                }
                let goes_alone = bench.spending.alone.get(&lane(model.lane)) == Some(&id);
                let [_, tokens, cost] = bench.spending.open[&id].reserved;
                let keeps = |n: u64, bound: u64| if goes_alone { n } else { n.min(bound) };
                let output = keeps(model.output, tokens - 10);
                let cost = keeps(model.cost, cost);
                if goes_alone {
                    let most = alone.entry(model.lane).or_default();
                    *most = [0, most[1].max(10 + output), most[2].max(cost)];
                }
                running.push(Running { id, model, output, cost, stage: 0 });
            }
            prop_assert!(waiting.is_empty() || !running.is_empty(), "who waits waits for somebody");
            prop_assert_eq!(bench.spent(), sums, "sums are those of the calls");
            let together = bench.spending.open.iter().filter(|(id, _)| {
                !bench.spending.alone.values().any(|alone| alone == *id)
            });
            // What an attempt used is spent, and reserved until the exchange has ended.
            let together: Vec<Amounts> = together
                .map(|(_, open)| {
                    let [requests, tokens, cost] = open.reserved;
                    [requests, tokens.saturating_sub(total(open.used)), cost]
                })
                .collect();
            for measure in Measure::ALL {
                let place = measure as usize;
                let beyond: u64 = alone.values().map(|most| most[place]).sum();
                let reserved: u64 = together.iter().map(|amounts| amounts[place]).sum();
                if let Some(limit) = limits[place] {
                    prop_assert!(sums[place] + reserved <= limit + beyond, "{measure:?}: {sums:?} {reserved} {limits:?}");
                }
            }
        }
        prop_assert!(running.is_empty() && waiting.is_empty(), "nobody is forgotten");
        prop_assert_eq!(bench.reserved(), [0; 3]);
        prop_assert!(bench.spending.open.is_empty() && bench.spending.lines.is_empty());
        prop_assert!(bench.spending.alone.is_empty());
    }
}
