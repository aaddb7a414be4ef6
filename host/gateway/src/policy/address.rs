//! Which network addresses a granted *name* may lead to.
//!
//! A name is granted, but an address is connected to, and whoever runs the name's DNS
//! chooses that address: it may point into the user's own network. So addresses are sorted
//! into places, apart from the list of grants. A wildcard leads to the public internet, a host
//! that is written out also to this machine, and anywhere else only what the *person* agreed
//! to: a config may be a stranger's. This is a table, without I/O; who asks it is `resolve`
//! for names and `request` for addresses that stand in the URL.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::policy::origin::{Naming, Origin};

#[cfg(test)]
mod tests;

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressScope {
    /// The public internet.
    Public,
    /// This machine. The unspecified addresses are here too: whoever connects to them ends here.
    Loopback,
    /// A range set aside for private use.
    Private,
    /// This link, or a cloud's metadata service, most of which are there: answers with the
    /// machine's own credentials.
    Metadata,
    /// Multicast, broadcast or reserved: no host at all.
    Nowhere,
}

impl fmt::Display for AddressScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "this machine",
            Self::Private => "a private address",
            Self::Metadata => "a link-local or cloud metadata address",
            Self::Nowhere => "not the address of a host",
        })
    }
}

/// How far an origin may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Reach {
    /// Granted by a wildcard: public addresses only.
    Public,
    /// Written out: this machine too.
    Loopback,
    /// Written out, and the person agreed: private addresses too. Of link-local and metadata
    /// addresses only one that stands in the URL itself; no name leads there.
    Private,
}

impl Reach {
    /// The reach of `origin`, granted by `naming`, where the person agreed to `agreed`.
    pub(crate) fn of(naming: Naming, origin: &Origin, agreed: &BTreeSet<Origin>) -> Self {
        match naming {
            Naming::Wildcard => Self::Public,
            Naming::Exact if agreed.contains(origin) => Self::Private,
            Naming::Exact => Self::Loopback,
        }
    }

    /// Whether a name may lead to `address`.
    pub(crate) fn allows(self, address: IpAddr) -> bool {
        match place(address) {
            AddressScope::Public => true,
            AddressScope::Loopback => self >= Self::Loopback,
            AddressScope::Private => self >= Self::Private,
            AddressScope::Metadata | AddressScope::Nowhere => false,
        }
    }

    /// Whether `address` may stand in the URL itself.
    pub(crate) fn allows_literal(self, address: IpAddr) -> bool {
        self == Self::Private || self.allows(address)
    }

    /// What stands for it in keys of the cache.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
        }
    }
}

/// Where `origin` leads, if the person has to agree to that: an address in the URL that is
/// neither public nor this machine's, or else a private one among those that its name was
/// found to have. `None` for a name that leads to metadata services only: no agreement opens
/// those to a name. But for where a proxy connects (`is_proxied`), in a network and on a machine of its own,
/// and nobody here can look at the address then: whatever is not public has to be agreed to.
pub fn needs_agreement(
    origin: &Origin,
    found: &[IpAddr],
    is_proxied: bool,
) -> Option<AddressScope> {
    match origin.address() {
        Some(address) => Some(place(address))
            .filter(|place| !matches!(place, AddressScope::Public | AddressScope::Loopback)),
        None => found.iter().map(|address| place(*address)).find(|place| {
            *place == AddressScope::Private || (is_proxied && *place != AddressScope::Public)
        }),
    }
}

/// Where `address` lies. An IPv4 address inside an IPv6 one (mapped, compatible, 6to4,
/// NAT64) counts as itself, since that is where packets end up.
pub(crate) fn place(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(v4) => place_v4(v4),
        IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| place_v6(v6), place_v4),
    }
}

/// Metadata and credential services outside 169.254.0.0/16: Azure's wire server, Alibaba,
/// Oracle's classic cloud.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Metadata and credential services over IPv6, outside fe80::/10: EC2, EKS and Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// By IANA's registry of special-purpose IPv4 addresses. Ranges that are documented as
/// not global yet used inside networks (documentation, benchmarking) count as private.
/// Link-local ones are metadata services' in every cloud and nobody's server elsewhere.
fn place_v4(address: Ipv4Addr) -> AddressScope {
    if METADATA_V4.contains(&address) {
        return AddressScope::Metadata;
    }
    match address.octets() {
        [0, 0, 0, 0] | [127, ..] => AddressScope::Loopback,
        [169, 254, ..] => AddressScope::Metadata,
        [0 | 224..=255, ..] => AddressScope::Nowhere,
        [10, ..]
        | [100, 64..=127, ..]
        | [172, 16..=31, ..]
        | [192, 0, 0 | 2, _]
        | [192, 168, ..]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => AddressScope::Private,
        _ => AddressScope::Public,
    }
}

/// By IANA's registry of special-purpose IPv6 addresses: global unicast is 2000::/3, less
/// documentation (2001:db8::/32, 3fff::/20) and the protocol block 2001::/23, Teredo
/// included.
fn place_v6(address: Ipv6Addr) -> AddressScope {
    if METADATA_V6.contains(&address) {
        return AddressScope::Metadata;
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => AddressScope::Loopback,
        // A network's own NAT64 (RFC 8215), whose prefix has a length that it alone knows.
        [0x64, 0xff9b, 1, ..] if translated(address).contains(&AddressScope::Metadata) => {
            AddressScope::Metadata
        }
        [0xfe80..=0xfebf, ..] => AddressScope::Metadata,
        [0xff00..=0xffff, ..] => AddressScope::Nowhere,
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressScope::Private,
        [0x2000..=0x3fff, ..] => AddressScope::Public,
        _ => AddressScope::Private,
    }
}

/// Where the IPv4 addresses lie that an address may stand for by RFC 6052, by the prefix's length in bits: 48, 56,
/// 64, 96. The ninth byte belongs to none.
fn translated(address: Ipv6Addr) -> [AddressScope; 4] {
    let all = address.octets();
    [
        [6, 7, 9, 10],
        [7, 9, 10, 11],
        [9, 10, 11, 12],
        [12, 13, 14, 15],
    ]
    .map(|places| place_v4(places.map(|at| all[at]).into()))
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // `::` and `::1` look like compatible addresses and are none.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => join(high, low),
        _ => None,
    }
}
