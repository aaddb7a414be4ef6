//! The seal: a place in the program's memory for the digest of what it carries.
//!
//! `pack` finds the place in the program's file by its mark and writes there. What is in memory is what
//! the system started, whatever the file's name means by now.

/// The mark, and the digest behind it; zeros: the program carries nothing.
#[repr(C, align(8))]
struct Seal {
    mark: [u8; 32],
    digest: [u8; 32],
}

// `used`: nobody writes to it, and it must not be taken apart.
#[used]
static SEAL: Seal = Seal {
    mark: *b"runner's seal: digest of a list:",
    digest: [0; 32],
};

/// The seal as it is in memory.
fn seal() -> Seal {
    #[expect(
        unsafe_code,
        reason = "what was written into the file is not what was compiled"
    )]
    // SAFETY: it is initialised, aligned and never written to; volatile, so that the compiler does not
    // put the zeros in its place that it sees above.
    unsafe {
        std::ptr::read_volatile(&raw const SEAL)
    }
}

/// The digest of the list of what this program carries.
pub(super) fn digest() -> Option<[u8; 32]> {
    let digest = seal().digest;
    (digest != [0; 32]).then_some(digest)
}

/// Finds the place for the digest in a program: where it begins, and what is there now.
pub(crate) fn find(program: &[u8]) -> Option<(usize, [u8; 32])> {
    let mark = seal().mark;
    let mut found = places(program, &mark);
    let begin = found.next()? + mark.len();
    // A second one would be text that looks like it.
    if found.next().is_some() {
        return None;
    }
    let digest = program.get(begin..begin + 32)?;
    Some((begin, digest.try_into().ok()?))
}

/// Where `mark` stands in `program`. It is aligned, so few places are looked at.
fn places<'a>(program: &'a [u8], mark: &'a [u8; 32]) -> impl Iterator<Item = usize> + 'a {
    let last = program.len().saturating_sub(mark.len() - 1);
    (0..last)
        .step_by(align_of::<Seal>())
        .filter(move |&place| program[place..].starts_with(mark))
}

#[cfg(test)]
pub(crate) mod tests {
    /// A seal as a program has it that carries nothing.
    pub(crate) fn empty() -> Vec<u8> {
        let mut bytes = super::seal().mark.to_vec();
        bytes.extend([0; 32]);
        bytes
    }

    #[test]
    fn this_test_carries_nothing() {
        assert_eq!(super::digest(), None);
    }
}
