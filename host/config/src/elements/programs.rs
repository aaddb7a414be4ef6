//! Programs that a config names, by the names of their files.

use crate::read::files::has_extension;

/// Extensions of programs, whether or not a plugin runs them.
pub(crate) const PROGRAMS: [&str; 12] = [
    "js", "cjs", "mjs", "ts", "cts", "mts", "py", "rb", "go", "sh", "pl", "php",
];

/// The program that `written` names (`file://x.py:function` or a bare path), if it does.
pub(crate) fn program(written: &str) -> Option<&str> {
    let path = crate::read::files::without_scheme(written);
    let is_program = |path: &str| has_extension(path.as_ref(), &PROGRAMS);
    if is_program(path) {
        return Some(path);
    }
    let (path, function) = path.rsplit_once(':')?;
    (is_program(path) && !function.contains(['/', ' '])).then_some(path)
}

/// What to do instead of naming a program.
pub(crate) const PROGRAM_HELP: &str =
    "write the values into the config or a data file, or code in a language that a plugin runs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_with_and_without_a_function() {
        let cases = [
            ("file://a.py", Some("a.py")),
            ("file://a.py:get_var", Some("a.py")),
            ("a.mjs", Some("a.mjs")),
            ("a.txt", None),
            ("file://a.json:x", None),
            ("see a.py: it is good", None),
        ];
        for (written, expected) in cases {
            assert_eq!(program(written), expected, "{written}");
        }
    }
}
