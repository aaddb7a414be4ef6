//! Where a run may send what: each origin that something bound may reach, who named it, and the
//! variables of the environment that go there.
//!
//! Rights follow from who wrote the address. The addresses that a plugin of the bundle states
//! are its vendor's own, and the vendor's own variables go there unasked. An address of the
//! person's is as good. For one that a config or data wrote, every variable is asked for, and so
//! is the address itself where it leads into a private network. Keys go to this machine unasked, but
//! not where a config brings programs: one of them may be the server there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use runner_config::plan::{EnvRead, Position};
use runner_config::{TextOrigin as Author, TrustRequest, TrustSubject, is_secret_variable};
use runner_gateway::{Lookup, Origin, OriginPattern, needs_agreement};
use tokio::time::{Instant, timeout_at};
use url::Host;

use super::bind_error::BindError;
use crate::trust::{Agreements, Need, each_once};

/// How long the addresses of names may be waited for before a run. One that takes longer is
/// taken for public; if it is not, the gateway refuses it.
const PATIENCE: Duration = Duration::from_secs(3);

/// Names that are looked up at once: the program can't end before the system has given up on each.
const AT_ONCE: usize = 32;

/// Variables that any address may see, times addresses: each is something to agree to. Nobody
/// reads as many, but who trusts a config unseen waits until they are made.
const MOST_PAIRS: usize = 100_000;

/// Who named an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressSource {
    /// The plugin of the bundle: its vendor's own.
    Vendor,
    /// The person, by a flag or in their own environment.
    Person,
    /// A text of the config or of data.
    Text,
}

/// An origin that may be reached.
#[derive(Debug, Clone)]
pub(super) struct ReachableOrigin {
    pub(super) to: OriginPattern,
    pub(super) named: AddressSource,
    /// Who wrote what goes there.
    pub(super) author: Author,
    pub(super) at: Position,
    /// Variables that are the vendor's own.
    pub(super) own: BTreeSet<String>,
    /// Variables of the process's environment that go there.
    pub(super) takes: Vec<EnvRead>,
    /// Those that its name may be made of.
    pub(super) named_by: Vec<EnvRead>,
}

/// Where a provider's requests go.
pub(super) struct Address {
    pub(super) patterns: Vec<OriginPattern>,
    pub(super) named: AddressSource,
    /// Whether it is another company's than the credentials.
    pub(super) lends: bool,
    pub(super) at: Position,
    /// Whether that is the place of its own text, and not of the whole provider.
    pub(super) is_exact: bool,
}

impl Address {
    /// Those of a provider's variables that the address may be made of.
    pub(super) fn named_by(&self, reads: &[EnvRead]) -> Vec<EnvRead> {
        let mine = reads
            .iter()
            .filter(|read| !self.is_exact || read.at.is_where(&self.at));
        mine.cloned().collect()
    }
}

/// What is noted while a plan is bound.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    ways: RefCell<Vec<ReachableOrigin>>,
    needs: RefCell<Vec<Need>>,
    read_by_code: RefCell<BTreeSet<EnvRead>>,
}

/// Everything that a run may reach, and what it needs for that.
#[derive(Debug)]
pub(crate) struct ReachableOrigins {
    each: Vec<ReachableOrigin>,
    /// Variables that any of them may see.
    everywhere: Vec<EnvRead>,
    /// Variables in what code of the config is given, which can say them in words that no mask finds.
    read_by_code: BTreeSet<EnvRead>,
    /// Whether programs that the config brings may listen on this machine.
    has_programs: bool,
    /// Whether each name was looked up, with the need that came of it.
    looked_up: Vec<(Origin, Option<Need>)>,
}

impl Noted {
    pub(super) fn way(&self, way: ReachableOrigin) {
        self.ways.borrow_mut().push(way);
    }

    pub(super) fn needs(&self, needs: Vec<Need>) {
        self.needs.borrow_mut().extend(needs);
    }

    pub(super) fn read_by_code(&self, reads: &[EnvRead]) {
        self.read_by_code.borrow_mut().extend(reads.iter().cloned());
    }

    /// The needs of components, and the ways; variables that texts of no provider take may go
    /// any of them. `has_programs` says whether the plan runs any outside the sandbox.
    ///
    /// # Errors
    /// When there are too many of both.
    pub(crate) fn take(
        self,
        everywhere: &[EnvRead],
        has_programs: bool,
    ) -> Result<(Vec<Need>, ReachableOrigins), BindError> {
        let mut everywhere = everywhere.to_vec();
        // Asked for where it stands first.
        everywhere.sort();
        everywhere.dedup_by(|next, first| next.name == first.name);
        let ways = ReachableOrigins {
            each: self.ways.into_inner(),
            everywhere,
            read_by_code: self.read_by_code.into_inner(),
            has_programs,
            looked_up: Vec::new(),
        };
        let addresses: BTreeSet<String> = ways.each.iter().map(|way| way.to.to_string()).collect();
        let variables = ways.everywhere.len();
        if addresses.len().saturating_mul(variables) > MOST_PAIRS {
            return Err(BindError::Config {
                at: "providers, env".to_owned().into(),
                problem: format!(
                    "{} addresses may each see {variables} variables of the environment; at most {MOST_PAIRS} such pairs can be agreed to",
                    addresses.len()
                ),
            });
        }
        Ok((self.needs.into_inner(), ways))
    }
}

impl ReachableOrigins {
    /// None: nothing will be sent.
    pub(crate) fn none() -> Self {
        Self {
            each: Vec::new(),
            everywhere: Vec::new(),
            read_by_code: BTreeSet::new(),
            has_programs: false,
            looked_up: Vec::new(),
        }
    }

    /// The needs of variables in providers that may reach nobody, or that nobody asks; where nothing is
    /// sent (`is_offline`) those alone that code reads. The others are masked like all that a provider
    /// takes, and that tells of a value whether it was guessed: only a key can't be.
    pub(crate) fn kept(&self, by_providers: &[EnvRead], is_offline: bool) -> Vec<Need> {
        let gone: BTreeSet<&EnvRead> = self.each.iter().flat_map(|way| &way.takes).collect();
        let may_tell = |read: &&EnvRead| {
            let is_guessed = !is_secret_variable(&read.name) && !gone.contains(read);
            self.read_by_code.contains(*read) || (is_guessed && !is_offline)
        };
        let kept = by_providers.iter().filter(may_tell);
        kept.map(Need::keep).collect()
    }

    /// What has to be agreed to, as far as it is known.
    pub(crate) fn needs(&self) -> Vec<Need> {
        let (mut needs, mut known) = (Vec::new(), BTreeSet::new());
        for way in &self.each {
            needs.extend(way.takes.iter().filter_map(|read| self.sends(way, read)));
            // Thousands of providers may lead to one address.
            let is_text = way.named == AddressSource::Text;
            if !known.insert((way.to.to_string(), is_text, &way.own)) {
                continue;
            }
            let way = ReachableOrigin {
                to: way.to.clone(),
                named: way.named,
                author: Author::Config,
                at: Position::default(),
                own: way.own.clone(),
                takes: Vec::new(),
                named_by: Vec::new(),
            };
            let everywhere = self.everywhere.iter();
            needs.extend(everywhere.filter_map(|read| {
                let mut need = self.sends(&way, read)?;
                need.request.at = read.at.clone();
                Some(need)
            }));
        }
        needs.extend(self.looked_up.iter().filter_map(|(_, need)| need.clone()));
        each_once(needs)
    }

    /// Looks up the names that were not looked up yet. One that may hold the value of a variable
    /// waits until that may be sent there: looking it up tells it. An address asks nobody, so that
    /// it never waits.
    pub(crate) async fn look_up(&mut self, lookup: &dyn Lookup, agreements: &Agreements) {
        let may_go = |way: &ReachableOrigin, origin: &Origin| {
            // Hosts that the config grants to a component are texts of no provider.
            let reads = way.named_by.iter().chain(&self.everywhere);
            let mut needs = reads.filter_map(|read| self.sends(way, read));
            origin.address().is_some() || needs.all(|need| need.is_covered(agreements))
        };
        let mut wanted: Vec<(Origin, &ReachableOrigin)> = Vec::new();
        let mut known: BTreeSet<&Origin> = self.looked_up.iter().map(|(known, _)| known).collect();
        for way in &self.each {
            let Some(origin) = way.to.exact().filter(|_| way.named == AddressSource::Text) else {
                continue;
            };
            if !known.contains(origin) && !is_loopback(origin) && may_go(way, origin) {
                known.insert(origin);
                wanted.push((origin.clone(), way));
            }
        }
        let until = Instant::now() + PATIENCE;
        let found = wanted.into_iter().map(async |(origin, way)| {
            let need = leads_inside(&origin, lookup, until).await;
            let need = need.then(|| connects(way, &origin));
            (origin, need)
        });
        let found: Vec<_> = stream::iter(found).buffered(AT_ONCE).collect().await;
        self.looked_up.extend(found);
    }

    /// Origins that may be private addresses, once every need is agreed to: those that were asked
    /// for, the person's, and the vendors' own, which a network may serve from inside.
    pub(crate) fn private(&self) -> BTreeSet<Origin> {
        let unasked = self
            .each
            .iter()
            .filter(|way| way.named != AddressSource::Text);
        let unasked = unasked.filter_map(|way| way.to.exact().cloned());
        let asked = self.looked_up.iter().filter(|(_, need)| need.is_some());
        unasked
            .chain(asked.map(|(origin, _)| origin.clone()))
            .collect()
    }

    /// What it needs to send a variable there.
    fn sends(&self, way: &ReachableOrigin, read: &EnvRead) -> Option<Need> {
        // Who named the provider does not matter: the config's `env` may have put another variable
        // into the vendor's own.
        let is_vendors = way.named != AddressSource::Text && way.own.contains(&read.name);
        // What is sent as a credential is masked in the whole run, and that tells who guesses a value
        // that it was guessed. A key can't be guessed, a setting can.
        let is_persons_machine = !self.has_programs && way.to.exact().is_some_and(is_loopback);
        if is_vendors || (is_persons_machine && is_secret_variable(&read.name)) {
            return None;
        }
        let name = read.name.clone();
        let to = way.to.to_string();
        Some(need(way, TrustSubject::Variable { name, to }))
    }
}

fn connects(way: &ReachableOrigin, origin: &Origin) -> Need {
    let origin = origin.to_string();
    need(way, TrustSubject::Address { origin })
}

/// The address is said as it is, secrets of the config's own and all: it is what a person agrees to.
/// A variable in it was agreed to be shown before it was read.
fn need(way: &ReachableOrigin, subject: TrustSubject) -> Need {
    Need::of(TrustRequest {
        subject,
        // A text that a flag names may still lead where a config says.
        origin: match &way.author {
            Author::Person => Author::Config,
            author => author.clone(),
        },
        at: way.at.clone(),
    })
}

/// Whether an origin is this machine by its very name.
pub(super) fn is_loopback(origin: &Origin) -> bool {
    match origin.host() {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.to_canonical().is_loopback(),
    }
}

/// Finds out whether an origin is, or its name leads to, an address that has to be agreed to. A name that
/// can't be looked up leads nowhere, unless a proxy looks it up in a network of its own.
async fn leads_inside(origin: &Origin, lookup: &dyn Lookup, until: Instant) -> bool {
    let is_proxied = lookup.is_proxied(origin);
    let found = match origin.host() {
        Host::Domain(name) => {
            // None is begun when the time is up: the system would go on with it.
            let found = async {
                let begun = (Instant::now() < until).then(|| lookup.addresses(name));
                timeout_at(until, begun?).await.ok()?.ok()
            };
            let found = found.await.unwrap_or_default();
            if found.is_empty() && is_proxied {
                return true;
            }
            found
        }
        Host::Ipv4(_) | Host::Ipv6(_) => Vec::new(),
    };
    needs_agreement(origin, &found, is_proxied).is_some()
}

#[cfg(test)]
mod tests;
