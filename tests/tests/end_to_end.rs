//! Runs of the real program against real servers on this machine, as a user sees them.
//!
//! One program for all of them: each would be linked with the whole engine, and that takes longer than most
//! of them run. `cargo test --locked --release --workspace --test end_to_end interrupt` runs those of one file.

mod abi;
mod apis;
mod authors;
mod budget;
mod cache;
mod cascades;
mod clouds;
mod code;
mod compared;
mod compat;
mod crash;
mod datasets;
mod dry_run;
mod edges;
mod encrypted;
mod files;
mod gateway_secrets;
mod generators;
mod green;
mod header_keys;
mod hooks;
mod hostile_runs;
mod interrupt;
mod jobs;
mod judges;
mod lanes;
mod large_rows;
mod limits;
mod lines;
mod mistakes;
mod newcomers;
mod one_file;
mod openai;
mod order;
mod outputs;
mod outputs_config;
mod own_code;
mod own_requests;
mod page;
mod plugin_added;
mod plugin_build;
mod plugin_models;
mod plugin_names;
mod plugins;
mod python;
mod questions;
mod questions_at_once;
mod quickstart;
mod readme;
mod recordings;
mod repeats;
mod resume;
mod secrets_everywhere;
mod sources;
mod storage;
mod strangers;
mod streaming;
mod timeouts;
mod trust;
mod vendors;
mod view;
mod wit_freeze;

#[test]
fn no_file_is_left_out() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let entries = std::fs::read_dir(here).expect("it is there");
    let named = include_str!("end_to_end.rs");
    for entry in entries.flatten() {
        let path = entry.path();
        let stem = path.file_stem().expect("it has a name").to_string_lossy();
        let is_named = named.contains(&format!("\nmod {stem};\n"));
        assert!(
            is_named || ["end_to_end", "snapshots"].contains(&&*stem),
            "end_to_end.rs doesn't name {stem}"
        );
    }
}
