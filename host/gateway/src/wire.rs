//! How a request goes and what comes back: one attempt, bounded in time and size. The only room
//! that sends. Knows neither lanes nor budgets nor memory.

pub(crate) mod attempt;
pub(crate) mod bodies;
pub(crate) mod class;
pub(crate) mod client;
pub(crate) mod coding;
pub(crate) mod download;
pub(crate) mod draft;
pub(crate) mod fault;
mod google;
pub(crate) mod hint;
pub(crate) mod proxies;
mod redirect;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod signature;
mod sigv4;
pub(crate) mod tokens;
