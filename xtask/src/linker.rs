//! A linker for systems that are older than this one.
//!
//! A program asks for the C library of the machine that linked it, and no older one. Zig, which PyPI brings, has the
//! names of all of them, and links for the one that is said; nothing is compiled by it.

use std::path::PathBuf;

use crate::place::Place;
use crate::pypi;
use crate::step::{Failure, say};

pub(crate) const ZIG: &str = "ziglang==0.17.0";

/// Red Hat 8, Ubuntu 20.04, Debian 10.
const GLIBC: &str = "2.28";

/// The variable by which cargo takes a linker for the target of this machine, and the linker; `None` where Zig can't
/// be had, or the target has no glibc.
pub(crate) fn for_older_systems(place: &Place) -> Option<(String, PathBuf)> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return None;
    }
    let made = script(place);
    if let Err(failure) = &made {
        say(&failure.to_string());
        say(
            "the program is linked for the C library of this machine, and runs where that is as new",
        );
    }
    let target = format!("{}_unknown_linux_gnu", std::env::consts::ARCH);
    let variable = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase());
    Some((variable, made.ok()?))
}

/// Cargo takes a program without arguments.
fn script(place: &Place) -> Result<PathBuf, Failure> {
    let home = place.target.join("tools");
    let python = pypi::programs(&home, ZIG)?.join("python");
    let script = home.join("link-for-older-systems");
    let target = format!("{}-linux-gnu.{GLIBC}", std::env::consts::ARCH);
    let line = format!(
        "exec '{}' -m ziglang cc -target {target} \"$@\"",
        python.display()
    );
    let written = std::fs::write(&script, format!("#!/bin/sh\n{line}\n"));
    #[cfg(unix)]
    let written = written.and_then(|()| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))
    });
    written.map_err(|error| Failure::new(format!("{}: {error}", script.display())))?;
    Ok(script)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_linker_is_zig_for_an_older_c_library() {
        let target = std::env::temp_dir().join(format!("xtask linker {}", std::process::id()));
        let environment = target.join(format!("tools/{}", ZIG.replace("==", "-")));
        fs::create_dir_all(environment.join("bin")).expect("made");
        fs::write(environment.join("installed"), ZIG).expect("written");
        let python = environment.join("bin/python");
        fs::write(&python, "#!/bin/sh\necho \"$@\"\n").expect("written");
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let place = Place {
            root: target.clone(),
            target: target.clone(),
            metadata: serde_json::Value::Null,
        };
        let linker = script(&place).map_err(|failure| failure.to_string());
        let said = Command::new(linker.expect("made")).arg("a b").output();
        let said = said.expect("it starts").stdout;
        let expected = format!(
            "-m ziglang cc -target {}-linux-gnu.2.28 a b\n",
            std::env::consts::ARCH
        );
        assert_eq!(String::from_utf8_lossy(&said), expected);
        fs::remove_dir_all(&target).expect("it is ours");
    }
}
