//! The dependency rule refuses what it should, and is not a wall.

use serde_json::json;

use super::*;

/// A package with normal dependencies: a name with `./` before it is one of ours.
fn package(name: &str, folder: &str, uses: &[&str], tests_use: &[&str]) -> Package {
    let by_kind = |tests| {
        move |name: &&str| Use {
            name: name.trim_start_matches("./").to_owned(),
            ours: name.starts_with("./"),
            tests,
        }
    };
    let uses = uses
        .iter()
        .map(by_kind(false))
        .chain(tests_use.iter().map(by_kind(true)));
    Package {
        name: name.to_owned(),
        folder: folder.to_owned(),
        uses: uses.collect(),
    }
}

#[test]
fn the_house_as_it_is_meant_stands() {
    let eval = [
        "./runner-config",
        "./runner-sandbox",
        "./runner-scheduler",
        "./runner-store",
    ];
    let house = [
        package("runner-scheduler", "host/scheduler", &[], &["proptest"]),
        package(
            "runner-template",
            "template",
            &["serde_json"],
            &["proptest"],
        ),
        package(
            "runner-config",
            "host/config",
            &["serde", "saphyr-parser", "./runner-template"],
            &["tempfile"],
        ),
        package(
            "runner-sandbox",
            "host/sandbox",
            &["wasmtime", "wasmtime-wasi"],
            &["wat"],
        ),
        package("runner-store", "host/store", &["rusqlite"], &[]),
        package("runner-eval", "host/eval", &eval, &["./runner-tests"]),
        package("runner-gateway", "host/gateway", &["reqwest", "tokio"], &[]),
        package(
            "runner",
            "host/cli",
            &["./runner-eval", "clap", "anyhow"],
            &[],
        ),
        package("runner-plugin", "plugin-sdk", &["wit-bindgen"], &[]),
        package(
            "plugin-echo",
            "plugins/echo",
            &["./runner-plugin", "serde_json"],
            &["proptest"],
        ),
        package(
            "guest-hostile",
            "tests/guests/hostile",
            &["wit-bindgen"],
            &[],
        ),
        package(
            "acme-provider",
            "tests/outside/provider",
            &["./runner-plugin"],
            &[],
        ),
        package("runner-tests", "tests", &["hyper"], &["./runner-store"]),
        package("xtask", "xtask", &["serde_json"], &[]),
    ];
    assert_eq!(broken(&house), Vec::<String>::new());
}

#[test]
fn plugins_may_use_what_providers_share() {
    let sdk = ["./runner-plugin"];
    let shared = ["./runner-plugin", "./plugin-model-api"];
    let house = [
        package("runner-plugin-embed", "plugin-sdk/embed", &sdk, &[]),
        package("plugin-groq", "plugins/groq", &shared, &[]),
        package("plugin-http", "plugins/http", &["./runner-template"], &[]),
    ];
    assert_eq!(broken(&house), Vec::<String>::new());
}

/// Each of these packages breaks a rule, in words that hold the text beside it.
fn all_are_found(cases: &[(Package, &str)]) {
    for (package, part) in cases {
        let findings = broken(std::slice::from_ref(package));
        assert!(
            findings.iter().any(|line| line.contains(part)),
            "{package:?}: {findings:?}"
        );
    }
}

#[test]
fn a_leaf_that_knows_another_room_is_found() {
    all_are_found(&[
        (
            package("runner-config", "host/config", &["./runner-store"], &[]),
            "not in its row",
        ),
        (
            package("runner-store", "host/store", &["./runner-eval"], &[]),
            "not in its row",
        ),
        (
            package("runner-config", "host/config", &[], &["./runner-store"]),
            "not in its row",
        ),
        (
            package("runner-eval", "host/eval", &["./runner-tests"], &[]),
            "not in its row",
        ),
        (
            package("runner-gateway", "host/gateway", &["./runner-config"], &[]),
            "not in its row",
        ),
        (
            package("plugin-text", "plugins/text", &["./runner-sandbox"], &[]),
            "not in its row",
        ),
        (
            package("acme", "tests/outside/acme", &["./runner-config"], &[]),
            "not in its row",
        ),
    ]);
}

#[test]
fn a_library_in_the_wrong_room_is_found() {
    all_are_found(&[
        (
            package("runner-eval", "host/eval", &["wasmtime"], &[]),
            "only runner-sandbox",
        ),
        (
            package("runner-eval", "host/eval", &["wasmtime-wasi"], &[]),
            "only runner-sandbox",
        ),
        (
            package("runner", "host/cli", &["rusqlite"], &[]),
            "only runner-store",
        ),
        (
            package("runner", "host/cli", &["reqwest"], &[]),
            "only runner-gateway",
        ),
        (
            package("runner-store", "host/store", &["anyhow"], &[]),
            "only runner names it",
        ),
        (
            package("runner-tests", "tests", &[], &["clap"]),
            "only runner names it",
        ),
        (
            package("runner-scheduler", "host/scheduler", &["rand"], &[]),
            "depends on nothing",
        ),
        (
            package("runner-config", "host/config", &["tokio"], &[]),
            "pure code",
        ),
        (
            package("plugin-text", "plugins/text", &["ureq"], &[]),
            "FOR_PLUGINS",
        ),
        (package("xtask", "xtask", &["syn"], &[]), "keep it small"),
    ]);
}

#[test]
fn a_package_without_a_place_or_a_name_is_found() {
    all_are_found(&[
        (
            package("runner-utils", "host/utils", &[], &[]),
            "name what the crate is for",
        ),
        (
            package("runner-viewer", "host/viewer", &[], &[]),
            "has no row",
        ),
    ]);
}

#[test]
fn a_name_that_only_begins_like_an_owned_library_is_free() {
    let package = package(
        "runner-store",
        "host/store",
        &["claptrap", "anyhowever"],
        &[],
    );
    assert_eq!(broken(&[package]), Vec::<String>::new());
}

#[test]
fn packages_are_read_from_cargos_metadata() -> Result<(), Failure> {
    let metadata = json!({ "packages": [{
        "name": "runner-eval",
        "manifest_path": "/clone/host/eval/Cargo.toml",
        "dependencies": [
            { "name": "tokio", "kind": null, "source": "registry" },
            { "name": "runner-store", "kind": null, "source": null, "path": "/clone/host/store" },
            { "name": "proptest", "kind": "dev", "source": "registry" },
        ],
    }] });
    let expected = package(
        "runner-eval",
        "host/eval",
        &["tokio", "./runner-store"],
        &["proptest"],
    );
    assert_eq!(packages(&metadata, Path::new("/clone"))?, [expected]);
    assert!(packages(&json!({}), Path::new("/clone")).is_err());
    Ok(())
}
