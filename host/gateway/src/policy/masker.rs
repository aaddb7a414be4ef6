//! Takes secrets out of everything that comes back: responses, messages, log lines.
//!
//! A server that was given a credential may echo it, in its headers, in an error page, in
//! a redirect; the masker sees to it that neither the plugin nor a file nor a terminal
//! ever does. It looks for the forms in which honest software repeats a value, or what is a secret
//! in it by itself, as the token in `Bearer tok` (`secret::parts`), each in many spellings (`forms`):
//!
//! - as it is, whatever the case of its letters, in UTF-16 of either order, and in Latin-1;
//! - each of these in hex, and inside any base64 text whatever its alignment (so `Basic` headers
//!   and encoded logs count), both also across the ends of lines (`lines`), hex also with
//!   something between its bytes (`pairs`);
//!
//! and for all of those where they are escaped, in part or whole, letter by letter or as some library
//! does it: for URLs, HTML, XML, JSON and the strings of programming languages, one within
//! another, as in JSON within JSON, three deep. What a library escapes is its own affair, so there
//! is no list of it: the text is searched as it is, and as its escapes are read (`escapes`), where
//! a secret could be in them (`regions`).
//!
//! It does not look into what is compressed (`coding` unpacks answers before), into base64 or hex
//! within one of them, into other codings, or for a part of a value. Escapes that are mixed as no library
//! does it may be read otherwise than meant. It is no
//! defence against a server that *means* to tell: that server has the secret already and may
//! spell it backwards. What stops that is the binding of a credential to its origins.
//!
//! All forms of all secrets are found in one pass, and one more over what had to be decoded. Text
//! without a match, which is nearly all text, is neither copied nor allocated for.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous;
use aho_corasick::{Anchored, Input, MatchKind};

use crate::policy::secret::{Fingerprint, Secret};

mod escapes;
mod forms;
mod lines;
mod pairs;
mod regions;
mod skip;
#[cfg(test)]
mod tests;
mod view;

use escapes::Reading;
use lines::Unbroken;
use pairs::Pairs;
use regions::Alphabet;
use view::View;

/// What stands where a secret was.
pub(crate) const MASK: &str = "[masked]";

/// Secrets shorter than this many bytes are not masked. No API gives out keys as short;
/// what people do set is a dummy for a local server (`none`, `ollama`, `test`), and
/// masking that would eat the same word out of every answer.
pub const SHORTEST_MASKED: usize = 8;

/// How often escapes are decoded: a text in the JSON of an answer, which stands in the JSON of a
/// log, which stands in the JSON of a body; and once more for what is an escape in a secret itself.
const ROUNDS: usize = 4;

/// The most of a text that one view is of, in bytes: a body that is all escapes takes no memory
/// of its own size.
const MOST: usize = 1 << 20;

/// How often what was left is looked through. A server may write a text in which each removal makes another
/// secret; of that nothing is left.
const MOST_REPLACEMENTS: usize = 8;

/// Replaces every form of its secrets by `[masked]`. Cheap to clone.
#[derive(Clone, Default)]
pub struct Masker {
    forms: Arc<BTreeSet<Vec<u8>>>,
    finder: Option<Arc<Finder>>,
    /// Those that came up since; the same for all clones.
    learned: Arc<RwLock<Learned>>,
}

/// Secrets that a run is given while it goes on, by the key that they were asked for with. They are
/// few, and those of each key have a finder of their own, since making one anew for all takes long.
#[derive(Default)]
struct Learned(BTreeMap<Fingerprint, Arc<TokensOfKey>>);

#[derive(Default, Clone)]
struct TokensOfKey {
    /// The older one first.
    tokens: VecDeque<MaskedToken>,
    finder: Option<Arc<Finder>>,
}

#[derive(Clone)]
struct MaskedToken {
    token: Secret,
    bytes: usize,
    forms: BTreeSet<Vec<u8>>,
}

impl TokensOfKey {
    fn forms(&self) -> BTreeSet<Vec<u8>> {
        let forms = self.tokens.iter().flat_map(|token| &token.forms);
        forms.cloned().collect()
    }
}

/// Tokens of one key that are masked: an answer on the way may still hold the one before.
const TOKENS_OF_A_KEY: usize = 2;

/// What the tokens of all keys may take, in bytes. Each byte costs the finder some thousand.
const MOST_TOKENS: usize = 64 << 10;

/// A run is given more tokens than can be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the access tokens of a run take at most {} KiB together", MOST_TOKENS >> 10)]
pub(crate) struct TooManyTokens;

impl Masker {
    /// A masker for these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self::of_forms(secrets.into_iter().flat_map(forms).collect())
    }

    /// A masker for the secrets of all of these, as logs of a whole run need it.
    pub fn union<'a>(maskers: impl IntoIterator<Item = &'a Self>) -> Self {
        let forms = maskers.into_iter().flat_map(|masker| {
            let learned = masker
                .learned
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            let learned: Vec<_> = learned.0.values().map(|it| it.forms()).collect();
            masker
                .forms
                .iter()
                .cloned()
                .chain(learned.into_iter().flatten())
        });
        Self::of_forms(forms.collect())
    }

    fn of_forms(forms: BTreeSet<Vec<u8>>) -> Self {
        Self {
            finder: finder(&forms),
            forms: Arc::new(forms),
            learned: Arc::default(),
        }
    }

    /// Masks another token of a key from now on, in all clones, in place of the last but one.
    ///
    /// # Errors
    /// When the tokens of all keys take more than is kept.
    pub(crate) fn learn(&self, key: &Fingerprint, token: &Secret) -> Result<(), TooManyTokens> {
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        let all = learned.0.values().flat_map(|it| &it.tokens);
        let bytes: usize = all.map(|token| token.bytes).sum();
        if bytes + token.bytes() > MOST_TOKENS {
            return Err(TooManyTokens);
        }
        let mut of_key = learned
            .0
            .get(key)
            .map(|it| TokensOfKey::clone(it))
            .unwrap_or_default();
        if of_key
            .tokens
            .back()
            .is_some_and(|last| last.token == *token)
        {
            return Ok(());
        }
        if of_key.tokens.len() == TOKENS_OF_A_KEY {
            of_key.tokens.pop_front();
        }
        of_key.tokens.push_back(MaskedToken {
            token: token.clone(),
            bytes: token.bytes(),
            forms: forms(token).collect(),
        });
        of_key.finder = finder(&of_key.forms());
        learned.0.insert(key.clone(), Arc::new(of_key));
        Ok(())
    }

    /// What this one knew from the beginning, and of the tokens that came up since those of these keys.
    /// Whoever gives tokens chooses what they are: an answer to another key, or to none, may hold the
    /// same word by chance or by intent, and is read with it.
    pub(crate) fn of_keys(&self, keys: &[Fingerprint]) -> Self {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let own = keys.iter().filter_map(|key| learned.0.get_key_value(key));
        let own = own.map(|(key, tokens)| (key.clone(), Arc::clone(tokens)));
        Self {
            forms: Arc::clone(&self.forms),
            finder: self.finder.clone(),
            learned: Arc::new(RwLock::new(Learned(own.collect()))),
        }
    }

    /// What this one knew from the beginning.
    #[must_use]
    pub fn declared(&self) -> Self {
        self.of_keys(&[])
    }

    /// Of the secrets from the beginning, and of those that came up since.
    fn finders(&self) -> impl Iterator<Item = Arc<Finder>> {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let learned = learned.0.values().filter_map(|it| it.finder.clone());
        // Out of the lock's reach; nothing is allocated where nothing was learned.
        let learned: Vec<_> = learned.collect();
        self.finder.clone().into_iter().chain(learned)
    }

    /// Whether it takes this out of texts.
    pub(crate) fn hides(&self, secret: &Secret) -> bool {
        matches!(self.mask(secret.reveal()), Cow::Owned(_))
    }

    /// `text` without secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // A form of UTF-16 may begin or end within a character.
            Cow::Owned(masked) => Cow::Owned(
                String::from_utf8(masked)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }

    /// `bytes` without secrets.
    pub fn mask_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let found = self.find(bytes);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut masked = replace(bytes, &found, MASK.as_bytes());
        // The marker and its neighbours could spell a secret that has a piece of the
        // marker in it. Then it goes without a marker.
        for _ in 0..MOST_REPLACEMENTS {
            let again = self.find(&masked);
            if again.is_empty() {
                return Cow::Owned(masked);
            }
            masked = replace(&masked, &again, b"");
        }
        Cow::Owned(Vec::new())
    }

    /// Finds where secrets are: sorted ranges that neither touch nor overlap. Overlapping
    /// matches count in full, lest one secret's match hide the beginning of another's.
    fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        for finder in self.finders() {
            all.extend(finder.in_views(bytes));
            if let Some(unbroken) = Unbroken::of(bytes) {
                let found = finder.in_views(&unbroken.bytes);
                all.extend(found.iter().map(|range| unbroken.in_text(range)));
            }
        }
        all.sort_unstable_by_key(|range| range.end);
        merged(all.into_iter())
    }
}

/// Every spelling of a secret, and of what is a secret in it, that is long enough.
fn forms(secret: &Secret) -> impl Iterator<Item = Vec<u8>> {
    let masked = secret.to_mask();
    let masked = masked.filter(|text| text.len() >= SHORTEST_MASKED);
    let bytes = secret.bytes_to_mask();
    let bytes = bytes.flat_map(forms::of_bytes);
    masked.flat_map(|text| forms::forms(&text)).chain(bytes)
}

fn finder(forms: &BTreeSet<Vec<u8>>) -> Option<Arc<Finder>> {
    (!forms.is_empty()).then(|| Arc::new(Finder::new(forms)))
}

/// Finds forms.
struct Finder {
    // A DFA takes 65 KB for each byte of a secret.
    automaton: contiguous::NFA,
    alphabet: Alphabet,
}

impl Finder {
    fn new(forms: &BTreeSet<Vec<u8>>) -> Self {
        let automaton = contiguous::NFA::builder()
            .match_kind(MatchKind::Standard)
            // Host names and header names lose their case on the way, and hex has two.
            .ascii_case_insensitive(true)
            .build(forms)
            .expect("a few short patterns are far below the automaton's limits");
        Self {
            automaton,
            alphabet: Alphabet::of(forms.iter()),
        }
    }

    /// Where they are in a text, in the text that its escapes stand for, and in digits that stand
    /// apart.
    fn in_views(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut all = self.matches(bytes);
        let mut view = View::default();
        let mut add = |view: &View| {
            let found = self.matches(&view.bytes);
            all.extend(found.iter().map(|range| view.in_text(range)));
        };
        for region in self.alphabet.regions(bytes) {
            let mut decode = |begins, reading| {
                let (mut met, mut is_ambiguous) = ([false; escapes::BEGINS.len()], false);
                view.begin(bytes, region.clone());
                for _ in 0..ROUNDS {
                    let families = escapes::families(&view.bytes);
                    met = std::array::from_fn(|nth| met[nth] || families[nth]);
                    is_ambiguous |= escapes::is_ambiguous(&view.bytes);
                    if !view.decode(begins, reading, &self.alphabet) {
                        break;
                    }
                    add(&view);
                }
                (met, is_ambiguous)
            };
            // All escapes, as they may stand within one another. Where those of several families
            // come up, at once or in what others stand for, also each family alone: a text in JSON
            // may have a `%`, in a secret or before it, which is no escape there and would take
            // the next characters along.
            let (met, is_ambiguous) = decode(escapes::BEGINS, Reading::Usual);
            if met.iter().filter(|met| **met).count() > 1 {
                for family in escapes::BEGINS {
                    decode([family; escapes::BEGINS.len()], Reading::Usual);
                }
            }
            if is_ambiguous {
                decode(escapes::BEGINS, Reading::Loose);
            }
        }
        let mut pairs = Pairs::of(bytes);
        while pairs.next(&mut view) {
            add(&view);
        }
        all
    }

    fn matches(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let input = Input::new(bytes).earliest(true);
        if matches!(self.automaton.try_find(&input), Ok(None)) {
            return Vec::new();
        }
        // In the order of their ends, of each end the longest one, which comes first: secrets that
        // hold each other would give hundreds for every byte.
        let automaton = &self.automaton;
        let start = automaton.start_state(Anchored::No);
        let mut state = start.expect("it may begin anywhere");
        let ends = bytes.iter().enumerate().filter_map(|(at, byte)| {
            state = automaton.next_state(Anchored::No, state, *byte);
            if !automaton.is_match(state) {
                return None;
            }
            let len = automaton.pattern_len(automaton.match_pattern(state, 0));
            Some(at + 1 - len..at + 1)
        });
        merged(ends)
    }
}

/// Joins ranges that touch or overlap; they come in the order of their ends. As they come, since
/// there may be many more of them than are left.
fn merged(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for mut range in ranges {
        while let Some(last) = merged.pop_if(|last| range.start <= last.end) {
            range.start = range.start.min(last.start);
        }
        merged.push(range);
    }
    merged
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masker(…)")
    }
}

fn replace(bytes: &[u8], found: &[Range<usize>], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for range in found {
        out.extend_from_slice(&bytes[copied..range.start]);
        out.extend_from_slice(by);
        copied = range.end;
    }
    out.extend_from_slice(&bytes[copied..]);
    out
}
