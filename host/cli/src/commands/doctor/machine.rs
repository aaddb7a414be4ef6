//! What is asked of the system: programs, proxies, limits.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use runner_config::plan::GIVEN_VARIABLES;

use super::Finding;
use crate::environment::Environment;
use crate::figures;
#[cfg(unix)]
use crate::home::Home;

/// Open files that a run with many cases at once may need: a connection each, and the program's own.
#[cfg(unix)]
const FILES: u64 = 512;

/// What runs code of a config that the sandbox can't run: name, what names another, the oldest release
/// that will do.
type Sought = (&'static str, Option<&'static str>, (u32, u32));

const PROGRAMS: [Sought; 2] = [
    ("python3", Some("PYTHON"), (3, 10)),
    ("node", None, (20, 6)),
];

/// Variables by which requests go by way of a proxy, also in small letters.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"];

/// The interpreters that configs may ask for.
pub(super) fn programs(environment: &Environment) -> Vec<Finding> {
    let look = |(name, variable, oldest): Sought| {
        let other = variable.and_then(|variable| environment.setting(variable));
        let name: &str = other.as_ref().map_or(name, |(_, value)| value);
        program(name, environment, oldest)
    };
    PROGRAMS.map(look).into()
}

fn program(name: &str, environment: &Environment, oldest: (u32, u32)) -> Finding {
    let path = environment.get("PATH").unwrap_or_default();
    let Some(place) = runner_process::find(Path::new(name), OsStr::new(path)) else {
        let (major, minor) = oldest;
        let help = format!("help: install {major}.{minor} or later, if you have such a config");
        let text = format!("no {name}: a config whose code needs it does not run\n{help}");
        return Finding::good("programs", text);
    };
    let mut command = Command::new(&place);
    let given = GIVEN_VARIABLES
        .iter()
        .filter_map(|name| Some((name, environment.get(name)?)));
    command
        .arg("--version")
        .stdin(Stdio::null())
        .env_clear()
        .envs(given);
    let output = command.output();
    let said = output.ok().filter(|output| output.status.success());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    version(
        &place.display().to_string(),
        &said.unwrap_or_default(),
        oldest,
    )
}

/// Whether what a program says of its version will do.
fn version(place: &str, said: &str, oldest: (u32, u32)) -> Finding {
    match release(said) {
        None => {
            let help = "help: see whether it starts, and install it again";
            Finding::doubtful(
                "programs",
                format!("{place} does not say its version\n{help}"),
            )
        }
        Some(found) if found < oldest => {
            let (major, minor) = oldest;
            let help = format!("help: install {major}.{minor} or later");
            Finding::doubtful("programs", format!("{place}, {said}, is too old\n{help}"))
        }
        Some(_) => Finding::good("programs", format!("{place}, {said}")),
    }
}

/// Of `Python 3.11.2` or `v20.6.1`.
fn release(said: &str) -> Option<(u32, u32)> {
    let begin = said.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = said[begin..].split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Whether some proxy is asked; what is in the variables may be a password.
pub(super) fn proxies(environment: &Environment) -> Finding {
    let small = PROXIES.map(str::to_lowercase);
    let names = PROXIES.into_iter().chain(small.iter().map(String::as_str));
    let set = names.filter_map(|name| Some((name, environment.get(name)?)));
    let set: Vec<(&str, &str)> = set.filter(|(_, value)| !value.is_empty()).collect();
    let wrong = set
        .iter()
        .find(|(name, value)| !name.eq_ignore_ascii_case("NO_PROXY") && !is_address(value));
    if let Some((name, _)) = wrong {
        let help = format!("help: for example {name}=http://proxy.example:3128");
        let text = format!("{name} is no address, so requests go as if it were not set\n{help}");
        return Finding::doubtful("proxies", text);
    }
    let set: Vec<&str> = set.into_iter().map(|(name, _)| name).collect();
    let text = match &set[..] {
        [] => "no variable names one".to_owned(),
        set => format!(
            "{}: requests to other machines go as they say",
            set.join(", ")
        ),
    };
    Finding::good("proxies", text)
}

/// Whether it says where a proxy is, with or without scheme and account.
fn is_address(value: &str) -> bool {
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit('@').next().unwrap_or_default();
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (place, "0"),
    };
    let is_known = scheme.starts_with("http") || scheme.starts_with("socks");
    is_known
        && !host.is_empty()
        && !host.contains(char::is_whitespace)
        && port.parse::<u16>().is_ok()
}

/// Whether others can change what is kept: what was agreed to, and results.
#[cfg(unix)]
pub(super) fn open_to_others(home: &Home) -> Option<Finding> {
    use std::os::unix::fs::MetadataExt;
    let runs = home.runs();
    let places = [runs.parent()?.to_owned(), runs, home.agreements()];
    // A folder with the sticky bit lets everybody change their own alone.
    let is_loose = |mode: u32| mode & 0o022 != 0 && mode & 0o1000 == 0;
    let is_open = |place: &&PathBuf| fs::metadata(place).is_ok_and(|its| is_loose(its.mode()));
    let place = places.iter().find(is_open)?.display();
    Some(Finding::doubtful(
        "results",
        format!("other users could change {place}\nhelp: chmod go-w {place}"),
    ))
}

/// Finds how many files the process may have open.
#[cfg(unix)]
pub(super) fn open_files() -> Finding {
    files(rustix::process::getrlimit(rustix::process::Resource::Nofile).current)
}

#[cfg(unix)]
fn files(limit: Option<u64>) -> Finding {
    match limit {
        Some(few) if few < FILES => Finding::doubtful(
            "open files",
            format!(
                "at most {}: many cases at once need more\nhelp: ulimit -n {FILES}, or a smaller -j",
                figures::count(few)
            ),
        ),
        Some(limit) => Finding::good("open files", format!("at most {}", figures::count(limit))),
        None => Finding::good("open files", "no limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_release_is_read_as_programs_say_it() {
        assert_eq!(release("Python 3.11.2"), Some((3, 11)));
        assert_eq!(release("v20.6.1"), Some((20, 6)));
        assert_eq!(release("node"), None);
    }

    #[test]
    fn a_program_is_missing_too_old_mute_or_good() {
        let state = |said| version("/bin/node", said, (20, 6)).state;
        assert_eq!(state("v18.19.0"), State::Doubtful);
        assert_eq!(state(""), State::Doubtful);
        assert_eq!(state("v22.1.0"), State::Good);
        let environment = Environment::from_pairs(&[("PATH", "/nonexistent")]);
        let missing = program("node", &environment, (20, 6));
        assert_eq!(
            missing.text,
            "no node: a config whose code needs it does not run\n\
             help: install 20.6 or later, if you have such a config"
        );
    }

    #[test]
    fn proxies_are_named_without_what_is_in_them() {
        let environment = Environment::from_pairs(&[("https_proxy", "http://me:secret@p")]);
        assert_eq!(
            proxies(&environment).text,
            "https_proxy: requests to other machines go as they say"
        );
    }

    #[test]
    fn a_proxy_that_is_no_address_is_told() {
        for value in [
            "http://p:3128",
            "p",
            "p:1/",
            "socks5h://me:secret@p:1080",
            "http://[::1]:80",
            "[::1]",
        ] {
            assert!(is_address(value), "{value}");
        }
        for value in ["not a url", "http://", "ftp://p", "http://p:many", "me@"] {
            assert!(!is_address(value), "{value}");
        }
        let set = [
            ("HTTP_PROXY", ""),
            ("NO_PROXY", "a, b"),
            ("ALL_PROXY", "my secret"),
        ];
        let found = proxies(&Environment::from_pairs(&set));
        assert_eq!(
            (found.state, &*found.text),
            (
                State::Doubtful,
                "ALL_PROXY is no address, so requests go as if it were not set\n\
                 help: for example ALL_PROXY=http://proxy.example:3128"
            )
        );
    }

    #[test]
    #[cfg(unix)]
    fn few_files_are_told() {
        assert_eq!(files(Some(256)).state, State::Doubtful);
        assert_eq!(files(Some(1024)).state, State::Good);
        assert_eq!(files(None).state, State::Good);
    }
}
