//! Which network addresses a granted *name* may lead to.
//!
//! A name is granted, but an address is connected to, and whoever runs the name's DNS
//! chooses that address: it may point into the user's own network. So addresses are sorted
//! into places, apart from the list of grants, and a name reaches beyond the public
//! internet only where the user wrote that very name. This is a table, without I/O; who
//! asks it is `resolve`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::origin::Naming;

#[cfg(test)]
mod tests;

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The public internet.
    Public,
    /// This machine, this network, or a range set aside for private use.
    Local,
    /// A cloud's metadata service: answers with the machine's own credentials.
    Metadata,
    /// Unspecified, multicast, broadcast or reserved: no host at all.
    Nowhere,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Local => "a private or local address",
            Self::Metadata => "a cloud metadata address",
            Self::Nowhere => "not the address of a host",
        })
    }
}

/// How far a name may lead, by the way in which it was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Granted by a wildcard: public addresses only.
    Public,
    /// Granted by its own name: local addresses too. Metadata services stay out of reach;
    /// they need a grant of the address itself, which involves no name.
    Local,
}

impl Reach {
    /// The reach that a grant gives.
    pub fn of(naming: Naming) -> Self {
        match naming {
            Naming::Wildcard => Self::Public,
            Naming::Exact => Self::Local,
        }
    }

    /// Whether a name may lead to `address`.
    pub fn allows(self, address: IpAddr) -> bool {
        match place(address) {
            Place::Public => true,
            Place::Local => self == Self::Local,
            Place::Metadata | Place::Nowhere => false,
        }
    }
}

/// Where `address` lies. An IPv4 address inside an IPv6 one (mapped, compatible, 6to4,
/// NAT64) counts as itself, since that is where packets end up.
pub(super) fn place(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(v4) => place_v4(v4),
        IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| place_v6(v6), place_v4),
    }
}

/// Metadata and credential services of AWS (EC2, ECS, EKS), Google, Azure, Oracle and
/// DigitalOcean (169.254.*), Azure's wire server and Alibaba.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
];

/// The same over IPv6: EC2, EKS and Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// By IANA's registry of special-purpose IPv4 addresses. Ranges that are documented as
/// not global yet used inside networks (documentation, benchmarking) count as local.
fn place_v4(address: Ipv4Addr) -> Place {
    if METADATA_V4.contains(&address) {
        return Place::Metadata;
    }
    match address.octets() {
        [0 | 224..=255, ..] => Place::Nowhere,
        [10 | 127, ..]
        | [100, 64..=127, ..]
        | [169, 254, ..]
        | [172, 16..=31, ..]
        | [192, 0, 0 | 2, _]
        | [192, 168, ..]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => Place::Local,
        _ => Place::Public,
    }
}

/// By IANA's registry of special-purpose IPv6 addresses: global unicast is 2000::/3, less
/// documentation (2001:db8::/32, 3fff::/20) and the protocol block 2001::/23, Teredo
/// included.
fn place_v6(address: Ipv6Addr) -> Place {
    if METADATA_V6.contains(&address) {
        return Place::Metadata;
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] | [0xff00..=0xffff, ..] => Place::Nowhere,
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Place::Local,
        [0x2000..=0x3fff, ..] => Place::Public,
        _ => Place::Local,
    }
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
