//! The plugin contract of a published track never breaks.
//!
//! `wit/v0_1/frozen.txt` holds every line of the contract that components out there were
//! built against: interfaces, functions and types, written by `contract.rs`. This test
//! writes them anew from the WIT files and lets `growth.rs` judge the difference by the
//! rules of `wit/README.md`. Comments and order are free; meaning is not.
//!
//! After allowed growth, `RUNNER_BLESS=1 cargo test --release --workspace --test
//! wit_freeze` writes the file anew. It refuses to write a break.

mod contract;
mod growth;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Each track's folder.
const TRACKS: [&str; 1] = ["v0_1"];

const FROZEN_HEAD: &str = "\
# What components built for this track rely on. Written by tests/tests/wit_freeze; the rules
# are in wit/README.md. To write it anew after allowed growth:
# RUNNER_BLESS=1 cargo test --release --workspace --test end_to_end wit_freeze
";

fn wit_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
}

/// Compares one track with what was frozen; writes the frozen file if asked and allowed.
fn check(folder: &Path, bless: bool) -> Result<(), Box<dyn Error>> {
    let now = contract::of_folder(folder)?;
    let path = folder.join("frozen.txt");
    let write = || fs::write(&path, format!("{FROZEN_HEAD}{}\n", now.join("\n")));
    if bless && !path.exists() {
        return Ok(write()?);
    }
    let text = fs::read_to_string(&path).map_err(|error| {
        format!(
            "{}: {error}; a new track is frozen with RUNNER_BLESS=1",
            path.display()
        )
    })?;
    let frozen: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let now_lines: Vec<&str> = now.iter().map(String::as_str).collect();
    let breaks = growth::breaks(&frozen, &now_lines);
    if !breaks.is_empty() {
        return Err(growth::refusal(folder, &breaks).into());
    }
    if bless {
        return Ok(write()?);
    }
    let added = growth::added(&frozen, &now_lines);
    if added.is_empty() {
        return Ok(());
    }
    let list = added.join("\n  + ");
    Err(format!(
        "{} has grown, as it may, but its frozen.txt does not say so:\n  + {list}\n\
         write it anew: RUNNER_BLESS=1 cargo test --release --workspace --test end_to_end wit_freeze",
        folder.display()
    )
    .into())
}

#[test]
fn the_published_tracks_are_as_they_were() -> Result<(), Box<dyn Error>> {
    let bless = std::env::var_os("RUNNER_BLESS").is_some_and(|value| value == "1");
    for track in TRACKS {
        check(&wit_folder().join(track), bless)?;
    }
    Ok(())
}

#[test]
fn every_track_on_disk_is_watched() -> Result<(), Box<dyn Error>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(wit_folder())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    folders.sort();
    assert_eq!(folders, TRACKS);
    Ok(())
}

/// A copy of track 0.1, frozen as it is, and then with one text in its WIT replaced.
fn altered(from: &str, to: &str) -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for entry in fs::read_dir(wit_folder().join("v0_1"))? {
        let path = entry?.path();
        if is_wit(&path) {
            fs::copy(
                &path,
                folder.path().join(path.file_name().unwrap_or_default()),
            )?;
        }
    }
    check(folder.path(), true)?;
    let mut found = false;
    for entry in fs::read_dir(folder.path())? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        if is_wit(&path) && text.contains(from) {
            fs::write(&path, text.replacen(from, to, 1))?;
            found = true;
        }
    }
    assert!(
        found,
        "{from:?} is not in the contract any more; adapt this test"
    );
    Ok(folder)
}

fn is_wit(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "wit")
}

#[test]
fn a_break_in_the_real_contract_is_refused_and_never_blessed() -> Result<(), Box<dyn Error>> {
    let breaks = [
        ("status: option<u16>,", ""),                     // a field of a record
        ("timeout-ms: option<u64>,", "timeout-ms: u64,"), // the type of a field
        ("unsupported,", "not-supported,"),               // a case of an enum
        ("send: func(request: request)", "send: func(r: request)"), // a parameter's name
        ("export meta;", ""),                             // an export of a world
    ];
    for (from, to) in breaks {
        let folder = altered(from, to)?;
        let frozen = fs::read(folder.path().join("frozen.txt"))?;
        for bless in [false, true] {
            let result = check(folder.path(), bless).map_err(|error| error.to_string());
            let text = result.err().unwrap_or_default();
            assert!(
                text.contains("would break"),
                "{from} -> {to}, bless {bless}: {text:?}"
            );
        }
        assert_eq!(
            fs::read(folder.path().join("frozen.txt"))?,
            frozen,
            "{from} -> {to}"
        );
    }
    Ok(())
}

#[test]
fn allowed_growth_asks_to_be_blessed_and_then_is_quiet() -> Result<(), Box<dyn Error>> {
    let folder = altered(
        "send: func(",
        "probe: func(url: string) -> bool;\n  send: func(",
    )?;
    let wit = folder.path().join("plugin.wit");
    let text = |bless| {
        check(folder.path(), bless)
            .err()
            .map(|error| error.to_string())
    };
    let unversioned = text(false).unwrap_or_default();
    assert!(
        unversioned.contains("is added, but the version"),
        "{unversioned}"
    );
    let source = fs::read_to_string(&wit)?.replacen("plugin@0.1.", "plugin@0.1.9", 1);
    fs::write(&wit, source)?;
    let grown = text(false).unwrap_or_default();
    assert!(grown.contains("+ import http func probe"), "{grown}");
    assert_eq!(text(true), None);
    assert_eq!(text(false), None);
    Ok(())
}
