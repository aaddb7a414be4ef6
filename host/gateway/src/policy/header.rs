//! Headers that are the host's alone to set, whoever names them: a plugin, a config, or the scheme of a
//! credential.

/// Headers that are the host's: identity, routing, framing. `accept-encoding` is among
/// them because a compressed response can't be masked as it is.
const RESERVED: [(&str, &str); 15] = [
    ("authorization", "name a credential instead"),
    ("cookie", "requests carry no cookies"),
    ("cookie2", "requests carry no cookies"),
    ("host", "it follows from the URL"),
    ("accept-encoding", "the host decides how bodies travel"),
    ("content-length", "it follows from the body"),
    ("transfer-encoding", "it follows from the body"),
    ("expect", "it concerns the connection"),
    ("connection", "it concerns the connection"),
    ("keep-alive", "it concerns the connection"),
    ("te", "it concerns the connection"),
    ("trailer", "it concerns the connection"),
    ("upgrade", "it concerns the connection"),
    ("http2-settings", "it concerns the connection"),
    ("forwarded", "it is for proxies"),
];

/// Headers that ask for a part of an answer, or for it in another coding. With a credential they
/// could make an answer in which no whole secret is found.
pub(crate) const PARTIAL: [&str; 3] = ["range", "if-range", "accept-charset"];

/// Why nobody but the host sets a header, if that is so. The name is in lower case.
pub(crate) fn reserved(name: &str) -> Option<&'static str> {
    if name.starts_with("proxy-") {
        return Some("it is for proxies");
    }
    let mut all = RESERVED.iter();
    let (_, reason) = all.find(|(reserved, _)| *reserved == name)?;
    Some(reason)
}

/// Whether a credential may go there.
pub(crate) fn takes_credential(name: &str) -> bool {
    name == "authorization" || reserved(name).is_none() && !PARTIAL.contains(&name)
}
