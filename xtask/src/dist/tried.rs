//! What people are given is installed as they do, where nothing else is, and does what a newcomer does first.

use std::path::Path;
use std::process::Command;

use super::folder::Folder;
use super::wrappers::{NAME, is_there};
use super::{container, unpack};
use crate::step::{self, Failure, say};

/// What the program's command is followed by.
type Words<'a> = &'a [&'a str];

/// Installs the archive by its script, and runs it with an empty environment.
pub(super) fn archive(home: &Folder, name: &str) -> Result<(), Failure> {
    let folder = Folder::emptied(home.path("tried"))?;
    let prefix = folder.path("prefix");
    let mut install = Command::new("sh");
    install
        .arg(home.path("install.sh"))
        .arg(home.path(name))
        .arg(&prefix);
    step::read("trying install.sh", &mut install)?;
    newcomer("the archive", &folder, |words| {
        let mut command = Command::new(prefix.join("bin/runner"));
        command.env_clear().args(words);
        command
    })?;
    folder.remove()
}

/// Installs the packages of npm and PyPI from their files, offline.
pub(super) fn wrappers(home: &Folder, files: &[String]) -> Result<(), Failure> {
    let folder = Folder::emptied(home.path("tried"))?;
    let of = |end: &'static str| files.iter().filter(move |name| name.ends_with(end));
    let packages: Vec<_> = of(".tgz").map(|name| home.path(name)).collect();
    if !packages.is_empty() {
        folder.write("package.json", b"{}")?;
        let mut npm = Command::new("npm");
        npm.current_dir(folder.path(""));
        npm.args(["install", "--silent", "--offline", "--ignore-scripts"])
            .args(packages);
        step::read("trying the packages for npm", &mut npm)?;
        newcomer("the packages for npm", &folder, |words| {
            let mut command = Command::new("npx");
            command.args(["--offline", NAME]).args(words);
            command
        })?;
    }
    for wheel in of(".whl") {
        let venv = folder.path("venv");
        let mut python = Command::new("python3");
        python.args(["-m", "venv"]).arg(&venv);
        if step::read("making a place for the wheel", &mut python).is_err() {
            say("python3 has no venv here, so the wheel was not tried");
            break;
        }
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args([
            "install",
            "--quiet",
            "--no-index",
            "--disable-pip-version-check",
        ]);
        step::read("trying the wheel", pip.arg(home.path(wheel)))?;
        for script in ["runner", NAME] {
            newcomer(&format!("{script} of the wheel"), &folder, |words| {
                let mut command = Command::new(venv.join("bin").join(script));
                command.env_clear().args(words);
                command
            })?;
        }
        if is_there("uvx") {
            newcomer("the wheel by uvx", &folder, |words| {
                let mut uvx = Command::new("uvx");
                uvx.args(["--offline", "--no-index", "--find-links"])
                    .arg(home.path(""));
                uvx.arg(NAME).args(words);
                uvx.env("UV_CACHE_DIR", folder.path("uv"));
                uvx
            })?;
        } else {
            say("there is no uvx, so the wheel was not tried with it");
        }
    }
    folder.remove()
}

/// Runs what a container holds, as its account, with its root as the root. Changing that takes root.
pub(super) fn container(home: &Folder, name: &str) -> Result<(), Failure> {
    let folder = Folder::emptied(home.path("tried"))?;
    unpack(&home.path(name), &folder.path(""))?;
    let root = folder.path("");
    let chroot = |words: Words<'_>| {
        let mut command = Command::new("chroot");
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .arg(format!("--userspec={0}:{0}", container::USER))
            .arg(&root);
        command.arg("/usr/bin/runner").args(words);
        command
    };
    let allowed = chroot(&["--version"]).output();
    if allowed.is_ok_and(|output| output.status.success()) {
        step::read(
            "trying the container: init",
            &mut chroot(&["init", "/project"]),
        )?;
        let config = "/project/promptfooconfig.yaml";
        let eval = &mut chroot(&["eval", "--no-table", "-c", config]);
        step::run(
            "trying the container: eval",
            eval.env("RUNNER_HOME", "/data"),
        )?;
    } else {
        say("chroot is not allowed here, so what the container holds was not tried");
    }
    folder.remove()
}

/// `init` and `eval` in an empty folder.
fn newcomer(
    what: &str,
    folder: &Folder,
    runner: impl Fn(Words<'_>) -> Command,
) -> Result<(), Failure> {
    let project = Folder::emptied(folder.path("project"))?;
    let here = |words: Words<'_>, at: &Path| {
        let mut command = runner(words);
        // Whoever tries it keeps nothing in the home of whoever builds it.
        command
            .current_dir(at)
            .env("RUNNER_HOME", folder.path("home"));
        command
    };
    // npx looks for packages from the folder upwards.
    let at = project.path("");
    step::read(&format!("trying {what}: init"), &mut here(&["init"], &at))?;
    let eval = &mut here(&["eval", "--no-table"], &at);
    step::run(&format!("trying {what}: eval"), eval)
}
