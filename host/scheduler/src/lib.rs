//! What starts when: the pure state machine of lanes.
//!
//! A lane is what shares a quota: origin, credential, organization and bucket. This crate holds
//! every decision about it: how many attempts may be in flight (`window`), how many per unit of
//! time (`pace`, `bucket`), who is next (`queue`), what is tried again and when (`retry`), and what
//! the user declared (`limits`). What a response says about its server's limits comes in as plain
//! data (`hint`); whose header said it, and how, is not known here.
//!
//! There is no clock, no task, no randomness of its own and no dependency here. Time comes in
//! with every verb, the seed with the constructor; what to do comes out. So the same code runs
//! under the real runtime, in a simulator that does hours in milliseconds, and under property
//! tests; and a run's decisions can be replayed.

mod allowance;
mod bucket;
mod chance;
mod class;
mod classifier;
mod event;
mod evidence;
mod gate;
mod hint;
mod job;
mod knee;
mod lane;
mod limits;
mod metrics;
mod pace;
mod policy;
mod queue;
mod retry;
mod scheduler;
mod sent;
mod time;
mod trust;
mod tuning;
mod view;
mod window;

pub use class::Class;
pub use event::{Event, Notice};
pub use hint::{Dimension, Hint, Reading};
pub use job::{Action, Cost, Demand, End, JobId, LaneId, Next, Refusal};
pub use limits::{Counts, Denied, LeaseId, Limit, LimitId, Limits};
pub use policy::{LanePolicy, LaneStrategy};
pub use scheduler::Scheduler;
pub use time::Time;
pub use view::{Metrics, View, Wait, Why};
