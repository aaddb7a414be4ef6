//! A request on its way, before and after its credential is in it.

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

/// One HTTP request, without a credential until it is about to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}
