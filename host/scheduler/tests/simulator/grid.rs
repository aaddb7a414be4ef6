//! The grid: servers that nobody has named, drawn from axes.
//!
//! A named scenario shows one thing that once went wrong; what was tuned until it went right may be right for
//! that one alone. Here a **cell** is a point of all axes at once: how the server counts, what it says, how
//! fast it is, how long it takes, for how long, and who else is there. Numbers lie anywhere between the values of
//! their axis. All cells of a grid are drawn from one seed, so decisions are tuned with grid 1 and judged with
//! grid 101.
//!
//! Answers of a server that queues take a tenth of a second at least: a shorter queue is nobody's trouble, and the
//! scheduler looks for none.

use std::fmt;
use std::time::Duration;

use runner_scheduler::Time;

use super::plan::{Fault, Plan, RulePlan, ServerPlan, Tenant, Twist};
use super::quota::Shape;
use super::random::Random;
use super::service::Service;
use super::speech::{Ask, Style, Unit};

pub(crate) mod figures;

/// How many answers' time a run has to last at least: a shorter one is all opening.
const SHORT: u32 = 20;

/// How a server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    Bucket,
    Fixed,
    Log,
    Counter,
    /// Windows of the clock's minute.
    Clock,
    Leaky,
    /// A window within a longer one that holds less in the long run.
    Two,
    Parallel,
    OneSlot,
    /// Many slots, each the slower the more wait for one.
    Slots,
}

impl Counting {
    pub(crate) const ALL: [Self; 10] = [
        Self::Bucket,
        Self::Fixed,
        Self::Log,
        Self::Counter,
        Self::Clock,
        Self::Leaky,
        Self::Two,
        Self::Parallel,
        Self::OneSlot,
        Self::Slots,
    ];

    /// As the table has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bucket => "token bucket",
            Self::Fixed => "fixed window",
            Self::Log => "sliding log",
            Self::Counter => "sliding counter",
            Self::Clock => "the clock's minute",
            Self::Leaky => "leaky bucket",
            Self::Two => "two windows at once",
            Self::Parallel => "parallel requests",
            Self::OneSlot => "one slot",
            Self::Slots => "many slots",
        }
    }
}

/// What it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saying {
    /// Limit, what is left, and when it is filled again.
    All,
    /// Limit and what is left, not when it is filled again.
    Limits,
    /// What is left.
    Remaining,
    /// All, as it was up to an answer ago.
    Stale,
    /// `retry-after`, and dates, which are whole seconds too.
    Seconds,
    Millis,
    Nothing,
}

/// What else happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Quiet,
    /// Somebody else takes half from a quarter to a half of the run.
    Tenant,
    /// A second program of this machine.
    Second,
    /// The limit is halved or doubled after a third of the run.
    Change,
    /// The first answers take five times as long.
    Cold,
}

/// What has to be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Declared,
    Undeclared,
    Queue,
}

/// A server to be tried.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) seed: u64,
    pub(crate) counting: Counting,
    saying: Saying,
    company: Company,
    /// Calls in each window; slots of a server that queues.
    limit: u64,
    window: Duration,
    latency: Duration,
    jobs: u64,
    pub(crate) plan: Plan,
}

const SAYING: [Saying; 7] = [
    Saying::All,
    Saying::Limits,
    Saying::Remaining,
    Saying::Stale,
    Saying::Seconds,
    Saying::Millis,
    Saying::Nothing,
];
const COMPANY: [Company; 5] = [
    Company::Quiet,
    Company::Tenant,
    Company::Second,
    Company::Change,
    Company::Cold,
];
/// Calls in windows of so many seconds.
const RATES: [(u64, u64); 5] = [(5, 1), (50, 1), (500, 1), (60, 60), (600, 60)];
/// What an answer takes, in ms.
const LATENCIES: [u64; 4] = [20, 200, 2000, 20_000];
/// How many windows a run lasts.
const WINDOWS: [u64; 2] = [10, 100];

/// The first so many cells of a grid.
pub(crate) fn cells(grid: u64, count: u64) -> Vec<Cell> {
    (0..count).map(|number| Cell::draw(grid, number)).collect()
}

/// One of them.
fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

/// Something between half of it and twice as much, evenly by the logarithm.
fn about(random: &mut Random, value: u64) -> u64 {
    let steps = random.below(1001);
    // The powers of 2 from -1 to 1, by the second order of their series: within 2 %.
    let x = steps as f64 / 500.0 - 1.0;
    let power = 1.0 + x * (0.693 + x * (0.24 + x * 0.056));
    ((value as f64 * power) as u64).max(1)
}

impl Cell {
    fn draw(grid: u64, number: u64) -> Self {
        let mut random = Random::stream(grid, 1_000 + number);
        let random = &mut random;
        // In turn, so that each comes as often; whatever else there is is drawn.
        let counting = Counting::ALL[(number % Counting::ALL.len() as u64) as usize];
        let queues = matches!(counting, Counting::OneSlot | Counting::Slots);
        let mute = queues || counting == Counting::Parallel;
        let saying = one_of(random, &SAYING);
        let saying = if mute { Saying::Nothing } else { saying };
        let company = one_of(random, &COMPANY);
        let company = match company {
            Company::Cold => company,
            _ if mute => Company::Quiet,
            _ => company,
        };
        let (calls, seconds) = one_of(random, &RATES);
        let seconds = if counting == Counting::Clock {
            60
        } else {
            seconds
        };
        let window = Duration::from_secs(seconds);
        let latency = one_of(random, &LATENCIES);
        let latency = about(random, latency);
        let latency = if queues { latency.max(100) } else { latency };
        let limit = match counting {
            Counting::OneSlot => 1,
            Counting::Slots | Counting::Parallel => about(random, 16),
            _ => about(random, calls).max(4),
        };
        let windows = one_of(random, &WINDOWS);
        let windows = about(random, windows);
        let mut cell = Self {
            seed: grid * 10_000 + number,
            counting,
            saying,
            company,
            limit,
            window,
            latency: Duration::from_millis(latency),
            jobs: limit * windows,
            plan: Plan::one(
                ServerPlan::declaring(Style::Silent, Ask::Nothing, &[]),
                0,
                0,
            ),
        };
        cell.plan = cell.planned(random);
        cell
    }

    fn planned(&self, random: &mut Random) -> Plan {
        let mut plan = Plan::one(self.server(), self.jobs as usize, 1).with_jitter();
        plan.latency = self.latency;
        plan.delay =
            Duration::from_millis(one_of(random, &[0, 20])).max(Duration::from_micros(200));
        let span = self.span();
        let server = &mut plan.servers[0];
        match self.company {
            Company::Quiet => {}
            Company::Tenant => {
                server.tenant = Some(Tenant {
                    from: Time::ZERO + span / 4,
                    until: Time::ZERO + span / 2,
                    every: self.window * 2 / self.limit as u32,
                    tokens: 0,
                });
            }
            Company::Second => {
                let lane = plan.lanes[0].clone();
                plan.lanes.push(lane);
                (plan.apart, plan.shares) = (true, true);
            }
            Company::Change => {
                let (at, percent) = (Time::ZERO + span / 3, one_of(random, &[50, 200]));
                server.faults.push(Fault::Limit { at, percent });
            }
            Company::Cold => {
                let (from, until) = (Time::ZERO, Time::ZERO + self.latency * 10);
                let factor = 5;
                server.faults.push(Fault::Slow {
                    from,
                    until,
                    factor,
                });
            }
        }
        plan
    }

    fn server(&self) -> ServerPlan {
        let (limit, window) = (self.limit, self.window);
        let longer = Shape::Bucket {
            limit: limit * 3,
            window: window * 4,
        };
        let shape = match self.counting {
            Counting::Bucket => Shape::Bucket { limit, window },
            Counting::Fixed | Counting::Clock | Counting::Two => Shape::Fixed { limit, window },
            Counting::Log => Shape::Log { limit, window },
            Counting::Counter => Shape::Counter { limit, window },
            Counting::Leaky => Shape::Gcra {
                burst: (limit / 10).max(2),
                interval: window / limit as u32,
            },
            Counting::Parallel => Shape::Parallel { limit },
            Counting::OneSlot | Counting::Slots => longer,
        };
        let (style, ask) = match self.saying {
            Saying::All | Saying::Stale => (Style::OpenAi, Ask::Seconds),
            Saying::Limits => (Style::LiteLlm, Ask::Nothing),
            Saying::Remaining => (Style::Azure, Ask::Seconds),
            Saying::Seconds => (Style::Silent, Ask::Seconds),
            Saying::Millis => (Style::Silent, Ask::Millis),
            Saying::Nothing => (Style::Silent, Ask::Nothing),
        };
        let mut server = ServerPlan::declaring(style, ask, &[(shape, Unit::Requests)]);
        server.by_clock = self.counting == Counting::Clock;
        if self.saying == Saying::Stale {
            server.twist = Twist::Stale { most: self.latency };
        }
        match self.counting {
            Counting::Two => server.rules.push(RulePlan {
                shape: longer,
                ..server.rules[0]
            }),
            Counting::OneSlot | Counting::Slots => {
                server.rules.clear();
                let crowding = if self.counting == Counting::Slots {
                    10
                } else {
                    0
                };
                let slots = limit as u32;
                server.service = Service::Slots { slots, crowding };
            }
            _ => {}
        }
        server
    }

    /// About how long it takes.
    fn span(&self) -> Duration {
        match self.class() {
            Class::Queue => self.latency * self.jobs as u32 / self.limit as u32,
            _ if self.counting == Counting::Parallel => {
                self.latency * self.jobs as u32 / self.limit as u32
            }
            _ => self.window * (self.jobs / self.limit) as u32,
        }
    }

    pub(crate) fn class(&self) -> Class {
        match (self.counting, self.saying) {
            (Counting::OneSlot | Counting::Slots, _) => Class::Queue,
            (Counting::Parallel, _) | (_, Saying::Seconds | Saying::Millis | Saying::Nothing) => {
                Class::Undeclared
            }
            (_, Saying::All | Saying::Limits | Saying::Remaining | Saying::Stale) => {
                Class::Declared
            }
        }
    }

    /// Whether it is over before twenty answers' time has passed.
    pub(crate) fn is_short(&self) -> bool {
        self.span() < self.latency * SHORT
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, window, latency) = (self.limit, self.window, self.latency);
        match self.counting {
            Counting::OneSlot | Counting::Slots => write!(f, "{limit} slots")?,
            Counting::Parallel => write!(f, "{limit} parallel")?,
            counting => write!(
                f,
                "{counting:?} {limit} in {window:?}, says {:?}",
                self.saying
            )?,
        }
        write!(f, ", {latency:?}, {} calls, {:?}", self.jobs, self.company)
    }
}
