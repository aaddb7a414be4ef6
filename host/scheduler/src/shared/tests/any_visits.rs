//! Whatever programs do (come, send, ask late, die), no window has more than the rule says.

use proptest::prelude::*;

use super::*;
use crate::sharing::Sharing;

/// What happens.
#[derive(Debug, Clone, Copy)]
enum Happening {
    /// Time passes.
    Pass(u64),
    /// A program says what it has sent, and hears its portion so many ms later.
    Visits { program: usize, late: u64 },
    /// A program sends what it may, so many at most.
    Sends { program: usize, most: u64 },
    /// A program is gone without a word, and another comes in its place.
    Dies(usize),
    /// A program ends, and another comes in its place.
    Leaves(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    let program = 0..3usize;
    prop_oneof![
        4 => (0..60u64).prop_map(Happening::Pass),
        1 => (500..4000u64).prop_map(Happening::Pass),
        6 => (program.clone(), prop_oneof![9 => 0..5u64, 1 => 0..200u64])
            .prop_map(|(program, late)| Happening::Visits { program, late }),
        6 => (program.clone(), 1..30u64)
            .prop_map(|(program, most)| Happening::Sends { program, most }),
        1 => program.clone().prop_map(Happening::Dies),
        1 => program.prop_map(Happening::Leaves),
    ]
}

/// A program, and when its portion comes.
struct Program {
    id: u64,
    sharing: Sharing,
    coming: Option<(Time, Time, QuotaReply)>,
}

struct World {
    quota: CommonQuota,
    programs: Vec<Program>,
    now: Time,
    next: u64,
    sent: Vec<Time>,
    limit: u64,
}

impl World {
    fn new(limit: u64) -> Self {
        let mut world = Self {
            quota: CommonQuota::default(),
            programs: Vec::new(),
            now: at(0),
            next: 0,
            sent: Vec::new(),
            limit,
        };
        for _ in 0..3 {
            let program = world.comes();
            world.programs.push(program);
        }
        world
    }

    /// Sends nothing before it has heard its first portion.
    fn comes(&mut self) -> Program {
        self.next += 1;
        let mut sharing = Sharing::default();
        sharing.expect(self.now, Duration::from_hours(1));
        Program {
            id: self.next,
            sharing,
            coming: None,
        }
    }

    fn visit(&mut self, index: usize) -> QuotaReport {
        let program = &mut self.programs[index];
        QuotaReport {
            rule: Some((self.limit, SECOND)),
            ..program.sharing.visit(self.now, Some(1))
        }
    }

    fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Pass(ms) => self.now = self.now + Duration::from_millis(ms),
            Happening::Visits { program, late } => {
                if self.programs[program].coming.is_some() {
                    return;
                }
                let visit = self.visit(program);
                let id = self.programs[program].id;
                let portion = self.quota.visit(self.now, id, &visit);
                let comes = self.now + Duration::from_millis(late);
                self.programs[program].coming = Some((self.now, comes, portion));
            }
            Happening::Sends { program, most } => self.send(program, most),
            Happening::Dies(program) => self.programs[program] = self.comes(),
            Happening::Leaves(program) => {
                if self.programs[program].coming.is_none() {
                    let visit = self.visit(program);
                    let id = self.programs[program].id;
                    self.quota.leave(self.now, id, &visit);
                }
                self.programs[program] = self.comes();
            }
        }
        for program in &mut self.programs {
            let due = program.coming.take_if(|(_, comes, _)| *comes <= self.now);
            if let Some((asked, _, portion)) = due {
                program.sharing.hear(asked, self.now, &portion);
            }
        }
    }

    /// As long as it may. Who has been alone goes by its own count, which is not what is looked at here:
    /// it sends nothing then.
    fn send(&mut self, index: usize, most: u64) {
        let program = &mut self.programs[index];
        for _ in 0..most {
            if program.coming.is_some() || !program.sharing.is_common(self.now) {
                return;
            }
            if program.sharing.due(self.now, 1).is_some() {
                return;
            }
            program.sharing.send(self.now, 1);
            self.sent.push(self.now);
        }
    }
}

proptest! {
    #[test]
    fn no_window_has_more_than_the_rule_says(
        limit in 1..60u64,
        happenings in prop::collection::vec(happening(), 1..400),
    ) {
        let mut world = World::new(limit);
        for happening in happenings {
            world.happens(happening);
            let bytes = world.quota.to_bytes();
            let again = CommonQuota::from_bytes(&bytes);
            prop_assert_eq!(again.as_ref(), Some(&world.quota));
        }
        let limit = limit as usize;
        for window in world.sent.windows(limit + 1) {
            prop_assert!(window[limit] - window[0] >= SECOND, "{:?}", window);
        }
    }
}
