//! Who is let in: the browser that was sent here, and nobody else.
//!
//! Other programs on this machine can reach the port, and any page in the user's browser can send
//! requests to it. So the address that is opened has a token, good for once, which is exchanged for
//! a cookie that no script and no other site gets; every request must name this host (a name
//! that an attacker lets point here is refused), and one that says where it comes from must come
//! from here. What changes something must say so.

use std::sync::Mutex;

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// What a request says about who sends it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller<'a> {
    pub(crate) changes: bool,
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) cookie: Option<&'a str>,
    pub(crate) token: Option<&'a str>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It has the cookie.
    In,
    /// It brought the token: it gets the cookie, as a header says it, and an address without token.
    Welcome(String),
    /// Why not.
    Refused(&'static str),
}

/// The door of one server.
#[derive(Debug)]
pub(crate) struct AccessControl {
    port: u16,
    session: String,
    token: Mutex<Option<String>>,
}

impl AccessControl {
    pub(crate) fn new(port: u16) -> Self {
        Self {
            port,
            session: secret(),
            token: Mutex::new(Some(secret())),
        }
    }

    /// The address to open, if nobody has used it yet.
    pub(crate) fn address(&self) -> String {
        let token = self.token.lock().ok().and_then(|token| token.clone());
        let token = token.unwrap_or_default();
        format!("http://127.0.0.1:{}/?token={token}", self.port)
    }

    pub(crate) fn admit(&self, caller: &Caller<'_>) -> Entry {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let Some(host) = caller.host.filter(|host| hosts.iter().any(|it| it == host)) else {
            return Entry::Refused("the request names another host");
        };
        let from_here = |origin: &str| origin.strip_prefix("http://") == Some(host);
        if caller.origin.is_some_and(|origin| !from_here(origin)) {
            return Entry::Refused("the request comes from another site");
        }
        if caller.changes && caller.origin.is_none() {
            return Entry::Refused("the request does not say where it comes from");
        }
        if let Some(token) = caller.token {
            return self.exchange(token);
        }
        let name = format!("{}=", self.cookie());
        let cookies = caller.cookie.unwrap_or_default().split(';');
        let mut values = cookies.filter_map(|cookie| cookie.trim().strip_prefix(&*name));
        if values.any(|value| same(value, &self.session)) {
            Entry::In
        } else {
            Entry::Refused(
                "this browser was not let in; open the address that `runner view` printed",
            )
        }
    }

    fn exchange(&self, token: &str) -> Entry {
        let Ok(mut kept) = self.token.lock() else {
            return Entry::Refused("the server is broken");
        };
        if !kept.as_deref().is_some_and(|kept| same(kept, token)) {
            return Entry::Refused(
                "this address was used already, or is not valid; start `runner view` again",
            );
        }
        *kept = None;
        Entry::Welcome(format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie(),
            self.session
        ))
    }

    /// Cookies don't know ports: two servers must not take each other's.
    fn cookie(&self) -> String {
        format!("runner-view-{}", self.port)
    }
}

/// 244 bits by chance.
fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Compares digests: how far two secrets are equal can't be told from how long it takes.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_once_and_its_cookie_for_the_rest() {
        let door = AccessControl::new(8000);
        let token = door
            .token
            .lock()
            .expect("no panic")
            .clone()
            .expect("a token");
        assert!(door.address().ends_with(&token));
        let host = Some("127.0.0.1:8000");
        let bare = Caller {
            host,
            ..Caller::default()
        };
        assert!(matches!(door.admit(&bare), Entry::Refused(_)));
        let wrong = Caller {
            token: Some("x"),
            ..bare
        };
        assert!(matches!(door.admit(&wrong), Entry::Refused(_)));
        let right = Caller {
            token: Some(&token),
            ..bare
        };
        let Entry::Welcome(cookie) = door.admit(&right) else {
            panic!("the token is right");
        };
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
        assert!(matches!(door.admit(&right), Entry::Refused(_)), "once");
        let pair = cookie.split(';').next().expect("a pair");
        let cookies = format!("other=1; {pair}");
        let with = Caller {
            cookie: Some(&cookies),
            ..bare
        };
        assert_eq!(door.admit(&with), Entry::In);
        let other_port = pair.replace("8000", "8001");
        let other = Caller {
            cookie: Some(&other_port),
            ..bare
        };
        assert!(matches!(door.admit(&other), Entry::Refused(_)));
        assert!(!door.address().contains(&token));
    }

    #[test]
    fn a_request_names_this_host_and_comes_from_here() {
        let door = AccessControl::new(8000);
        let cookie = format!("{}={}", door.cookie(), door.session);
        let host = Some("127.0.0.1:8000");
        let with = Caller {
            cookie: Some(&cookie),
            ..Caller::default()
        };
        let table = [
            (Some("evil.example:8000"), None, false, false),
            (Some("127.0.0.1:9000"), None, false, false),
            (None, None, false, false),
            (
                Some("localhost:8000"),
                Some("http://localhost:8000"),
                false,
                true,
            ),
            (host, Some("http://127.0.0.1:8000"), true, true),
            (host, Some("http://localhost:8000"), true, false),
            (host, Some("https://evil.example"), false, false),
            (host, Some("null"), true, false),
            (host, None, true, false),
        ];
        for (host, origin, changes, enters) in table {
            let caller = Caller {
                changes,
                host,
                origin,
                ..with
            };
            assert_eq!(door.admit(&caller) == Entry::In, enters, "{caller:?}");
        }
    }
}
