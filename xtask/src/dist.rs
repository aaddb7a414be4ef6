//! `cargo xtask dist`: what people are given, for the target that builds it.
//!
//! An archive of the program with its plugins, completions, man pages, the licences of everything in it
//! and a list of that (CycloneDX); a package for Debian, where its tool is there; and the digests of
//! both. Each is unpacked and tried before this ends. Nothing is published.
//!
//! What is packed has the time of the commit and belongs to root, in the order of names: the same program
//! gives the same archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bundle;
use crate::place::{self, Place};
use crate::step::{self, Failure, say};

mod notices;
mod tried;

/// The shells that completions are made for, each with the file's name.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "runner.bash"),
    ("zsh", "_runner"),
    ("fish", "runner.fish"),
    ("powershell", "_runner.ps1"),
];

/// What is being made.
struct Dist<'a> {
    place: &'a Place,
    version: String,
    target: String,
    /// Seconds since 1970 of the commit.
    time: String,
    home: PathBuf,
}

/// Makes and tries all of it.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    bundle::run(place)?;
    let dist = Dist::new(place)?;
    let folder = dist.fill()?;
    let mut made = vec![dist.archive(&folder)?];
    made.extend(dist.debian(&folder)?);
    dist.write(
        "install.sh",
        fs::read(place.root.join("xtask/src/dist/install.sh")),
    )?;
    let sums = dist.sums(&made)?;
    dist.write("sha256sums.txt", Ok(sums.into_bytes()))?;
    tried::archive(&dist.home, &made[0])?;
    for file in &made {
        say(&format!("made: {}", place::relative(&dist.home.join(file))));
    }
    Ok(())
}

impl<'a> Dist<'a> {
    fn new(place: &'a Place) -> Result<Self, Failure> {
        let mut runner = Command::new(place.bundled_runner());
        runner.args(["--version", "--verbose"]);
        let about = step::read("asking the program what it is", &mut runner)?;
        let of = |name: &str| {
            let line = about.lines().find_map(|line| line.strip_prefix(name));
            let line = line.map(|text| text.trim().to_owned());
            line.ok_or_else(|| Failure::new(format!("the program does not say its {name}")))
        };
        let mut git = Command::new("git");
        git.current_dir(&place.root)
            .args(["log", "-1", "--format=%ct"]);
        let time = step::read("asking git for the time", &mut git);
        let home = place.target.join("dist");
        let dist = Self {
            place,
            version: of("runner")?,
            target: of("target")?,
            // An archive of the sources has no commits.
            time: time.map_or_else(|_| "0".to_owned(), |time| time.trim().to_owned()),
            home,
        };
        if dist.home.exists() {
            fs::remove_dir_all(&dist.home).map_err(|error| dist.failed(&error))?;
        }
        fs::create_dir_all(&dist.home).map_err(|error| dist.failed(&error))?;
        Ok(dist)
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("cannot write to {}: {error}", self.home.display()))
    }

    fn write(&self, name: &str, content: std::io::Result<Vec<u8>>) -> Result<(), Failure> {
        let written = content.and_then(|content| fs::write(self.home.join(name), content));
        written.map_err(|error| self.failed(&error))
    }

    /// The folder that the archive holds; gives its name.
    fn fill(&self) -> Result<String, Failure> {
        let name = format!("runner-{}-{}", self.version, self.target);
        let folder = self.home.join(&name);
        let copy = |from: PathBuf, to: &str| {
            let to = folder.join(to);
            let above = to.parent().unwrap_or(&folder);
            let copied = fs::create_dir_all(above).and_then(|()| fs::copy(from, &to));
            copied.map(drop).map_err(|error| self.failed(&error))
        };
        copy(self.place.bundled_runner(), "runner")?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            copy(self.place.root.join(file), file)?;
        }
        for (shell, file) in SHELLS {
            let mut runner = Command::new(folder.join("runner"));
            runner.args(["completions", shell]);
            let script = step::read("making completions", &mut runner)?;
            fs::create_dir_all(folder.join("completions")).map_err(|error| self.failed(&error))?;
            self.write(
                &format!("{name}/completions/{file}"),
                Ok(script.into_bytes()),
            )?;
        }
        let mut runner = Command::new(folder.join("runner"));
        runner.arg("man").arg(folder.join("man"));
        step::read("making man pages", &mut runner)?;
        let (notices, list) = notices::of(self.place, &self.version)?;
        self.write(&format!("{name}/THIRD-PARTY.txt"), Ok(notices.into_bytes()))?;
        self.write(&format!("{name}/sbom.cdx.json"), Ok(list.into_bytes()))?;
        Ok(name)
    }

    fn archive(&self, folder: &str) -> Result<String, Failure> {
        let name = format!("{folder}.tar.gz");
        let mut tar = Command::new("tar");
        tar.current_dir(&self.home)
            .args(["--sort=name", "--format=ustar"]);
        tar.args([
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mode=u=rwX,go=rX",
        ]);
        tar.arg(format!("--mtime=@{}", self.time));
        // The time of packing is none of the archive's business.
        tar.args(["--use-compress-program=gzip -n -6", "-cf", &name, folder]);
        step::run("packing the archive", &mut tar)?;
        Ok(name)
    }

    /// A package for Debian and its kin; `None` where dpkg is not there.
    fn debian(&self, folder: &str) -> Result<Option<String>, Failure> {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("--print-architecture").stderr(Stdio::null());
        let Ok(output) = dpkg.output() else {
            say("there is no dpkg, so no package for Debian is made");
            return Ok(None);
        };
        let architecture = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let root = self.home.join("deb");
        let from = self.home.join(folder);
        let place = |file: &str, to: &str| {
            let to = root.join(to);
            let above = to.parent().unwrap_or(&root);
            let copied = fs::create_dir_all(above).and_then(|()| fs::copy(from.join(file), to));
            copied.map(drop).map_err(|error| self.failed(&error))
        };
        place("runner", "usr/bin/runner")?;
        for file in [
            "README.md",
            "CHANGELOG.md",
            "THIRD-PARTY.txt",
            "sbom.cdx.json",
        ] {
            place(file, &format!("usr/share/doc/runner/{file}"))?;
        }
        place("LICENSE-MIT", "usr/share/doc/runner/copyright")?;
        place(
            "completions/runner.bash",
            "usr/share/bash-completion/completions/runner",
        )?;
        place(
            "completions/_runner",
            "usr/share/zsh/vendor-completions/_runner",
        )?;
        place(
            "completions/runner.fish",
            "usr/share/fish/vendor_completions.d/runner.fish",
        )?;
        let pages = fs::read_dir(from.join("man")).map_err(|error| self.failed(&error))?;
        for page in pages.flatten() {
            let name = page.file_name().to_string_lossy().into_owned();
            place(
                &format!("man/{name}"),
                &format!("usr/share/man/man1/{name}"),
            )?;
        }
        let control = format!(
            "Package: runner\nVersion: {}\nArchitecture: {architecture}\nDepends: libc6, libgcc-s1\n\
             Section: devel\nPriority: optional\nMaintainer: the authors of runner\n\
             Description: evaluates prompts of language models\n Every prompt x provider x test of a config is \
             run, graded and compared.\n",
            self.version
        );
        fs::create_dir_all(root.join("DEBIAN")).map_err(|error| self.failed(&error))?;
        self.write("deb/DEBIAN/control", Ok(control.into_bytes()))?;
        let name = format!("runner_{}_{architecture}.deb", self.version);
        let mut build = Command::new("dpkg-deb");
        build
            .current_dir(&self.home)
            .env("SOURCE_DATE_EPOCH", &self.time);
        build.args(["--root-owner-group", "--build", "-Zgzip", "deb", &name]);
        step::run("packing for Debian", build.stdout(Stdio::null()))?;
        fs::remove_dir_all(root).map_err(|error| self.failed(&error))?;
        Ok(Some(name))
    }

    /// The digests, as `sha256sum --check` reads them.
    fn sums(&self, files: &[String]) -> Result<String, Failure> {
        let mut sum = Command::new("sha256sum");
        sum.current_dir(&self.home).args(files);
        step::read("summing up", &mut sum)
    }
}

/// `tar` unpacks an archive into a folder.
fn unpack(archive: &Path, into: &Path) -> Result<(), Failure> {
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(into);
    step::read("unpacking the archive", &mut tar).map(drop)
}
