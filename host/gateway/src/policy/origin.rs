//! Origins, and the patterns by which a user grants them.
//!
//! An origin is scheme, host and port: the unit in which the web separates parties, and
//! the only one that a redirect or a shared path can't blur. Paths are deliberately not
//! part of what a user grants, since a server is free to serve anything under any path. Where
//! strangers share an origin, and the path says whose part of it is asked, the host keeps a
//! pattern within a folder.
//!
//! Both sides go through the URL standard's parser, so that `HTTPS://API.Acme.com:443`,
//! `https://api.acme.com` and an internationalised name in either spelling are one
//! origin, and `http://2130706433` is the loopback address that it is.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

#[cfg(test)]
mod tests;

/// Scheme, host and port of a URL. `Display` leaves the scheme's usual port out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    scheme: Web,
    host: Host<String>,
    port: u16,
}

/// The two schemes that the gateway speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Web {
    Http,
    Https,
}

impl Web {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Origin {
    /// The origin of `url`; `None` unless it is an http or https URL with a host.
    pub fn of(url: &Url) -> Option<Self> {
        let scheme = match url.scheme() {
            "http" => Web::Http,
            "https" => Web::Https,
            _ => return None,
        };
        Some(Self {
            scheme,
            host: url.host()?.to_owned(),
            port: url.port().unwrap_or(scheme.usual_port()),
        })
    }

    /// Name or address, without port.
    pub fn host(&self) -> &Host<String> {
        &self.host
    }

    /// The address that stands in place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(v4) => Some(v4.into()),
            Host::Ipv6(v6) => Some(v6.into()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name(), self.host)?;
        if self.port == self.scheme.usual_port() {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

/// How far a pattern goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// By a `*`: some name of many.
    Wildcard,
    /// The host itself, letter by letter.
    Exact,
}

/// What a user writes under `hosts:`: `https://api.acme.com`, `http://localhost:8080`,
/// `https://*.acme.com`, `https://api.*.acme.com`. Without a scheme it means https. `*.` at the
/// front stands for one or more labels, never for none, and never for an address. A `*` elsewhere
/// stands for one or more characters of its label, as vendors put a region into their names; the
/// last two labels, by which a name is somebody's, have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginPattern {
    /// Without the `*.` at the front.
    origin: Origin,
    naming: Naming,
    /// Whether `*.` stands at the front.
    below: bool,
    /// The path in which it stays, without a slash at the end; empty if it is the whole origin's.
    folder: String,
}

/// A pattern that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not an origin: {problem}")]
pub struct PatternError {
    /// As written.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl OriginPattern {
    /// Reads a pattern.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        Self::read(pattern.trim()).map_err(|problem| PatternError {
            pattern: pattern.to_owned(),
            problem,
        })
    }

    fn read(pattern: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = pattern.split_once("://").unwrap_or(("https", pattern));
        let (below, rest) = match rest.strip_prefix("*.") {
            Some(suffix) => (true, suffix),
            None => (false, rest),
        };
        let naming = if below || rest.contains('*') {
            Naming::Wildcard
        } else {
            Naming::Exact
        };
        let url = Url::parse(&format!("{scheme}://{rest}"))
            .map_err(|_| "write scheme, host and port, as in https://api.example.com")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("user names and passwords don't belong in an origin");
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err("an origin has no path; grants are by scheme, host and port");
        }
        let origin = Origin::of(&url).ok_or("the scheme must be https or http")?;
        match &origin.host {
            Host::Domain(name) if name.contains('*') => check_stars(name)?,
            Host::Domain(_) => {}
            _ if naming == Naming::Exact => {}
            _ => return Err("'*.' goes with a name, not with an address"),
        }
        Ok(Self {
            origin,
            naming,
            below,
            folder: String::new(),
        })
    }

    /// The pattern that grants `origin` and nothing else.
    pub fn exactly(origin: Origin) -> Self {
        Self {
            origin,
            naming: Naming::Exact,
            below: false,
            folder: String::new(),
        }
    }

    /// This pattern for addresses below a path alone (`/v1/ada`), as a parsed URL has it.
    #[must_use]
    pub fn within(mut self, folder: &str) -> Self {
        folder.trim_end_matches('/').clone_into(&mut self.folder);
        self
    }

    /// Whether the path of an address that it covers is in its folder, whoever reads it.
    fn holds(&self, url: &Url) -> bool {
        let rest = url.path().strip_prefix(&self.folder);
        let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_below && (self.folder.is_empty() || !leads_up(url.path()))
    }

    /// The one origin that it names; `None` for a wildcard.
    pub fn exact(&self) -> Option<&Origin> {
        (self.naming == Naming::Exact).then_some(&self.origin)
    }

    /// How the pattern names `origin`; `None` when it does not cover it.
    pub fn covers(&self, origin: &Origin) -> Option<Naming> {
        if self.origin.scheme != origin.scheme || self.origin.port != origin.port {
            return None;
        }
        let covered = match (self.naming, &self.origin.host, &origin.host) {
            (Naming::Exact, granted, asked) => granted == asked,
            (Naming::Wildcard, Host::Domain(granted), Host::Domain(asked)) => {
                self.covers_name(granted, asked)
            }
            (Naming::Wildcard, _, _) => false,
        };
        covered.then_some(self.naming)
    }

    /// Whether one of the two covers the other: what is granted may be wider than what is wanted, and
    /// narrower by whoever knows that it is enough.
    pub fn meets(&self, other: &Self) -> bool {
        self == other
            || self.covers(&other.sample()).is_some()
            || other.covers(&self.sample()).is_some()
    }

    /// An origin that it covers, with a letter for each `*`.
    fn sample(&self) -> Origin {
        let mut sample = self.origin.clone();
        if let Host::Domain(name) = &mut sample.host {
            *name = name.replace('*', "x");
            if self.below {
                name.insert_str(0, "x.");
            }
        }
        sample
    }

    /// Label by label from the end, by which a name is somebody's.
    fn covers_name(&self, granted: &str, asked: &str) -> bool {
        let mut asked = asked.rsplit('.');
        let mut granted = granted.rsplit('.');
        let agree = granted.all(|label| asked.next().is_some_and(|it| covers_label(label, it)));
        let more = asked.next();
        agree && more.is_some() == self.below && more.is_none_or(|label| !label.is_empty())
    }
}

/// Checks whether the `*`s of a name stand where they may.
fn check_stars(name: &str) -> Result<(), &'static str> {
    let mut labels = name.rsplit('.');
    let owner = labels.by_ref().take(2);
    let is_owned = owner.fold(0, |free, label| free + usize::from(!label.contains('*'))) == 2;
    let once = labels.all(|label| label.matches('*').count() <= 1);
    if is_owned && once {
        return Ok(());
    }
    Err("'*' may stand at the front of the host, as '*.', or once in a label before the last two")
}

/// Whether a label, which may have one `*`, covers another.
fn covers_label(granted: &str, asked: &str) -> bool {
    let Some((before, after)) = granted.split_once('*') else {
        return granted == asked;
    };
    let free = asked
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    let is_plain = |sign: u8| sign.is_ascii_alphanumeric() || sign == b'-';
    free.is_some_and(|free| !free.is_empty() && free.bytes().all(is_plain))
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.below {
            return write!(f, "{}{}", self.origin, self.folder);
        }
        let whole = self.origin.to_string();
        let (scheme, rest) = whole
            .split_once("://")
            .expect("an origin displays with its scheme");
        write!(f, "{scheme}://*.{rest}{}", self.folder)
    }
}

/// Whether an entry of a list covers an address, its path included.
pub(crate) fn holds(patterns: &[OriginPattern], origin: &Origin, url: &Url) -> bool {
    let mut covering = patterns.iter().filter(|it| it.covers(origin).is_some());
    covering.any(|pattern| pattern.holds(url))
}

/// The best naming of `origin` in a list: exact beats wildcard, `None` when no entry
/// covers it.
pub(crate) fn naming(patterns: &[OriginPattern], origin: &Origin) -> Option<Naming> {
    patterns.iter().filter_map(|p| p.covers(origin)).max()
}

/// How often the path of an address may be decoded on its way through proxies and servers.
const DECODED: usize = 4;

/// Whether a server may take the path of a parsed address for one that leads upward, as no parser of URLs
/// does: by an escaped slash, dot or `%`, by a backslash, or by what stands behind `..;`.
pub fn leads_up(path: &str) -> bool {
    let mut path = Cow::from(path);
    for _ in 0..DECODED {
        let mut parts = path.split(['/', '\\']);
        if parts.any(|part| part.split(';').next() == Some("..")) {
            return true;
        }
        let decoded = percent_decode_str(&path).decode_utf8_lossy().into_owned();
        if decoded == *path {
            return false;
        }
        path = decoded.into();
    }
    // Nobody escapes a name so often.
    true
}
