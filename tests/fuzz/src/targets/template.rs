//! Templates: any text is one or an error, and what it costs is bounded.

use runner_template::{Limits, MAX_TEXT, Scope, Template, is_plain, pieces};
use serde_json::json;

/// nunjucks.
pub(super) const WORDS: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{{ a }}",
    "{{ a | upper }}",
    "{% if a %}",
    "{% else %}",
    "{% elif b %}",
    "{% endif %}",
    "{% for x in a %}",
    "{% for k, v in b %}",
    "{% endfor %}",
    "{% set x = a ~ a %}",
    "{% raw %}",
    "{% endraw %}",
    " | join(',')",
    " | replace('a','b')",
    " | sort",
    " | batch(2)",
    " | slice(3)",
    " | groupby('a')",
    " | dump",
    " | indent(4)",
    " | repeat(9)",
    ".split(',')",
    ".repeat(99)",
    ".padStart(99)",
    ".length",
    "range(99)",
    "loop.index",
    " and ",
    " or ",
    " not ",
    " in ",
    " ** ",
    " // ",
    "[0]",
    "(",
    ")",
    "'",
    "\"",
    "1",
    "a",
    "b",
    "~",
    "+",
    "-",
    " if ",
    " else ",
    "env.HOME",
];

/// Reads a template and fills it in with variables of every kind.
pub(super) fn run(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let whole: String = pieces(&text).map(|piece| piece.source()).collect();
    assert_eq!(whole, text, "pieces are what a text is cut into");
    let template = match Template::parse(&text) {
        Ok(template) => template,
        Err(error) => return error.to_string(),
    };
    let vars = json!({ "a": "x,y", "b": { "k": [1, 2.5, null, true] }, "c": [["l"]], "q": "é😀" });
    let scope = Scope {
        variables: vars.as_object().expect("a map"),
        filters: None,
        allowance: None,
        escape: None,
    };
    let rendered = template.render(scope, &Limits::default());
    match rendered {
        Ok(rendered) => {
            assert!(rendered.len() <= MAX_TEXT, "{} bytes", rendered.len());
            assert!(!is_plain(&text) || rendered == text, "plain text stays");
            format!(
                "{:?} {:?}",
                rendered.len().checked_ilog2(),
                template.paths()
            )
        }
        Err(error) => error.to_string(),
    }
}
