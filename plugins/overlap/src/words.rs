//! Texts as words, and words as n-grams.
//!
//! BLEU, GLEU and METEOR split at white space; ROUGE by the conventions of the Penn Treebank,
//! where punctuation and the parts of contractions are words of their own.

use std::collections::HashMap;

/// The longest n-grams that BLEU and GLEU count.
pub(crate) const MAX_ORDER: usize = 4;

/// The words between white space, in lower case.
pub(crate) fn plain(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// The words between white space, in lower case, without the dots at their ends.
pub(crate) fn without_dots(text: &str) -> Vec<String> {
    let words = plain(text);
    let cut = |word: String| word.trim_end_matches('.').to_owned();
    words.into_iter().map(cut).collect()
}

/// How often each n-gram of `order` words occurs.
pub(crate) fn counts(words: &[String], order: usize) -> HashMap<&[String], usize> {
    let mut counts = HashMap::new();
    for gram in words.windows(order) {
        *counts.entry(gram).or_insert(0) += 1;
    }
    counts
}

/// How many n-grams two texts share: each as often as it occurs in both.
pub(crate) fn shared<K: std::hash::Hash + Eq>(
    a: &HashMap<K, usize>,
    b: &HashMap<K, usize>,
) -> usize {
    a.iter()
        .map(|(gram, count)| b.get(gram).map_or(0, |other| *count.min(other)))
        .sum()
}

/// Words that are two: where the second begins, and the whole.
const DOUBLE: [(usize, &str); 8] = [
    (3, "cannot"),
    (1, "d'ye"),
    (3, "gimme"),
    (3, "gonna"),
    (3, "gotta"),
    (3, "lemme"),
    (4, "more'n"),
    (3, "wanna"),
];

/// The words of a text in lower case by the conventions of the Penn Treebank.
pub(crate) fn treebank(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let spaced = spaced_out(text.trim());
    let mut words = Vec::new();
    for word in spaced.split_whitespace() {
        split_contraction(word, &mut words);
    }
    words
}

/// Puts spaces around punctuation, and writes quotes as the Treebank does. A dot is a word of
/// its own only at the end: elsewhere it may belong to an abbreviation.
fn spaced_out(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let final_dot = final_dot(&characters);
    let mut spaced = String::with_capacity(text.len() * 2);
    let mut at = 0;
    while at < characters.len() {
        let character = characters[at];
        let run = |wanted: char| {
            let rest = characters[at..].iter();
            rest.take_while(|c| **c == wanted).count()
        };
        let next = characters.get(at + 1);
        let before = at.checked_sub(1).map(|at| characters[at]);
        let mut length = 1;
        match character {
            '.' if run('.') >= 2 => {
                length = run('.');
                spaced.push_str(" ... ");
            }
            '-' if run('-') >= 2 => {
                length = run('-');
                spaced.push_str(" -- ");
            }
            '.' if Some(at) == final_dot => spaced.push_str(" . "),
            ',' | ':' if next.is_some_and(char::is_ascii_digit) => spaced.push(character),
            ',' | ':' | ';' | '@' | '#' | '$' | '%' | '&' | '?' | '!' | '[' | ']' | '(' | ')'
            | '{' | '}' | '<' | '>' => {
                spaced.push(' ');
                spaced.push(character);
                spaced.push(' ');
            }
            '"' => {
                let opens = before.is_none_or(|before| " ([{<".contains(before));
                spaced.push_str(if opens { " `` " } else { " '' " });
            }
            other => spaced.push(other),
        }
        at += length;
    }
    spaced
}

/// Where the dot stands that ends the text, if one does: only brackets, quotes and spaces come
/// after it, and no other dot before.
fn final_dot(characters: &[char]) -> Option<usize> {
    let closes = |c: &char| c.is_whitespace() || "])}>\"'".contains(*c);
    let at = characters.iter().rposition(|c| !closes(c))?;
    let before = at.checked_sub(1).map(|at| characters[at]);
    (characters[at] == '.' && before.is_some_and(|before| before != '.')).then_some(at)
}

/// Splits off what a contraction or a possessive appends.
fn split_contraction(word: &str, words: &mut Vec<String>) {
    let mut push = |part: &str| {
        if !part.is_empty() {
            words.push(part.to_owned());
        }
    };
    for tail in ["n't", "'ll", "'re", "'ve", "'s", "'m", "'d"] {
        if let Some(head) = word.strip_suffix(tail) {
            push(head);
            return push(tail);
        }
    }
    if let Some((length, _)) = DOUBLE.iter().find(|(_, whole)| *whole == word) {
        push(&word[..*length]);
        return push(&word[*length..]);
    }
    if let Some(rest) = word.strip_prefix("'t")
        && ["is", "was"].contains(&rest)
    {
        push("'t");
        return push(rest);
    }
    match word.strip_suffix('\'') {
        Some(head) if !head.ends_with('\'') => {
            push(head);
            push("'");
        }
        _ => push(word),
    }
}

#[cfg(test)]
mod tests {
    use super::treebank;

    #[test]
    fn texts_are_split_as_in_the_treebank() {
        for (text, expected) in [
            ("The cat sat.", "the cat sat ."),
            ("Well, yes; no: maybe!", "well , yes ; no : maybe !"),
            ("It's 3:30, I don't mind", "it 's 3:30 , i do n't mind"),
            ("They'll say we've won", "they 'll say we 've won"),
            (
                "Mr. Smith left. Then he came.",
                "mr. smith left. then he came .",
            ),
            ("1,000.50 dollars", "1,000.50 dollars"),
            ("$5 (or 10%)", "$ 5 ( or 10 % )"),
            ("\"Hi,\" she said", "`` hi , '' she said"),
            ("He said \"no.\"", "he said `` no . ''"),
            ("wait... what..", "wait ... what ..."),
            ("a -- b --- c-d", "a -- b -- c-d"),
            ("I cannot, gonna go", "i can not , gon na go"),
            ("'Twas the dogs' bowl", "'t was the dogs ' bowl"),
            ("e.g. this", "e.g. this"),
            ("", ""),
            (".", "."),
            ("  \n ", ""),
        ] {
            assert_eq!(treebank(text).join(" "), expected, "{text:?}");
        }
    }
}
