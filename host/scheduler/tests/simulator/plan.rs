//! A scenario as data, and the world that a seed makes of it.
//!
//! Everything random is drawn here, before anything runs: the client under test and the oracle
//! get the same jobs with the same latencies, whatever they do with them.

use std::sync::Arc;
use std::time::Duration;

use runner_scheduler::{LanePolicy, LimitMeasure, QuotaUse, Time};

use super::busy::Busy;
use super::quota::Shape;
use super::random::Random;
use super::server::{Charge, Server};
use super::service::Service;
use super::speech::{Ask, Style, Unit, Voice};

/// One limit of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RulePlan {
    pub(crate) shape: Shape,
    pub(crate) unit: Unit,
    /// Whether it refuses anybody, or only stands in the headers.
    pub(crate) enforced: bool,
    /// Whether it stands in the headers.
    pub(crate) declared: bool,
}

/// Trouble at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Everything is refused, with the same wish.
    Storm {
        from: Time,
        until: Time,
        ask: Duration,
    },
    /// Everything fails with 503.
    Outage { from: Time, until: Time },
    /// Answers take longer.
    Slow {
        from: Time,
        until: Time,
        factor: u32,
    },
    /// All limits are this share of the plan's from then on.
    Limit { at: Time, percent: u64 },
    /// The account is empty.
    Exhausted { at: Time },
}

/// Somebody else with the same key, who takes what he needs first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenant {
    pub(crate) from: Time,
    pub(crate) until: Time,
    /// One request each such span, give or take half of it.
    pub(crate) every: Duration,
    pub(crate) tokens: u64,
}

/// How headers are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Twist {
    None,
    /// States of up to `most` ago.
    Stale {
        most: Duration,
    },
    /// Every other answer has none.
    Missing,
    /// All of the limit remains, always.
    Lying,
    /// They are written when the answer leaves: what arrived meanwhile is used, too.
    AtAnswer,
}

/// A server.
#[derive(Debug, Clone)]
pub(crate) struct ServerPlan {
    pub(crate) rules: Vec<RulePlan>,
    pub(crate) service: Service,
    pub(crate) voice: Voice,
    pub(crate) faults: Vec<Fault>,
    pub(crate) tenant: Option<Tenant>,
    pub(crate) twist: Twist,
    /// Its windows of a minute are those of the clock.
    pub(crate) by_clock: bool,
    /// Charges what is used rather than what was estimated.
    pub(crate) charges_actual: bool,
}

/// A lane.
#[derive(Debug, Clone)]
pub(crate) struct LanePlan {
    /// Which server it talks to.
    pub(crate) server: usize,
    pub(crate) policy: LanePolicy,
    /// Declared limits of the plan that it falls under.
    pub(crate) limits: Vec<usize>,
    /// Its server gives up on it: what is lost there doesn't count.
    pub(crate) ends: bool,
}

/// Sizes of jobs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sizes {
    /// All alike, and estimated rightly.
    Equal { input: u64, output: u64 },
    /// Prompts log-normal (σ 0.8) around `input`, at most ten times that; answers evenly from
    /// a tenth of `output` to all of it, which is the estimate.
    Mixed { input: u64, output: u64 },
}

/// What a user may do to a job, for the properties.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Whims {
    /// Jobs of a thousand that are cancelled at some time within 5 s.
    pub(crate) cancelled: u64,
}

/// Requests that are taken and never answered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hangs {
    /// Jobs of a thousand that hang.
    pub(crate) per_mille: u64,
    /// When the client gives one up, after it was sent.
    pub(crate) timeout: Duration,
}

/// A scenario.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) servers: Vec<ServerPlan>,
    pub(crate) lanes: Vec<LanePlan>,
    /// Limits that the user declares to the scheduler.
    pub(crate) limits: Vec<(LimitMeasure, u64)>,
    pub(crate) jobs: usize,
    /// `-j`: jobs that are begun and not ended.
    pub(crate) parallel: usize,
    /// Each lane belongs to a program of its own, with `-j` jobs of its own: two runs on one key.
    pub(crate) apart: bool,
    /// These programs share what they find out, through a file.
    pub(crate) shares: bool,
    /// Time limit of a request, after which the client gives it up; the server does not.
    pub(crate) timeout: Option<Duration>,
    /// What else the client's machine does.
    pub(crate) busy: Option<Busy>,
    /// One way between client and server.
    pub(crate) delay: Duration,
    /// How much longer a request is on its way at most, so that those sent at once come in another order.
    pub(crate) jitter: Duration,
    /// Median of the time that an answer takes at the server, log-normal with σ 0.5.
    pub(crate) latency: Duration,
    /// It takes always that long.
    pub(crate) steady: bool,
    pub(crate) sizes: Sizes,
    pub(crate) whims: Whims,
    pub(crate) hangs: Hangs,
}

/// A job with all its draws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) lane: usize,
    /// At the server; if it hangs, until the client gives it up.
    pub(crate) latency: Duration,
    /// How much longer than the plan's delay its requests are on their way.
    pub(crate) late: Duration,
    /// It is never answered.
    pub(crate) hangs: bool,
    pub(crate) estimate: QuotaUse,
    pub(crate) actual: QuotaUse,
    /// What its server charges for it.
    pub(crate) charge: Charge,
    /// After its offer.
    pub(crate) cancelled: Option<Duration>,
}

/// A plan with the draws of a seed.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) plan: Arc<Plan>,
    pub(crate) servers: Vec<Server>,
    pub(crate) jobs: Arc<[Job]>,
    pub(crate) seed: u64,
    /// How much of the clock's minute has passed at the start.
    pub(crate) clock: Duration,
}

impl ServerPlan {
    /// A server with these limits that declares all of them in this style.
    pub(crate) fn declaring(style: Style, ask: Ask, limits: &[(Shape, Unit)]) -> Self {
        let rules = limits.iter().map(|(shape, unit)| RulePlan {
            shape: *shape,
            unit: *unit,
            enforced: true,
            declared: style != Style::Silent,
        });
        Self {
            rules: rules.collect(),
            service: Service::Apart,
            voice: Voice { style, ask },
            faults: Vec::new(),
            tenant: None,
            twist: Twist::None,
            by_clock: false,
            charges_actual: false,
        }
    }
}

impl Plan {
    /// One lane, one server: 20 ms away, jobs of 100 and 100 tokens, `-j` 256.
    pub(crate) fn one(server: ServerPlan, jobs: usize, latency_ms: u64) -> Self {
        Self {
            servers: vec![server],
            lanes: vec![LanePlan {
                server: 0,
                policy: LanePolicy::default(),
                limits: Vec::new(),
                ends: false,
            }],
            limits: Vec::new(),
            jobs,
            parallel: 256,
            apart: false,
            shares: false,
            timeout: None,
            busy: None,
            delay: Duration::from_millis(20),
            jitter: Duration::ZERO,
            latency: Duration::from_millis(latency_ms),
            steady: false,
            sizes: Sizes::Equal {
                input: 100,
                output: 100,
            },
            whims: Whims::default(),
            hangs: Hangs::default(),
        }
    }

    /// This plan with the user's own `-j`, or without one.
    pub(crate) fn with_j(mut self, j: Option<u32>) -> Self {
        let usual = LanePolicy::default();
        for lane in &mut self.lanes {
            lane.policy.start_window = j.map_or(usual.start_window, |j| j.min(100));
            lane.policy.max_window = j.unwrap_or(usual.max_window);
        }
        self.parallel = j.unwrap_or(256) as usize;
        self
    }

    /// This plan over a network that delivers what is sent at once in any order.
    pub(crate) fn with_jitter(self) -> Self {
        let jitter = Duration::from_millis(4);
        Self { jitter, ..self }
    }

    /// This plan on a machine that does something else half of the time.
    pub(crate) fn on_a_busy_machine(self) -> Self {
        let (awake, stalled) = (Duration::from_millis(60), Duration::from_millis(60));
        Self {
            busy: Some(Busy { awake, stalled }),
            ..self
        }
    }

    /// How many jobs a program begins that has had no answer yet: what its lanes open with.
    pub(crate) fn opening(&self, program: usize) -> usize {
        let lanes = self.lanes.iter().enumerate();
        let own = lanes.filter(|(lane, _)| self.program(*lane) == program);
        let opening = own.map(|(_, lane)| lane.policy.start_window as usize);
        opening.sum::<usize>().min(self.parallel)
    }

    /// Which program begins a lane's jobs.
    pub(crate) fn program(&self, lane: usize) -> usize {
        if self.apart { lane } else { 0 }
    }

    /// How many limits a lane's server declares, and the longest of their windows.
    pub(crate) fn declares(&self, lane: &LanePlan) -> (usize, Duration) {
        let rules = self.servers[lane.server].rules.iter();
        let windows = rules
            .filter(|rule| rule.declared)
            .map(|rule| rule.shape.window());
        let windows: Vec<Duration> = windows.collect();
        (windows.len(), windows.into_iter().max().unwrap_or_default())
    }

    /// The world of a seed.
    pub(crate) fn world(&self, seed: u64) -> World {
        let servers = self.servers.iter().enumerate().map(|(index, server)| {
            Server::new(server.clone(), Random::stream(seed, 100 + index as u64))
        });
        let mut latencies = Random::stream(seed, 1);
        let mut sizes = Random::stream(seed, 2);
        let mut whims = Random::stream(seed, 3);
        let mut hangs = Random::stream(seed, 4);
        let mut ways = Random::stream(seed, 7);
        let jobs = (0..self.jobs).map(|index| {
            let lane = index % self.lanes.len();
            let (estimate, actual) = self.sizes.draw(&mut sizes);
            let charges_actual = self.servers[self.lanes[lane].server].charges_actual;
            let charged = if charges_actual { actual } else { estimate };
            let hangs = hangs.happens(self.hangs.per_mille);
            let spread = if self.steady { 0.0 } else { 0.5 };
            let latency = latencies.latency(self.latency, spread);
            Job {
                lane,
                latency: if hangs {
                    self.hangs.timeout.saturating_sub(self.delay * 2)
                } else {
                    latency
                },
                late: ways.span(self.jitter),
                hangs,
                estimate,
                actual,
                charge: Charge {
                    requests: 1,
                    tokens: charged.tokens(),
                },
                cancelled: drawn(&mut whims, self.whims.cancelled, 5),
            }
        });
        // The servers draw the phase of their windows from the same stream, first of all.
        let stream = if self.servers[0].by_clock { 100 } else { 6 };
        let passed = Random::stream(seed, stream).below(1000);
        World {
            clock: Duration::from_mins(1) * passed as u32 / 1000,
            servers: servers.collect(),
            jobs: jobs.collect(),
            plan: Arc::new(self.clone()),
            seed,
        }
    }
}

fn drawn(random: &mut Random, per_mille: u64, within_secs: u64) -> Option<Duration> {
    let span = random.span(Duration::from_secs(within_secs));
    random.happens(per_mille).then_some(span)
}

impl Sizes {
    /// An estimate, and what is really used.
    fn draw(self, random: &mut Random) -> (QuotaUse, QuotaUse) {
        let (input, output, used) = match self {
            Self::Equal { input, output } => (input, output, output),
            Self::Mixed { input, output } => {
                let drawn = (input as f64 * random.factor(0.8)) as u64;
                let used = output / 10 + random.below(output - output / 10 + 1);
                (drawn.clamp(1, input * 10), output, used)
            }
        };
        let cost = |output_tokens| QuotaUse {
            input_tokens: input,
            output_tokens,
        };
        (cost(output), cost(used))
    }
}
