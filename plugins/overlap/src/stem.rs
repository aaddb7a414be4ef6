//! Stems of English words by Porter's algorithm of 1980.
//!
//! The original, not its later revision: METEOR's reference implementations use it, and a
//! stem that differs is a score that differs. Suffixes are taken off in five steps; a step asks
//! for the measure of what would be left: how often a vowel is followed by a consonant in it.

/// The stem of a word in lower case. Words with anything but the letters of English, and those
/// of up to two letters, are their own stem.
pub(crate) fn of(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    plurals(&mut word);
    past_and_gerund(&mut word);
    final_y(&mut word);
    first_of(&mut word, &DOUBLE_SUFFIXES, |stem| measure(stem) > 0);
    first_of(&mut word, &SIMPLE_SUFFIXES, |stem| measure(stem) > 0);
    residues(&mut word);
    final_e(&mut word);
    word
}

/// Step 2: a suffix of two parts loses the second.
const DOUBLE_SUFFIXES: [(&str, &str); 20] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

/// Step 3.
const SIMPLE_SUFFIXES: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Step 4: these go where enough of the word is left; `ion` after `s` or `t` besides.
const RESIDUES: [&str; 18] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "al", "er", "ic", "ou",
];

/// Takes step 1a.
fn plurals(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
}

/// Takes step 1b.
fn past_and_gerund(word: &mut String) {
    if let Some(stem) = word.strip_suffix("eed") {
        if measure(stem) > 0 {
            word.pop();
        }
        return;
    }
    let stem = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing"));
    let Some(stem) = stem.filter(|stem| has_vowel(stem)) else {
        return;
    };
    let length = stem.len();
    word.truncate(length);
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if ends_double(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    } else if measure(word) == 1 && ends_short(word) {
        word.push('e');
    }
}

/// Takes step 1c.
fn final_y(word: &mut String) {
    if word.strip_suffix('y').is_some_and(has_vowel) {
        word.pop();
        word.push('i');
    }
}

/// Replaces the longest suffix of a list that the word has, if what is left will do.
fn first_of(word: &mut String, suffixes: &[(&str, &str)], will_do: impl Fn(&str) -> bool) {
    let fitting = suffixes.iter().filter(|(suffix, _)| word.ends_with(suffix));
    let Some((suffix, other)) = fitting.max_by_key(|(suffix, _)| suffix.len()) else {
        return;
    };
    let length = word.len() - suffix.len();
    if will_do(&word[..length]) {
        word.truncate(length);
        word.push_str(other);
    }
}

fn residues(word: &mut String) {
    if let Some(stem) = word.strip_suffix("ion") {
        if stem.ends_with(['s', 't']) && measure(stem) > 1 {
            word.truncate(word.len() - 3);
        }
        return;
    }
    let longest = RESIDUES.iter().find(|suffix| word.ends_with(**suffix));
    if let Some(suffix) = longest
        && measure(&word[..word.len() - suffix.len()]) > 1
    {
        word.truncate(word.len() - suffix.len());
    }
}

/// Takes step 5.
fn final_e(word: &mut String) {
    if let Some(stem) = word.strip_suffix('e') {
        let measure = measure(stem);
        if measure > 1 || (measure == 1 && !ends_short(stem)) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(word) > 1 {
        word.pop();
    }
}

/// Whether the letter at a place is a vowel: `y` is one after a consonant.
fn vowels(word: &str) -> Vec<bool> {
    let mut vowels: Vec<bool> = Vec::with_capacity(word.len());
    for byte in word.bytes() {
        let after_consonant = vowels.last().is_some_and(|vowel| !vowel);
        vowels.push(b"aeiou".contains(&byte) || (byte == b'y' && after_consonant));
    }
    vowels
}

/// How often a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    let vowels = vowels(word);
    vowels.windows(2).filter(|two| two[0] && !two[1]).count()
}

fn has_vowel(word: &str) -> bool {
    vowels(word).contains(&true)
}

/// Ends in the same consonant twice.
fn ends_double(word: &str) -> bool {
    let double = matches!(word.as_bytes(), [.., a, b] if a == b);
    double && vowels(word).last() == Some(&false)
}

/// Ends in consonant, vowel, consonant, the last not `w`, `x` or `y`.
fn ends_short(word: &str) -> bool {
    matches!(vowels(word)[..], [.., false, true, false]) && !word.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn plurals_and_tenses_are_those_of_the_paper() {
        for (word, stem) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "ti"),
            ("caress", "caress"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("troubled", "troubl"),
            ("sized", "size"),
            ("hopping", "hop"),
            ("tanned", "tan"),
            ("falling", "fall"),
            ("hissing", "hiss"),
            ("fizzed", "fizz"),
            ("failing", "fail"),
            ("filing", "file"),
        ] {
            assert_eq!(of(word), stem, "{word}");
        }
    }

    #[test]
    fn suffixes_are_those_of_the_paper() {
        for (word, stem) in [
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("rational", "ration"),
            ("valenci", "valenc"),
            ("digitizer", "digit"),
            ("radically", "radic"),
            ("differently", "differ"),
            ("vietnamization", "vietnam"),
            ("predication", "predic"),
            ("operator", "oper"),
            ("feudalism", "feudal"),
            ("decisiveness", "decis"),
            ("hopefulness", "hope"),
            ("formality", "formal"),
            ("sensibility", "sensibl"),
            ("triplicate", "triplic"),
            ("formative", "form"),
            ("formalize", "formal"),
            ("electrical", "electr"),
            ("goodness", "good"),
            ("revival", "reviv"),
            ("allowance", "allow"),
            ("airliner", "airlin"),
            ("adjustable", "adjust"),
            ("replacement", "replac"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("effective", "effect"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controlling", "control"),
            ("rolling", "roll"),
            ("running", "run"),
            ("runs", "run"),
            ("by", "by"),
            ("naïve", "naïve"),
            ("x2s", "x2s"),
            ("", ""),
        ] {
            assert_eq!(of(word), stem, "{word}");
        }
    }
}
