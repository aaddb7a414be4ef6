//! What starts when: the pure state machine of lanes.
//!
//! A lane is what shares a quota: origin, credential, organization and bucket. This crate will
//! hold the decisions about it (windows, pacing, retries, hints, queues) as a machine without a
//! clock, without tasks and without dependencies, so that it can be simulated and proved.
//!
//! Nothing is decided here yet. Until then every attempt is admitted at once: the place in the
//! stack is `runner_eval::gateway::Admission`, and `OpenLanes` is its implementation. What bounds a
//! run today is `-j`, and what paces it are the server's own hints, read by the gateway's retry.
