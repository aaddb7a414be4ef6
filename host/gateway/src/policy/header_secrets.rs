//! Variables of the environment in headers that a config writes: `X-Api-Key: '{{ env.KEY }}'`.
//!
//! Each is a credential like any other. Who builds the request gets what stands for it, drawn anew for each run, so that
//! no template works on the value and none can tell it: reversed, it is nobody's. The value takes that place when the
//! request is about to go, and in headers alone. To caches and recordings it is what the masker would leave of it.

use data_encoding::HEXLOWER;
use reqwest::header::{HeaderMap, HeaderValue};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::policy::masker::{MASK, SHORTEST_MASKED};
use crate::policy::secret::{Fingerprint, Secret};

/// The values in the headers of one provider.
#[derive(Debug, Clone, Default)]
pub struct HeaderSecrets {
    /// Each with what stands for it, the longest first: one may be within another.
    each: Vec<(String, Secret)>,
}

impl HeaderSecrets {
    /// Those of `values` that are long enough to be secrets; `None`: the system gives no random numbers.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let values = values.into_iter().filter(|it| it.len() >= SHORTEST_MASKED);
        let mut each = values
            .map(|value| {
                let mut drawn = [0; 16];
                SystemRandom::new().fill(&mut drawn).ok()?;
                let stand_in = format!("runner-header-{}", HEXLOWER.encode(&drawn));
                Some((stand_in, Secret::new(value)))
            })
            .collect::<Option<Vec<_>>>()?;
        each.sort_by_key(|(_, value)| std::cmp::Reverse(value.reveal().len()));
        Some(Self { each })
    }

    /// A text of the config with what stands for the values in their place.
    pub fn hidden(&self, text: &str) -> String {
        let each = self.each.iter();
        each.fold(text.to_owned(), |text, (stand_in, value)| {
            text.replace(value.reveal(), stand_in)
        })
    }

    /// What the masker takes out.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.each.iter().map(|(_, value)| value)
    }

    /// What tells the requests with these headers from those with other values; `None`: none is in them.
    pub(crate) fn identity(&self, headers: &HeaderMap) -> Option<Fingerprint> {
        let mut filled = Vec::new();
        for (name, value) in headers {
            let text = String::from_utf8_lossy(value.as_bytes());
            if self.stands_in(&text) {
                filled.extend([name.as_str().to_owned(), self.put_into(&text)]);
            }
        }
        (!filled.is_empty()).then(|| Fingerprint::of(filled.iter().map(String::as_str)))
    }

    /// Puts the values into headers. Gives the name of one that can't hold what stands in it.
    pub(crate) fn fill(&self, headers: &mut HeaderMap) -> Result<(), String> {
        for (name, value) in headers.iter_mut() {
            let text = String::from_utf8_lossy(value.as_bytes());
            if !self.stands_in(&text) {
                continue;
            }
            let filled = HeaderValue::from_str(&self.put_into(&text));
            *value = filled.map_err(|_| name.to_string())?;
            value.set_sensitive(true);
        }
        Ok(())
    }

    /// A header as caches and recordings have it.
    pub(crate) fn to_remember(&self, text: String) -> String {
        let each = self.each.iter();
        each.fold(text, |text, (stand_in, _)| text.replace(stand_in, MASK))
    }

    fn stands_in(&self, text: &str) -> bool {
        self.each
            .iter()
            .any(|(stand_in, _)| text.contains(stand_in))
    }

    fn put_into(&self, text: &str) -> String {
        let each = self.each.iter();
        each.fold(text.to_owned(), |text, (stand_in, value)| {
            text.replace(stand_in, value.reveal())
        })
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderName;

    use super::*;

    const KEY: &str = "a-key-of-some-length";

    fn headers(value: &str) -> HeaderMap {
        let name = HeaderName::from_static("x-api-key");
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).expect("a value"))])
    }

    #[test]
    fn a_value_is_in_the_header_that_goes_and_nowhere_before() {
        let secrets = HeaderSecrets::of([KEY, "short"]).expect("random numbers");
        let written = secrets.hidden(&format!("Bearer {KEY} {{{{ vars.short }}}}"));
        assert!(
            !written.contains(KEY) && written.contains("short"),
            "{written}"
        );
        let mut headers = headers(&written);
        let identity = secrets.identity(&headers);
        assert_eq!(
            secrets.to_remember(written),
            "Bearer [masked] {{ vars.short }}"
        );
        secrets.fill(&mut headers).expect("it fits");
        assert_eq!(
            headers["x-api-key"],
            format!("Bearer {KEY} {{{{ vars.short }}}}")
        );
        let other = HeaderSecrets::of(["another-key-as-long"]).expect("random numbers");
        let of_other = self::headers(&other.hidden("Bearer another-key-as-long {{ vars.short }}"));
        assert!(identity.is_some() && identity != other.identity(&of_other));
    }

    #[test]
    fn what_a_template_makes_of_it_is_nothing() {
        let secrets = HeaderSecrets::of([KEY]).expect("random numbers");
        let reversed: String = secrets.hidden(KEY).chars().rev().collect();
        let mut headers = headers(&reversed);
        secrets.fill(&mut headers).expect("it fits");
        assert_eq!(headers["x-api-key"], reversed.as_str());
        assert_eq!(secrets.identity(&headers), None);
    }

    #[test]
    fn a_value_within_another_and_one_that_no_header_holds() {
        let long = format!("{KEY}-and-more");
        let secrets = HeaderSecrets::of([KEY, &long, "two\nlines of it"]).expect("random numbers");
        let mut both = headers(&secrets.hidden(&format!("{long} {KEY}")));
        secrets.fill(&mut both).expect("it fits");
        assert_eq!(both["x-api-key"], format!("{long} {KEY}"));
        let mut broken = headers(&secrets.hidden("two\nlines of it"));
        assert_eq!(secrets.fill(&mut broken), Err("x-api-key".to_owned()));
    }
}
