//! How texts are cut, counted and compared, as tables.

use super::*;

#[test]
fn text_is_cut_into_lines_or_sentences() {
    for (text, expected) in [
        ("One. Two! Three?", vec!["One.", "Two!", "Three?"]),
        ("Pi is 3.14 here.", vec!["Pi is 3.14 here."]),
        ("One. Two.\nThree.", vec!["One. Two.", "Three."]),
        ("\nOne. Two.\n", vec!["One.", "Two."]),
        ("1. One is. 2. Two is.", vec!["One is.", "Two is."]),
        ("Ende. Äh. 🦀! Ja", vec!["Ende.", "Äh.", "🦀!", "Ja"]),
        ("  ", vec![]),
    ] {
        assert_eq!(sentences(text), expected, "{text:?}");
    }
}

#[test]
fn verdicts_are_read_from_the_list_or_from_the_marks() {
    for (reply, expected) in [
        (
            "Final verdict for each statement in order: Yes. No. Yes.",
            Some((2, 1)),
        ),
        (
            "bla\nFINAL VERDICT FOR EACH STATEMENT IN ORDER:\nno. no.",
            Some((0, 2)),
        ),
        ("1. so. Verdict: Yes.\n2. thus. Verdict: No.", Some((1, 1))),
        ("verdict: yes", Some((1, 0))),
        ("Final verdict for each statement in order: perhaps.", None),
        ("Final verdict for each statement in order:", None),
        ("I cannot say.", None),
    ] {
        assert_eq!(verdicts(reply), expected, "{reply:?}");
    }
}

#[test]
fn numbers_and_bullets_are_taken_off() {
    for (line, expected) in [
        ("1. a", "a"),
        (" 12) b", "b"),
        ("- c", "c"),
        ("* d", "d"),
        ("3.14 is pi", "14 is pi"),
        ("2024 was", "2024 was"),
        ("e", "e"),
    ] {
        assert_eq!(unnumbered(line), expected);
    }
}
