//! The sandbox from outside: files that cannot be used, and guests that misbehave.
//!
//! One program, so that the world is linked once. The guests are built by
//! `cargo xtask plugins`; without them the tests fail and say so.

mod code;
mod crowd;
mod descriptions;
mod exhaustion;
mod hostile;
mod inventory;
mod load;
mod shapes;
mod virtual_wasi;
mod world;
