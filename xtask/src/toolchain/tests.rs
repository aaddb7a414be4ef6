//! What is found is read right, and what is not found is explained.

use super::*;

#[test]
fn release_and_host_are_read_from_rustc() {
    let about = "rustc 1.95.0\nbinary: rustc\nhost: aarch64-apple-darwin\nrelease: 1.95.0\n";
    let expected = ("1.95.0".to_owned(), "aarch64-apple-darwin".to_owned());
    assert_eq!(version_and_host(about), Ok(expected));
    assert!(version_and_host("gcc 12").is_err());
}

#[test]
fn a_folder_without_libstd_is_no_standard_library() {
    let folder = std::env::temp_dir().join(format!("xtask-std-{}", std::process::id()));
    assert!(!has_std(&folder));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    assert!(!has_std(&folder));
    std::fs::write(folder.join("libstd-0a1b.rlib"), "").expect("a file in it");
    assert!(has_std(&folder));
    std::fs::remove_dir_all(&folder).expect("our own folder");
}

#[test]
fn the_error_holds_the_reasons_and_both_remedies() {
    let text = remedies(&["no rustup".to_owned(), "not Debian".to_owned()]);
    for part in [
        "- no rustup",
        "- not Debian",
        "rustup target add",
        "apt-get install",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn no_path_of_this_machine_reaches_a_component() {
    let toolchain = Toolchain {
        rustc: None,
        sysroot: "/toolchain".into(),
        host: "x".into(),
        about: String::new(),
    };
    let flags = toolchain.flags(Path::new("/home/me/my clone"));
    let flags = flags.to_string_lossy();
    let flags: Vec<&str> = flags.split('\u{1f}').collect();
    assert_eq!(
        flags[2],
        "--remap-path-prefix=/toolchain/lib/rustlib/src/rust=/rust"
    );
    assert_eq!(flags[3], "--remap-path-prefix=/home/me/my clone=/runner");
}
