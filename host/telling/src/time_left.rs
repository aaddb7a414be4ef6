//! How long a run takes yet, by the pace of each of its columns.
//!
//! Columns answer at paces of their own, each at that of its provider's lane: a run is over when the slowest is. One
//! pace for all would promise too little as soon as the fast ones are done.

use std::time::Duration;

/// The time that is left, of a run of so many cases that has worked for so long, of whose columns so many cases
/// each have ended in that time, and so many before. `None` where a column gave nothing to judge by.
///
/// Which column the cases are of that have not ended is not known; they are taken to be spread evenly.
pub fn time_left(total: u64, ended: &[u64], before: &[u64], worked: Duration) -> Option<Duration> {
    let planned = total.div_ceil(ended.len().max(1) as u64);
    let done: u64 = ended.iter().chain(before).sum();
    if done >= total {
        return Some(Duration::ZERO);
    }
    let mut longest = Duration::ZERO;
    for (column, ended) in ended.iter().enumerate() {
        let before = before.get(column).copied().unwrap_or_default();
        let left = planned.saturating_sub(ended + before).min(total - done);
        if left > 0 {
            let share = left as f64 / (*ended).max(1) as f64;
            let needs = Duration::try_from_secs_f64(worked.as_secs_f64() * share).ok();
            longest = longest.max(needs.filter(|_| *ended > 0)?);
        }
    }
    Some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_as_long_as_its_slowest_column() {
        let minute = Duration::from_mins(1);
        let left = |total, ended: &[u64], before: &[u64]| time_left(total, ended, before, minute);
        assert_eq!(left(20, &[10, 5], &[]), Some(minute));
        assert_eq!(left(200, &[50, 50], &[]), Some(minute));
        // What was there before says nothing of the pace.
        assert_eq!(left(20, &[1, 5], &[8, 0]), Some(minute));
        assert_eq!(left(20, &[10, 0], &[0, 10]), Some(Duration::ZERO));
        assert_eq!(left(20, &[9, 0], &[]), None);
        assert_eq!(left(0, &[], &[]), Some(Duration::ZERO));
        // Uneven columns: no more can be left of one than of all.
        assert_eq!(left(11, &[10, 0], &[]), None);
        assert_eq!(left(11, &[9, 1], &[]), Some(minute));
    }
}
