//! The style and the script: ours, built in, at addresses that hold their digests, so that a browser
//! may keep them for ever and never has an old one.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

pub(crate) const STYLE: &str = include_str!("../assets/view.css");
pub(crate) const SCRIPT: &str = include_str!("../assets/view.js");
/// What a page that stands alone does besides.
pub(crate) const REPORT: &str = include_str!("../assets/report.js");

static NAMES: LazyLock<[String; 2]> = LazyLock::new(|| {
    let digest = |content: &str| HEXLOWER.encode(&Sha256::digest(content)[..12]);
    [
        format!("{}.css", digest(STYLE)),
        format!("{}.js", digest(SCRIPT)),
    ]
});

/// Where the style is.
pub(crate) fn style() -> String {
    format!("/assets/{}", NAMES[0])
}

/// Where the script is.
pub(crate) fn script() -> String {
    format!("/assets/{}", NAMES[1])
}

/// Kind and content of one of them.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    if name == NAMES[0] {
        Some(("text/css; charset=utf-8", STYLE))
    } else if name == NAMES[1] {
        Some(("text/javascript; charset=utf-8", SCRIPT))
    } else {
        None
    }
}
