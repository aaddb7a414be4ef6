//! What `cargo xtask plugins` builds for the tests.

use std::path::PathBuf;

use crate::run::target_folder;

/// A component that `cargo xtask plugins` builds for the tests: `tests/hostile`, `outside/brief`.
pub fn guest(name: &str) -> PathBuf {
    let path = target_folder()
        .join("guests")
        .join(name)
        .with_extension("wasm");
    assert!(
        path.is_file(),
        "there is no {}; build it with `cargo xtask plugins`",
        path.display()
    );
    path
}
