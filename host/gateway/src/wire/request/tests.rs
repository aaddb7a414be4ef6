//! What is refused before anything is sent, and what a credential adds.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::*;
use crate::exchange::ExchangeCode;
use crate::policy::grants::Credential;
use crate::policy::origin::OriginPattern;
use crate::policy::secret::Secret;

const URL: &str = "https://api.acme.com/v1";

fn grants(scheme: &str, secret: Option<&str>) -> Grants {
    let hosts = vec![OriginPattern::parse("https://api.acme.com").unwrap()];
    let credential = Credential {
        scheme: Scheme::parse(scheme).unwrap(),
        secret: secret.map(Secret::new),
        env: "ACME_API_KEY".to_owned(),
        hosts: hosts.clone(),
    };
    Grants::new(
        "acme",
        hosts,
        BTreeMap::from([("key".to_owned(), credential)]),
    )
}

fn exchange() -> Exchange {
    Exchange {
        method: "post".to_owned(),
        url: URL.to_owned(),
        ..Exchange::default()
    }
}

fn with_header(name: &str, value: &str) -> Exchange {
    Exchange {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..exchange()
    }
}

fn refused(grants: &Grants, exchange: Exchange) -> (ExchangeCode, String) {
    let fault = prepare(grants, &BTreeSet::new(), exchange, true).unwrap_err();
    (fault.code(), fault.to_string())
}

#[test]
fn the_hosts_own_headers_are_refused_in_any_case() {
    let grants = grants("header:x-api-key", Some("sk-12345678"));
    let reserved = [
        "Authorization",
        "COOKIE",
        "host",
        "Proxy-Authorization",
        "proxy-anything",
        "Connection",
        "keep-alive",
        "te",
        "trailer",
        "Transfer-Encoding",
        "upgrade",
        "content-length",
        "expect",
        "Accept-Encoding",
    ];
    for name in reserved {
        let (code, message) = refused(&grants, with_header(name, "x"));
        assert_eq!(code, ExchangeCode::Denied, "{name}");
        assert!(message.contains(&name.to_ascii_lowercase()), "{message}");
    }
    for name in ["content-type", "accept", "x-api-key", "anthropic-version"] {
        assert!(
            prepare(&grants, &BTreeSet::new(), with_header(name, "x"), true).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn the_place_of_the_named_credential_is_refused_too() {
    let key = Some("key".to_owned());
    let by_header = Exchange {
        credential: key.clone(),
        ..with_header("X-Api-Key", "mine")
    };
    let by_query = Exchange {
        url: format!("{URL}?a=1&k%65y=mine"),
        credential: key,
        ..exchange()
    };
    let cases = [("header:x-api-key", by_header), ("query:key", by_query)];
    for (scheme, exchange) in cases {
        let (code, message) = refused(&grants(scheme, Some("sk-12345678")), exchange);
        assert_eq!(code, ExchangeCode::Denied);
        assert!(message.contains("the credential goes there"), "{message}");
    }
}

#[test]
fn with_a_credential_no_part_of_an_answer_can_be_asked_for() {
    let grants = grants("bearer", Some("sk-12345678"));
    for name in ["Range", "if-range", "Accept-Charset"] {
        let with_key = Exchange {
            credential: Some("key".to_owned()),
            ..with_header(name, "bytes=0-9")
        };
        let (code, message) = refused(&grants, with_key);
        assert_eq!(code, ExchangeCode::Denied, "{name}");
        assert!(message.contains("answers come whole"), "{message}");
        let without = with_header(name, "bytes=0-9");
        assert!(
            prepare(&grants, &BTreeSet::new(), without, true).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn what_is_no_http_request_is_invalid() {
    let grants = grants("bearer", None);
    let url = |url: &str| Exchange {
        url: url.to_owned(),
        ..exchange()
    };
    let bucket = |length: usize| Exchange {
        bucket: Some("x".repeat(length)),
        ..exchange()
    };
    assert!(prepare(&grants, &BTreeSet::new(), bucket(NAME_LIMIT), true).is_ok());
    let method = |method: &str| Exchange {
        method: method.to_owned(),
        ..exchange()
    };
    let many = Exchange {
        headers: vec![("x".to_owned(), "y".repeat(9)); 7000],
        ..exchange()
    };
    let cases = [
        url("/v1"),
        url("api.acme.com"),
        url("ftp://api.acme.com"),
        url("https://me:pw@api.acme.com"),
        url("https://me@api.acme.com"),
        url(&format!("{URL}?{}", "x".repeat(40_000))),
        url(&format!("https://{}.acme.com", "x".repeat(250))),
        bucket(NAME_LIMIT + 1),
        bucket(1 << 20),
        with_header("openai-organization", &"x".repeat(NAME_LIMIT + 1)),
        method(""),
        method("CONNECT"),
        method("trace"),
        method("GET /"),
        with_header("bad name", "x"),
        with_header("", "x"),
        with_header("x", "a\r\nb: c"),
        with_header("x", "a\0"),
        many,
    ];
    for exchange in cases {
        let shown = format!(
            "{} {}",
            exchange.method,
            &exchange.url[..exchange.url.len().min(60)]
        );
        assert_eq!(
            refused(&grants, exchange).0,
            ExchangeCode::InvalidRequest,
            "{shown}"
        );
    }
}

#[test]
fn a_body_has_its_limit() {
    let sized = |size| Exchange {
        body: Some(vec![0; size]),
        ..exchange()
    };
    let grants = grants("bearer", None);
    assert!(prepare(&grants, &BTreeSet::new(), sized(REQUEST_LIMIT), true).is_ok());
    assert_eq!(
        refused(&grants, sized(REQUEST_LIMIT + 1)).0,
        ExchangeCode::InvalidRequest
    );
}

#[test]
fn a_credential_without_a_usable_value_says_where_it_should_come_from() {
    let named = || Exchange {
        credential: Some("key".to_owned()),
        ..exchange()
    };
    for secret in [None, Some(""), Some(" \n"), Some("line\nbreak")] {
        let (code, message) = refused(&grants("bearer", secret), named());
        assert_eq!(code, ExchangeCode::Auth, "{secret:?}");
        assert!(message.contains("ACME_API_KEY"), "{message}");
        assert!(!message.contains("break"), "{message}");
    }
}

#[test]
fn each_scheme_puts_the_credential_into_its_place() {
    let cases = [
        ("bearer", "sk-1", "authorization: Bearer sk-1", "/v1?a=1"),
        ("basic", "me:pw", "authorization: Basic bWU6cHc=", "/v1?a=1"),
        ("header:x-api-key", "sk-1", "x-api-key: sk-1", "/v1?a=1"),
        ("query:key", "a b&c", "", "/v1?a=1&key=a+b%26c"),
    ];
    for (scheme, secret, header, path) in cases {
        let grants = grants(scheme, Some(secret));
        let exchange = Exchange {
            url: format!("{URL}?a=1#fragment"),
            credential: Some("key".to_owned()),
            ..exchange()
        };
        let prepared = prepare(&grants, &BTreeSet::new(), exchange, true).unwrap();
        let mut draft = prepared.draft.clone();
        let signature = prepared.signature.unwrap();
        signature.sign(&mut draft, Timestamp::UNIX_EPOCH, None);
        let Draft { url, headers, .. } = draft;
        let shown: Vec<String> = pairs(&headers)
            .iter()
            .map(|(n, v)| format!("{n}: {v}"))
            .collect();
        assert_eq!(shown.join("\n"), header);
        assert_eq!(url.as_str(), format!("https://api.acme.com{path}"));
        assert!(
            !format!("{headers:?}").contains("sk-1"),
            "headers are marked as sensitive"
        );
    }
}

#[test]
fn signing_a_target_that_repeats_the_parameter_replaces_it() {
    let grants = grants("query:key", Some("sk-new"));
    let exchange = Exchange {
        credential: Some("key".to_owned()),
        ..exchange()
    };
    let prepared = prepare(&grants, &BTreeSet::new(), exchange, true).unwrap();
    let mut draft = prepared.draft.clone();
    draft.url = Url::parse("https://api.acme.com/v2?key=sk-old&b=2&key=").unwrap();
    let signature = prepared.signature.unwrap();
    signature.sign(&mut draft, Timestamp::UNIX_EPOCH, None);
    assert_eq!(draft.url.query(), Some("b=2&key=sk-new"));
}

/// The grants of a plugin that may reach these with a key of AWS.
fn aws(scheme: &str, hosts: &[&str]) -> Grants {
    let hosts = hosts.iter().map(|host| OriginPattern::parse(host).unwrap());
    let hosts: Vec<OriginPattern> = hosts.collect();
    let credential = Credential {
        scheme: Scheme::parse(scheme).unwrap(),
        secret: Some(Secret::aws("AKIDEXAMPLE", "abcdefghijklmnop", Some("of-a-session")).unwrap()),
        env: "AWS_SECRET_ACCESS_KEY".to_owned(),
        hosts: hosts.clone(),
    };
    let credentials = BTreeMap::from([("key".to_owned(), credential)]);
    Grants::new("acme", hosts, credentials)
}

fn named(url: &str) -> Exchange {
    Exchange {
        url: url.to_owned(),
        credential: Some("key".to_owned()),
        ..exchange()
    }
}

#[test]
fn an_address_of_aws_says_what_is_signed_and_no_other_service_is() {
    let hosts = ["https://*.us-east-1.amazonaws.com", "http://127.0.0.1:9"];
    let signed = |scheme: &str, url: &str| {
        let prepared = prepare(&aws(scheme, &hosts), &BTreeSet::new(), named(url), true)?;
        let mut draft = prepared.draft;
        let signature = prepared.signature.expect("it is named");
        signature.sign(&mut draft, Timestamp::UNIX_EPOCH, None);
        let value = draft.headers["authorization"].to_str().unwrap().to_owned();
        Ok::<_, WireFault>(value)
    };
    let bedrock = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse";
    let local = "http://127.0.0.1:9/model/m/converse";
    for (scheme, url, scope) in [
        ("aws-sigv4:bedrock", bedrock, "us-east-1/bedrock"),
        // The address has the last word.
        ("aws-sigv4:bedrock:eu-west-1", bedrock, "us-east-1/bedrock"),
        ("aws-sigv4:bedrock:eu-west-1", local, "eu-west-1/bedrock"),
    ] {
        let value = signed(scheme, url).unwrap();
        let expected = format!("Credential=AKIDEXAMPLE/19700101/{scope}/aws4_request,");
        assert!(value.contains(&expected), "{value}");
    }
    for (scheme, url, code) in [
        ("aws-sigv4:sagemaker", bedrock, ExchangeCode::Denied),
        (
            "aws-sigv4:bedrock",
            "https://lambda.us-east-1.amazonaws.com/",
            ExchangeCode::Denied,
        ),
        (
            "aws-sigv4:bedrock",
            "https://b.s3.us-east-1.amazonaws.com/",
            ExchangeCode::Denied,
        ),
        ("aws-sigv4:bedrock", local, ExchangeCode::InvalidRequest),
    ] {
        let fault = signed(scheme, url).unwrap_err();
        assert_eq!(fault.code(), code, "{scheme} {url}: {fault}");
    }
}

#[test]
fn a_plugin_sets_no_header_of_aws_beside_a_signature() {
    let grants = aws("aws-sigv4:bedrock:us-east-1", &["http://127.0.0.1:9"]);
    for name in ["X-Amz-Date", "x-amz-security-token", "x-amz-content-sha256"] {
        let exchange = Exchange {
            headers: vec![(name.to_owned(), "x".to_owned())],
            ..named("http://127.0.0.1:9/")
        };
        assert_eq!(refused(&grants, exchange).0, ExchangeCode::Denied, "{name}");
    }
    let without = Exchange {
        credential: None,
        headers: vec![("x-amz-date".to_owned(), "x".to_owned())],
        ..named("http://127.0.0.1:9/")
    };
    assert!(prepare(&grants, &BTreeSet::new(), without, true).is_ok());
}

#[test]
fn a_key_of_aws_is_one_lane_whatever_is_signed() {
    let lane = |url: &str| {
        let grants = aws("aws-sigv4:bedrock:us-east-1", &["http://127.0.0.1:9"]);
        prepare(&grants, &BTreeSet::new(), named(url), true)
            .unwrap()
            .lane
    };
    let one = lane("http://127.0.0.1:9/a");
    assert_eq!(one, lane("http://127.0.0.1:9/b"));
    let key = Secret::aws("AKIDEXAMPLE", "abcdefghijklmnop", Some("of-a-session"));
    assert_eq!(one.credential, Some(key.unwrap().fingerprint()));
}
