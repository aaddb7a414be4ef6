//! Whose an address is as far as AWS goes: which service in which region.
//!
//! A signature of AWS is good for one service in one region. Both follow from the address, so that
//! no text of a config or of a plugin can have another service signed. What stands elsewhere (a
//! proxy of the person's, a server of a test) is signed for the service of the credential's scheme.

use url::Host;

use crate::policy::origin::Origin;

/// The domains below which AWS answers, and nobody else but its customers.
const DOMAINS: [&str; 3] = ["amazonaws.com", "amazonaws.com.cn", "api.aws"];

/// Addresses that are signed for a service of another name.
const SIGNED_AS: [(&str, &str); 6] = [
    ("bedrock-runtime", "bedrock"),
    ("bedrock-runtime-fips", "bedrock"),
    ("bedrock-agent-runtime", "bedrock"),
    ("bedrock-agent-runtime-fips", "bedrock"),
    ("runtime.sagemaker", "sagemaker"),
    ("runtime-fips.sagemaker", "sagemaker"),
];

/// A service in a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) service: String,
    pub(crate) region: String,
}

/// Whose an address is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AddressOwner {
    /// A service's.
    Service(Scope),
    /// One below AWS's domains that is no service in a region: a bucket, a customer's machine.
    Unknown,
    /// Nobody's at AWS.
    Elsewhere,
}

/// Whose this address is.
pub(crate) fn whose(origin: &Origin) -> AddressOwner {
    let Host::Domain(name) = origin.host() else {
        return AddressOwner::Elsewhere;
    };
    let below = |domain: &&str| name.strip_suffix(*domain)?.strip_suffix('.');
    let Some(labels) = DOMAINS.iter().find_map(below) else {
        return AddressOwner::Elsewhere;
    };
    match scope(labels) {
        Some(scope) => AddressOwner::Service(scope),
        None => AddressOwner::Unknown,
    }
}

/// Of `SERVICE.REGION`, or of `ID.SERVICE.REGION.vpce`, a way within a network to the same.
fn scope(labels: &str) -> Option<Scope> {
    let labels = match labels.strip_suffix(".vpce") {
        Some(inside) => inside.split_once('.')?.1,
        None => labels,
    };
    let (prefix, region) = labels.rsplit_once('.')?;
    if !is_region(region) {
        return None;
    }
    let alias = SIGNED_AS.iter().find(|(address, _)| *address == prefix);
    let service = alias.map_or(prefix, |(_, service)| service);
    (!service.contains('.')).then(|| Scope {
        service: service.to_owned(),
        region: region.to_owned(),
    })
}

/// Whether it has the form of a region: `eu-central-1`, `us-gov-west-1`.
pub(crate) fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let Some((number, words)) = parts.split_last() else {
        return false;
    };
    let all = |part: &str, of: fn(&u8) -> bool| !part.is_empty() && part.bytes().all(|it| of(&it));
    words.len() >= 2
        && all(number, u8::is_ascii_digit)
        && words.iter().all(|word| all(word, u8::is_ascii_lowercase))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn of(url: &str) -> AddressOwner {
        let url = Url::parse(url).expect("a URL");
        whose(&Origin::of(&url).expect("an origin"))
    }

    #[test]
    fn service_and_region_follow_from_the_address() {
        let table = [
            (
                "https://bedrock-runtime.us-east-1.amazonaws.com",
                "bedrock us-east-1",
            ),
            (
                "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
                "bedrock us-gov-west-1",
            ),
            (
                "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
                "bedrock cn-north-1",
            ),
            (
                "https://vpce-1-2.bedrock-runtime.eu-west-3.vpce.amazonaws.com",
                "bedrock eu-west-3",
            ),
            (
                "https://runtime.sagemaker.ap-southeast-2.amazonaws.com",
                "sagemaker ap-southeast-2",
            ),
            ("https://lambda.us-east-1.amazonaws.com", "lambda us-east-1"),
            ("https://lambda.us-east-1.api.aws", "lambda us-east-1"),
        ];
        for (url, expected) in table {
            let (service, region) = expected.split_once(' ').expect("two words");
            let scope = Scope {
                service: service.to_owned(),
                region: region.to_owned(),
            };
            assert_eq!(of(url), AddressOwner::Service(scope), "{url}");
        }
    }

    #[test]
    fn what_is_no_service_in_a_region_is_told_from_what_is_elsewhere() {
        for url in [
            "https://amazonaws.com.",
            "https://s3.amazonaws.com",
            "https://bucket.s3.us-east-1.amazonaws.com",
            "https://bedrock-runtime.evil.amazonaws.com",
            "https://bedrock-runtime.us-east-1.vpce.amazonaws.com",
            "https://x.y.execute-api.us-east-1.amazonaws.com",
        ] {
            let expected = if url.ends_with('.') {
                AddressOwner::Elsewhere
            } else {
                AddressOwner::Unknown
            };
            assert_eq!(of(url), expected, "{url}");
        }
        for url in [
            "https://bedrock-runtime.us-east-1.amazonaws.com.evil.org",
            "https://evilamazonaws.com",
            "http://127.0.0.1:8080",
            "https://[::1]",
        ] {
            assert_eq!(of(url), AddressOwner::Elsewhere, "{url}");
        }
    }

    #[test]
    fn a_region_has_words_and_a_number() {
        for text in ["us-east-1", "us-gov-west-1", "us-iso-east-12"] {
            assert!(is_region(text), "{text}");
        }
        for text in [
            "",
            "1",
            "east-1",
            "us-east",
            "us-east-1a",
            "US-east-1",
            "us--1",
            "a-b-1.x",
        ] {
            assert!(!is_region(text), "{text}");
        }
    }
}
