//! Origins, and the patterns by which a user grants them.
//!
//! An origin is scheme, host and port: the unit in which the web separates parties, and
//! the only one that a redirect or a shared path can't blur. Paths are deliberately not
//! part of a grant, since a server is free to serve anything under any path.
//!
//! Both sides go through the URL standard's parser, so that `HTTPS://API.Acme.com:443`,
//! `https://api.acme.com` and an internationalised name in either spelling are one
//! origin, and `http://2130706433` is the loopback address that it is.

use std::fmt;
use std::net::IpAddr;

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
    /// By `*.`: some name below a suffix.
    Wildcard,
    /// The host itself, letter by letter.
    Exact,
}

/// What a user writes under `hosts:`: `https://api.acme.com`, `http://localhost:8080`,
/// `https://*.acme.com`. Without a scheme it means https. `*.` stands for one or more
/// labels, never for none, and never for an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginPattern {
    origin: Origin,
    naming: Naming,
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
        let (naming, rest) = match rest.strip_prefix("*.") {
            Some(suffix) => (Naming::Wildcard, suffix),
            None => (Naming::Exact, rest),
        };
        if rest.contains('*') {
            return Err("'*' may only stand at the front of the host, as '*.'");
        }
        let url = Url::parse(&format!("{scheme}://{rest}"))
            .map_err(|_| "write scheme, host and port, as in https://api.example.com")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("user names and passwords don't belong in an origin");
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err("an origin has no path; grants are by scheme, host and port");
        }
        let origin = Origin::of(&url).ok_or("the scheme must be https or http")?;
        if naming == Naming::Wildcard && !matches!(origin.host, Host::Domain(_)) {
            return Err("'*.' goes with a name, not with an address");
        }
        Ok(Self { origin, naming })
    }

    /// The pattern that grants `origin` and nothing else.
    pub fn exactly(origin: Origin) -> Self {
        Self {
            origin,
            naming: Naming::Exact,
        }
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
            (Naming::Wildcard, Host::Domain(suffix), Host::Domain(name)) => name
                .strip_suffix(suffix.as_str())
                .and_then(|labels| labels.strip_suffix('.'))
                .is_some_and(|labels| !labels.is_empty()),
            (Naming::Wildcard, _, _) => false,
        };
        covered.then_some(self.naming)
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.naming {
            Naming::Exact => self.origin.fmt(f),
            Naming::Wildcard => {
                let whole = self.origin.to_string();
                let (scheme, rest) = whole
                    .split_once("://")
                    .expect("an origin displays with its scheme");
                write!(f, "{scheme}://*.{rest}")
            }
        }
    }
}

/// The best naming of `origin` in a list: exact beats wildcard, `None` when no entry
/// covers it.
pub(crate) fn naming(patterns: &[OriginPattern], origin: &Origin) -> Option<Naming> {
    patterns.iter().filter_map(|p| p.covers(origin)).max()
}
