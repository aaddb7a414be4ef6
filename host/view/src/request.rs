//! A request as pages see it, and what they give back.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use maud::Markup;
use runner_store::StoreError;
use url::form_urlencoded;

/// What is sent back, at once or bit by bit.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Names and values of a query or a form, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    pub(crate) fn read(encoded: &str) -> Self {
        let fields = form_urlencoded::parse(encoded.as_bytes());
        Self(fields.into_owned().collect())
    }

    /// The first value with this name, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self
            .0
            .iter()
            .filter(|(given, value)| given == name && !value.is_empty());
        fields.next().map(|(_, value)| value.as_str())
    }

    /// Every value with this name that is not empty.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self
            .0
            .iter()
            .filter(move |(given, value)| given == name && !value.is_empty());
        fields.map(|(_, value)| value.as_str())
    }
}

/// A request that was let in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// Whether it wants something changed.
    pub(crate) posts: bool,
    /// Parts of the path, decoded.
    pub(crate) path: Vec<String>,
    pub(crate) query: Fields,
    pub(crate) form: Fields,
}

/// What becomes of it.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A page, or a part of one.
    Page(Markup),
    /// Go there instead.
    Redirect(String),
    /// There is nothing, and why.
    Missing(String),
    /// It can't be done, and why.
    Refused(String),
    /// A file to keep: its name, its kind, its content.
    File(String, &'static str, Vec<u8>),
    /// A style or script, by its digest.
    Asset(&'static str, &'static str),
}

impl From<StoreError> for Reply {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchRun { .. } | StoreError::NoRuns => Self::Missing(error.to_string()),
            other => Self::Refused(told(&other)),
        }
    }
}

/// An error and its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
