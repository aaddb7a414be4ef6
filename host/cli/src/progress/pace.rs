//! How fast a run goes, and how long it takes yet.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use runner_telling::time_left;

use crate::figures;

/// Looked at with each redraw of the bar.
pub(super) type SharedPace = Arc<Mutex<Pace>>;

/// What has ended, by column.
#[derive(Debug)]
pub(super) struct Pace {
    begun: Instant,
    total: u64,
    /// In this session.
    ended: Vec<u64>,
    /// Before it.
    kept: Vec<u64>,
}

impl Pace {
    /// Of a run that begins now.
    pub(super) fn new(total: u64, columns: usize) -> Self {
        Self {
            begun: Instant::now(),
            total,
            ended: vec![0; columns],
            kept: vec![0; columns],
        }
    }

    /// Takes in that a case of this column has ended, or had before.
    pub(super) fn add(&mut self, column: u32, was_kept: bool) {
        let counts = if was_kept {
            &mut self.kept
        } else {
            &mut self.ended
        };
        if let Some(count) = counts.get_mut(column as usize) {
            *count += 1;
        }
    }

    /// The time that is left; until something has ended to judge by, how many cases a second have.
    pub(super) fn says(&self, now: Instant) -> String {
        let worked = now.saturating_duration_since(self.begun);
        if let Some(left) = time_left(self.total, &self.ended, &self.kept, worked) {
            return format!("{} left", figures::about(left));
        }
        match self.ended.iter().sum::<u64>() {
            0 => "…".to_owned(),
            ended => {
                let pace = ended as f64 / worked.as_secs_f64().max(f64::EPSILON);
                format!("{pace:.1}/s")
            }
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nothing_is_foretold_before_the_first_case_of_each_column() {
        let mut pace = Pace::new(40, 2);
        let later = pace.begun + Duration::from_secs(10);
        pace.add(0, true);
        assert_eq!(pace.says(later), "…");
        (0..10).for_each(|_| pace.add(0, false));
        assert_eq!(pace.says(later), "1.0/s");
        (0..2).for_each(|_| pace.add(1, false));
        // 18 of the slower one, of which two took ten seconds.
        assert_eq!(pace.says(later), "1 m 30 s left");
    }
}
