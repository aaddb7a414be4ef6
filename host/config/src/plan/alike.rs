//! The tests of a plan: one that is like the test before it is kept as what tells the two apart.
//!
//! A row of a few bytes makes a test of kilobytes, nearly all of which the next row's test has
//! too: the names of its variables, the assertions of `defaultTest`, the test as JSON. So the
//! first of such tests is kept whole, as a model, and the others as their own texts and numbers:
//! some forty bytes for a row of two. A test is made of them again each time that it is asked
//! for, which takes a microsecond or two.
//!
//! Two tests are alike if one becomes equal to the other once its texts and numbers are
//! exchanged for the other's, so whatever a test will hold one day is compared without being
//! named here; what is named in [`PARTS`] may differ. A part that doesn't is the model's own, and
//! shared: the rows of a file have the assertions of `defaultTest` once.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Assertion, Check, Position, Test, weight};

/// How many models a test is compared with: rows that leave a cell empty are of another form.
const MAX_MODELS: usize = 4;

/// How many texts and numbers a model has at most: a test of more is a file by itself.
const MAX_LEAVES: usize = 20_000;

/// Tests in the order in which they run.
#[derive(Default)]
pub struct Tests {
    kept: Vec<KeptTest>,
    /// Those that a test is compared with, the last used first.
    models: Vec<BaseTest>,
}

/// A test that others are like.
struct BaseTest {
    test: Arc<Test>,
    leaves: [Vec<Leaf>; PARTS.len()],
}

/// One test.
enum KeptTest {
    /// A model, or a test that is like no other.
    Whole(Arc<Test>),
    /// One that is like its model but for these leaves.
    Like(Arc<Test>, Box<[u8]>),
}

impl KeptTest {
    /// The test itself, or the one that it is like.
    fn model(&self) -> &Arc<Test> {
        match self {
            Self::Whole(test) | Self::Like(test, _) => test,
        }
    }

    fn test(&self) -> Arc<Test> {
        match self {
            Self::Whole(test) => test.clone(),
            Self::Like(model, own) => {
                let mut test = Test::clone(model);
                put_back(&mut test, own);
                Arc::new(test)
            }
        }
    }

    /// Whether its checks are not its model's.
    fn has_own_checks(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Like(_, own) => {
                let mut written: &[u8] = own;
                for _ in 0..PART_OF_CHECKS {
                    let length = read_number(&mut written);
                    written = &written[length..];
                }
                read_number(&mut written) > 0
            }
        }
    }

    /// What it takes of the memory.
    fn weight(&self) -> usize {
        let more = match self {
            Self::Whole(test) => weight::of_test(test),
            Self::Like(_, own) => weight::ALLOCATION + own.len(),
        };
        size_of::<Self>() + more
    }
}

impl Tests {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The test at a place, from 0.
    pub fn get(&self, index: usize) -> Option<Arc<Test>> {
        self.kept.get(index).map(KeptTest::test)
    }

    /// Every test.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Test>> {
        self.kept.iter().map(KeptTest::test)
    }

    /// Tests that have all assertions between them, each at least once: those that are another's to the letter are
    /// left out.
    pub fn with_own_checks(&self) -> impl Iterator<Item = Arc<Test>> {
        let mut seen = HashSet::new();
        self.kept.iter().filter_map(move |kept| {
            if kept.has_own_checks() {
                return Some(kept.test());
            }
            let model = kept.model();
            seen.insert(Arc::as_ptr(model)).then(|| model.clone())
        })
    }

    /// For every test the one that it is like: the same but for texts of its description, variables,
    /// metadata and assertions, and where it stands. For who looks at none of these.
    pub fn models(&self) -> impl Iterator<Item = &Test> {
        self.kept.iter().map(|kept| &**kept.model())
    }

    /// The test that the one at this place is like.
    pub(crate) fn model(&self, index: usize) -> Option<&Test> {
        self.kept.get(index).map(|kept| &**kept.model())
    }

    /// Whether the test at this place has checks that are not those of the one it is like, to the letter.
    pub(crate) fn has_own_checks(&self, index: usize) -> bool {
        self.kept.get(index).is_some_and(KeptTest::has_own_checks)
    }

    /// Adds a test; gives what it takes of the memory.
    pub(crate) fn push(&mut self, mut test: Test) -> usize {
        let like = |(place, model): (usize, &BaseTest)| Some((place, model.like(&mut test)?));
        let found = self.models.iter().enumerate().find_map(like);
        let kept = if let Some((place, like)) = found {
            self.models[..=place].rotate_right(1);
            like
        } else {
            let leaves = BaseTest::leaves(&mut test);
            let test = Arc::new(test);
            if let Some(leaves) = leaves {
                let test = test.clone();
                self.models.truncate(MAX_MODELS - 1);
                self.models.insert(0, BaseTest { test, leaves });
            }
            KeptTest::Whole(test)
        };
        let weight = kept.weight();
        self.kept.push(kept);
        weight
    }

    /// Changes tests, and leaves those of which it is so.
    pub(crate) fn retain_mut(&mut self, mut stays: impl FnMut(&mut Test) -> bool) {
        for kept in std::mem::take(self).kept {
            let mut test = Arc::unwrap_or_clone(kept.test());
            if stays(&mut test) {
                self.push(test);
            }
        }
    }

    /// Leaves the tests at these places.
    pub(crate) fn keep(&mut self, mut stays: impl FnMut(usize) -> bool) {
        let mut places = 0..;
        self.kept.retain(|_| places.next().is_some_and(&mut stays));
    }
}

impl BaseTest {
    /// The leaves of a test; `None` if they are too many for a model.
    fn leaves(test: &mut Test) -> Option<[Vec<Leaf>; PARTS.len()]> {
        let mut count = 0;
        let found = PARTS.map(|leaves_of| {
            let mut found = Vec::new();
            leaves_of(test, &mut |place| {
                count += 1;
                if count <= MAX_LEAVES {
                    found.push(place.leaf());
                }
            });
            found
        });
        (count <= MAX_LEAVES).then_some(found)
    }

    /// What tells a test apart, if it is like this one; otherwise the test is as before.
    fn like(&self, test: &mut Test) -> Option<KeptTest> {
        let own = exchange(test, &self.leaves);
        if own.is_alike && *self.test == *test {
            return Some(KeptTest::Like(self.test.clone(), own.written.into()));
        }
        put_back(test, &own.written);
        None
    }
}

/// A text or number of a test, without its place.
#[derive(Debug, PartialEq)]
struct Leaf {
    kind: LeafKind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LeafKind {
    Name,
    Text,
    Number,
    /// A value of JSON that is neither text nor made of others.
    Scalar,
}

/// Where a leaf is in a test.
enum LeafPlace<'a> {
    Name(&'a str),
    Text(&'a mut String),
    Number(&'a mut u32),
    Scalar(&'a mut Value),
}

impl LeafPlace<'_> {
    fn kind(&self) -> LeafKind {
        match self {
            Self::Name(_) => LeafKind::Name,
            Self::Text(_) => LeafKind::Text,
            Self::Number(_) => LeafKind::Number,
            Self::Scalar(_) => LeafKind::Scalar,
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Name(text) => Cow::Borrowed(text),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Scalar(value) => Cow::Owned(value.to_string()),
        }
    }

    fn leaf(&self) -> Leaf {
        Leaf {
            kind: self.kind(),
            text: self.text().into_owned(),
        }
    }

    /// Whether the text gives the leaf exactly: a float may lose its last digit.
    fn comes_back(&self, text: &str) -> bool {
        match self {
            Self::Name(_) => false,
            Self::Text(_) | Self::Number(_) => true,
            Self::Scalar(value) => {
                serde_json::from_str(text).is_ok_and(|same: Value| same == **value)
            }
        }
    }

    /// Puts what a leaf of the same kind said.
    fn put(self, text: &str) {
        const OF_LEAF: &str = "the text was made of such a leaf";
        match self {
            Self::Name(_) => {}
            Self::Text(old) => text.clone_into(old),
            Self::Number(old) => *old = text.parse().expect(OF_LEAF),
            Self::Scalar(old) => *old = serde_json::from_str(text).expect(OF_LEAF),
        }
    }
}

/// Shows something of a part of a test, always in the same order: everything in which tests may
/// differ that are alike, and the names of fields, which may not.
type LeavesOf = fn(&mut Test, &mut dyn FnMut(LeafPlace<'_>));

/// The parts: what each test has of its own, and what it may share with its model.
const PARTS: [LeavesOf; 3] = [leaves_of_own, leaves_of_checks, leaves_of_json];

/// Which of them holds the checks.
const PART_OF_CHECKS: usize = 1;

fn leaves_of_own(test: &mut Test, see: &mut dyn FnMut(LeafPlace<'_>)) {
    let Test {
        description,
        vars,
        comparisons,
        metadata,
        at,
        ..
    } = test;
    if let Some(text) = description {
        see(LeafPlace::Text(text));
    }
    leaves_of_position(at, see);
    leaves_of_fields(vars, see);
    leaves_of_fields(metadata, see);
    for comparison in comparisons {
        leaves_of_assertion(&mut comparison.assertion, see);
    }
}

fn leaves_of_checks(test: &mut Test, see: &mut dyn FnMut(LeafPlace<'_>)) {
    for check in Arc::make_mut(&mut test.assertions) {
        if let Check::Set { json, .. } = check {
            leaves_of_value(Arc::make_mut(json), see);
        }
        for assertion in check.members_mut() {
            leaves_of_assertion(assertion, see);
        }
    }
}

fn leaves_of_json(test: &mut Test, see: &mut dyn FnMut(LeafPlace<'_>)) {
    leaves_of_value(Arc::make_mut(&mut test.json), see);
}

fn leaves_of_assertion(assertion: &mut Assertion, see: &mut dyn FnMut(LeafPlace<'_>)) {
    let Assertion {
        value,
        metric,
        json,
        at,
        value_at,
        ..
    } = assertion;
    if let Some(value) = value {
        leaves_of_value(value, see);
    }
    if let Some(text) = metric {
        see(LeafPlace::Text(text));
    }
    leaves_of_value(Arc::make_mut(json), see);
    leaves_of_position(at, see);
    leaves_of_position(value_at, see);
}

fn leaves_of_position(at: &mut Position, see: &mut dyn FnMut(LeafPlace<'_>)) {
    see(LeafPlace::Number(&mut at.line));
    see(LeafPlace::Number(&mut at.column));
    see(LeafPlace::Text(&mut at.key));
}

fn leaves_of_fields(fields: &mut Map<String, Value>, see: &mut dyn FnMut(LeafPlace<'_>)) {
    for (name, value) in fields {
        see(LeafPlace::Name(name));
        leaves_of_value(value, see);
    }
}

fn leaves_of_value(value: &mut Value, see: &mut dyn FnMut(LeafPlace<'_>)) {
    match value {
        Value::String(text) => see(LeafPlace::Text(text)),
        Value::Array(items) => items.iter_mut().for_each(|item| leaves_of_value(item, see)),
        Value::Object(fields) => leaves_of_fields(fields, see),
        Value::Null | Value::Bool(_) | Value::Number(_) => see(LeafPlace::Scalar(value)),
    }
}

/// What a test has of its own.
struct TestDelta {
    /// For each part the length of what follows, nothing if it is the model's; and for each leaf of
    /// the test's own: how many before it are the model's, and its text. A text that was there
    /// before is named by its number among the texts.
    written: Vec<u8>,
    /// Whether nothing was seen that makes them different.
    is_alike: bool,
}

/// Texts that are shorter than this are written again rather than named.
const WORTH_NAMING: usize = 3;

/// Puts a model's leaves in place of a test's, as far as they are of one kind.
fn exchange(one: &mut Test, model: &[Vec<Leaf>]) -> TestDelta {
    let mut own = TestDelta {
        written: Vec::new(),
        is_alike: true,
    };
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut count = 0;
    for (leaves_of, model) in PARTS.iter().zip(model) {
        let (mut written, mut same) = (Vec::new(), 0);
        let mut model = model.iter();
        leaves_of(one, &mut |place| {
            let text = place.text();
            let theirs = model.next().filter(|theirs| theirs.kind == place.kind());
            own.is_alike &= theirs.is_some();
            let theirs = match theirs {
                Some(theirs) if own.is_alike && theirs.text != text => theirs,
                _ => return same += 1,
            };
            if !place.comes_back(&text) {
                own.is_alike = false;
                return same += 1;
            }
            write_number(&mut written, std::mem::take(&mut same));
            if let Some(number) = known.get(&*text) {
                write_number(&mut written, number * 2 + 1);
            } else {
                write_number(&mut written, text.len() * 2);
                written.extend_from_slice(text.as_bytes());
            }
            if text.len() >= WORTH_NAMING {
                known.entry(text.into_owned()).or_insert(count);
            }
            count += 1;
            place.put(&theirs.text);
        });
        write_number(&mut own.written, written.len());
        own.written.append(&mut written);
    }
    own
}

/// Puts back what [`exchange`] wrote down.
fn put_back(one: &mut Test, mut written: &[u8]) {
    let mut texts: Vec<&str> = Vec::new();
    for leaves_of in PARTS {
        let length = read_number(&mut written);
        let (mut rest, others) = written.split_at(length);
        written = others;
        if rest.is_empty() {
            continue;
        }
        let mut same = Some(read_number(&mut rest));
        leaves_of(one, &mut |place| match same {
            None => {}
            Some(1..) => same = same.map(|same| same - 1),
            Some(0) => {
                let head = read_number(&mut rest);
                let text = if head % 2 == 1 {
                    texts[head / 2]
                } else {
                    let (text, more) = rest.split_at(head / 2);
                    rest = more;
                    std::str::from_utf8(text).expect("it was written as text")
                };
                texts.push(text);
                place.put(text);
                same = (!rest.is_empty()).then(|| read_number(&mut rest));
            }
        });
    }
}

/// Writes a number in groups of seven bits, the lowest first.
fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(from: &mut &[u8]) -> usize {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = from.split_first().expect("a number was written");
        *from = rest;
        number |= usize::from(first & 0x7f) << shift;
        if *first < 0x80 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests;
