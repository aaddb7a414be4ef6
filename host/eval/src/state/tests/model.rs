//! Whole runs against a plain model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

mod cases;

use cases::{ModelCase, any_cases};

/// How a case of the model stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseStanding {
    Unstarted,
    InFlight,
    /// In flight: it has ended, and compares its row.
    Compares,
    Ended,
}

/// A run of the model: every case, what is held, and whether a reason to stop has come.
struct Model {
    cases: Vec<ModelCase>,
    stands: Vec<CaseStanding>,
    /// Answers that are neither compared nor left, by number.
    held: BTreeSet<u32>,
    /// Rows that can no longer be complete.
    open: BTreeSet<u32>,
    /// Cases that left something.
    left: BTreeSet<usize>,
    came: usize,
    store: StoreState,
    room_to_compare: bool,
    drained: bool,
    cut_off: bool,
    /// When the time is up, and what time it is.
    limit: Option<Duration>,
    now: Duration,
    interrupted: bool,
    /// The first reason to stop that the machine acted on.
    by: Option<End>,
    abandoning: bool,
    /// The code for the end runs, and was started.
    closing: bool,
    closed: bool,
    cut: bool,
    /// An answer to `Command::Next` is due.
    asked: bool,
    reading: Reading,
    /// The rows of the kept run could not be read.
    unread: bool,
}

impl Model {
    fn new(mut cases: Vec<ModelCase>, reading: Reading) -> Self {
        if reading == Reading::Done {
            for case in &mut cases {
                case.kept = None;
            }
        }
        let stands = cases.iter().map(|case| match case.kept {
            Some(_) => CaseStanding::Ended,
            None => CaseStanding::Unstarted,
        });
        Self {
            stands: stands.collect(),
            cases,
            held: BTreeSet::new(),
            open: BTreeSet::new(),
            left: BTreeSet::new(),
            came: 0,
            store: StoreState::Ready,
            room_to_compare: true,
            drained: false,
            cut_off: false,
            limit: None,
            now: Duration::ZERO,
            interrupted: false,
            by: None,
            abandoning: false,
            closing: false,
            closed: false,
            cut: false,
            asked: false,
            reading,
            unread: false,
        }
    }

    /// What a case is given, by looking at every earlier one: what was left last of each register.
    fn given(&self, n: usize) -> Map<String, Value> {
        let last = |register: &u8| {
            let mut earlier = self.left.range(..n).rev();
            earlier.find(|earlier| self.cases[**earlier].writes.contains(register))
        };
        let registers = self.cases[n].reads.iter();
        let given = registers.filter_map(|it| Some((it.to_string(), last(it)?.to_string().into())));
        given.collect()
    }

    /// The rule, by looking at every earlier case.
    fn may_start(&self, n: usize) -> bool {
        let case = &self.cases[n];
        let holds = |earlier: &usize| {
            let before = &self.cases[*earlier];
            before.alone || !case.reads.is_disjoint(&before.writes)
        };
        let unfinished = |earlier: usize| self.stands[earlier] != CaseStanding::Ended;
        let held_up = (0..n).filter(holds).any(unfinished);
        let must_wait = held_up || (case.alone && !self.in_flight().is_empty());
        let stopped = self.drained || self.cut_off;
        let has_room = self.room_to_compare || case.of.is_none();
        let is_full = !has_room && !self.in_flight().is_empty();
        let is_held = self.store != StoreState::Ready || is_full;
        let is_early = self.reading == Reading::First;
        !(stopped || is_held || must_wait || is_early)
    }

    fn in_flight(&self) -> Vec<usize> {
        let flies = |n: &usize| {
            matches!(
                self.stands[*n],
                CaseStanding::InFlight | CaseStanding::Compares
            )
        };
        (0..self.cases.len()).filter(flies).collect()
    }

    fn number(&self, id: CaseId) -> usize {
        let found = self.cases.iter().position(|case| case.id == id);
        found.expect("a case of the plan")
    }

    /// What the machine says must be allowed.
    fn obey(&mut self, commands: &Commands) {
        for (place, command) in commands.iter().enumerate() {
            match command {
                Command::Next => {
                    assert_eq!(place + 1, commands.len(), "it comes last");
                    assert!(!self.asked, "not before it was answered");
                    assert_ne!(self.reading, Reading::First, "what was there comes first");
                    self.asked = true;
                }
                Command::ReadRest => {
                    assert!(self.in_flight().is_empty() && !self.asked);
                    assert_eq!(self.reading, Reading::Between, "once, if there was a first");
                    self.reading = Reading::Rest;
                }
                Command::Admit(id) => {
                    let n = self.number(*id);
                    assert_eq!(
                        self.stands[n],
                        CaseStanding::Unstarted,
                        "a case starts once"
                    );
                    assert!(self.may_start(n), "case {n} starts too early or too late");
                    self.stands[n] = CaseStanding::InFlight;
                }
                Command::Run { case, given } => {
                    let n = *case as usize;
                    assert_eq!(self.stands[n], CaseStanding::InFlight);
                    assert_eq!(given.to_vars(), self.given(n), "what earlier cases left");
                }
                Command::Compare { id, answers, .. } => self.compare(*id, answers),
                Command::Abandon(answers) => self.leave(answers),
                Command::Drain { in_flight, .. } => {
                    assert!(!self.drained && !self.cut_off, "once, and first");
                    assert_eq!(in_flight.len(), self.in_flight().len());
                    self.drained = true;
                    self.stops(End::Interrupted);
                }
                Command::CutOff(by) => {
                    assert!(!self.cut_off, "once");
                    self.cut_off = true;
                    self.stops(*by);
                }
                Command::Close => {
                    assert!(!self.closing && !self.closed, "once");
                    assert!(self.in_flight().is_empty() && !self.abandoning && !self.asked);
                    assert!(self.held.is_empty() && self.store != StoreState::Behind);
                    assert_ne!(self.reading, Reading::Rest, "every row comes before");
                    self.closing = true;
                }
                Command::CutClosing => {
                    assert!(self.closing && !self.cut, "once, while it runs");
                    self.cut = true;
                }
                Command::TellCodeRuns => assert!(self.closing && !self.cut),
                Command::TellClosing => assert!(self.in_flight().is_empty()),
            }
        }
    }

    /// What will not be compared any more is left, each answer once.
    fn leave(&mut self, answers: &[u32]) {
        assert!(self.in_flight().is_empty() && !self.abandoning);
        for answer in answers {
            assert!(self.held.remove(answer), "an answer is left once");
            let row = self.cases[*answer as usize].id.test_idx;
            let is_of_row = |case: &&ModelCase| case.id.test_idx == row;
            let unstarted = |n: usize| self.stands[n] == CaseStanding::Unstarted;
            let mut row_cases = self.cases.iter().filter(is_of_row);
            let misses = row_cases.any(|it| unstarted(self.number(it.id)));
            assert!(misses || self.open.contains(&row), "it could be compared");
        }
        self.abandoning = true;
    }

    /// A run ends by its first reason, and only by one that there was.
    fn stops(&mut self, by: End) {
        let was = match by {
            End::Finished => false,
            End::Interrupted => self.interrupted,
            End::TimeLimit => self.limit.is_some_and(|at| at <= self.now),
            End::StoreFailed => self.store == StoreState::Failed || self.unread,
        };
        assert!(was, "{by:?} without a reason");
        assert_eq!(*self.by.get_or_insert(by), by, "another came first");
    }

    fn compare(&mut self, id: CaseId, answers: &BTreeMap<u32, u32>) {
        let n = self.number(id);
        self.stands[n] = CaseStanding::Compares;
        assert!(!self.open.contains(&id.test_idx), "its row is complete");
        let of_row = |case: &ModelCase| case.id.test_idx == id.test_idx;
        for (m, case) in self
            .cases
            .iter()
            .enumerate()
            .filter(|(_, case)| of_row(case))
        {
            let stands = self.stands[m];
            assert!(
                m == n || stands == CaseStanding::Ended,
                "{case:?} has not ended"
            );
        }
        let numbers = self.held.iter().copied();
        let of_row: BTreeSet<u32> = numbers
            .filter(|n| self.cases[*n as usize].id.test_idx == id.test_idx)
            .collect();
        let compared: BTreeSet<u32> = answers.values().copied().collect();
        assert_eq!(compared, of_row, "every answer of the row, once");
        self.held.retain(|n| !of_row.contains(n));
    }

    /// What the machine is told about a case in flight, or that its comparison has ended.
    fn end(&mut self, n: usize, how: u8) -> Input<u32, u32> {
        let id = self.cases[n].id;
        let compares = self.stands[n] == CaseStanding::Compares;
        self.stands[n] = CaseStanding::Ended;
        if compares {
            return Input::Compared(id);
        }
        let left = self.cases[n].left(n).filter(|_| how < 192);
        self.left.extend(left.is_some().then_some(n));
        let how = match how % 3 {
            0 if self.cases[n].of.is_some() => {
                self.held.insert(n as u32);
                EndStatus::Answered(n as u32)
            }
            1 => {
                self.open.insert(id.test_idx);
                EndStatus::Open
            }
            _ => EndStatus::Done,
        };
        Input::Ended { id, how, left }
    }

    /// The next case that is to be run. The first of a row brings what its row has.
    fn next(&mut self, state: &mut State) -> Option<QueuedCase<u32>> {
        let cases = &self.cases;
        let is_run = |n: &usize| cases[*n].kept.is_none();
        let next = (self.came..cases.len()).find(is_run);
        self.came = next.map_or(cases.len(), |n| n + 1);
        let case = &cases[next?];
        let of_row = |n: &usize| cases[*n].id.test_idx == case.id.test_idx;
        if (0..self.came - 1).filter(of_row).all(|n| !is_run(&n)) {
            for n in (0..cases.len()).filter(of_row) {
                let (id, number) = (cases[n].id, n as u32);
                if let (Some(of), Some(answered)) = (case.of, cases[n].kept) {
                    let answer = answered.then_some(number);
                    self.held.extend(answer);
                    let row = Some((of, answer));
                    state.keep(KeptCase {
                        id,
                        row,
                        left: None,
                    });
                }
            }
        }
        Some(case.planned(self.came - 1))
    }
}

/// Tells the machine of something and checks what must hold after everything.
fn tell(state: &mut State, model: &mut Model, now: Duration, input: Input<u32, u32>) {
    model.now = now;
    model.interrupted |= matches!(input, Input::Interrupt);
    let commands = state.on(now, input);
    model.obey(&commands);
}

/// Tells the machine that the rows are read which come now, if there are any.
fn read(state: &mut State, model: &mut Model, now: Duration) {
    model.reading = match model.reading {
        Reading::First => {
            for (n, case) in model.cases.iter().enumerate() {
                let (id, row, left) = (case.id, None, case.left(n).filter(|_| case.kept.is_some()));
                model.left.extend(left.is_some().then_some(n));
                state.keep(KeptCase { id, row, left });
            }
            Reading::Between
        }
        Reading::Rest => Reading::Done,
        Reading::Between | Reading::Done => return,
    };
    tell(state, model, now, Input::Read);
}

/// Gives the machine the next case, as long as it asks for one.
fn answer(state: &mut State, model: &mut Model, now: Duration) {
    while std::mem::take(&mut model.asked) {
        let next = model.next(state);
        tell(state, model, now, Input::Next(next));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever ties cases together and whatever happens in whatever order: nothing starts too
    /// early, after a reason to stop or while the store is behind; never more than the slots are
    /// in flight, and no slot stays empty while a case could take it; each case ends at most
    /// once, and all end in a run that nothing stops; each answer is compared with all of its
    /// row or left, once; a run ends by the first reason that there was; what a kept run has is read before and after, and
    /// given to whom a run without a break would give it; and a run comes to its end
    /// by itself.
    #[test]
    fn nothing_is_lost_or_done_twice_under_any_interleaving(
        slots in 1usize..5,
        goes_on in any::<bool>(),
        cases in any_cases(),
        limit in prop::option::of(0u64..200),
        steps in prop::collection::vec(
            (0u8..16, any::<u8>(), any::<prop::sample::Index>(), 0u64..3, any::<bool>()),
            0..120,
        ),
    ) {
        let time = limit.map(Duration::from_secs);
        let bounds = Bounds { time, ..bounds(slots) };
        let (mut state, reading) = if goes_on {
            (State::again(bounds), Reading::First)
        } else {
            (State::new(bounds), Reading::Done)
        };
        let mut model = Model { limit: time, ..Model::new(cases, reading) };
        let mut now = Duration::ZERO;
        tell(&mut state, &mut model, now, Input::Wake);
        for (step, how, which, pause, at_once) in steps {
            now += Duration::from_secs(pause);
            if at_once {
                answer(&mut state, &mut model, now);
            }
            let flying = model.in_flight();
            prop_assert_eq!(state.in_flight(), flying.len());
            prop_assert!(flying.len() <= slots);
            let could = (0..model.came.min(model.cases.len()))
                .filter(|n| model.stands[*n] == CaseStanding::Unstarted)
                .any(|n| model.may_start(n));
            let is_refilled = model.asked || flying.len() == slots || !could;
            prop_assert!(is_refilled, "a slot is empty");
            if how < 64 && !state.is_over() {
                read(&mut state, &mut model, now);
            }
            let input = match step {
                0 => Input::Interrupt,
                1 => {
                    model.room_to_compare = !model.room_to_compare;
                    Input::RoomToCompare(model.room_to_compare)
                }
                2 | 3 if model.store != StoreState::Failed => {
                    model.store = [StoreState::Behind, StoreState::Ready][usize::from(step - 2)];
                    Input::Store(model.store)
                }
                4 if how > 223 && (model.asked || matches!(model.reading, Reading::First | Reading::Rest)) => {
                    (model.unread, model.asked, model.reading) = (true, false, Reading::Done);
                    Input::Unread
                }
                4 if how < 16 => {
                    model.store = StoreState::Failed;
                    Input::Store(StoreState::Failed)
                }
                5.. if std::mem::take(&mut model.closing) => {
                    model.closed = true;
                    Input::Closed
                }
                5.. if !flying.is_empty() => model.end(flying[which.index(flying.len())], how),
                _ => Input::Wake,
            };
            tell(&mut state, &mut model, now, input);
            if state.wake().is_some_and(|at| at <= now) {
                prop_assert!(false, "what was due has been done");
            }
        }
        if model.store == StoreState::Behind {
            model.store = StoreState::Ready;
            tell(&mut state, &mut model, now, Input::Store(StoreState::Ready));
        }
        model.room_to_compare = true;
        tell(&mut state, &mut model, now, Input::RoomToCompare(true));
        if !state.left_rows_out() {
            read(&mut state, &mut model, now);
        }
        answer(&mut state, &mut model, now);
        while let Some(n) = model.in_flight().first().copied() {
            let input = model.end(n, 2);
            tell(&mut state, &mut model, now, input);
            answer(&mut state, &mut model, now);
        }
        if std::mem::take(&mut model.abandoning) {
            prop_assert!(!state.is_over());
            tell(&mut state, &mut model, now, Input::Abandoned);
        }
        if model.reading == Reading::Rest {
            prop_assert!(!state.is_over());
            read(&mut state, &mut model, now);
        }
        prop_assert_ne!(model.closing, model.closed, "the code for the end runs once");
        prop_assert_eq!(state.is_over(), model.closed);
        if model.closing {
            tell(&mut state, &mut model, now, Input::Closed);
        }
        prop_assert!(state.is_over());
        let is_read = model.reading == Reading::Done || state.left_rows_out();
        prop_assert!(is_read, "every row was read, unless the run was stopped before");
        prop_assert!(model.held.is_empty(), "every answer was compared or left");
        let stopped = model.drained || model.cut_off;
        prop_assert_eq!(stopped, model.by.is_some());
        prop_assert_eq!(state.end(), model.by.unwrap_or(End::Finished));
        if !stopped {
            prop_assert!(model.stands.iter().all(|stands| *stands == CaseStanding::Ended));
        }
    }
}
