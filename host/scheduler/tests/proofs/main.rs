//! What is shown about the scheduler in simulation.
//!
//! - `models`: the simulator itself, against results that can be worked out on paper;
//! - `gates`: the table of scenarios, five seeds each, and servers drawn by chance against their bounds;
//! - `scenarios`: single runs that once went wrong, or that no figure describes;
//! - `invariants`: whatever world is drawn, what must hold at every step does.
//!
//! One test program, so that the simulator is compiled once.

mod gates;
mod invariants;
mod models;
mod scenarios;

#[path = "../simulator/mod.rs"]
mod simulator;
