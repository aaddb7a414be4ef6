//! Where there is nothing but a kernel and a C library: roots of their own, with or without a place to write to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use runner_tests::{Finished, Run, Viewed, guest};
use tempfile::TempDir;

use crate::one_file::{NOBODY, findings, is_root, one_file, skip};

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
    in_root_as(root, NOBODY, arguments)
}

fn in_root_as(root: &Path, user: u32, arguments: &[&str]) -> Finished {
    rooted(root, user).args(arguments).finish()
}

fn rooted(root: &Path, user: u32) -> Run {
    Run::new()
        .program("/usr/bin/env")
        .args(["-i", &chroot(), &format!("--userspec={user}:{user}")])
        .arg(root)
        .arg("/runner")
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
    // What was kept is found again, and shown in a browser.
    in_root(root.path(), &["show"]).expect_code(0);
    let viewed = Viewed::of(&rooted(root.path(), NOBODY));
    assert!(viewed.page("/").contains("My first evaluation"));
    viewed.end().expect_code(0);
    // Nowhere to write at all.
    let tmp = root.path().join("tmp");
    fs::remove_dir_all(&tmp).expect("root may");
    assert_snapshot!("nowhere", in_root(root.path(), &config).told());
}

#[test]
fn a_plugin_is_begun_and_tested_there() {
    if !is_root() {
        return skip("a root of its own needs root");
    }
    let Some(root) = bare_root(&[("", 0o777), ("tmp", 0o1777)]) else {
        return skip("there is no ldd");
    };
    let mut new = vec!["plugin", "new", "brief", "--lang", "rust"];
    new.extend(["--kind", "assertion"]);
    in_root(root.path(), &new).expect_code(0);
    // It is built elsewhere; its fixtures are those that were just written.
    let brief = root.path().join("brief/brief.wasm");
    fs::copy(guest("outside/brief"), brief).expect("copied");
    let tested = in_root(root.path(), &["plugin", "test", "brief"]);
    tested.expect_code(0);
    assert!(
        tested.stdout.ends_with("3 of 3 fixtures passed\n"),
        "{}",
        tested.stdout
    );
}

/// Runs it there, where nothing can be written to but memory. `None` where the system lets nobody change
/// what is mounted.
fn in_unwritable_root(root: &Path, arguments: &[&str]) -> Option<Finished> {
    let mounted = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" \
                   && mount -t tmpfs -o mode=1777 none \"$0/dev/shm\"";
    let unshared = |script: &str| {
        let run = Run::new().program("/usr/bin/env");
        let run = run.args(["-i", "/usr/bin/unshare", "--mount", "/bin/sh", "-c"]);
        run.arg(format!(
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin; {mounted}{script}"
        ))
        .arg(root)
    };
    if unshared("").finish().code != Some(0) {
        return None;
    }
    let script = format!(" && exec chroot --userspec={NOBODY}:{NOBODY} \"$0\" /runner \"$@\"");
    Some(unshared(&script).args(arguments).finish())
}

#[test]
fn a_disk_that_can_t_be_written_to_is_enough() {
    if !is_root() {
        return skip("a root of its own needs root");
    }
    let Some(root) = bare_root(&[("project", 0o755), ("dev/shm", 0o755)]) else {
        return skip("there is no ldd");
    };
    fs::create_dir(root.path().join("tmp")).expect("made");
    in_root_as(root.path(), 0, &["init", "/project"]).expect_code(0);
    let config = ["eval", "-c", "/project/promptfooconfig.yaml", "--no-table"];
    let Some(told) = in_unwritable_root(root.path(), &config) else {
        return skip("mounts can't be changed here");
    };
    assert_snapshot!("unwritable", told.told());
}

#[test]
fn a_bare_root_has_what_a_run_needs() {
    if !is_root() {
        return skip("a root of its own needs root");
    }
    let Some(root) = bare_root(&[("tmp", 0o1777)]) else {
        return skip("there is no ldd");
    };
    let bare = in_root(root.path(), &["doctor"]);
    bare.expect_code(0);
    assert_snapshot!("doctor", findings(&bare));
    fs::remove_dir_all(root.path().join("tmp")).expect("root may");
    let nowhere = in_root(root.path(), &["doctor"]);
    nowhere.expect_code(2);
    assert!(
        findings(&nowhere).contains("error settings"),
        "{}",
        nowhere.stdout
    );
}
