//! The tables of the bundle, and of the schema for editors, say what the components say.
//!
//! After a change of what a plugin serves:
//! `cargo xtask plugins && RUNNER_BLESS=1 cargo test --release --workspace --test bundle`.

use std::path::PathBuf;

use runner_eval::plugins::{PluginServices, bundle, optional};
use runner_sandbox::{Options, Plugin, Sandbox};
use runner_tests::target_folder;
use serde_json::{Value, json};

/// What the schema for editors is told of plugins.
const FOR_EDITORS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../config/src/schema/served.json"
);

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
    // Interpreters of code are not in the table: it may stand anywhere, so they are always loaded.
    let load = |file: PathBuf| {
        let plugin = sandbox.load(&file, None).expect("a plugin");
        let languages = plugin.script_languages().iter();
        let interprets = languages.clone().any(|it| !it.extensions.is_empty());
        (!interprets).then(|| ((PluginServices::by(&plugin), for_editors(&plugin)), file))
    };
    let (served, files): (Vec<(PluginServices, Value)>, Vec<PathBuf>) =
        files.into_iter().filter_map(load).unzip();
    let (served, for_editors): (Vec<PluginServices>, Vec<Value>) = served.into_iter().unzip();
    if std::env::var_os("RUNNER_BLESS").is_some() {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plugins/bundle.json");
        let json = serde_json::to_string_pretty(&served).expect("plain data");
        std::fs::write(table, json + "\n").expect("written");
        let json = serde_json::to_string_pretty(&for_editors).expect("plain data");
        std::fs::write(FOR_EDITORS, json + "\n").expect("written");
        return;
    }
    let kept = std::fs::read_to_string(FOR_EDITORS).expect("it is there");
    let kept: Vec<Value> = serde_json::from_str(&kept).expect("a list");
    assert_eq!(kept, for_editors, "see the head of this file");
    assert_eq!(bundle(), served, "see the head of this file");
    for (served, file) in served.iter().zip(files) {
        let name = file.file_stem().expect("a name");
        assert_eq!(*served.name, *name, "the file has the plugin's name");
    }
}

/// What the schema for editors is told of a plugin.
fn for_editors(plugin: &Plugin) -> Value {
    let info = plugin.info();
    let schema = |text: &String| -> Value { serde_json::from_str(text).expect("it was loaded") };
    let types = info.assertion_types.iter().map(|one| {
        let value = one.value_schema_json.as_ref().map(schema);
        (one.name.clone(), value.unwrap_or(json!({})))
    });
    let types: serde_json::Map<String, Value> = types.collect();
    let mut told = json!({
        "name": info.name,
        "description": info.description,
        "prefixes": info.provider_prefixes,
        "types": types,
    });
    if let Some(config) = info.config_schema_json.as_ref().map(schema) {
        told["config"] = config;
    }
    told
}
