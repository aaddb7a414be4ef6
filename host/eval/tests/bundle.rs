//! The table of the bundle says what the components say.
//!
//! After a change of what a plugin serves:
//! `cargo xtask plugins && RUNNER_BLESS=1 cargo test --release --workspace --test bundle`.

use std::path::PathBuf;

use runner_eval::plugins::{Served, bundle, optional};
use runner_sandbox::{Options, Sandbox};
use runner_tests::target_folder;

#[test]
fn the_table_says_what_the_components_say() {
    let sandbox = Sandbox::new(Options::default()).expect("an engine");
    let folder = target_folder().join("release/plugins");
    let entries = std::fs::read_dir(&folder).expect("`cargo xtask plugins` made it");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "wasm"));
    // An option may be there or not; its own tests run it.
    let is_option = |path: &PathBuf| {
        let name = path.file_stem();
        let mut options = optional().into_iter();
        options.any(|option| name.is_some_and(|name| *option.served.name == *name))
    };
    files.retain(|path| !is_option(path));
    files.sort();
    // Interpreters are not in the table: code may stand anywhere, so they are always loaded.
    let load = |file: PathBuf| {
        let plugin = sandbox.load(&file, None).expect("a plugin");
        let interprets = !plugin.script_languages().is_empty();
        (!interprets).then(|| (Served::by(&plugin), file))
    };
    let (served, files): (Vec<Served>, Vec<PathBuf>) = files.into_iter().filter_map(load).unzip();
    if std::env::var_os("RUNNER_BLESS").is_some() {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plugins/bundle.json");
        let json = serde_json::to_string_pretty(&served).expect("plain data");
        std::fs::write(table, json + "\n").expect("written");
        return;
    }
    assert_eq!(bundle(), served, "see the head of this file");
    for (served, file) in served.iter().zip(files) {
        let name = file.file_stem().expect("a name");
        assert_eq!(*served.name, *name, "the file has the plugin's name");
    }
}
