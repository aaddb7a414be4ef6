//! The command that asks for what a run needs, as it can be pasted into a shell.

use crate::arguments::Words;
use crate::visible;

/// `runner trust` with the flags of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asking {
    mode: Option<&'static str>,
    /// The words after it.
    inputs: Words,
}

impl Asking {
    /// For a run of `inputs`.
    pub(crate) fn new(inputs: Words) -> Self {
        Self { mode: None, inputs }
    }

    /// Asks nothing, where nobody is there to answer.
    pub(crate) fn without_question(mut self) -> Self {
        self.mode = Some("--yes");
        self
    }

    /// The command, in backticks.
    pub(super) fn shown(&self) -> String {
        self.written(self.mode)
    }

    /// The command that shows all that is asked for.
    pub(super) fn show(&self) -> String {
        self.written(Some("--show"))
    }

    /// The command that agrees without a question.
    pub(super) fn yes(&self) -> String {
        self.written(Some("--yes"))
    }

    /// What has to be put in by hand, as the end of a sentence.
    pub(super) fn left_out(&self) -> String {
        let names = self.inputs.left_out.iter();
        let flags: Vec<String> = names.map(|name| format!("--var {name}")).collect();
        if flags.is_empty() {
            return String::new();
        }
        let text = format!(" (the value of {} is left out here)", flags.join(", "));
        visible::line(&text).into_owned()
    }

    fn written(&self, mode: Option<&str>) -> String {
        let words = self.inputs.words.iter().map(String::as_str);
        let words = ["runner", "trust"].into_iter().chain(mode).chain(words);
        // A character that a terminal would obey is not obeyed where the line is pasted, either.
        let words: Vec<_> = words.map(visible::line).collect();
        let line = shlex::try_join(words.iter().map(|word| &**word));
        format!("`{}`", line.expect("no NUL is left of what is visible"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(words: &[&str]) -> Asking {
        let words = words.iter().map(ToString::to_string).collect();
        let inputs = Words {
            words,
            ..Words::default()
        };
        Asking::new(inputs)
    }

    #[test]
    fn a_shell_reads_the_words_that_were_meant() {
        let words = ["-c", "it's mine/a b.yaml", "-p", "$(id) `x` \"y\"", ""];
        let shown = asking(&words).without_question().shown();
        let line = shown.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
        let read = shlex::split(line.expect("it is quoted")).expect("a line");
        assert_eq!(read[..3], ["runner", "trust", "--yes"]);
        assert_eq!(read[3..], words);
        assert_eq!(
            asking(&["-c", "a/b.yaml"]).show(),
            "`runner trust --show -c a/b.yaml`"
        );
    }

    #[test]
    fn a_word_can_not_obey() {
        let shown = asking(&["-c", "\u{1b}[2J\n\u{202e}"]).shown();
        assert!(!shown.contains(['\u{1b}', '\n', '\u{202e}']), "{shown}");
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut asking = asking(&["--var", "token="]);
        assert_eq!(asking.left_out(), "");
        asking.inputs.left_out.push("token".to_owned());
        assert_eq!(
            asking.left_out(),
            " (the value of --var token is left out here)"
        );
    }
}
