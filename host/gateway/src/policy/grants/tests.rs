//! Who may go where, with which credential, and what the others are told.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;
use crate::policy::masker::Masker;

fn origin(url: &str) -> Origin {
    Origin::of(&Url::parse(url).unwrap()).unwrap()
}

fn patterns(texts: &[&str]) -> Vec<OriginPattern> {
    texts
        .iter()
        .map(|text| OriginPattern::parse(text).unwrap())
        .collect()
}

fn grants() -> Grants {
    let credential = Credential {
        scheme: Scheme::Basic,
        secret: Some(Secret::new("me:correct-horse")),
        env: "ACME_API_KEY".to_owned(),
        hosts: patterns(&["https://api.acme.com"]),
    };
    Grants::new(
        "acme",
        patterns(&["https://api.acme.com", "https://*.acme.org"]),
        BTreeMap::from([("acme-key".to_owned(), credential)]),
    )
}

#[test]
fn a_grant_says_how_a_host_was_named() {
    let grants = grants();
    assert_eq!(
        grants.check(&origin("https://api.acme.com")),
        Ok(Naming::Exact)
    );
    assert_eq!(
        grants.check(&origin("https://eu.acme.org")),
        Ok(Naming::Wildcard)
    );
    assert!(
        Grants::new("x", Vec::new(), BTreeMap::new())
            .check(&origin("https://api.acme.com"))
            .is_err()
    );
}

#[test]
fn a_refusal_names_the_origin_and_the_line_that_allows_it() {
    let refusal = grants().check(&origin("http://evil.org:81")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "plugin 'acme' may not reach http://evil.org:81; to allow it, put this under \
         `plugins.acme.permissions`: \
         hosts: [\"https://api.acme.com\", \"https://*.acme.org\", \"http://evil.org:81\"]"
    );
}

#[test]
fn the_suggested_line_works() {
    let asked = origin("http://evil.org:81");
    let Err(Refusal::Host { line, .. }) = grants().check(&asked) else {
        panic!("the origin was granted")
    };
    // A list of strings in YAML's flow style is the same in JSON.
    let hosts: Vec<String> = serde_json::from_str(line.strip_prefix("hosts: ").unwrap()).unwrap();
    let hosts = hosts
        .iter()
        .map(|host| OriginPattern::parse(host).unwrap())
        .collect();
    assert!(
        Grants::new("acme", hosts, BTreeMap::new())
            .check(&asked)
            .is_ok()
    );
}

#[test]
fn a_credential_goes_to_its_own_origins_only() {
    let grants = grants();
    assert!(
        grants
            .credential("acme-key", &origin("https://api.acme.com"))
            .is_ok()
    );

    let elsewhere = grants
        .credential("acme-key", &origin("https://eu.acme.org"))
        .unwrap_err();
    assert!(matches!(elsewhere, Refusal::Binding { .. }));
    assert!(
        elsewhere
            .to_string()
            .ends_with("hosts: [\"https://api.acme.com\", \"https://eu.acme.org\"]")
    );

    let unknown = grants
        .credential("other-key", &origin("https://api.acme.com"))
        .unwrap_err();
    assert!(unknown.to_string().ends_with(
        "credentials: { other-key: { env: OTHER_KEY, scheme: bearer, \
         hosts: [\"https://api.acme.com\"] } }"
    ));
}

#[test]
fn both_the_pair_and_the_password_of_basic_are_masked() {
    let grants = grants();
    let masker = Masker::new(&grants.secrets());
    assert_eq!(masker.mask("pw=correct-horse"), "pw=[masked]");
    assert_eq!(masker.mask("me:correct-horse"), "[masked]");
}

#[test]
fn each_part_of_a_key_of_aws_is_masked() {
    let credential = Credential {
        scheme: Scheme::parse("aws-sigv4:bedrock").unwrap(),
        secret: Some(Secret::aws("AKIDEXAMPLE", "correct-horse", Some("of-a-session")).unwrap()),
        env: "AWS_SECRET_ACCESS_KEY".to_owned(),
        hosts: Vec::new(),
    };
    let credentials = BTreeMap::from([("key".to_owned(), credential)]);
    let masker = Masker::new(&Grants::new("acme", Vec::new(), credentials).secrets());
    for part in ["AKIDEXAMPLE", "correct-horse", "of-a-session"] {
        assert_eq!(masker.mask(part), "[masked]");
    }
}

#[test]
fn nothing_shows_a_secret_by_debug() {
    assert!(!format!("{:?}", grants()).contains("horse"));
}

#[test]
fn a_refused_address_says_what_would_allow_it() {
    let exact = "https://api.acme.com";
    let wide = "https://eu.acme.org";
    let line = "put this under `plugins.acme.permissions`: hosts: [\"https://api.acme.com\", \
                \"https://*.acme.org\", \"https://eu.acme.org\"]";
    let agree = "to allow it, agree to this address with `runner trust`";
    let cases = [
        (exact, AddressScope::Private, agree.to_owned()),
        (wide, AddressScope::Private, format!("{agree}, and {line}")),
        (wide, AddressScope::Loopback, format!("to allow it, {line}")),
        (
            exact,
            AddressScope::Metadata,
            "no name may lead there".to_owned(),
        ),
        ("https://10.0.0.1", AddressScope::Private, {
            let line = line.replace("https://eu.acme.org", "https://10.0.0.1");
            format!("{agree}, and {line}")
        }),
    ];
    for (url, place, way_out) in cases {
        let refusal = grants().refuse_address(&origin(url), place);
        assert_eq!(
            refusal.to_string(),
            format!("plugin 'acme' may not reach {url}, which leads to {place}; {way_out}")
        );
    }
}

#[test]
fn a_refusal_within_a_shared_origin_names_the_address_and_the_folder() {
    let hosts = vec![patterns(&["https://shared.test"])[0].clone().within("/ada")];
    let grants = Grants::new("acme", hosts, BTreeMap::new());
    let url = Url::parse("https://shared.test/eve/chat?key=x").unwrap();
    let origin = origin("https://shared.test");
    let refusal = grants.check_path(&origin, &url).unwrap_err().to_string();
    let line = "plugin 'acme' may not reach https://shared.test/eve/chat; ";
    assert!(refusal.starts_with(line), "{refusal}");
    assert!(refusal.contains("\"https://shared.test/ada\""), "{refusal}");
}
