//! A package for Debian and its kin.

use std::fs;
use std::process::{Command, Stdio};

use super::Dist;
use super::folder::Folder;
use crate::step::{self, Failure, say};

/// Where files of the archive go.
const FILES: [(&str, &str); 8] = [
    ("runner", "usr/bin/runner"),
    ("README.md", "usr/share/doc/runner/README.md"),
    ("CHANGELOG.md", "usr/share/doc/runner/CHANGELOG.md"),
    ("THIRD-PARTY.txt", "usr/share/doc/runner/THIRD-PARTY.txt"),
    ("sbom.cdx.json", "usr/share/doc/runner/sbom.cdx.json"),
    (
        "completions/runner.bash",
        "usr/share/bash-completion/completions/runner",
    ),
    (
        "completions/_runner",
        "usr/share/zsh/vendor-completions/_runner",
    ),
    (
        "completions/runner.fish",
        "usr/share/fish/vendor_completions.d/runner.fish",
    ),
];

/// Makes it; `None` where dpkg is not there.
pub(super) fn package(dist: &Dist<'_>, content: &Folder) -> Result<Option<String>, Failure> {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg("--print-architecture").stderr(Stdio::null());
    let Ok(output) = dpkg.output() else {
        say("there is no dpkg, so no package for Debian is made");
        return Ok(None);
    };
    let architecture = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let root = dist.home.below("deb");
    for (file, to) in FILES {
        root.copy(&content.path(file), to)?;
    }
    let man = content.path("man");
    let pages = fs::read_dir(&man)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", man.display())))?;
    for page in pages.flatten() {
        let name = page.file_name().to_string_lossy().into_owned();
        root.copy(&page.path(), &format!("usr/share/man/man1/{name}"))?;
    }
    root.write("usr/share/doc/runner/copyright", &copyright(content)?)?;
    root.write("DEBIAN/control", control(dist, &architecture).as_bytes())?;
    let name = format!("runner_{}_{architecture}.deb", dist.version);
    let mut build = Command::new("dpkg-deb");
    build
        .current_dir(dist.home.path(""))
        .env("SOURCE_DATE_EPOCH", &dist.time);
    build.args(["--root-owner-group", "--build", "-Zgzip"]);
    build.arg(format!("-z{}", dist.effort.gzip()));
    build.args(["deb", &name]);
    step::run("packing for Debian", build.stdout(Stdio::null()))?;
    root.remove()?;
    Ok(Some(name))
}

/// Both licences, of which the user may choose.
fn copyright(content: &Folder) -> Result<Vec<u8>, Failure> {
    let mut text = b"runner is under either of these two licences, as you choose. What it is made with is in\n\
                     THIRD-PARTY.txt.\n"
        .to_vec();
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let path = content.path(file);
        let licence = fs::read(&path)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        text.push(b'\n');
        text.extend(licence);
    }
    Ok(text)
}

fn control(dist: &Dist<'_>, architecture: &str) -> String {
    let libraries = &dist.needs.libraries;
    let unwinds = libraries.iter().any(|file| file.ends_with("libgcc_s.so.1"));
    let unwinder = if unwinds { ", libgcc-s1" } else { "" };
    let depends = dist.needs.glibc.map(|version| {
        format!("Depends: libc6 (>= 2.{version}){unwinder}\nRecommends: ca-certificates\n")
    });
    format!(
        "Package: runner\nVersion: {}\nArchitecture: {architecture}\n{}Section: devel\nPriority: optional\n\
         Maintainer: the authors of runner <nobody@localhost>\n\
         Description: evaluates prompts of language models\n Every prompt x provider x test of a config is \
         run, graded and compared.\n",
        dist.version,
        depends.unwrap_or_default()
    )
}
