//! The address that a config gives to a plugin of the bundle, in place of its own.
//!
//! A base address has what the plugin appends below it, and so neither query nor fragment: both would
//! swallow that. Where the plugin says at which addresses of its vendor the API is, another path there
//! is the config's word: a key opens more of a vendor than its models.

use runner_config::plan::Position;
use runner_gateway::{Origin, OriginPattern};
use serde_json::Value;
use url::Url;

use super::bind_error::{BindError, place};

/// The origin of an address that the user configured under `key`, and the address: granted because
/// the user wrote it. What a case's variables fill in can be no part of it.
///
/// # Errors
/// When it is no address.
pub(super) fn read(
    key: &str,
    address: &Value,
    at: &Position,
) -> Result<(OriginPattern, Url), BindError> {
    let wrong = |problem| BindError::Config {
        at: place(at),
        problem,
    };
    let url = address.as_str().and_then(|text| Url::parse(text).ok());
    // An `http` provider asks the very address.
    let ends_early = |url: &Url| url.query().is_some() || url.fragment().is_some();
    if key != "url" && url.as_ref().is_some_and(ends_early) {
        let problem = format!("config.{key} is a base address, and has no '?' and no '#'");
        return Err(wrong(problem));
    }
    let read = url.and_then(|url| Some((Origin::of(&url)?, url)));
    read.filter(|(origin, _)| !origin.to_string().contains(['{', '}']))
        .map(|(origin, url)| (OriginPattern::exactly(origin), url))
        .ok_or_else(|| {
            wrong(format!(
                "config.{key} must be a URL such as https://api.example.com/v1, not {}",
                without_credentials(&address.to_string())
            ))
        })
}

/// An address without the parts of it that may be secret: what stands before a host, and the query.
fn without_credentials(address: &str) -> String {
    let (address, query) = address.split_once('?').unwrap_or((address, ""));
    let mark = if query.is_empty() { "" } else { "?…" };
    match address.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}{mark}"),
        None => format!("{address}{mark}"),
    }
}

/// Whether a plugin's requests below `url` go to the API, where that is at `bases`: at one of them or
/// below, at the root, or at another version. Of an origin without a base nothing is known.
pub(super) fn is_api<'a>(url: &Url, bases: impl Iterator<Item = &'a str>) -> bool {
    let bases = bases.filter_map(|base| Url::parse(base).ok());
    let here: Vec<Url> = bases.filter(|base| base.origin() == url.origin()).collect();
    let path = url.path().trim_end_matches('/');
    let is_below = |base: &Url| {
        let base = base.path().trim_end_matches('/');
        let rest = path.strip_prefix(base);
        rest.is_some_and(|rest| rest.is_empty() || (!base.is_empty() && rest.starts_with('/')))
    };
    here.is_empty() || path.is_empty() || is_version(path) || here.iter().any(is_below)
}

/// `/v1`, `/v1beta`
fn is_version(path: &str) -> bool {
    let name = path.strip_prefix("/v").unwrap_or_default();
    name.starts_with(|sign: char| sign.is_ascii_digit())
        && name.bytes().all(|sign| sign.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(key: &str, address: &str) -> Option<String> {
        let read = read(key, &json!(address), &Position::default());
        read.err().map(|error| error.to_string())
    }

    #[test]
    fn a_base_address_has_nothing_that_swallows_what_is_appended() {
        for address in [
            "https://api.openai.com/v1/organization/admin_api_keys?x=",
            "https://api.openai.com/v1/organization/admin_api_keys#",
            "https://api.openai.com?",
        ] {
            let told = refused("apiBaseUrl", address).expect(address);
            assert!(
                told.contains("config.apiBaseUrl is a base address, and has no '?' and no '#'"),
                "{told}"
            );
            assert_eq!(refused("url", address), None);
        }
        assert_eq!(refused("apiBaseUrl", "https://api.openai.com/v1"), None);
    }

    #[test]
    fn what_is_no_address_is_said_without_its_secrets() {
        for (address, shown) in [
            (
                "htps//me:hunter22@exa mple.com/v1?key=quiet",
                "…@exa mple.com/v1?…",
            ),
            ("file:///etc/hosts", "file:///etc/hosts"),
            ("https://{{host}}/v1", "https://{{host}}/v1"),
        ] {
            let told = refused("apiBaseUrl", address).expect(address);
            assert!(told.contains("must be a URL such as"), "{told}");
            assert!(told.contains(shown) && !told.contains("hunter22"), "{told}");
        }
    }

    #[test]
    fn a_vendor_has_more_than_its_api() {
        let bases = [
            "https://api.vendor.example/v1",
            "https://other.vendor.example",
        ];
        let is_api = |url: &str| is_api(&Url::parse(url).expect(url), bases.into_iter());
        for api in [
            "https://api.vendor.example/v1",
            "https://api.vendor.example/v1/",
            "https://api.vendor.example/v1/eu",
            "https://api.vendor.example",
            "https://api.vendor.example/v1beta",
            "https://other.vendor.example/",
            "https://other.vendor.example/v2",
            // Nothing is said of it.
            "https://third.example/anything",
        ] {
            assert!(is_api(api), "{api}");
        }
        for other in [
            "https://api.vendor.example/v1x/y",
            "https://api.vendor.example/dashboard",
            "https://api.vendor.example/v1/../dashboard/v1",
            "https://api.vendor.example/version",
            "https://other.vendor.example/admin",
        ] {
            assert!(!is_api(other), "{other}");
        }
    }
}
