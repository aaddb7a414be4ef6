//! AWS's published test suite (its key, its time, its requests), and requests as the plugins make
//! them, signed by botocore 1.44.8 with the same key at the same time.

use bytes::Bytes;
use reqwest::Method;

use super::*;

const KEY: AwsKey<'static> = AwsKey {
    id: "AKIDEXAMPLE",
    secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    token: None,
};

fn signed(draft: Draft, token: Option<&str>, service: &str, region: &str) -> Draft {
    let mut draft = draft;
    let now: Timestamp = "2015-08-30T12:36:00Z".parse().expect("a time");
    let scope = Scope {
        service: service.to_owned(),
        region: region.to_owned(),
    };
    sign(&AwsKey { token, ..KEY }, &scope, now, &mut draft);
    draft
}

fn draft(method: Method, url: &str, headers: &[(&str, &str)], body: &str) -> Draft {
    let headers = headers.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        (name, HeaderValue::from_str(value).expect("a value"))
    });
    Draft {
        method,
        url: Url::parse(url).expect("a URL"),
        headers: headers.collect(),
        body: Some(Bytes::from(body.to_owned())),
    }
}

fn told(draft: &Draft) -> (String, String) {
    let value = draft.headers[AUTHORIZATION].to_str().expect("text");
    let (names, signature) = value
        .split_once("SignedHeaders=")
        .and_then(|(_, rest)| rest.split_once(", Signature="))
        .expect("both");
    (names.to_owned(), signature.to_owned())
}

#[test]
fn the_suite_of_aws() {
    let unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let url = "https://example.amazonaws.com/";
    let get = |query: &str| draft(Method::GET, &format!("{url}{query}"), &[], "");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let spaces = [("my-header1", " value1"), ("my-header2", " \"a   b   c\"")];
    let table = [
        (
            get(""),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            draft(Method::POST, url, &[], ""),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            get("?Param2=value2&Param1=value1"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            get("?Param1=value2&Param1=Value1"),
            "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
        ),
        (
            get(&format!("?{unreserved}={unreserved}")),
            "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
        ),
        (
            draft(Method::POST, url, &form, "Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
        (
            draft(Method::GET, url, &spaces, ""),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
    ];
    for (draft, signature) in table {
        let shown = draft.url.clone();
        let signed = signed(draft, None, "service", "us-east-1");
        assert_eq!(told(&signed).1, signature, "{shown}");
    }
}

#[test]
fn requests_as_botocore_signs_them() {
    let json = [
        ("content-type", "application/json"),
        ("accept", "application/json"),
    ];
    let bedrock = "https://bedrock-runtime.eu-central-1.amazonaws.com/model";
    let model = "anthropic.claude-3-5-sonnet-20241022-v2%3A0";
    let profile = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123%3Ainference-profile%2Fx";
    let token = "AQoDYXdzEPT//////////wEXAMPLE";
    let post = |url: &str, body: &str| draft(Method::POST, url, &json, body);

    let converse = post(&format!("{bedrock}/{model}/converse"), r#"{"messages":[]}"#);
    let converse = signed(converse, Some(token), "bedrock", "eu-central-1");
    let names = "accept;content-type;host;x-amz-date;x-amz-security-token";
    let signature = "612253c09d8779e3f007e92b026d64f6fba1956a4a331198281b7e9d27a1d7c2";
    assert_eq!(told(&converse), (names.to_owned(), signature.to_owned()));
    assert_eq!(converse.headers[TOKEN], token);
    assert!(!format!("{:?}", converse.headers).contains(token));

    let names = "accept;content-type;host;x-amz-date";
    let inference = post(&format!("{bedrock}/{profile}/converse"), "{}");
    let inference = signed(inference, None, "bedrock", "eu-central-1");
    let signature = "73bdfb0670d45d5dc978f7a879a0635c56c664c4c1eb8fc5135758bc0b948f29";
    assert_eq!(told(&inference), (names.to_owned(), signature.to_owned()));

    let endpoint = post("http://127.0.0.1:8080/endpoints/a%20b/invocations", "{}");
    let endpoint = signed(endpoint, None, "sagemaker", "us-west-2");
    let signature = "6978326cb7a0ed5baaf040c246b3e12b5f2ec2783379c875b86c66d3e32fd83f";
    assert_eq!(told(&endpoint), (names.to_owned(), signature.to_owned()));
}

#[test]
fn a_request_that_is_signed_again_has_one_signature() {
    let once = signed(
        draft(Method::GET, "https://example.amazonaws.com/", &[], ""),
        None,
        "service",
        "us-east-1",
    );
    assert_eq!(once.headers.get_all(AUTHORIZATION).iter().count(), 1);
    assert_eq!(once.headers.get_all(DATE).iter().count(), 1);
}
