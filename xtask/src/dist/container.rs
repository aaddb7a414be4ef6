//! What a container holds: the program, the C library, certificates of servers, and no system.
//!
//! Made here rather than by steps of the container's file: so it is tried wherever there is `chroot`,
//! without whatever builds containers.

use std::path::Path;

use super::Dist;
use super::folder::Folder;
use crate::step::{self, Failure, say};

/// How it becomes an image.
const FILE: &[u8] = include_bytes!("Containerfile");

/// The account of the container's file: nobody's in particular.
pub(super) const USER: u32 = 65_532;

/// Where the certificates are that this system knows servers by.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Packs its root; `None` where the program is for no glibc, or there are no certificates here.
pub(super) fn root(dist: &Dist<'_>, content: &Folder) -> Result<Option<String>, Failure> {
    if dist.needs.glibc.is_none() || !Path::new(CERTIFICATES).is_file() {
        say("no container is made: that takes a program for glibc, and certificates in /etc/ssl");
        return Ok(None);
    }
    let root = dist.home.below("root");
    root.copy(&content.path("runner"), "usr/bin/runner")?;
    for file in [
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "THIRD-PARTY.txt",
        "sbom.cdx.json",
    ] {
        root.copy(&content.path(file), &format!("usr/share/doc/runner/{file}"))?;
    }
    for library in &dist.needs.libraries {
        let place = library.to_string_lossy();
        root.copy(library, place.trim_start_matches('/'))?;
    }
    root.copy(Path::new(CERTIFICATES), &CERTIFICATES[1..])?;
    let account = format!("runner:x:{USER}:{USER}::/data:/nonexistent\n");
    root.write("etc/passwd", account.as_bytes())?;
    // Folders that the account writes to, and the one where a project is mounted.
    for folder in ["data", "project", "tmp"] {
        root.open_folder(folder)?;
    }
    let name = format!("container-{}", dist.name(".tar.gz"));
    let mut tar = dist.tar(&root, &name);
    step::run("packing the root of a container", tar.arg("."))?;
    root.remove()?;
    let text = String::from_utf8_lossy(FILE).replace("ROOT", &name);
    dist.home.write("Containerfile", text.as_bytes())?;
    Ok(Some(name))
}
