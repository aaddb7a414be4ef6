//! What was packed comes out as it was, or not at all.

use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::pack::tests::program_with;

/// Opens a program with these bytes.
fn opened(bytes: &[u8], digest: [u8; 32]) -> Result<CarriedSet, CarriedError> {
    let mut file = tempfile::tempfile().expect("the system has room");
    file.write_all(bytes).expect("the system has room");
    CarriedSet::read(file, Path::new("/bin/runner"), digest)
}

/// Code of so many bytes that is like no other's.
fn code(seed: u32, bytes: usize) -> Vec<u8> {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    };
    let mut state = seed;
    std::iter::from_fn(|| next(&mut state))
        .take(bytes)
        .collect()
}

#[test]
fn each_component_comes_out_as_it_was_put_in() {
    let (one, other) = (code(1, 5_000), code(2, 25_000));
    let alike = [&one[..3_000], b"and something of its own"].concat();
    let codes = [("alike", alike), ("one", one), ("other", other)];
    let (file, digest) = program_with(&codes, Some("one"));
    let carried = opened(&file, digest).expect("whole");
    assert_eq!(carried.commit(), Some("0123abc"));
    let names: Vec<&str> = carried.components().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["alike", "one", "other"]);
    for (name, code) in &codes {
        assert_eq!(&carried.code(name).expect("there"), code, "{name}");
    }
    let likes: Vec<_> = carried
        .list
        .parts
        .iter()
        .map(|it| it.like.as_deref())
        .collect();
    assert_eq!(likes, [Some("one"), None, None], "not the largest");
    assert!(carried.about("two").is_none());
    carried.check().expect("whole");
}

#[test]
fn a_file_that_was_cut_off_or_grew_says_so() {
    let (file, digest) = program_with(&[("one", code(1, 500))], None);
    let said = |bytes: &[u8]| opened(bytes, digest).expect_err("damaged").to_string();
    let expected = "the program's own file /bin/runner is damaged: it was cut off, or something was put \
                    behind it";
    assert_eq!(said(&file[..file.len() - 1]), expected);
    assert_eq!(said(&file[..20]), expected);
    assert_eq!(said(&[]), expected);
    assert_eq!(said(&[&file[..], b"x"].concat()), expected);
}

proptest! {
    #[test]
    fn a_changed_byte_never_becomes_code(place in 0_usize.., change in 1_u8..) {
        let codes = [("alike", code(1, 900)), ("one", code(1, 800))];
        let (mut file, digest) = program_with(&codes, Some("one"));
        // What is before is the program's own, which is the system's to load.
        let begin = opened(&file, digest).expect("whole").list.parts[0].begin as usize;
        let place = begin + place % (file.len() - begin);
        file[place] ^= change;
        let Ok(carried) = opened(&file, digest) else {
            return Ok(());
        };
        prop_assert!(carried.check().is_err());
        for (name, code) in &codes {
            match carried.code(name) {
                Ok(found) => prop_assert_eq!(&found, code),
                Err(error) => {
                    let text = error.to_string();
                    prop_assert!(text.contains("doesn't match"), "{}", text);
                }
            }
        }
    }
}
