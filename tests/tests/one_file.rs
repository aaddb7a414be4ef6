//! The program that people are given: one file, which works wherever it is copied.
//!
//! It is made as `cargo xtask bundle` makes it, of the program that was built and a few plugins.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use insta::assert_snapshot;
use runner_tests::{Finished, Run, built_program, target_folder};
use tempfile::TempDir;

/// Who may write nowhere.
const NOBODY: u32 = 65_534;

/// The program with the plugins that the config of `init` needs, and one that interprets.
fn one_file() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-file");
        fs::create_dir_all(&folder).expect("the target folder can be written to");
        let to = folder.join("runner");
        let plugin = |name: &str| target_folder().join(format!("release/plugins/{name}.wasm"));
        let packed = Run::new()
            .args(["plugin", "pack", "--level", "1", "--like", "text"])
            .args(["--commit", "0123abcd"])
            .arg("--program")
            .arg(built_program())
            .arg("--to")
            .arg(&to)
            .args(["echo", "text", "json", "javascript"].map(plugin))
            .finish();
        packed.expect_code(0);
        to
    })
}

/// A folder with a copy of it and nothing else.
fn copied() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("the system has a folder for temporary files");
    let program = folder.path().join("runner");
    fs::copy(one_file(), &program).expect("copied");
    (folder, program)
}

/// A run whose home has nothing, not even compiled plugins.
fn anew(program: &Path) -> Run {
    let run = Run::new().program(program);
    let cache = run.home().join("cache");
    fs::remove_file(cache.join("plugins")).expect("a link");
    fs::remove_dir(cache).expect("it is empty");
    run
}

#[test]
fn a_copy_of_it_alone_does_all() {
    let (folder, program) = copied();
    let init = anew(&program).arg("init").finish();
    init.expect_code(0);
    let first = init.again().arg("eval").finish();
    assert_snapshot!("first", first.told());
    let kept = fs::read_dir(first.again().home().join("cache/plugins"));
    assert!(kept.expect("a folder").count() >= 2, "unpacked once");
    let second = init.again().arg("eval").finish();
    assert_eq!(second.told(), first.told());

    // What lies beside it is nobody's.
    fs::create_dir(folder.path().join("plugins")).expect("made");
    fs::write(folder.path().join("plugins/echo.wasm"), "not it").expect("written");
    init.again().arg("eval").finish().expect_code(0);
    // And whoever names a folder gets what is in it.
    let named = init.again().arg("eval");
    let named = named.env("RUNNER_BUNDLED_PLUGINS", folder.path().join("plugins"));
    named.finish().expect_code(2);
}

#[test]
fn code_of_a_config_runs_in_it() {
    let (_folder, program) = copied();
    let config = "prompts: ['one {{n}}']\nproviders: [echo]\ntests:\n  - vars: { n: 1 }\n    assert:\n\
                  \x20     - { type: javascript, value: output.length === 5 }\n";
    let run = anew(&program).config(config).args(["eval", "--no-table"]);
    run.finish().expect_code(0);
}

#[test]
fn code_that_others_could_change_is_not_run() {
    let (_folder, program) = copied();
    let run = anew(&program).arg("init").finish().again();
    let cache = run.home().join("cache/plugins");
    fs::create_dir_all(&cache).expect("made");
    fs::set_permissions(&cache, PermissionsExt::from_mode(0o777)).expect("it is ours");
    let finished = run.clone().args(["eval", "--no-table"]).finish();
    finished.expect_code(0);
    assert!(
        finished.stderr.contains("other users could change"),
        "{}",
        finished.stderr
    );
    // What is not this user's to close is left alone, and nothing is kept.
    if !is_root() {
        return skip("another user's folder needs root");
    }
    for kept in fs::read_dir(&cache).expect("a folder") {
        fs::remove_file(kept.expect("read").path()).expect("it is ours");
    }
    chown(&cache, Some(NOBODY), None).expect("root may");
    run.args(["eval", "--no-table"]).finish().expect_code(0);
    assert_eq!(fs::read_dir(&cache).expect("a folder").count(), 0);
}

#[test]
fn it_says_what_it_is() {
    let (_folder, program) = copied();
    let told = anew(&program).args(["--version", "--verbose"]).finish();
    let target = format!("target      {}\n", target_of(&told));
    assert_snapshot!(
        "version",
        told.told().replace(&target, "target      [target]\n")
    );
    let short = told.again().arg("-V").finish();
    let version = concat!("runner ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!((&*short.stdout, &*short.stderr), (version, ""));
}

fn target_of(told: &Finished) -> String {
    let mut lines = told.stdout.lines();
    let target = lines.find_map(|line| line.strip_prefix("target      "));
    target.expect("it says it").to_owned()
}

#[test]
fn a_file_that_is_not_whole_says_so() {
    let whole = fs::read(one_file()).expect("read");
    let told = |bytes: &[u8]| {
        let (_folder, program) = copied();
        fs::write(&program, bytes).expect("written");
        let told = anew(&program).arg("init").finish().again();
        let told = told.arg("eval").finish().told();
        told.replace(&*program.to_string_lossy(), "[copy]")
    };
    assert_snapshot!("cut off", told(&whole[..whole.len() - 100]));
    // The bytes of a plugin, in the middle of what is behind the program.
    let bare = fs::metadata(built_program()).expect("it is there").len() as usize;
    let mut changed = whole.clone();
    changed[bare..]
        .iter_mut()
        .step_by(1000)
        .for_each(|byte| *byte ^= 1);
    changed[whole.len() - 40_000..].copy_from_slice(&whole[whole.len() - 40_000..]);
    assert_snapshot!("changed", told(&changed));
}

#[test]
fn a_program_carries_plugins_once() {
    let again = Run::new()
        .args(["plugin", "pack", "--to", "x", "--program"])
        .arg(one_file())
        .arg(target_folder().join("release/plugins/echo.wasm"))
        .finish();
    again.expect_code(2);
    assert!(
        again
            .stderr
            .contains("this program carries plugins already"),
        "{}",
        again.stderr
    );
    assert!(!again.again().project().join("x").exists());
}

/// A root with the program, the libraries that it is linked to, and folders of these modes.
fn bare_root(folders: &[(&str, u32)]) -> Option<TempDir> {
    let root = TempDir::new().expect("the system has a folder for temporary files");
    let open = |path: &Path, mode| {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
    };
    open(root.path(), 0o755);
    fs::copy(one_file(), root.path().join("runner")).expect("copied");
    let listed = Command::new("ldd").arg(one_file()).output().ok()?;
    let listed = String::from_utf8(listed.stdout).ok()?;
    for library in listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
    {
        let to = root.path().join(&library[1..]);
        fs::create_dir_all(to.parent()?).ok()?;
        fs::copy(library, to).ok()?;
    }
    for (name, mode) in folders {
        let folder = root.path().join(name);
        fs::create_dir_all(&folder).expect("made");
        open(&folder, *mode);
    }
    Some(root)
}

/// Where the system has the program that changes the root.
fn chroot() -> String {
    let places = ["/usr/sbin/chroot", "/usr/bin/chroot", "/sbin/chroot"];
    let place = places.iter().find(|place| Path::new(place).is_file());
    (*place.expect("every Linux has it")).to_owned()
}

/// Runs it there as nobody, with nothing in its environment.
fn in_root(root: &Path, arguments: &[&str]) -> Finished {
    Run::new()
        .program("/usr/bin/env")
        .args(["-i", &chroot(), &format!("--userspec={NOBODY}:{NOBODY}")])
        .arg(root)
        .arg("/runner")
        .args(arguments)
        .finish()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|its| std::os::unix::fs::MetadataExt::uid(&its) == 0)
}

fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn a_kernel_and_a_libc_are_enough() {
    if !is_root() {
        return skip("a root of its own needs root");
    }
    let Some(root) = bare_root(&[("project", 0o777), ("tmp", 0o1777)]) else {
        return skip("there is no ldd");
    };
    let version = in_root(root.path(), &["--version", "--verbose"]);
    version.expect_code(0);
    assert!(
        version.stdout.contains("commit      0123abcd"),
        "{}",
        version.stdout
    );
    in_root(root.path(), &["init", "/project"]).expect_code(0);
    let config = ["eval", "-c", "/project/promptfooconfig.yaml"];
    let told = in_root(root.path(), &config);
    assert_snapshot!("bare", told.told());
    // What was kept is found again.
    in_root(root.path(), &["show"]).expect_code(0);
    // Nowhere to write at all.
    let tmp = root.path().join("tmp");
    fs::remove_dir_all(&tmp).expect("root may");
    assert_snapshot!("nowhere", in_root(root.path(), &config).told());
}
