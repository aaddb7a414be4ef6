//! The table, range by range, with the addresses just outside each.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;

fn at(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn every_special_range_is_known() {
    let cases = [
        (
            Place::Public,
            "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.1.1.1 128.0.0.1",
        ),
        (
            Place::Public,
            "169.253.1.1 169.255.1.1 172.15.255.255 172.32.0.0 192.0.1.1 192.167.1.1 192.169.0.1",
        ),
        (
            Place::Public,
            "198.17.1.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00::1 2001:200::1",
        ),
        (
            Place::Local,
            "10.0.0.0 10.255.255.255 127.0.0.1 127.255.255.254 100.64.0.1 100.127.255.255",
        ),
        (
            Place::Local,
            "169.254.0.1 172.16.0.1 172.31.255.255 192.168.1.1 192.0.0.8 192.0.2.1 198.18.0.1",
        ),
        (
            Place::Local,
            "198.51.100.7 203.0.113.7 ::1 fe80::1 fec0::1 fc00::1 fdff::1 2001:db8::1 2001::1 3fff::1",
        ),
        (Place::Local, "64:ff9b:1::1 100::1 4000::1"),
        (
            Place::Metadata,
            "169.254.169.254 169.254.170.2 169.254.170.23 168.63.129.16 100.100.100.200",
        ),
        (
            Place::Metadata,
            "fd00:ec2::254 fd20:ce::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
        ),
        (
            Place::Nowhere,
            "0.0.0.0 0.1.2.3 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ff02::1 ::ffff:0.0.0.0",
        ),
        (
            Place::Local,
            "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 2002:7f00:1:: 64:ff9b::7f00:1 ::ffff:0:10.0.0.1",
        ),
        (
            Place::Public,
            "::ffff:1.1.1.1 2002:101:101:: 64:ff9b::101:101",
        ),
    ];
    for (expected, addresses) in cases {
        for address in addresses.split(' ') {
            assert_eq!(place(at(address)), expected, "{address}");
        }
    }
}

#[test]
fn only_a_name_granted_as_such_leads_into_the_local_network() {
    let cases = [
        ("1.1.1.1", true, true),
        ("127.0.0.1", false, true),
        ("192.168.0.9", false, true),
        ("fe80::1", false, true),
        ("169.254.169.254", false, false),
        ("fd00:ec2::254", false, false),
        ("0.0.0.0", false, false),
        ("224.0.0.1", false, false),
    ];
    for (address, by_wildcard, by_name) in cases {
        assert_eq!(
            Reach::of(Naming::Wildcard).allows(at(address)),
            by_wildcard,
            "{address}"
        );
        assert_eq!(
            Reach::of(Naming::Exact).allows(at(address)),
            by_name,
            "{address}"
        );
    }
}
