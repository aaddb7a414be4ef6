//! Sums over a ring of amounts: change one, or find where a running sum reaches a value.
//!
//! For the exact retry time a full limit asks: after which entry of its log has enough expired?
//! Walking the log answers that in as many steps as there are entries, for every denial, and a
//! minute's window may hold thousands. This is a binary indexed tree: both questions take as
//! many steps as the number of slots has bits. It knows nothing about time or leases, and the
//! ring's start is its owner's business: here slots are numbered from 0.

/// A binary indexed tree over a number of slots that is a power of two.
#[derive(Debug, Clone)]
pub(super) struct FenwickTree {
    /// `tree[n]` is the sum of the `n & n.wrapping_neg()` slots before slot `n`; `tree[0]` is
    /// unused. No sum overflows as long as the sum of all slots doesn't.
    tree: Vec<u64>,
}

impl FenwickTree {
    /// All zero. `slots` is a power of two.
    pub(super) fn new(slots: usize) -> Self {
        assert!(slots.is_power_of_two(), "slots are masked, not divided");
        Self {
            tree: vec![0; slots + 1],
        }
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.tree.len() - 1
    }

    /// The slot that the `number`th entry of an endless log has in the ring.
    pub(super) fn slot(&self, number: u64) -> usize {
        number as usize & (self.slots() - 1)
    }

    /// Adds to a slot.
    pub(super) fn add(&mut self, slot: usize, amount: u64) {
        let mut node = slot + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum += amount;
            node += node & node.wrapping_neg();
        }
    }

    /// Takes from a slot; at most what is in it.
    pub(super) fn take(&mut self, slot: usize, amount: u64) {
        let mut node = slot + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum -= amount;
            node += node & node.wrapping_neg();
        }
    }

    /// The sum of all slots before this one.
    pub(super) fn before(&self, slot: usize) -> u64 {
        let mut node = slot;
        let mut sum = 0;
        while node > 0 {
            sum += self.tree[node];
            node &= node - 1;
        }
        sum
    }

    /// The first slot up to which, itself included, the slots sum up to at least `target`.
    /// `target` is at least 1 and at most the sum of all slots, so the slot is not empty.
    pub(super) fn reach(&self, target: u64) -> usize {
        let mut missing = target;
        let mut passed = 0;
        let mut step = self.slots();
        while step > 0 {
            if let Some(sum) = self.tree.get(passed + step)
                && *sum < missing
            {
                missing -= sum;
                passed += step;
            }
            step /= 2;
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_those_of_a_walk(
            changes in prop::collection::vec((0_usize..16, 0_u64..9, any::<bool>()), 1..80),
        ) {
            let mut slots = [0_u64; 16];
            let mut sums = FenwickTree::new(16);
            for (slot, amount, up) in changes {
                if up {
                    slots[slot] += amount;
                    sums.add(slot, amount);
                } else {
                    let amount = amount.min(slots[slot]);
                    slots[slot] -= amount;
                    sums.take(slot, amount);
                }
                for slot in 0..=16 {
                    prop_assert_eq!(sums.before(slot), slots[..slot].iter().sum::<u64>());
                }
                for target in 1..=slots.iter().sum() {
                    let walked = (0..16).find(|n| slots[..=*n].iter().sum::<u64>() >= target);
                    prop_assert_eq!(Some(sums.reach(target)), walked);
                }
            }
        }
    }

    #[test]
    fn a_single_slot_is_a_ring() {
        let mut sums = FenwickTree::new(1);
        sums.add(sums.slot(7), 3);
        assert_eq!(sums.before(1), 3);
        assert_eq!(sums.reach(3), 0);
    }

    #[test]
    fn the_largest_sum_does_not_overflow() {
        let mut sums = FenwickTree::new(4);
        sums.add(0, u64::MAX - 1);
        sums.add(3, 1);
        assert_eq!(sums.reach(u64::MAX), 3);
    }
}
