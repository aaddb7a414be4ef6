//! What is promised of the memory: how much a reader may take for each byte that it reads, and
//! besides.
//!
//! The README repeats these figures; `tests/memory/main.rs` and the fuzzer hold the readers to them.

/// A bound that grows with what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Bytes for each byte that is read.
    pub times: usize,
    /// Bytes besides.
    pub base: usize,
}

impl Bound {
    /// What so many bytes may take.
    pub const fn of(self, read: usize) -> usize {
        self.base.saturating_add(self.times.saturating_mul(read))
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            times: self.times + other.times,
            base: self.base + other.base,
        }
    }
}

/// A tree of YAML or JSON, with what aliases copy and the parser keeps.
pub const TREE: Bound = Bound {
    times: 128,
    base: 64 << 20,
};

/// What references of a tree bring.
pub const REFERENCES: Bound = Bound {
    times: 0,
    base: 64 << 20,
};

/// A template.
pub const TEMPLATE: Bound = Bound { times: 80, base: 0 };

/// What the parts of a spreadsheet hold when they are unpacked, and what the cells of a sheet say: bytes.
pub(crate) const UNPACKED: Bound = Bound {
    times: 64,
    base: 24 << 20,
};

/// And of a file of any size: all the parts, or all the cells.
pub(crate) const MAX_UNPACKED: usize = 128 << 20;

/// How many cells a sheet has.
pub(crate) const CELLS: Bound = Bound {
    times: 8,
    base: 250_000,
};

/// And of a file of any size.
pub(crate) const MAX_CELLS: usize = 2_000_000;

/// Bytes that a server's answers with the rows of a data set take together.
pub(crate) const MAX_FETCHED: usize = 256 << 20;

/// All tests of a plan. Rows of one form, however short, take some 37 times their size; a hundred
/// thousand tests that are like no other have room whatever was read.
pub const TESTS: Bound = Bound {
    times: 96,
    base: 256 << 20,
};

/// And however much was read.
pub const MAX_TESTS: usize = 4 << 30;
