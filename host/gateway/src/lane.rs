//! What shares a quota, and what people call it.

use crate::policy::masker::Masker;
use crate::policy::secret::Fingerprint;

/// Most characters of a name. Hosts and models are far shorter; a plugin may say anything.
const SHOWN: usize = 120;

/// Longest bucket, and longest names of organization and project together, in bytes. Lanes are
/// kept to the end of the run. Models and tenants have short names.
pub(crate) const NAME_LIMIT: usize = 256;

/// Lanes that one plugin can open. One that names a new bucket with every request must not fill
/// the memory, nor share the refusals of its requests with other plugins: what comes after these
/// shares one lane of its own.
pub(crate) const MOST_LANES: usize = 250;

/// What shares a quota.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Lane {
    /// Scheme, host and port.
    pub origin: String,
    /// As whom the requests come: the credential, without its value, and what else says so.
    pub credential: Option<Fingerprint>,
    /// Organization and project, where the request names them.
    pub organization: Option<String>,
    /// A quota within these: the user's `pool`, else the plugin's own word, usually the model.
    pub bucket: Option<String>,
    /// The plugin whose requests are in it alone, where that is somebody else's: it could have a server
    /// refuse or fail as often as it likes, and who else asks that server would wait for it.
    pub plugin: Option<String>,
}

impl Lane {
    /// What stands for all lanes of a plugin that are too many. No request has such a one: each
    /// has an origin.
    pub(crate) fn rest_of(plugin: &str) -> Self {
        Self {
            plugin: Some(plugin.to_owned()),
            ..Self::default()
        }
    }

    /// What people call it: `api.openai.com/gpt-4o`. Not unique, since neither credential nor
    /// organization is in it.
    pub(crate) fn name(&self, masker: &Masker) -> String {
        let host = self.origin.split_once("://");
        let host = host.map_or(self.origin.as_str(), |(_, host)| host);
        let whole = match &self.bucket {
            Some(bucket) => format!("{host}/{bucket}"),
            None => host.to_owned(),
        };
        // Masked before it is cut: half a secret is one too.
        let safe = masker.mask(&whole);
        let shown = safe.chars().filter(|sign| !sign.is_control());
        shown.take(SHOWN).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::secret::Secret;

    #[test]
    fn a_lane_is_called_by_host_and_bucket_and_neither_secrets_nor_noise_get_into_its_name() {
        let masker = Masker::new(&[Secret::new("sk-12345678")]);
        let named = |bucket: Option<&str>| {
            let lane = Lane {
                origin: "https://api.acme.com:8443".to_owned(),
                bucket: bucket.map(str::to_owned),
                ..Lane::default()
            };
            lane.name(&masker)
        };
        assert_eq!(named(None), "api.acme.com:8443");
        assert_eq!(named(Some("gpt-4o")), "api.acme.com:8443/gpt-4o");
        assert_eq!(named(Some("a\u{1b}[2Jb\n")), "api.acme.com:8443/a[2Jb");
        assert_eq!(named(Some("x-sk-12345678")), "api.acme.com:8443/x-[masked]");
        assert!(named(Some(&"x".repeat(10_000))).len() <= SHOWN);
    }
}
