//! The rules of redirects: where one leads, and what becomes of the request.
//!
//! A redirect is a server's wish, and a server must not widen what the user granted. So
//! the client follows none by itself; these rules are applied between hops, and every hop
//! passes the same checks as the first request.

use reqwest::Method;
use reqwest::header::{HeaderMap, LOCATION};
use url::Url;

use crate::policy::origin::Origin;
use crate::wire::draft::Draft;

/// Most redirects within one attempt: more than any API needs, few enough to end a loop
/// soon.
pub(crate) const REDIRECT_LIMIT: u32 = 5;

/// Where a response leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RedirectAction {
    /// It is the answer.
    Stay,
    /// To another place within the origin.
    Follow(Url),
    /// Out of the origin.
    Leave(Url),
}

/// Reads a response's status and `location`. A redirect without a readable location is an
/// answer like any other.
pub(crate) fn way(at: &Url, status: u16, headers: &HeaderMap) -> RedirectAction {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return RedirectAction::Stay;
    }
    let target = headers
        .get(LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| at.join(location).ok());
    let Some(mut target) = target else {
        return RedirectAction::Stay;
    };
    target.set_fragment(None);
    let named = !target.username().is_empty() || target.password().is_some();
    if !named && Origin::of(&target).is_some_and(|origin| Some(origin) == Origin::of(at)) {
        RedirectAction::Follow(target)
    } else {
        RedirectAction::Leave(target)
    }
}

/// The next request. 307 and 308 repeat it; 303 turns everything but HEAD into a GET, 301
/// and 302 do so with POST, as all clients have come to; a body that goes takes the
/// headers along that describe it.
pub(crate) fn next(draft: Draft, status: u16, target: Url) -> Draft {
    let becomes_get = match status {
        303 => draft.method != Method::HEAD,
        301 | 302 => draft.method == Method::POST,
        _ => false,
    };
    let mut next = Draft {
        url: target,
        ..draft
    };
    if becomes_get {
        next.method = Method::GET;
        next.body = None;
        for name in [
            "content-type",
            "content-encoding",
            "content-language",
            "content-location",
            "digest",
        ] {
            next.headers.remove(name);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use bytes::Bytes;
    use reqwest::header::{CONTENT_TYPE, HeaderValue};

    use super::*;

    fn to(location: &str) -> RedirectAction {
        let at = Url::parse("https://api.acme.com/v1/chat?x=1").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_str(location).unwrap());
        way(&at, 302, &headers)
    }

    #[test]
    fn only_the_same_origin_is_followed() {
        let follow = |url: &str| RedirectAction::Follow(Url::parse(url).unwrap());
        assert_eq!(to("/v2"), follow("https://api.acme.com/v2"));
        assert_eq!(
            to("models?y=2#frag"),
            follow("https://api.acme.com/v1/models?y=2")
        );
        assert_eq!(
            to("https://API.acme.com:443/v2"),
            follow("https://api.acme.com/v2")
        );
        let leaving = [
            "http://api.acme.com/v2",
            "https://api.acme.com:8443/",
            "//evil.org/v1",
            "https://evil.org",
            "https://me:pw@api.acme.com/",
            "file:///etc/passwd",
            "data:text/plain,x",
        ];
        for target in leaving {
            assert!(matches!(to(target), RedirectAction::Leave(_)), "{target}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_an_answer() {
        let at = Url::parse("https://api.acme.com/").unwrap();
        assert_eq!(way(&at, 302, &HeaderMap::new()), RedirectAction::Stay);
        assert_eq!(to("https://"), RedirectAction::Stay);
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static("/x"));
        for status in [200, 201, 300, 304, 305, 306, 400] {
            assert_eq!(way(&at, status, &headers), RedirectAction::Stay, "{status}");
        }
    }

    #[test]
    fn methods_and_bodies_change_by_status() {
        let cases = [
            (301, "POST", "GET"),
            (302, "POST", "GET"),
            (303, "POST", "GET"),
            (307, "POST", "POST"),
            (308, "POST", "POST"),
            (301, "PUT", "PUT"),
            (303, "PUT", "GET"),
            (303, "HEAD", "HEAD"),
            (302, "GET", "GET"),
        ];
        for (status, before, after) in cases {
            let url = Url::parse("https://api.acme.com/").unwrap();
            let draft = Draft {
                method: before.parse().unwrap(),
                url: url.clone(),
                headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("x"))]),
                body: Some(Bytes::from_static(b"body")),
            };
            let next = next(draft, status, url);
            assert_eq!(next.method.as_str(), after, "{status} {before}");
            let dropped = after == "GET" && (before != "GET" || status == 303);
            assert_eq!(next.body.is_none(), dropped, "{status} {before}");
            assert_eq!(next.headers.contains_key(CONTENT_TYPE), next.body.is_some());
        }
    }
}
