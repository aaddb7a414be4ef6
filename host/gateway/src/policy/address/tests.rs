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
            AddressScope::Public,
            "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.1.1.1 128.0.0.1",
        ),
        (
            AddressScope::Public,
            "169.253.1.1 169.255.1.1 172.15.255.255 172.32.0.0 192.0.1.1 192.167.1.1 192.169.0.1",
        ),
        (
            AddressScope::Public,
            "198.17.1.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00::1 2001:200::1",
        ),
        (
            AddressScope::Loopback,
            "127.0.0.1 127.255.255.254 ::1 0.0.0.0 :: ::ffff:127.0.0.1 ::ffff:0.0.0.0 ::127.0.0.1",
        ),
        (AddressScope::Loopback, "2002:7f00:1:: 64:ff9b::7f00:1"),
        (
            AddressScope::Private,
            "10.0.0.0 10.255.255.255 100.64.0.1 100.127.255.255 172.16.0.1 172.31.255.255",
        ),
        (
            AddressScope::Private,
            "192.168.1.1 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.7",
        ),
        (
            AddressScope::Private,
            "fec0::1 fc00::1 fdff::1 2001:db8::1 2001::1 3fff::1 64:ff9b:1::1 100::1 4000::1",
        ),
        (AddressScope::Private, "::ffff:10.0.0.1 ::ffff:0:10.0.0.1"),
        (
            AddressScope::Metadata,
            "169.254.169.254 169.254.170.2 169.254.0.23 169.254.42.42 169.254.0.0 169.254.255.255",
        ),
        (
            AddressScope::Metadata,
            "168.63.129.16 100.100.100.200 192.0.0.192 fe80::1 fe80::a9fe:a9fe febf::1 64:ff9b:1::a9fe:a9fe 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:2:a9:fea9:fe00:0",
        ),
        (
            AddressScope::Metadata,
            "fd00:ec2::254 fd20:ce::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
        ),
        (
            AddressScope::Nowhere,
            "0.1.2.3 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 ff02::1",
        ),
        (
            AddressScope::Public,
            "::ffff:1.1.1.1 2002:101:101:: 64:ff9b::101:101 168.63.129.17 192.0.1.192",
        ),
    ];
    for (expected, addresses) in cases {
        for address in addresses.split(' ') {
            assert_eq!(place(at(address)), expected, "{address}");
        }
    }
}

fn origin(url: &str) -> Origin {
    Origin::of(&url.parse().unwrap()).unwrap()
}

#[test]
fn how_far_a_host_leads_depends_on_its_grant_and_on_what_the_person_agreed_to() {
    let (host, other) = (origin("http://llm.test"), origin("http://other.test"));
    let reach =
        |naming, agreed: &Origin| Reach::of(naming, &host, &BTreeSet::from([agreed.clone()]));
    assert_eq!(reach(Naming::Wildcard, &other), Reach::Public);
    assert_eq!(reach(Naming::Exact, &other), Reach::Loopback);
    assert_eq!(reach(Naming::Exact, &host), Reach::Private);
    assert_eq!(reach(Naming::Wildcard, &host), Reach::Public);
}

#[test]
fn each_reach_leads_to_its_places_and_metadata_services_have_no_name() {
    // By wildcard, written out, agreed to; and the last two for an address in the URL.
    let cases = [
        ("1.1.1.1", [true, true, true], [true, true]),
        ("127.0.0.1", [false, true, true], [true, true]),
        ("0.0.0.0", [false, true, true], [true, true]),
        ("192.168.0.9", [false, false, true], [false, true]),
        ("fe80::1", [false, false, false], [false, true]),
        ("169.254.169.254", [false, false, false], [false, true]),
        ("fd00:ec2::254", [false, false, false], [false, true]),
        ("240.0.0.1", [false, false, false], [false, true]),
    ];
    for (address, by_name, literal) in cases {
        let allowed =
            [Reach::Public, Reach::Loopback, Reach::Private].map(|it| it.allows(at(address)));
        assert_eq!(allowed, by_name, "{address}");
        let allowed = [Reach::Loopback, Reach::Private].map(|it| it.allows_literal(at(address)));
        assert_eq!(allowed, literal, "{address}");
    }
}

#[test]
fn what_the_person_has_to_agree_to() {
    let cases = [
        ("https://api.acme.com", vec!["1.1.1.1"], None),
        ("https://api.acme.com", vec![], None),
        ("http://localhost:1", vec!["127.0.0.1", "::1"], None),
        (
            "http://llm.test",
            vec!["1.1.1.1", "10.0.0.1"],
            Some(AddressScope::Private),
        ),
        ("http://llm.test", vec!["169.254.169.254"], None),
        ("http://127.0.0.1:1", vec![], None),
        ("http://2130706433", vec![], None),
        ("http://[::1]:1", vec![], None),
        ("http://1.1.1.1", vec!["10.0.0.1"], None),
        ("http://10.1", vec![], Some(AddressScope::Private)),
        ("http://[fd00::1]", vec![], Some(AddressScope::Private)),
        ("http://0xa9fea9fe", vec![], Some(AddressScope::Metadata)),
        ("http://[fe80::1]", vec![], Some(AddressScope::Metadata)),
        ("http://224.0.0.1", vec![], Some(AddressScope::Nowhere)),
    ];
    for (url, found, expected) in cases {
        let found: Vec<IpAddr> = found.into_iter().map(at).collect();
        assert_eq!(
            needs_agreement(&origin(url), &found, false),
            expected,
            "{url} {found:?}"
        );
    }
}

/// The proxy connects, and no address is looked at once more.
#[test]
fn where_a_proxy_connects_whatever_is_not_public_has_to_be_agreed_to() {
    for (found, expected) in [
        ("1.1.1.1", None),
        ("10.0.0.1", Some(AddressScope::Private)),
        ("169.254.169.254", Some(AddressScope::Metadata)),
        ("::ffff:169.254.169.254", Some(AddressScope::Metadata)),
        ("127.0.0.1", Some(AddressScope::Loopback)),
        ("224.0.0.1", Some(AddressScope::Nowhere)),
    ] {
        let needed = needs_agreement(
            &origin("http://llm.test"),
            &[at("1.1.1.1"), at(found)],
            true,
        );
        assert_eq!(needed, expected, "{found}");
    }
}
