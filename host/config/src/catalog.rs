//! What the loaded plugins serve, as far as a config needs to know.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Findings, did_you_mean, misspelt};

/// Names that a config may use, each with the plugin that serves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Provider prefix (`openai`) → plugin. Those of somebody else's plugins are here once more, with the plugin
    /// before them: `acme/chat`.
    pub provider_prefixes: BTreeMap<String, String>,
    /// Assertion type without `not-` (`contains`, and `acme/tone` of somebody else's plugin) → plugin.
    pub assertion_types: BTreeMap<String, String>,
    /// Those of them that ask models.
    pub asking_types: BTreeSet<String>,
    /// Those of somebody else's plugins that are not called after their plugin, and so could be any word: a cell of
    /// a CSV file does not mean one. An answer that begins like that (`https://…`, `yes`) would else be graded by
    /// whoever claims the word.
    pub wordlike_types: BTreeSet<String>,
    /// Language of code (`javascript`) → extensions of its files, without the dot. Each is an
    /// assertion type, too.
    pub script_languages: BTreeMap<String, Vec<String>>,
    /// Variables that say where or how a plugin asks, credentials left out: what they hold shows in
    /// addresses and in what is wrong with them.
    pub settings: BTreeSet<String>,
    /// Languages whose plugin can be had and is not there.
    pub absent_languages: BTreeMap<String, AbsentLanguage>,
}

/// A language whose plugin is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbsentLanguage {
    /// Extensions of its files, without the dot.
    pub extensions: Vec<String>,
    /// How to get the plugin, with the command.
    pub help: String,
}

impl AbsentLanguage {
    /// What is wrong with code in it.
    pub(crate) fn message(&self, name: &str) -> String {
        let extensions = self.extensions.join(", .");
        format!("P018 the plugin that runs {name} (.{extensions}) is not installed")
    }
}

impl Catalog {
    /// The longest prefix that `id` has, alone or before a colon, and what follows the colon.
    pub(crate) fn split_provider<'a>(&self, id: &'a str) -> Option<(&'a str, &'a str)> {
        let mut ends = id
            .match_indices(':')
            .map(|(index, _)| index)
            .chain([id.len()]);
        ends.rfind(|end| self.provider_prefixes.contains_key(&id[..*end]))
            .map(|end| (&id[..end], id.get(end + 1..).unwrap_or_default()))
    }

    /// The names that have a plugin before them, or those that have none, as `written` does.
    pub(crate) fn like<'a>(
        written: &str,
        names: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = &'a str> {
        let has_plugin = written.contains('/');
        let names = names.keys().map(String::as_str);
        names.filter(move |name| name.contains('/') == has_plugin)
    }

    /// What exists instead of `written`, as a sentence: the name that it is but for a slip, else a guess
    /// and the list of names, once per report, so perhaps nothing.
    pub(crate) fn instead(
        written: &str,
        names: &BTreeMap<String, String>,
        findings: &Findings,
    ) -> Option<String> {
        if names.is_empty() {
            return Some("no plugin serves any; see `plugins` and --plugin".to_owned());
        }
        // What a plugin calls so and the config otherwise.
        let is_its = |name: &&String| name.rsplit_once('/').is_some_and(|(_, own)| own == written);
        if let Some(name) = names.keys().find(is_its) {
            return Some(format!("did you mean '{name}'?"));
        }
        let alike: Vec<&str> = Self::like(written, names).collect();
        let names = || alike.iter().copied();
        let ask = |name| format!("did you mean '{name}'?");
        if let Some(name) = misspelt(written, names()) {
            return Some(ask(name));
        }
        let (guess, list) = (did_you_mean(written, names()), findings.list_once(names()));
        match (guess.map(ask), list) {
            (Some(guess), Some(list)) => Some(format!("{guess} {list}")),
            (guess, list) => guess.or(list),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        let names = ["echo", "acme", "acme:chat"];
        let prefixes = names.map(|name| (name.to_owned(), "p".to_owned())).into();
        let catalog = Catalog {
            provider_prefixes: prefixes,
            ..Catalog::default()
        };
        let cases = [
            ("echo", Some(("echo", ""))),
            ("echo:", Some(("echo", ""))),
            ("acme:x:y", Some(("acme", "x:y"))),
            ("acme:chat:y", Some(("acme:chat", "y"))),
            ("acmex:y", None),
            ("", None),
        ];
        for (id, split) in cases {
            assert_eq!(catalog.split_provider(id), split, "{id}");
        }
    }

    #[test]
    fn an_unknown_name_gets_a_guess_or_the_list() {
        let names = ["contains", "equals"]
            .map(|name| (name.to_owned(), "text".to_owned()))
            .into();
        let findings = Findings::default();
        let instead = |written| Catalog::instead(written, &names, &findings);
        assert_eq!(
            instead("containz").as_deref(),
            Some("did you mean 'contains'?")
        );
        assert_eq!(
            instead("xyzzy").as_deref(),
            Some("there are: contains, equals")
        );
        assert_eq!(instead("xyzzy"), None);
    }

    #[test]
    fn a_name_with_its_plugin_is_guessed_at_among_its_kind() {
        let names = ["contains", "acme/tone", "acme/length"]
            .map(|name| (name.to_owned(), "acme".to_owned()))
            .into();
        let findings = Findings::default();
        let instead = |written| Catalog::instead(written, &names, &findings);
        for (written, help) in [
            // The config gave the type another name.
            ("tone", "did you mean 'acme/tone'?"),
            ("acme/lenght", "did you mean 'acme/length'?"),
            ("xyzzy", "there are: contains"),
            ("acme/xyzzy", "there are: acme/length, acme/tone"),
        ] {
            assert_eq!(instead(written).as_deref(), Some(help), "{written}");
        }
    }
}
