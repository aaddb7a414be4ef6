//! Who may send what where, and which addresses are asked for.

use std::io;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use super::*;
use crate::trust::{Agreements, Level};

fn read(name: &str) -> EnvRead {
    EnvRead {
        name: name.to_owned(),
        at: Position::default(),
    }
}

fn way(to: &str, named: AddressSource, takes: &[&str]) -> ReachableOrigin {
    ReachableOrigin {
        to: OriginPattern::parse(to).expect("an origin"),
        named,
        author: Author::Config,
        at: Position::default(),
        own: ["KEY".to_owned()].into(),
        takes: takes.iter().map(|name| read(name)).collect(),
        named_by: Vec::new(),
    }
}

fn ways(ways: Vec<ReachableOrigin>) -> ReachableOrigins {
    let noted = Noted::default();
    for way in ways {
        noted.way(way);
    }
    noted.take(&[], false).expect("few").1
}

/// What is needed, in words.
fn needs(ways: &ReachableOrigins) -> Vec<String> {
    let needs = ways.needs().into_iter();
    needs.map(|need| need.request.subject.to_string()).collect()
}

/// Names and where they lead; notes who was looked up.
#[derive(Default)]
struct PlanNames(Mutex<Vec<String>>);

#[async_trait]
impl Lookup for PlanNames {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().expect("no panic").push(host.to_owned());
        let address = match host {
            "inside.example" => "10.0.0.7",
            "half.example" => "192.168.1.1",
            "metadata.example" | "metadata.proxied" => "169.254.169.254",
            "public.proxied" | "public.example" => "1.1.1.1",
            "here.example" => "127.0.0.1",
            _ => return Err(io::Error::other("no such name")),
        };
        Ok(vec!["1.1.1.1", address]
            .into_iter()
            .map(|address| address.parse().expect("an address"))
            .collect())
    }

    fn is_proxied(&self, origin: &Origin) -> bool {
        matches!(origin.host(), Host::Domain(name) if name.ends_with(".proxied"))
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is one table")]
fn who_named_the_address_decides_what_may_go_there_unasked() {
    let sends = |name: &str, to: &str| format!("send the environment variable {name} to {to}");
    let theirs = "https://evil.example";
    let table = [
        // The vendor's own key to the vendor, by wildcard as well, and to the person's address.
        (
            way("https://api.example", AddressSource::Vendor, &["KEY"]),
            None,
        ),
        (
            way("https://*.api.example", AddressSource::Vendor, &["KEY"]),
            None,
        ),
        (
            way("https://proxy.example", AddressSource::Person, &["KEY"]),
            None,
        ),
        // Anything else of the environment is asked for wherever it goes.
        (
            way(
                "https://api.example",
                AddressSource::Vendor,
                &["KEY", "AWS"],
            ),
            Some(sends("AWS", "https://api.example")),
        ),
        (
            way("https://*.api.example", AddressSource::Vendor, &["AWS"]),
            Some(sends("AWS", "https://*.api.example")),
        ),
        (
            way("https://proxy.example", AddressSource::Person, &["AWS"]),
            Some(sends("AWS", "https://proxy.example")),
        ),
        (
            way(theirs, AddressSource::Text, &["KEY"]),
            Some(sends("KEY", theirs)),
        ),
        // This machine.
        (
            way(
                "http://localhost:8080",
                AddressSource::Text,
                &["KEY", "AWS_SECRET"],
            ),
            None,
        ),
        (
            way("http://127.9.9.9", AddressSource::Text, &["API_TOKEN"]),
            None,
        ),
        (
            way("http://[::1]:1", AddressSource::Text, &["API_TOKEN"]),
            None,
        ),
        (
            way(
                "http://[::ffff:127.0.0.1]",
                AddressSource::Text,
                &["API_TOKEN"],
            ),
            None,
        ),
        // What is no key can be guessed.
        (
            way("http://localhost:8080", AddressSource::Text, &["STAGE"]),
            Some(sends("STAGE", "http://localhost:8080")),
        ),
        (
            way(
                "http://localhost.evil.example",
                AddressSource::Text,
                &["KEY"],
            ),
            Some(sends("KEY", "http://localhost.evil.example")),
        ),
    ];
    for (way, expected) in table {
        let shown = format!("{way:?}");
        assert_eq!(needs(&ways(vec![way])), Vec::from_iter(expected), "{shown}");
    }
}

/// A program that was agreed to without keys would get them as a server.
#[test]
fn beside_programs_keys_for_this_machine_are_asked_for() {
    let here = "http://127.0.0.1:8080";
    for (named, expected) in [
        (
            AddressSource::Text,
            vec![format!("send the environment variable KEY to {here}")],
        ),
        (AddressSource::Person, Vec::new()),
    ] {
        let noted = Noted::default();
        noted.way(way(here, named, &["KEY"]));
        let (_, ways) = noted.take(&[], true).expect("few");
        assert_eq!(needs(&ways), expected);
    }
}

#[test]
fn who_names_a_provider_names_no_variable_but_the_vendors_own() {
    let by_flag = |named, variable| ReachableOrigin {
        author: Author::Person,
        ..way("https://a.example", named, &[variable])
    };
    for named in [AddressSource::Vendor, AddressSource::Person] {
        assert!(needs(&ways(vec![by_flag(named, "KEY")])).is_empty());
        // The config's `env` has it under the vendor's name.
        assert_eq!(needs(&ways(vec![by_flag(named, "AWS")])).len(), 1);
    }
    let asked = ways(vec![by_flag(AddressSource::Text, "KEY")]).needs();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].is_covered(&Agreements::default()));
}

#[test]
fn what_texts_of_no_provider_take_may_go_everywhere() {
    let noted = Noted::default();
    noted.way(way("https://api.example", AddressSource::Vendor, &["KEY"]));
    noted.way(way("https://other.example", AddressSource::Text, &[]));
    noted.way(way("http://localhost", AddressSource::Text, &[]));
    let (_, ways) = noted
        .take(&[read("KEY"), read("NAME_TOKEN")], false)
        .expect("few");
    assert_eq!(
        needs(&ways),
        [
            "send the environment variable NAME_TOKEN to https://api.example",
            "send the environment variable KEY to https://other.example",
            "send the environment variable NAME_TOKEN to https://other.example",
        ]
    );
}

#[tokio::test]
async fn an_address_that_is_or_leads_inside_is_asked_for() {
    let table = [
        ("http://10.1.2.3", AddressSource::Text, true),
        ("http://169.254.169.254", AddressSource::Text, true),
        ("http://[fe80::1]", AddressSource::Text, true),
        ("http://[::ffff:10.0.0.1]", AddressSource::Text, true),
        ("http://0.0.0.0", AddressSource::Text, false),
        ("http://127.0.0.1", AddressSource::Text, false),
        ("http://[::1]", AddressSource::Text, false),
        ("http://localhost", AddressSource::Text, false),
        ("https://1.1.1.1", AddressSource::Text, false),
        ("https://inside.example", AddressSource::Text, true),
        ("https://half.example", AddressSource::Text, true),
        // No agreement opens these to a name: the gateway refuses it.
        ("https://metadata.example", AddressSource::Text, false),
        ("https://here.example", AddressSource::Text, false),
        ("https://public.example", AddressSource::Text, false),
        ("https://unknown.example", AddressSource::Text, false),
        ("https://unknown.proxied", AddressSource::Text, true),
        ("https://metadata.proxied", AddressSource::Text, true),
        ("https://public.proxied", AddressSource::Text, false),
        ("https://unknown.proxied", AddressSource::Vendor, false),
        ("https://*.inside.example", AddressSource::Text, false),
        ("https://inside.example", AddressSource::Person, false),
        ("https://inside.example", AddressSource::Vendor, false),
    ];
    for (to, named, expected) in table {
        let mut ways = ways(vec![way(to, named, &[])]);
        ways.look_up(&PlanNames::default(), &Agreements::default())
            .await;
        let asked: Vec<String> = needs(&ways);
        assert_eq!(asked.len(), usize::from(expected), "{to} {asked:?}");
        let is_private = ways.private().len() == 1;
        let is_wildcard = to.contains('*');
        assert_eq!(
            is_private,
            !is_wildcard && (expected || named != AddressSource::Text),
            "{to}"
        );
    }
}

#[tokio::test]
async fn a_name_that_holds_a_variable_is_looked_up_when_that_may_be_told() {
    let spelt = ReachableOrigin {
        named_by: vec![read("AWS")],
        ..way("https://inside.example", AddressSource::Text, &["AWS"])
    };
    let mut ways = ways(vec![spelt]);
    let names = PlanNames::default();
    ways.look_up(&names, &Agreements::default()).await;
    assert!(names.0.lock().expect("no panic").is_empty());
    let first = ways.needs();
    assert_eq!(first.len(), 1);
    let agreed = Agreements {
        level: Level::Nothing,
        agreed: first.iter().map(Need::agreed).collect(),
    };
    ways.look_up(&names, &agreed).await;
    ways.look_up(&names, &agreed).await;
    assert_eq!(*names.0.lock().expect("no panic"), ["inside.example"]);
    assert_eq!(ways.needs().len(), 2);
}

#[tokio::test]
async fn nothing_waits_for_what_its_name_does_not_hold() {
    let address = ReachableOrigin {
        named_by: vec![read("AWS")],
        ..way("http://10.0.0.1", AddressSource::Text, &["KEY", "AWS"])
    };
    let private = " (this machine's network)";
    for (way, said_of_it) in [
        (address, private),
        (
            way(
                "https://inside.example",
                AddressSource::Text,
                &["KEY", "AWS"],
            ),
            "",
        ),
    ] {
        let to = way.to.to_string();
        let mut ways = ways(vec![way]);
        ways.look_up(&PlanNames::default(), &Agreements::default())
            .await;
        assert_eq!(
            needs(&ways),
            [
                format!("send the environment variable KEY to {to}{said_of_it}"),
                format!("send the environment variable AWS to {to}{said_of_it}"),
                format!("connect to {to}{private}"),
            ]
        );
    }
}

/// A resolver that never answers; counts who is asked for.
#[derive(Default)]
struct Silent(AtomicUsize);

#[async_trait]
impl Lookup for Silent {
    async fn addresses(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn however_many_names_there_are_they_are_waited_for_once() {
    let name = |number| format!("https://h{number}.example");
    let many = (0..2_000).map(|number| way(&name(number), AddressSource::Text, &[]));
    let mut ways = ways(many.collect());
    let (silent, begun) = (Silent::default(), Instant::now());
    ways.look_up(&silent, &Agreements::default()).await;
    assert!(begun.elapsed() <= PATIENCE + Duration::from_millis(1));
    assert_eq!(silent.0.into_inner(), AT_ONCE);
    assert_eq!(needs(&ways), <[String; 0]>::default());
}

/// Code can say a key in words that no mask finds, also where nothing is sent.
#[test]
fn what_code_reads_is_kept_whatever_it_is_called_and_wherever_it_goes() {
    let noted = Noted::default();
    noted.read_by_code(&[read("A_KEY"), read("SENT_KEY")]);
    noted.way(ReachableOrigin {
        takes: vec![read("SENT_KEY"), read("SENT")],
        ..way("https://a.example", AddressSource::Text, &[])
    });
    let (_, ways) = noted.take(&[], false).expect("few");
    let reads = ["A_KEY", "SENT_KEY", "B_KEY", "SENT", "NAME"].map(read);
    let kept = |is_offline| {
        let needs = ways.kept(&reads, is_offline).into_iter();
        let name = |need: Need| match need.request.subject {
            TrustSubject::Keep { name } => name,
            subject => panic!("{subject:?}"),
        };
        needs.map(name).collect::<Vec<_>>()
    };
    assert_eq!(kept(false), ["A_KEY", "SENT_KEY", "NAME"]);
    assert_eq!(kept(true), ["A_KEY", "SENT_KEY"]);
}

/// Each place of a variable was a need for each provider.
#[test]
fn many_providers_of_one_address_ask_once_for_what_many_texts_take() {
    const MANY: u32 = 20_000;
    let at = |line| EnvRead {
        at: Position {
            line,
            ..Position::default()
        },
        ..read("NAME")
    };
    let places: Vec<EnvRead> = (1..=MANY).map(at).collect();
    let noted = Noted::default();
    for place in &places {
        noted.way(ReachableOrigin {
            takes: vec![place.clone()],
            ..way("https://a.example", AddressSource::Text, &[])
        });
    }
    let (_, ways) = noted.take(&places, false).expect("one pair");
    assert!(ways.kept(&places, false).is_empty());
    let needs = ways.needs();
    assert_eq!(needs.len(), 1);
    assert_eq!(needs[0].request.at.line, 0, "of the provider");
}

#[test]
fn more_addresses_and_variables_than_anybody_can_agree_to_are_refused() {
    let reads: Vec<EnvRead> = (0..=MOST_PAIRS / 100)
        .map(|n| read(&format!("N{n}")))
        .collect();
    let noted = || {
        let noted = Noted::default();
        for number in 0..100 {
            noted.way(way(
                &format!("https://h{number}.example"),
                AddressSource::Text,
                &[],
            ));
        }
        noted
    };
    assert!(noted().take(&reads[1..], false).is_ok());
    assert_eq!(
        noted()
            .take(&reads, false)
            .expect_err("too many")
            .to_string(),
        "providers, env: 100 addresses may each see 1001 variables of the environment; at most 100000 such pairs can be agreed to"
    );
}
