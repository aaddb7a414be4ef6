//! What people are given is installed as they do, where nothing else is, and does what a newcomer does first.
//!
//! Archive, Debian package and container have a root of their own, which takes root; npm and pip need a
//! system around them, and have folders of their own and no network.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::folder::Folder;
use super::needs::Needs;
use super::wrappers::{NAME, is_there};
use super::{Dist, container, unpack};
use crate::step::{self, Failure, say};

/// What the program's command is followed by.
type Words<'a> = &'a [&'a str];

/// Whoever owns nothing.
const NOBODY: u32 = 65_534;

/// What `install.sh` asks of a system.
const TOOLS: [&str; 14] = [
    "sh",
    "basename",
    "cp",
    "dirname",
    "grep",
    "gzip",
    "head",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sha256sum",
    "tar",
];

/// A component that passes the fixtures which `plugin new` writes; the tests build it.
const PASSES: &str = "guests/outside/brief.wasm";

/// A root of its own.
struct Root {
    folder: Folder,
    user: u32,
}

impl Root {
    /// An empty one; `None` where that is not allowed.
    fn empty(dist: &Dist<'_>, user: u32) -> Result<Option<Self>, Failure> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--root=/", "--setuid=0", "true"]);
        let allowed = unshare.stderr(Stdio::null()).status();
        if !allowed.is_ok_and(|status| status.success()) {
            say(
                "SKIPPED: a root of its own needs root, so this is not tried where nothing else is",
            );
            return Ok(None);
        }
        let folder = Folder::emptied(dist.home.path("tried"))?;
        Ok(Some(Self { folder, user }))
    }

    /// One with folders to write to and what the program is linked to.
    fn with_libraries(dist: &Dist<'_>) -> Result<Option<Self>, Failure> {
        let Some(root) = Self::empty(dist, NOBODY)? else {
            return Ok(None);
        };
        for folder in ["home", "project", "tmp"] {
            root.folder.open_folder(folder)?;
        }
        root.copy(&dist.needs.libraries)?;
        Ok(Some(root))
    }

    /// Copies files of the system to where they are.
    fn copy(&self, files: &[PathBuf]) -> Result<(), Failure> {
        files.iter().try_for_each(|file| {
            let to = file.to_string_lossy();
            self.folder.copy(file, to.trim_start_matches('/'))
        })
    }

    /// Runs one of its programs in its project, with next to nothing in the environment.
    fn command(&self, program: &str, words: Words<'_>) -> Command {
        let Self { folder, user } = self;
        let mut command = Command::new("unshare");
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.arg(format!("--root={}", folder.path("").display()));
        command.arg("--wd=/project");
        command.args([format!("--setgid={user}"), format!("--setuid={user}")]);
        command.arg(program).args(words);
        command
    }

    /// What a newcomer does there, with this program and home.
    fn newcomer(
        self,
        what: &str,
        dist: &Dist<'_>,
        program: &str,
        home: &str,
    ) -> Result<(), Failure> {
        newcomer(what, dist, &self.folder.below("project"), |words| {
            let mut command = self.command(program, words);
            command.env("RUNNER_HOME", home);
            command
        })?;
        self.folder.remove()
    }
}

/// Installs the archive by its script, where there are the tools that this needs.
pub(super) fn archive(dist: &Dist<'_>, name: &str) -> Result<(), Failure> {
    let Some(root) = Root::with_libraries(dist)? else {
        return Ok(());
    };
    for tool in TOOLS {
        let folders = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        let file = folders.iter().find(|file| file.is_file());
        let file = file.ok_or_else(|| Failure::new(format!("there is no {tool} in /usr/bin")))?;
        root.folder.copy(file, &format!("bin/{tool}"))?;
        root.copy(&Needs::of(file)?.libraries)?;
    }
    for file in [name, "install.sh", "sha256sums.txt"] {
        let to = format!("download/{file}");
        root.folder.copy(&dist.home.path(file), &to)?;
    }
    let mut install = root.command("/bin/sh", &["/download/install.sh"]);
    step::read("trying install.sh", install.env("HOME", "/home"))?;
    root.newcomer("the archive", dist, "/home/.local/bin/runner", "/home")
}

/// Unpacks the package for Debian.
pub(super) fn debian(dist: &Dist<'_>, name: &str) -> Result<(), Failure> {
    let Some(root) = Root::with_libraries(dist)? else {
        return Ok(());
    };
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.arg("--extract").arg(dist.home.path(name));
    step::read("unpacking for Debian", dpkg.arg(root.folder.path("")))?;
    root.newcomer("the Debian package", dist, "/usr/bin/runner", "/home")
}

/// Runs what a container holds, as its account, with its root as the root.
pub(super) fn container(dist: &Dist<'_>, name: &str) -> Result<(), Failure> {
    let Some(root) = Root::empty(dist, container::USER)? else {
        return Ok(());
    };
    unpack(&dist.home.path(name), &root.folder.path(""))?;
    root.newcomer("the container", dist, "/usr/bin/runner", "/data")
}

/// Whether a file is of this kind, by the end of its name.
fn is_of(name: &str, kind: &str) -> bool {
    Path::new(name).extension() == Some(kind.as_ref())
}

/// Installs the packages of npm from their files.
pub(super) fn npm(dist: &Dist<'_>, files: &[String]) -> Result<(), Failure> {
    let packages = files.iter().filter(|name| is_of(name, "tgz"));
    let packages: Vec<_> = packages.map(|name| dist.home.path(name)).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let folder = Folder::emptied(dist.home.path("tried"))?;
    folder.write("package.json", b"{}")?;
    folder.open_folder("project")?;
    let project = folder.below("project");
    let mut npm = Command::new("npm");
    npm.current_dir(folder.path(""))
        .env("npm_config_cache", folder.path("npm"));
    npm.args(["install", "--silent", "--offline", "--ignore-scripts"]);
    step::read("trying the packages for npm", npm.args(packages))?;
    let here = |mut command: Command, words: Words<'_>| {
        // npx looks for packages from the folder upwards.
        command.current_dir(project.path("")).args(words);
        command.env("RUNNER_HOME", folder.path("home"));
        command
    };
    let mut npx = here(Command::new("npx"), &["--offline", NAME, "--version"]);
    step::read("trying npx", &mut npx)?;
    let starter = folder.path("node_modules/.bin").join(NAME);
    newcomer("the packages for npm", dist, &project, |words| {
        here(Command::new(&starter), words)
    })?;
    folder.remove()
}

/// Installs the wheel from its file, and runs it by both its names; by uvx where that is.
pub(super) fn wheel(dist: &Dist<'_>, files: &[String]) -> Result<(), Failure> {
    let Some(wheel) = files.iter().find(|name| is_of(name, "whl")) else {
        return Ok(());
    };
    let folder = Folder::emptied(dist.home.path("tried"))?;
    folder.open_folder("project")?;
    let project = folder.below("project");
    let venv = folder.path("venv");
    let mut python = Command::new("python3");
    python.args(["-m", "venv"]).arg(&venv);
    if step::read("making a place for the wheel", &mut python).is_err() {
        say("SKIPPED: python3 has no venv here, so the wheel was not tried");
        return folder.remove();
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args([
        "install",
        "--quiet",
        "--no-index",
        "--disable-pip-version-check",
    ]);
    step::read("trying the wheel", pip.arg(dist.home.path(wheel)))?;
    let here = |program: &Path, words: Words<'_>| {
        let mut command = Command::new(program);
        command.current_dir(project.path("")).args(words);
        command.env("RUNNER_HOME", folder.path("home"));
        command
    };
    step::read(
        "trying the wheel's runner",
        &mut here(&venv.join("bin/runner"), &["--version"]),
    )?;
    let script = venv.join("bin").join(NAME);
    newcomer("the wheel", dist, &project, |words| here(&script, words))?;
    if is_there("uvx") {
        let mut uvx = here(
            Path::new("uvx"),
            &["--offline", "--no-index", "--find-links"],
        );
        uvx.arg(dist.home.path(""))
            .args([NAME, "eval", "--no-table"]);
        uvx.env("UV_CACHE_DIR", folder.path("uv"));
        step::read("trying the wheel by uvx", &mut uvx)?;
    } else {
        say("SKIPPED: there is no uvx, so the wheel was not tried with it");
    }
    folder.remove()
}

/// A config and its run, a plugin and its tests, and a look at the run in a browser.
fn newcomer(
    what: &str,
    dist: &Dist<'_>,
    project: &Folder,
    runner: impl Fn(Words<'_>) -> Command,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let run = |words: Words<'_>| {
        let what = format!("trying {what}: {}", words.join(" "));
        step::read(&what, &mut runner(words)).map(drop)
    };
    run(&["init"])?;
    run(&["eval", "--no-table"])?;
    run(&["plugin", "docs", "echo"])?;
    run(&[
        "plugin",
        "new",
        "brief",
        "--lang",
        "rust",
        "--kind",
        "assertion",
    ])?;
    let passes = dist.place.target.join(PASSES);
    if passes.is_file() {
        project.copy(&passes, "brief/brief.wasm")?;
        run(&["plugin", "test", "brief"])?;
    } else {
        say("SKIPPED: no plugin is tested, since `cargo xtask plugins` has built none for it");
    }
    view(what, runner(&["view", "--port", "0", "--no-open"]))?;
    let took = begun.elapsed().as_millis();
    say(&format!(
        "tried {what}: a first run, a plugin and the viewer took {took} ms"
    ));
    Ok(())
}

/// Opens the address that the viewer prints, as a browser does.
fn view(what: &str, mut viewer: Command) -> Result<(), Failure> {
    let failed = |why: &str| Failure::new(format!("trying {what}: view: {why}"));
    viewer.stdout(Stdio::piped()).stderr(Stdio::null());
    let child = viewer.spawn();
    let mut child = child.map_err(|error| step::not_started(what, &viewer, &error))?;
    let mut line = String::new();
    if let Some(said) = child.stdout.take() {
        // What can't be read is no address.
        let _ = BufReader::new(said).read_line(&mut line);
    }
    let answer = welcome(line.trim());
    // What starts the program in another language passes this on to it.
    let mut kill = Command::new("kill");
    step::read(
        "ending the viewer",
        kill.args(["-TERM", &child.id().to_string()]),
    )?;
    let _ = child.wait();
    match answer {
        Some(answer) if answer.contains("set-cookie: ") => Ok(()),
        Some(answer) => Err(failed(&format!("it answers {answer}"))),
        None => Err(failed(&format!("no server at `{}`", line.trim()))),
    }
}

/// The head of the answer at an address; `None` if nobody answers.
fn welcome(url: &str) -> Option<String> {
    let (address, path) = url.strip_prefix("http://")?.split_once('/')?;
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
