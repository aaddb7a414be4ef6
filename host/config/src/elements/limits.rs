//! `limits`: quotas that the user knows, so that nothing has to be learnt by being refused.
//!
//! The config's own `limits` is a map of groups; a provider's `limits` names one or more of
//! them, or is a group of its own. Providers that name the same group share its quotas. A
//! provider in several groups is bound by all of them, also where they count the same thing.
//!
//! A plugin's `limits` (under `plugins`) are something else: what its guest may use.

pub(crate) mod quota;

use std::cell::{Cell, RefCell};
use std::collections::hash_map::Entry as Place;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::options::MAX_CONCURRENCY;
use crate::model::{Findings, Position};
use crate::plan::{DeclaredLimit, LimitCounts};
use crate::read::entry::Entry;

/// Keys of a group.
pub(crate) const KNOWN: [&str; 3] = ["requests", "tokens", "concurrency"];

/// Most limits that bind one provider: what the scheduler leases at once, less the one of a task.
const MOST_OF_PROVIDER: usize = 31;

/// The config's groups.
#[derive(Default)]
pub(crate) struct Groups {
    all: Vec<Group>,
    /// Their places by their names.
    places: HashMap<String, usize>,
    /// Beginnings of the names of limits, each with how many asked for it. No two limits have the
    /// same name, since a name is all that tells them apart in a message.
    owners: RefCell<BTreeMap<String, u64>>,
}

struct Group {
    name: String,
    at: Position,
    limits: Vec<Arc<DeclaredLimit>>,
    used: Cell<bool>,
}

impl Groups {
    /// Reads the configs' `limits`; a later config's group takes the place of one that has its
    /// name.
    pub(crate) fn read(roots: &[Entry<'_>], findings: &Findings) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut places = HashMap::new();
        for entry in roots.iter().filter_map(|root| root.get("limits")) {
            if !entry.is_map() {
                entry.mismatch(findings, "a map of names to groups of limits");
            }
            for (name, entry) in entry.fields() {
                let group = Group {
                    name: name.to_owned(),
                    at: entry.at(),
                    limits: group(name, &entry, findings),
                    used: Cell::new(false),
                };
                match places.entry(name.to_owned()) {
                    Place::Occupied(earlier) => groups[*earlier.get()] = group,
                    Place::Vacant(place) => {
                        place.insert(groups.len());
                        groups.push(group);
                    }
                }
            }
        }
        let owners = groups.iter().map(|group| (group.name.clone(), 1)).collect();
        Self {
            all: groups,
            places,
            owners: RefCell::new(owners),
        }
    }

    /// The limits that `entry`, the `limits` of the provider `name`, stands for.
    pub(super) fn of_provider(
        &self,
        entry: &Entry<'_>,
        name: &str,
        findings: &Findings,
    ) -> Vec<Arc<DeclaredLimit>> {
        if entry.is_map() {
            return group(&self.own_name(name), entry, findings);
        }
        let names: Vec<Entry<'_>> = if entry.is_list() {
            entry.items().collect()
        } else {
            vec![entry.clone()]
        };
        let groups = names.iter().filter_map(|entry| self.named(entry, findings));
        // Named twice is held once.
        let mut held = HashSet::new();
        let new = groups.filter(|group| held.insert(group.name.as_str()));
        let limits: Vec<_> = new.flat_map(|group| group.limits.iter().cloned()).collect();
        if limits.len() > MOST_OF_PROVIDER {
            let message = format!(
                "groups with {} limits bind this provider; at most {MOST_OF_PROVIDER} can",
                limits.len()
            );
            findings.error(entry.at(), message);
        }
        limits
    }

    fn named(&self, entry: &Entry<'_>, findings: &Findings) -> Option<&Group> {
        let Some(name) = entry.text() else {
            let wanted = "the name of a group under the config's `limits`, or a map like one";
            entry.mismatch(findings, wanted);
            return None;
        };
        let found = self.places.get(name).map(|place| &self.all[*place]);
        match found {
            Some(group) => group.used.set(true),
            None => self.unknown(name, entry, findings),
        }
        found
    }

    fn unknown(&self, name: &str, entry: &Entry<'_>, findings: &Findings) {
        let names = || self.all.iter().map(|group| group.name.as_str());
        let help = match findings.did_you_mean(name, names()) {
            Some(meant) => Some(format!("did you mean '{meant}'?")),
            None if self.all.is_empty() => Some(format!(
                "there are none; for example, beside `providers`: limits: {{ {name:?}: {{ requests: 60 per 1m }} }}"
            )),
            None => findings.list_once(names()),
        };
        findings.error_perhaps(
            entry.at(),
            format!("there is no group of limits '{name}'"),
            help,
        );
    }

    /// A beginning for the names of a provider's own limits that nobody else has.
    fn own_name(&self, name: &str) -> String {
        let mut owners = self.owners.borrow_mut();
        let mut free = name.to_owned();
        while owners.contains_key(&free) {
            let asked = owners.entry(name.to_owned()).or_insert(0);
            *asked += 1;
            free = format!("{name} #{asked}");
        }
        owners.insert(free.clone(), 1);
        free
    }

    /// Warns of groups that no provider names.
    pub(crate) fn warn_unused(&self, findings: &Findings) {
        for group in self.all.iter().filter(|group| !group.used.get()) {
            let help = format!("name it in a provider: limits: {}", group.name);
            findings.warn(
                group.at.clone(),
                format!("no provider names the group of limits '{}'", group.name),
                Some(help),
            );
        }
    }
}

/// The limits of a group or of one provider, called after `owner`.
fn group(owner: &str, entry: &Entry<'_>, findings: &Findings) -> Vec<Arc<DeclaredLimit>> {
    let example = "for example: { requests: 60 per 1m, concurrency: 5 }";
    if !entry.is_map() {
        entry.mismatch(findings, "a map with `requests`, `tokens` or `concurrency`");
        return Vec::new();
    }
    entry.report_unknown(findings, &KNOWN);
    let [requests, tokens, concurrency] = KNOWN.map(|key| entry.get(key));
    if requests.is_none() && tokens.is_none() && concurrency.is_none() {
        let message = "has none of `requests`, `tokens` and `concurrency`";
        findings.error_help(entry.at(), message, example);
    }
    let requests = requests
        .and_then(|entry| quota::read(&entry, findings))
        .map(|(capacity, window)| (KNOWN[0], LimitCounts::Requests { window }, capacity));
    let tokens = tokens
        .and_then(|entry| quota::read(&entry, findings))
        .map(|(capacity, window)| (KNOWN[1], LimitCounts::Tokens { window }, capacity));
    let concurrency = concurrency
        .and_then(|entry| entry.want_count(findings, 1, MAX_CONCURRENCY))
        .map(|capacity| (KNOWN[2], LimitCounts::Concurrency, capacity));
    let found = [requests, tokens, concurrency].into_iter().flatten();
    let limit = |(what, counts, capacity)| {
        Arc::new(DeclaredLimit {
            name: format!("{owner} {what}"),
            counts,
            capacity,
        })
    };
    found.map(limit).collect()
}

#[cfg(test)]
mod tests;
