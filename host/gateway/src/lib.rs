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
//! | room | stages | its files |
//! |---|---|---|
//! | `policy` | **grant**: the user's word against the plugin's wish; pure, and complete before anything is spent | `grants`, `origin`, `address`, `header` |
//! | | **credential**: named by the plugin, added by the host, bound to its origins; taken out of all that comes back | `secret`, `masker`, and what some schemes need besides: `aws`, `google`, `oauth`; `certificates`, `signer`, `header_secrets` |
//! | `memory` | **record/replay** and **cache**: see neither secret nor lane | `remembered`, `cassette`, `cache` |
//! | | while a request is on its way, its answer is for all who ask the same | `shared` |
//! | `admission` | **budget**: what may still be spent; reserved before, settled after | `budget`, `tokens` |
//! | | **lane admission**: who goes when, and whether and when again, is decided by the machine of `runner-scheduler` | `lanes`, `scheduling` |
//! | `wire` | **attempt**: the only code that sends; addresses are checked where they are connected to, redirects hop by hop; what comes back is unpacked and has its place in memory | `request`, `draft`, `attempt`, `client`, `proxies`, `resolve`, `redirect`, `coding`, `bodies`, `fault` |
//! | | the **credential** again: put in anew for each attempt and each hop | `signature`, `sigv4`, `tokens`, `google` |
//! | | beside the stages: a file that the person names by its address | `download` |
//! | | **classify**: one table; what a response says about limits and waits is read header by header | `class`, `hint` |
//! | `stack` | the order of the stages, and nothing else; takes an exchange's time | `stack`, `outbound`, `scope`, `together`, `sharing`, `remember`, `ended`, `stopwatch`, `fault` |
//!
//! Below the rooms stand the values that pass through them: `exchange`, `process` (a call of a
//! program, which passes the same stages as a request), `pieces` (a response while it comes), `lane` (what shares a quota), `clock` (the
//! time that a call works), `observer`. `policy` knows nobody, `memory`, `admission` and `wire`
//! don't know each other, `stack` knows all. The order matters: a refused request touches nothing,
//! a remembered one neither budget nor quota, and a pausing one holds no permit.
//!
//! This is not a general HTTP client, and it is not the plugin interface: the words of the
//! contract are translated by whoever hosts the plugin, and those of the config by whoever reads
//! it.

mod admission;
mod clock;
mod exchange;
mod lane;
mod memory;
mod observer;
mod pieces;
mod policy;
mod process;
mod stack;
mod wire;

pub use admission::budget::{
    Budget, BudgetId, BudgetLedger, Measure, Owner, Payers, Price, Reservation, StatedCost,
    Statement, UsedTokens,
};
pub use admission::lanes::{LaneLoad, LaneSummary, QuotaPlace};
pub use admission::scheduling::Scheduling;
pub use admission::tokens::{MOST_TOKENS, USUAL_OUTPUT, answer_tokens, prompt_tokens};
pub use clock::{Pause, WorkClock};
pub use exchange::{
    CacheMode, DEFAULT_TIMEOUT, Exchange, ExchangeCode, ExchangeError, ExchangeUsage,
    RESPONSE_LIMIT, Reply,
};
pub use lane::Lane;
pub use memory::cache::{DiskCache, KEY_VERSION};
pub use memory::cassette::{CassetteError, Exchanges, Playback, Recording};
pub use memory::remembered::{
    CachedReply, Caller, Cassette, CassetteMatch, Ending, Envelope, Interaction, ResponseCache,
    StoredResponse,
};
pub use observer::{Event, LaneNotice, LaneStanding, Notice, Observer};
pub use pieces::{Piece, PieceEnd, Pieces};
pub use policy::address::{AddressScope, needs_agreement};
pub use policy::certificates::{Certificates, Malformed};
pub use policy::google::GoogleKeyError;
pub use policy::grants::{Credential, Grants, Refusal};
pub use policy::header_secrets::HeaderSecrets;
pub use policy::masker::{Masker, SHORTEST_MASKED};
pub use policy::oauth::TokenClient;
pub use policy::origin::{Naming, Origin, OriginPattern, PatternError, leads_up};
pub use policy::secret::{Fingerprint, Scheme, SchemeError, Secret, TooLong};
pub use policy::signer::{NoSigningKey, RequestSigner, SignedDigest, SigningRule, StandIns};
pub use process::{Peer, ProcessCall};
pub use runner_scheduler::{Class, LanePolicy, LaneStrategy, Limit, LimitMeasure};
pub use stack::attempts::{Attempt, AttemptLog};
pub use stack::scope::ExchangeScope;
pub use stack::{Gateway, Settings};
pub use wire::bodies::{CALL_LIMIT, CallBodies, Precedence};
pub use wire::client::{ClientSettings, tls};
pub use wire::download::download;
pub use wire::hint::{BodyHint, HintSource};
pub use wire::proxies::ProxyChoice;
pub use wire::resolve::{Lookup, SystemLookup};
