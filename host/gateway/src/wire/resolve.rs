//! Names to addresses, with the address rules applied in between.
//!
//! The check sits inside the client's own resolver, so the address that was checked is
//! the address that is connected to. Looking a name up beforehand and letting the client
//! look again would leave a gap in which the answer may change.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use url::Url;

use crate::policy::address::{self, AddressScope, Reach};
use crate::policy::origin::Origin;
use crate::wire::proxies::{Proxies, ProxyChoice};

/// Finds the addresses of a name.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// Finds all addresses of `host`, best first.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;

    /// Whether a proxy looks up this origin's name, and may find what is not found here.
    fn is_proxied(&self, origin: &Origin) -> bool {
        let _ = origin;
        false
    }
}

/// The system's resolver, with its hosts file.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0))
            .await?
            .map(|address| address.ip())
            .collect())
    }

    fn is_proxied(&self, origin: &Origin) -> bool {
        let url = Url::parse(&origin.to_string());
        url.is_ok_and(|url| Proxies::new(&ProxyChoice::System).serve(&url))
    }
}

/// A resolver that tells only the addresses within reach.
pub(crate) struct GuardedResolver {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) reach: Reach,
}

/// Every address of a name is out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name leads to {0}")]
pub(crate) struct OutOfReach(pub(crate) AddressScope);

/// The name has no address, or could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unresolved(pub(crate) String);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, reach) = (Arc::clone(&self.lookup), self.reach);
        Box::pin(async move {
            let found = lookup
                .addresses(name.as_str())
                .await
                .map_err(|error| Unresolved(error.to_string()))?;
            // This name is granted unasked for being this machine, whatever an answer says.
            let is_here = name.as_str() == "localhost";
            let stays =
                |address: &IpAddr| !is_here || address::place(*address) == AddressScope::Loopback;
            let allowed: Vec<SocketAddr> = found
                .iter()
                .filter(|address| reach.allows(**address) && stays(address))
                // Port 0: the client puts the URL's port in.
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            match (allowed.is_empty(), found.first()) {
                (false, _) => Ok(Box::new(allowed.into_iter()) as Addrs),
                (true, Some(first)) => Err(OutOfReach(address::place(*first)).into()),
                (true, None) => Err(Unresolved("it has no address".to_owned()).into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Vec<IpAddr>);

    #[async_trait]
    impl Lookup for Fixed {
        async fn addresses(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
            Ok(self.0.clone())
        }
    }

    async fn resolve(reach: Reach, found: &[&str]) -> Result<Vec<String>, String> {
        resolve_name("name.example", reach, found).await
    }

    async fn resolve_name(name: &str, reach: Reach, found: &[&str]) -> Result<Vec<String>, String> {
        let found = found
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect();
        let resolver = GuardedResolver {
            lookup: Arc::new(Fixed(found)),
            reach,
        };
        let name = name.parse().expect("a name");
        match resolver.resolve(name).await {
            Ok(addresses) => Ok(addresses.map(|address| address.ip().to_string()).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn told(addresses: &[&str]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn only_addresses_within_reach_are_told() {
        let mixed = ["10.0.0.1", "::1", "1.1.1.1", "169.254.169.254"];
        assert_eq!(resolve(Reach::Public, &mixed).await, Ok(told(&["1.1.1.1"])));
        assert_eq!(
            resolve(Reach::Loopback, &mixed).await,
            Ok(told(&["::1", "1.1.1.1"]))
        );
        assert_eq!(
            resolve(Reach::Private, &mixed).await,
            Ok(told(&["10.0.0.1", "::1", "1.1.1.1"]))
        );
    }

    #[tokio::test]
    async fn localhost_is_this_machine_or_nothing() {
        let found = ["1.1.1.1", "127.0.0.1"];
        let name = "localhost";
        assert_eq!(
            resolve_name(name, Reach::Private, &found).await,
            Ok(told(&["127.0.0.1"]))
        );
        let elsewhere = resolve_name(name, Reach::Loopback, &found[..1]).await;
        assert_eq!(
            elsewhere,
            Err("the name leads to a public address".to_owned())
        );
    }

    #[tokio::test]
    async fn a_name_without_any_is_an_error_that_says_where_it_leads() {
        let cases = [
            (Reach::Public, "127.0.0.1", "this machine"),
            (Reach::Loopback, "10.0.0.1", "a private address"),
            (
                Reach::Private,
                "169.254.169.254",
                "a link-local or cloud metadata address",
            ),
            (Reach::Private, "224.0.0.1", "not the address of a host"),
        ];
        for (reach, address, place) in cases {
            let error = resolve(reach, &[address]).await.expect_err("out of reach");
            assert!(error.contains(place), "{error}");
        }
        assert!(resolve(Reach::Private, &[]).await.is_err());
    }
}
