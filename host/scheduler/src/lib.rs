//! What starts when: the pure state machine of lanes.
//!
//! A lane is what shares a quota: origin, credential, organization and bucket. This crate holds
//! every decision about it. Its rooms, from the bottom up:
//!
//! | module | what it holds |
//! |---|---|
//! | `hint`, `class`, `job`, `policy` | what comes in: what a response says of limits and means, what is asked for, what the user set |
//! | `event`, `view`, `metrics` | what is told of a lane |
//! | `tuning` | the numbers by which lanes decide, each with what pins it |
//! | `bucket`, `evidence`, `sent`, `trust` | limits that the server declares: what is left, how they refill, how far they are believed |
//! | `classifier`, `pace`, `allowance` | limits that nobody declares: of which kind, how many in how long |
//! | `shared`, `sharing` | what other programs on this machine use of the same quota |
//! | `window`, `knee` | how many may be in flight, and whether more at once get more answers |
//! | `gate` | whether a lane is open at all: refusals, failures, ends |
//! | `queue`, `retry` | who is next; what is tried again and when |
//! | `lane` | one lane with its strategy, which is `fixed` or `adaptive`: start there |
//! | `limits` | what the user declared |
//! | `scheduler` | all lanes, and the verbs |
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
mod shared;
mod sharing;
mod time;
mod trust;
mod tuning;
mod view;
mod window;

pub use class::Class;
pub use event::{Event, Notice};
pub use hint::{Dimension, Hint, Reading};
pub use job::{Action, Demand, End, JobId, LaneId, LongWait, NextStep, QuotaUse, Refusal};
pub use limits::{Denied, LeaseId, Limit, LimitId, LimitMeasure, Limits};
pub use policy::{LanePolicy, LaneStrategy};
pub use scheduler::{Scheduler, Shareable};
pub use shared::{CommonQuota, QuotaReply, QuotaReport};
pub use time::Time;
pub use view::{Metrics, View, Wait, WaitReason};
