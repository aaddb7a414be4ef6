//! Hostile plugins in whole runs: what they cost the program, and what others see of them.

mod gateway;
mod measured;
mod plugins;
mod results;
