//! A file that a person names by its address: fetched whole, once, with no credential.
//!
//! It is the person's word, so the address may be one of their own network; where a redirect leads is the server's,
//! and is asked only by https and only at a public address that has a name.

use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderValue};
use url::{Host, Url};

use crate::policy::address::Reach;
use crate::policy::origin::Origin;
use crate::wire::client::{ClientSettings, Clients, root};
use crate::wire::redirect::{REDIRECT_LIMIT, RedirectAction, way};

/// For the whole of it.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Fetches what is at an address: by https, or by http from this machine.
///
/// # Errors
/// Why it can't be had, as a sentence.
pub async fn download(address: &str, limit: usize) -> Result<Vec<u8>, String> {
    let fetched = tokio::time::timeout(TIMEOUT, fetch(address, limit)).await;
    fetched.unwrap_or_else(|_| {
        Err(format!(
            "it took more than {} minutes",
            TIMEOUT.as_secs() / 60
        ))
    })
}

async fn fetch(address: &str, limit: usize) -> Result<Vec<u8>, String> {
    let clients = Clients::new(ClientSettings::default());
    let mut url = Url::parse(address).map_err(|error| error.to_string())?;
    if is_signed_in(&url) {
        return Err("its address has a user's name or a password in it".to_owned());
    }
    let mut reach = reach(&url).ok_or("only https is asked, and http of this machine")?;
    for _ in 0..=REDIRECT_LIMIT {
        let client = clients
            .get(&url, reach, None)
            .map_err(|fault| fault.to_string())?;
        let identity = HeaderValue::from_static("identity");
        let request = client.get(url.clone()).header(ACCEPT_ENCODING, identity);
        let response = request
            .send()
            .await
            .map_err(|error| root(&error).to_string())?;
        let status = response.status().as_u16();
        match way(&url, status, response.headers()) {
            RedirectAction::Stay if status == 200 => return whole(response, limit).await,
            RedirectAction::Stay => return Err(format!("the server answered HTTP {status}")),
            RedirectAction::Follow(target) => url = target,
            RedirectAction::Leave(target) if is_public(&target) => {
                (url, reach) = (target, Reach::Public);
            }
            RedirectAction::Leave(target) => {
                let to = Origin::of(&target).map_or("elsewhere".to_owned(), |to| to.to_string());
                return Err(format!(
                    "it redirects to {to}, and redirects are followed to public addresses by https alone"
                ));
            }
        }
    }
    Err(format!("it redirects more than {REDIRECT_LIMIT} times"))
}

/// How far an address that the person wrote may lead; `None`: it is not asked.
fn reach(url: &Url) -> Option<Reach> {
    let is_here = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    match url.scheme() {
        "https" => Some(Reach::Private),
        "http" if is_here => Some(Reach::Loopback),
        _ => None,
    }
}

/// Whether a server may lead there. What its name leads to is looked at when it is connected to.
fn is_public(url: &Url) -> bool {
    let has_name = matches!(url.host(), Some(Host::Domain(_)));
    url.scheme() == "https" && has_name && !is_signed_in(url)
}

fn is_signed_in(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

async fn whole(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, String> {
    let too_large = || format!("it is larger than {} MiB", limit >> 20);
    if response
        .content_length()
        .is_some_and(|length| length > limit as u64)
    {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| root(&error).to_string())?
    {
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("an address")
    }

    #[test]
    fn a_person_names_https_or_this_machine() {
        for (text, expected) in [
            ("https://a.example/x.wasm", Some(Reach::Private)),
            ("https://10.0.0.1/x.wasm", Some(Reach::Private)),
            ("http://localhost:1/x.wasm", Some(Reach::Loopback)),
            ("http://127.0.0.1:1/x.wasm", Some(Reach::Loopback)),
            ("http://[::1]:1/x.wasm", Some(Reach::Loopback)),
            ("http://a.example/x.wasm", None),
            ("http://10.0.0.1/x.wasm", None),
            ("ftp://a.example/x.wasm", None),
            ("file:///x.wasm", None),
        ] {
            assert_eq!(reach(&url(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_server_leads_to_public_names_by_https() {
        assert!(is_public(&url("https://cdn.example/x.wasm")));
        for text in [
            "http://cdn.example/x.wasm",
            "https://10.0.0.1/x.wasm",
            "https://169.254.169.254/x",
            "https://me:word@cdn.example/x",
        ] {
            assert!(!is_public(&url(text)), "{text}");
        }
    }
}
