//! `runner plugin docs`: what the READMEs of the program's own plugins say, for whoever has the program alone.

use runner_config::misspelt;
use serde_json::json;

use super::CommandContext;
use crate::arguments::Docs;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::listing::{self, Side};
use crate::stdout;
use crate::visible;

/// Name and README of each, in the order of their names; see `build.rs`.
const DOCS: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/docs.rs"));

/// Characters of what a list says of a plugin.
const GIST_CHARS: usize = 90;

/// Prints one, or which there are.
pub(super) fn run(arguments: &Docs, setting: &CommandContext) -> Result<u8, Failure> {
    let json = |(name, text): &(&str, &str)| json!({ "name": name, "text": text });
    let (told, text) = match &arguments.name {
        None => (
            DOCS.iter().map(json).collect(),
            list(setting.terminal.width),
        ),
        Some(name) => (json(&(name, of(name)?)), of(name)?.to_owned()),
    };
    stdout::told(arguments.json, &told, &text)?;
    Ok(SUCCESS)
}

fn of(name: &str) -> Result<&'static str, Failure> {
    let found = DOCS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let help = match misspelt(name, DOCS.iter().map(|(known, _)| *known)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "`runner plugin docs` lists them; another plugin's are where it came from"
                .to_owned(),
        };
        Failure::usage(format!("no plugin of the program is called {name}")).help(help)
    })
}

fn list(width: u16) -> String {
    let row = |(name, text): &(&str, &str)| {
        vec![
            (*name).to_owned(),
            visible::cut(&gist(text), GIST_CHARS).into_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = DOCS.iter().map(row).collect();
    listing::render(&[("plugin", Side::Left), ("", Side::Left)], &rows, width)
}

/// The first sentence of prose.
fn gist(text: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let is_prose = |it: &&str| !it.is_empty() && !it.starts_with(['#', '`', '|']);
    let first = paragraphs.find(is_prose).unwrap_or_default();
    let line = first.replace('\n', " ");
    let sentence = line.split_inclusive(". ").next().unwrap_or_default();
    sentence.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plugin_has_one_and_a_slip_is_answered() {
        assert!(of("echo").is_ok_and(|text| text.starts_with('#')));
        for (name, text) in DOCS {
            assert!(!gist(text).is_empty(), "{name}");
        }
        let refused = of("opnai").expect_err("there is none").render();
        assert_eq!(
            refused,
            "error: no plugin of the program is called opnai\nhelp: did you mean openai?"
        );
    }
}
