//! Real interpreters below a real supervisor: started, asked, and ended.
#![cfg(unix)]

mod commands;
mod node;
mod python;
mod world;
