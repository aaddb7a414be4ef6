//! Files that say they are components.

use std::sync::LazyLock;
use std::time::Duration;

use runner_sandbox::{Options, Sandbox};

struct World {
    sandbox: Sandbox,
    folder: tempfile::TempDir,
}

static WORLD: LazyLock<World> = LazyLock::new(|| World {
    sandbox: Sandbox::new(Options {
        cache_dir: None,
        instances: 1,
        compile_timeout: Duration::from_secs(20),
        ..Options::default()
    })
    .expect("a sandbox"),
    folder: tempfile::tempdir().expect("a temporary folder"),
});

pub(super) fn run(input: &[u8]) -> String {
    let World { sandbox, folder } = &*WORLD;
    let file = folder.path().join("plugin.wasm");
    std::fs::write(&file, input).expect("it can be written");
    match sandbox.load(&file, Some("acme")) {
        Ok(_) => "a plugin".to_owned(),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("plugin 'acme' ("), "{text}");
            text
        }
    }
}
