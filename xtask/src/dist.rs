//! `cargo xtask dist`: what people are given, for the target that builds it.
//!
//! | what | for whom | where it is made |
//! |---|---|---|
//! | an archive, `install.sh` and digests | everybody | here |
//! | a Debian package | `apt install ./FILE` | `debian` |
//! | packages for npm and PyPI that hold the program | `npx`, `uvx` | `wrappers` |
//! | packages for npm and PyPI with what plugins import | authors of plugins | `sdks` |
//! | the contents of a container without a system, and its file | `docker build` | `container` |
//!
//! With them go completions, man pages, the licences of everything in the program and a list of that
//! (CycloneDX, `notices`). All are tried before this ends (`tried`). Nothing is published:
//! `docs/releasing.md` says how that is done.
//!
//! What is packed has the time of the commit and belongs to root, in the order of names: the same program
//! gives the same files.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bundle::{self, Effort};
use crate::place::{self, Place};
use crate::step::{self, Failure, say};

mod container;
mod debian;
mod folder;
mod needs;
mod notices;
mod parts;
mod sdks;
mod tried;
mod wrappers;

use folder::Folder;
use needs::Needs;

/// The shells that completions are made for, each with the file's name.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "runner.bash"),
    ("zsh", "_runner"),
    ("fish", "runner.fish"),
    ("powershell", "_runner.ps1"),
];

/// What an archive holds beside the program and what is made of it.
const TEXTS: [&str; 3] = ["CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// For who has the program and not the sources: how to begin.
const README: &[u8] = include_bytes!("dist/README.md");

/// What is being made.
struct Dist<'a> {
    place: &'a Place,
    program: PathBuf,
    effort: Effort,
    version: String,
    target: String,
    /// Seconds since 1970 of the commit.
    time: String,
    home: Folder,
    needs: Needs,
}

/// Makes and tries all of it.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    bundle::run(place)?;
    let home = Folder::emptied(place.target.join("dist"))?;
    make(&Dist::new(
        place,
        place.bundled_runner(),
        home,
        Effort::Much,
    )?)
}

/// Makes and tries it of the program as its tests use it, with few plugins: so what packs and tries is run on every
/// commit.
pub(crate) fn quick(place: &Place) -> Result<(), Failure> {
    let home = Folder::emptied(place.target.join("dist-quick"))?;
    let program = home.path("bundle/runner");
    bundle::small(place, &program)?;
    make(&Dist::new(place, program, home, Effort::Little)?)
}

fn make(dist: &Dist<'_>) -> Result<(), Failure> {
    let content = dist.fill()?;
    let archive = dist.archive()?;
    let mut made = vec![archive.clone()];
    let debian = debian::package(dist, &content)?;
    made.extend(debian.clone());
    let wrappers = wrappers::packages(dist, &content)?;
    made.extend(wrappers.iter().cloned());
    made.extend(sdks::packages(dist)?);
    let root = container::root(dist, &content)?;
    made.extend(root.clone());
    let script = include_bytes!("dist/install.sh");
    dist.home.write("install.sh", script)?;
    dist.home.executable("install.sh")?;
    let sums = dist.sums(&made)?;
    dist.home.write("sha256sums.txt", sums.as_bytes())?;
    tried::archive(dist, &archive)?;
    if let Some(debian) = debian {
        tried::debian(dist, &debian)?;
    }
    if let Some(root) = root {
        tried::container(dist, &root)?;
    }
    tried::npm(dist, &wrappers)?;
    tried::wheel(dist, &wrappers)?;
    for file in &made {
        say(&format!("made: {}", place::relative(&dist.home.path(file))));
    }
    Ok(())
}

impl<'a> Dist<'a> {
    fn new(
        place: &'a Place,
        program: PathBuf,
        home: Folder,
        effort: Effort,
    ) -> Result<Self, Failure> {
        let mut runner = Command::new(&program);
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
        Ok(Self {
            place,
            version: of("runner ")?,
            target: of("target ")?,
            // An archive of the sources has no commits.
            time: time.map_or_else(|_| "0".to_owned(), |time| time.trim().to_owned()),
            home,
            needs: Needs::of(&program)?,
            program,
            effort,
        })
    }

    /// The name of a file of this version and target.
    fn name(&self, end: &str) -> String {
        format!("runner-{}-{}{end}", self.version, self.target)
    }

    /// What the archive holds; other packages take it from there.
    fn fill(&self) -> Result<Folder, Failure> {
        let folder = self.home.below(&self.name(""));
        folder.copy(&self.program, "runner")?;
        for file in TEXTS {
            folder.copy(&self.place.root.join(file), file)?;
        }
        folder.write("README.md", README)?;
        let program = folder.path("runner");
        for (shell, file) in SHELLS {
            let mut runner = Command::new(&program);
            runner.args(["completions", shell]);
            let script = step::read("making completions", &mut runner)?;
            folder.write(&format!("completions/{file}"), script.as_bytes())?;
        }
        let mut runner = Command::new(&program);
        runner.arg("man").arg(folder.path("man"));
        step::read("making man pages", &mut runner)?;
        let (notices, list) = notices::of(self.place, &self.version, &self.target)?;
        folder.write("THIRD-PARTY.txt", notices.as_bytes())?;
        folder.write("sbom.cdx.json", list.as_bytes())?;
        Ok(folder)
    }

    fn archive(&self) -> Result<String, Failure> {
        let name = self.name(".tar.gz");
        let inner = self.name("");
        let mut tar = self.tar(&self.home, &name);
        tar.args(["--mode=u=rwX,go=rX", &inner]);
        step::run("packing the archive", &mut tar)?;
        Ok(name)
    }

    /// `tar` that packs what is in a folder into a file of ours.
    fn tar(&self, folder: &Folder, name: &str) -> Command {
        let mut tar = Command::new("tar");
        tar.current_dir(folder.path(""));
        tar.args(["--sort=name", "--format=ustar", "--numeric-owner"]);
        tar.args(["--owner=0", "--group=0"]);
        tar.arg(format!("--mtime=@{}", self.time));
        // The time of packing is none of the archive's business.
        tar.arg(format!(
            "--use-compress-program=gzip -n -{}",
            self.effort.gzip()
        ));
        tar.arg("-cf").arg(self.home.path(name));
        tar
    }

    /// The digests, as `sha256sum --check` reads them.
    fn sums(&self, files: &[String]) -> Result<String, Failure> {
        let mut sum = Command::new("sha256sum");
        sum.current_dir(self.home.path("")).args(files);
        step::read("summing up", &mut sum)
    }
}

/// `tar` unpacks an archive into a folder.
fn unpack(archive: &Path, into: &Path) -> Result<(), Failure> {
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(into);
    step::read("unpacking the archive", &mut tar).map(drop)
}
