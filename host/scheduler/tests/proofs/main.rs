//! What is shown about the scheduler in simulation.
//!
//! - `models`: the simulator itself, against results that can be worked out on paper;
//! - `gates`: every scenario of the table, at least five seeds each, against its gate;
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
