//! Which requests go by way of a proxy.

use hyper_util::client::proxy::matcher::Matcher;
use url::{Host, Url};

use crate::policy::address::{AddressScope, place};

/// Where the proxy comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProxyChoice {
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, or the system's settings.
    #[default]
    System,
    /// None, whatever the environment says.
    Direct,
    /// This one, for everything.
    Always(Url),
}

/// The proxies of a choice.
#[derive(Debug)]
pub(crate) struct Proxies {
    matcher: Matcher,
    /// This machine is asked directly.
    spares_loopback: bool,
}

impl Proxies {
    pub(crate) fn new(choice: &ProxyChoice) -> Self {
        Self {
            matcher: match choice {
                ProxyChoice::System => Matcher::from_system(),
                ProxyChoice::Direct => Matcher::builder().build(),
                ProxyChoice::Always(url) => Matcher::builder().all(url.to_string()).build(),
            },
            spares_loopback: *choice == ProxyChoice::System,
        }
    }

    /// Whether a request to `url` goes by way of one. What is meant for this machine never does:
    /// a proxy takes `localhost` for itself, and a key that may stay here would leave.
    pub(crate) fn serve(&self, url: &Url) -> bool {
        let is_here = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => place(address.into()) == AddressScope::Loopback,
            Some(Host::Ipv6(address)) => place(address.into()) == AddressScope::Loopback,
            None => false,
        };
        let uri = url.as_str().parse();
        !(self.spares_loopback && is_here)
            && uri.is_ok_and(|uri| self.matcher.intercept(&uri).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_for_this_machine_goes_by_no_proxy() {
        let proxies = Proxies {
            matcher: Matcher::builder().all("http://proxy.example").build(),
            spares_loopback: true,
        };
        for (url, expected) in [
            ("http://localhost:1/x", false),
            ("http://a.localhost", false),
            ("http://127.1.2.3", false),
            ("https://[::1]:1", false),
            ("http://[::ffff:127.0.0.1]", false),
            ("http://0.0.0.0", false),
            ("http://localhost.example", true),
            ("https://api.example", true),
            ("http://10.0.0.1", true),
        ] {
            let url: Url = url.parse().expect("a URL");
            assert_eq!(proxies.serve(&url), expected, "{url}");
        }
    }
}
