//! The gateway: the one way from a plugin to the network.
//!
//! A plugin states a request as a value; everything that the request may do to the world
//! is decided between that value and the wire, by one stack of stages in one order:
//!
//! ```text
//! grant → credential → record/replay → cache → budget → lane admission → attempt → classify
//!                                                             ↑                        │
//!                                                             └──────── again ─────────┴→ return
//! ```
//!
//! - **grant** (`grants`, `origin`, `request`): the user's word against the plugin's wish.
//!   Pure, and complete before anything is spent.
//! - **credential** (`secret`, `request`): named by the plugin, added by the host, bound to
//!   its origins. What comes back passes the `masker`.
//! - **record/replay** and **cache** (`memory`, `tape`, `cache`): see neither secret nor lane.
//!   While a request is on its way, `flights` gives its answer to all who ask the same.
//! - **budget** (`budget`): what may still be spent. Reserved before, settled after.
//! - **lane admission** (`lanes`, `lane`, `scheduling`): who goes when, and whether and when a
//!   request is sent again, is decided by the machine of `runner-scheduler`; `lanes` is its
//!   shell. `tokens` says what a request will use and has used.
//! - **attempt** (`wire`, `client`, `resolve`, `address`, `redirect`): the only code that
//!   sends. Addresses are checked where they are connected to, redirects hop by hop.
//! - **classify** (`class`): one table. What a response says about limits and waits is read by
//!   the scheduler's hints.
//!
//! Time is kept by `ledger` for one exchange and by `clock` for a call. The order matters:
//! a refused request touches nothing, a remembered one neither budget nor quota, and a pausing one holds
//! no permit. `stack` knows the order and nothing else.
//!
//! This is not a general HTTP client, and it is not the plugin interface: the words of the
//! contract are translated by whoever hosts the plugin.

mod address;
mod budget;
mod cache;
mod class;
mod client;
mod clock;
mod ended;
mod exchange;
mod fault;
mod flights;
mod grants;
mod lane;
mod lanes;
mod ledger;
mod masker;
mod memory;
mod observer;
mod origin;
mod redirect;
mod request;
mod resolve;
mod scheduling;
mod secret;
mod stack;
mod tape;
mod tokens;
mod wire;

pub use address::{Place, Reach, needs_agreement, place};
pub(crate) use budget::UsedTokens;
pub use budget::{AccountId, Exceeded, Measure, Owner, Price, Statement, Tab, Till};
pub(crate) use budget::{Bill, Said};
pub(crate) use cache::DiskCache;
pub use cache::KEY_VERSION;
pub use class::Class;
pub use client::{ClientSettings, ProxyChoice};
pub use clock::WorkClock;
pub use exchange::{
    CacheMode, CallScope, DEFAULT_TIMEOUT, Exchange, REQUEST_LIMIT, RESPONSE_LIMIT, Reply, Spent,
};
pub use fault::{Code, ExchangeError};
pub use grants::{Credential, Grants, Refusal};
pub use lane::Lane;
pub use lanes::{LaneNotice, LaneStanding, LaneSummary};
pub use masker::{MASK, Masker, SHORTEST_MASKED};
pub use memory::{Cue, Ending, Envelope, Held, NoTape, Remembered, ResponseCache, Take, Tape};
pub use observer::{Event, Notice, Observer, Unobserved};
pub use origin::{Naming, Origin, OriginPattern, PatternError};
pub use resolve::{Lookup, SystemLookup};
pub use runner_scheduler::{Counts, Limit, Policy};
pub use scheduling::Scheduling;
pub use secret::{Fingerprint, Scheme, SchemeError, Secret};
pub use stack::{Gateway, Settings};
pub use tape::{Exchanges, Playback, Recording, TapeError};
