//! The address that a config gives to a plugin of the bundle, in place of its own.
//!
//! A base address has what the plugin appends below it, and so neither query nor fragment: both would
//! swallow that. Where the plugin says at which addresses of its vendor the API is, another path there
//! is the config's word: a key opens more of a vendor than its models.

use runner_config::plan::Position;
use runner_gateway::{Origin, OriginPattern, leads_up};
use serde_json::{Map, Value};
use url::Url;

use super::bind_error::{BindError, place};

/// Origins that strangers share, and how many parts of a path there say whom it is asked for. Whoever
/// has an account there sees what is sent to it, and may hand it on: account, gateway, and who is
/// behind it (which may be a server of one's own); and an endpoint of a program of one's own.
const SHARED: [(&str, usize); 2] = [
    ("https://gateway.ai.cloudflare.com", 4),
    ("https://api.runpod.ai", 2),
];

/// What a config makes of a shared address, in which `{key}` stands for a text of the config. A key
/// that is missing stays as it is written: the plugin refuses that config.
pub(super) fn filled(address: &str, config: &Map<String, Value>) -> Option<OriginPattern> {
    let mut url = Url::parse(address).ok()?;
    let path = url.path_segments()?;
    let parts: Vec<String> = path.map(|part| filled_part(part, config)).collect();
    url.path_segments_mut().ok()?.clear().extend(parts);
    Some(OriginPattern::exactly(Origin::of(&url)?).within(url.path()))
}

fn filled_part(part: &str, config: &Map<String, Value>) -> String {
    // Braces are escaped in a parsed address.
    let key = part.strip_prefix("%7B");
    let key = key.and_then(|it| it.strip_suffix("%7D"));
    let text = key.and_then(|key| config.get(key)?.as_str());
    match (text, key) {
        (Some(text), _) => text.to_owned(),
        (None, Some(key)) => format!("{{{key}}}"),
        (None, None) => part.to_owned(),
    }
}

/// The keys that a shared address takes from the config.
pub(super) fn keys(address: &str) -> impl Iterator<Item = &str> {
    let parts = address.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Whether strangers share an origin.
pub(super) fn is_shared(origin: &Origin) -> bool {
    let origin = origin.to_string();
    SHARED.iter().any(|(shared, _)| *shared == origin)
}

/// The pattern for an address: its origin, and where strangers share that the part of the path that
/// says whom it is asked for.
fn pattern(origin: Origin, url: &Url) -> OriginPattern {
    let text = origin.to_string();
    let pattern = OriginPattern::exactly(origin);
    let Some((_, parts)) = SHARED.iter().find(|(shared, _)| *shared == text) else {
        return pattern;
    };
    let path: Vec<&str> = url.path().split('/').take(parts + 1).collect();
    pattern.within(&path.join("/"))
}

/// Reads the origin of an address that the user configured under `key`, and the address: granted because
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
        .map(|(origin, url)| (pattern(origin, &url), url))
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
    let is_api = path.is_empty() || is_version(path) || here.iter().any(is_below);
    here.is_empty() || (is_api && !leads_up(path))
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
    fn of_an_origin_that_strangers_share_the_path_says_whom_it_is_asked_for() {
        for (address, to) in [
            (
                "https://gateway.ai.cloudflare.com/v1/a/g/openai/x/y",
                "https://gateway.ai.cloudflare.com/v1/a/g/openai",
            ),
            (
                "https://gateway.ai.cloudflare.com/v1/a/../b/g/",
                "https://gateway.ai.cloudflare.com/v1/b/g",
            ),
            (
                "https://api.runpod.ai/v2/id/openai/v1",
                "https://api.runpod.ai/v2/id",
            ),
            ("https://api.example.com/v1/a", "https://api.example.com"),
        ] {
            let (read, _) = read("url", &json!(address), &Position::default()).expect(address);
            assert_eq!(read.to_string(), to);
        }
    }

    #[test]
    fn an_address_is_made_of_a_config_as_the_plugin_makes_it() {
        let address = "https://gate.test/v1/{account}/{gate}/openai";
        assert_eq!(keys(address).collect::<Vec<_>>(), ["account", "gate"]);
        for (config, to) in [
            (json!({ "account": "a", "gate": "g" }), "a/g"),
            (json!({ "account": "a/b?c", "gate": "g" }), "a%2Fb%3Fc/g"),
            (json!({ "gate": "g" }), "%7Baccount%7D/g"),
        ] {
            let config = config.as_object().expect("a map");
            let made = filled(address, config).expect("an address").to_string();
            assert_eq!(made, format!("https://gate.test/v1/{to}/openai"));
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
            "https://api.vendor.example/v1/..%2fdashboard",
            "https://api.vendor.example/version",
            "https://other.vendor.example/admin",
        ] {
            assert!(!is_api(other), "{other}");
        }
    }
}
