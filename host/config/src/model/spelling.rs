//! Which name was meant by one that nobody knows.
//!
//! Two questions, because they have different prices. A guess beside a message may be wrong: the
//! reader shrugs ([`did_you_mean`]). What refuses a config must not be: a key of somebody's own, or
//! of another program, is no mistake ([`misspelt`]).

/// How keys that nothing reads are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// All of them are odd.
    Lenient,
    /// One that is nearly a key is wrong, any other is odd.
    #[default]
    Usual,
    /// All of them are wrong.
    Strict,
}

/// The longest text that could be a mistyped name.
const MAX_NAME: usize = 64;

/// Keys that promptfoo 0.123 knows where nothing here does, by its published schema. They are read
/// by nobody, and no misspelling.
const OF_PROMPTFOO: [&str; 11] = [
    "callApi",
    "callClassificationApi",
    "callEmbeddingApi",
    "eventSource",
    "function",
    "isRedteam",
    "noShare",
    "progressCallback",
    "retryDelayMs",
    "suggestionsCount",
    "template",
];

/// Words that are further from the key than a slip, and mean nothing else.
const MEANT: [(&str, &str); 2] = [("assertion", "assert"), ("assertions", "assert")];

/// The one of `known` that `written` was probably meant to be.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if written.len() > MAX_NAME {
        return None;
    }
    let written = written.to_lowercase();
    let close = |name: &str| strsim::damerau_levenshtein(&written, &name.to_lowercase());
    names(known)
        .map(|name| (close(name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The one of `known` that `written` is but for a slip: other case, `_` or `-`, a letter too many or
/// too few, another letter or two in another order; two such slips in a long name. Another first
/// letter makes another word: `notes` is not `votes`.
pub fn misspelt<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > MAX_NAME || OF_PROMPTFOO.contains(&written) {
        return None;
    }
    let meant = MEANT.iter().find(|(other, _)| *other == written);
    let known: Vec<&str> = known.into_iter().collect();
    if let Some((_, meant)) = meant
        && let Some(name) = known.iter().find(|name| *name == meant)
    {
        return Some(name);
    }
    let written = letters(written);
    let distance = |name: &str| {
        let name = letters(name);
        let allowed = match name.chars().count() {
            0..3 => 0,
            3..7 => 1,
            _ => 2,
        };
        let is_another = rest(&written) == rest(&name) && written != name;
        let distance = strsim::damerau_levenshtein(&written, &name);
        (distance <= allowed && !is_another).then_some(distance)
    };
    let near = names(known).filter_map(|name| Some((distance(name)?, name)));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Those that a person could have meant to type: a distance takes time and memory by the product of
/// both lengths.
fn names<'a>(known: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    known.into_iter().filter(|name| name.len() <= MAX_NAME)
}

/// A name without what people write now so, now so.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

fn rest(name: &str) -> &str {
    let mut chars = name.chars();
    chars.next();
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_recognised_and_another_word_is_not() {
        let known = ["provider", "providers", "prompts", "tests", "env"];
        let cases = [
            ("provders", Some("providers")),
            ("Providers", Some("providers")),
            ("promtps", Some("prompts")),
            ("evn", Some("env")),
            ("colour", None),
            ("", None),
            (&"provider".repeat(1_000_000), None),
        ];
        for (written, meant) in cases {
            assert_eq!(did_you_mean(written, known), meant, "{written}");
        }
        let long = "p".repeat(MAX_NAME + 1);
        assert_eq!(
            did_you_mean(&long[1..], [&*long]),
            None,
            "nobody types that"
        );
    }

    #[test]
    fn a_slip_is_a_misspelling_and_a_word_of_its_own_is_none() {
        let known = [
            "assert",
            "defaultTest",
            "description",
            "id",
            "env",
            "prompts",
            "tests",
            "threshold",
            "vars",
            "value",
            "votes",
            "weight",
            "when",
        ];
        let cases = [
            ("asserts", Some("assert")),
            ("Assert", Some("assert")),
            ("default_test", Some("defaultTest")),
            ("default-test", Some("defaultTest")),
            ("desciprtion", Some("description")),
            ("evn", Some("env")),
            ("promtps", Some("prompts")),
            ("rompts", Some("prompts")),
            ("test", Some("tests")),
            ("treshhold", Some("threshold")),
            ("var", Some("vars")),
            ("wieght", Some("weight")),
            ("ID", Some("id")),
            ("idx", None),
            ("asset", Some("assert")),
            ("aspect", None),
            ("height", None),
            ("notes", None),
            ("title", None),
            ("then", None),
            ("args", None),
            ("", None),
            (&"vars".repeat(1_000_000), None),
        ];
        for (written, meant) in cases {
            assert_eq!(misspelt(written, known), meant, "{written}");
        }
    }
}
