//! The contract that the crates carry is the contract of the repository.
//!
//! A crate that is published alone needs its WIT inside; a symlink breaks on some platforms
//! and in archives. So there are copies, and this test.

use std::path::Path;
use std::{fs, io};

/// The `.wit` files of a folder, by name.
fn contract(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "wit") {
            let name = path.file_name().unwrap_or_default();
            files.push((
                name.to_string_lossy().into_owned(),
                fs::read_to_string(&path)?,
            ));
        }
    }
    files.sort();
    Ok(files)
}

#[test]
fn the_copies_are_the_original() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let original = contract(&here.join("../wit/v0_1"))?;
    assert!(!original.is_empty());
    for folder in ["wit/v0_1", "embed/wit/v0_1"] {
        assert!(
            contract(&here.join(folder))? == original,
            "the contract has changed; run: cp wit/v0_1/*.wit plugin-sdk/{folder}/"
        );
    }
    Ok(())
}
