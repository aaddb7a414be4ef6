//! The script that installs an archive, run as its reader runs it: with no more than a system's own tools.
//!
//! `cargo xtask dist` tries the archive that it makes; this one holds a smaller program and what the script
//! takes from an archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use runner_tests::{Run, workspace_root};
use tempfile::TempDir;

use crate::one_file::one_file;

const ARCHIVE: &str = "runner-0.1.0-test";

/// A folder with what somebody downloads: the script, an archive, and the digests.
struct Download(TempDir);

impl Download {
    fn of(program: &Path) -> Self {
        let download = Self(TempDir::new().expect("the system has a folder for temporary files"));
        let inner = download.path(ARCHIVE);
        fs::create_dir_all(inner.join("completions")).expect("made");
        fs::copy(program, inner.join("runner")).expect("copied");
        for (shell, file) in [
            ("bash", "runner.bash"),
            ("zsh", "_runner"),
            ("fish", "runner.fish"),
        ] {
            let made = Run::new().args(["completions", shell]).finish();
            fs::write(inner.join("completions").join(file), made.stdout).expect("written");
        }
        let man = Run::new().arg("man").arg(inner.join("man")).finish();
        man.expect_code(0);
        let pack = format!(
            "tar -cf - {ARCHIVE} | gzip -1 >{ARCHIVE}.tar.gz && rm -r {ARCHIVE} && sha256sum *.tar.gz >sha256sums.txt"
        );
        let packed = download.command("sh").args(["-c", &pack]).status();
        assert!(packed.expect("every Linux has it").success());
        let script = workspace_root().join("xtask/src/dist/install.sh");
        fs::copy(script, download.path("install.sh")).expect("copied");
        download
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env_clear();
        command.env("PATH", "/usr/bin:/bin");
        command.env("HOME", self.path("home"));
        command
    }

    fn install(&self) -> Output {
        let installed = self.command("sh").arg("install.sh").output();
        installed.expect("every Linux has it")
    }
}

#[test]
fn an_archive_is_installed_and_does_what_a_newcomer_does_first() {
    let download = Download::of(one_file());
    let installed = download.install();
    let said = String::from_utf8_lossy(&installed.stdout);
    let bin = download.path("home/.local/bin");
    let expected = format!(
        "runner {}\nput {} into your PATH\n",
        env!("CARGO_PKG_VERSION"),
        bin.display()
    );
    assert_eq!((&*said, &*installed.stderr), (&*expected, &b""[..]));
    for file in [
        "man/man1/runner.1",
        "bash-completion/completions/runner",
        "zsh/site-functions/_runner",
        "fish/vendor_completions.d/runner.fish",
    ] {
        let file = download.path("home/.local/share").join(file);
        assert!(file.is_file(), "{}", file.display());
    }
    let runner = Run::new().program(bin.join("runner"));
    runner.clone().arg("init").finish().expect_code(0);
    runner.arg("eval").finish().expect_code(0);
}

#[test]
fn an_archive_that_is_not_the_one_of_the_list_is_not_installed() {
    let download = Download::of(Path::new("/bin/true"));
    let archive = download.path(&format!("{ARCHIVE}.tar.gz"));
    let refused = |problem: &str| {
        let refused = download.install();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(problem), "{said}");
        assert!(!download.path("home").exists());
    };
    let mut bytes = fs::read(&archive).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).expect("written");
    refused("is not what sha256sums.txt says");
    fs::write(download.path("sha256sums.txt"), "").expect("written");
    refused("does not list runner-0.1.0-test.tar.gz");
}
