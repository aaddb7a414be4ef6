//! Puts compiled components into a program's file.
//!
//! Done when the program is built, by the program itself: so what compiles them is the very engine that
//! will load them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use runner_files::{Folder, ReadAccess, Replacement};
use sha2::{Digest as _, Sha256};

use crate::carried::{ComponentHeader, List, Part, WINDOW_LOG, seal};
use crate::notice::LoadError;
use crate::sandbox::{Options, Sandbox, SandboxError};

/// Parts that are so many times as large as the prefix are compressed alone: they gain little, and whoever
/// unpacks one would unpack the prefix, too.
const TOO_LARGE: usize = 4;

/// What to put into which program.
#[derive(Debug)]
pub struct Packing<'a> {
    /// The program; it carries nothing yet.
    pub program: &'a Path,
    /// Files of plugins.
    pub components: &'a [PathBuf],
    /// The plugin to compress others against: most have much in common, and take a third as much then.
    pub like: Option<&'a str>,
    /// How hard they are compressed, 1 to 22: 19 takes a minute where 3 takes a second, for a quarter
    /// less.
    pub level: i32,
    /// The commit that the program was built from.
    pub commit: Option<String>,
}

/// Why a program can't be given components.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The engine can't be set up.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A file is no plugin.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Two files have the same name.
    #[error("two plugins are called {0}")]
    Twice(String),
    /// The part against which others are compressed is none of them.
    #[error("there is no plugin {0} to compress others against")]
    NothingLike(String),
    /// The program has no place for the digest.
    #[error("{}: this is no runner, or another version of it", .0.display())]
    NoSeal(PathBuf),
    /// The program carries some.
    #[error("{}: this program carries plugins already", .0.display())]
    Sealed(PathBuf),
    /// The engine can't write down what it compiled.
    #[error("the compiled plugin {0} can't be written down")]
    Unserialised(String),
    /// The system does not read or write a file.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What was put into a program.
#[derive(Debug)]
pub struct Packed {
    /// Name of the component, bytes of its code, bytes in the file.
    pub parts: Vec<(String, u64, u64)>,
    /// Bytes of the program without them.
    pub program: u64,
}

/// Compiles the components for each machine of our target, and writes the program with them to `to`.
///
/// # Errors
/// [`PackError`]; then `to` is as it was.
pub fn pack(what: Packing<'_>, to: &Path) -> Result<Packed, PackError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| PackError::Io { path, source }
    };
    let program = what.program;
    let mut file = fs::read(program).map_err(io(program))?;
    let no_seal = || PackError::NoSeal(program.to_owned());
    let (place, digest) = seal::find(&file).ok_or_else(no_seal)?;
    if digest != [0; 32] {
        return Err(PackError::Sealed(program.to_owned()));
    }
    let all = compiled(what.components)?;
    let bytes = file.len() as u64;
    let parts = append(&mut file, all, what.like, what.level)?;
    let sizes = parts.iter();
    let sizes = sizes.map(|part| (part.about.name.clone(), part.size, part.packed));
    let packed = Packed {
        parts: sizes.collect(),
        program: bytes,
    };
    let commit = what.commit;
    close(&mut file, place, &List { commit, parts });
    replace(program, to, &file).map_err(io(to))?;
    Ok(packed)
}

/// Puts the list behind its parts, and its digest into its place.
fn close(file: &mut Vec<u8>, place: usize, list: &List) {
    let list = serde_json::to_vec(list).expect("plain data");
    file[place..place + 32].copy_from_slice(&Sha256::digest(&list));
    file.extend(&list);
    file.extend((list.len() as u64).to_le_bytes());
}

/// Each component with its code, in the order of their names.
fn compiled(components: &[PathBuf]) -> Result<Vec<(ComponentHeader, Vec<u8>)>, PackError> {
    let sandbox = Sandbox::new(Options {
        instances: 1,
        travels: true,
        ..Options::default()
    })?;
    let mut all = Vec::new();
    for component in components {
        let plugin = sandbox.load(component, None)?;
        let about = plugin.about();
        let code = plugin.code();
        let code = code.map_err(|_| PackError::Unserialised(about.name.clone()))?;
        all.push((about, code));
    }
    all.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    match all.windows(2).find(|two| two[0].0.name == two[1].0.name) {
        Some(two) => Err(PackError::Twice(two[0].0.name.clone())),
        None => Ok(all),
    }
}

/// Compresses each and puts it behind what is there.
fn append(
    file: &mut Vec<u8>,
    all: Vec<(ComponentHeader, Vec<u8>)>,
    like: Option<&str>,
    level: i32,
) -> Result<Vec<Part>, PackError> {
    let prefix = match like {
        None => Vec::new(),
        Some(like) => {
            let found = all.iter().find(|(about, _)| about.name == like);
            let (_, code) = found.ok_or_else(|| PackError::NothingLike(like.to_owned()))?;
            code.clone()
        }
    };
    let mut parts = Vec::new();
    for (about, code) in all {
        let other = like.is_some_and(|like| like != about.name);
        let pays = other && code.len() < TOO_LARGE * prefix.len();
        let (prefix, like) = if pays {
            (&prefix[..], like)
        } else {
            (&[][..], None)
        };
        let packed = compressed(&code, prefix, level);
        parts.push(Part {
            about,
            begin: file.len() as u64,
            packed: packed.len() as u64,
            packed_sha256: HEXLOWER.encode(&Sha256::digest(&packed)),
            size: code.len() as u64,
            like: like.map(str::to_owned),
        });
        file.extend(packed);
    }
    Ok(parts)
}

/// Compressed, as far as the prefix does not say it.
fn compressed(code: &[u8], prefix: &[u8], level: i32) -> Vec<u8> {
    let packed = zstd::Encoder::with_ref_prefix(Vec::new(), level, prefix).and_then(|mut it| {
        it.window_log(WINDOW_LOG)?;
        // All of the prefix can be referred to.
        it.long_distance_matching(true)?;
        // Whoever unpacks it needs no more memory than it has bytes.
        it.set_pledged_src_size(Some(code.len() as u64))?;
        it.write_all(code)?;
        it.finish()
    });
    packed.expect("a vector takes everything, and the settings are within their bounds")
}

/// Puts a program in the place of `to`, which may be the one that runs. Whoever may run the first one
/// may run it.
fn replace(like: &Path, to: &Path, content: &[u8]) -> io::Result<()> {
    let (folder, name) = Folder::of(to)?;
    let mut new = Replacement::begin(folder, &name, ReadAccess::Usual)?;
    new.write_all(content)?;
    new.permit(fs::metadata(like)?.permissions())?;
    new.commit().map(drop)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A program with a place for a digest, which carries these.
    pub(crate) fn program_with(
        codes: &[(&str, Vec<u8>)],
        like: Option<&str>,
    ) -> (Vec<u8>, [u8; 32]) {
        let mut file = vec![7; 64];
        file.extend(seal::tests::empty());
        file.extend([8; 40]);
        let (place, digest) = seal::find(&file).expect("it is there");
        assert_eq!(digest, [0; 32]);
        let about = |name: &str| ComponentHeader {
            name: name.to_owned(),
            sha256: String::new(),
            start_memory: 0,
            places: 1,
            description: String::new(),
        };
        let codes = codes.iter();
        let codes = codes.map(|(name, code)| (about(name), code.clone()));
        let parts = append(&mut file, codes.collect(), like, 3).expect("it is among them");
        let commit = Some("0123abc".to_owned());
        close(&mut file, place, &List { commit, parts });
        let (_, digest) = seal::find(&file).expect("it is there still");
        (file, digest)
    }

    #[test]
    fn a_program_without_a_place_or_with_two_is_none() {
        assert!(seal::find(b"no runner at all").is_none());
        let mut twice = seal::tests::empty();
        assert!(seal::find(&twice).is_some());
        twice.extend(seal::tests::empty());
        assert!(seal::find(&twice).is_none());
    }

    #[test]
    fn what_others_are_compressed_against_has_to_be_there() {
        let error = append(&mut Vec::new(), Vec::new(), Some("x"), 1).expect_err("it is not");
        assert_eq!(
            error.to_string(),
            "there is no plugin x to compress others against"
        );
    }
}
