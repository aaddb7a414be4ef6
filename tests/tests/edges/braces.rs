//! Openings, ends and names of templates where nobody meant any.

use super::{Edge, edge};

pub(crate) const BRACES: [Edge; 14] = [
    edge(
        "an opening without an end in data",
        "Q:\ntests: [{ vars: { q: 'use {{ to begin' } }]",
        &[],
        &["use {{ to begin"],
    ),
    edge(
        "a statement without an end in data",
        "Q:\ntests: [{ vars: { q: '100{% of it' } }]",
        &[],
        &["100{% of it"],
    ),
    edge(
        "a comment without an end in data",
        "Q:\ntests: [{ vars: { q: 'a{#id b' } }]",
        &[],
        &["a{#id b"],
    ),
    edge(
        "an expression in data that is none",
        "Q:\ntests: [{ vars: { q: 'x {{ 1 + }} y {{ a b c }}' } }]",
        &[],
        &["x {{ 1 + }} y {{ a b c }}"],
    ),
    edge(
        "a statement in data that nobody knows",
        "Q:\ntests: [{ vars: { q: '{% endfor %} {% load static %}' } }]",
        &[],
        &["{% endfor %} {% load static %}"],
    ),
    edge(
        "a name in data that is no variable",
        "Q:\ntests: [{ vars: { q: 'Dear {{ customer }},' } }]",
        &[],
        &["Dear {{ customer }},"],
    ),
    edge(
        "variables that name themselves and each other",
        "Q:\ntests: [{ vars: { q: '{{q}}' } }, { vars: { q: '{{p}}', p: '{{q}}' } }]",
        &[],
        &["{{q}}", "{{q}}"],
    ),
    edge(
        "an opening without an end in a prompt",
        "prompts: ['{{q}} and {{', '{{q}} and {% then', '{{q}} and {# so on']\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[],
        &["x and {{", "x and {% then", "x and {# so on"],
    ),
    edge(
        "text that says it is raw",
        "prompts: ['{% raw %}{{q}} {% if %}{% endraw %} {{q}}']\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[],
        &["{{q}} {% if %} x"],
    ),
    edge(
        "braces of code and of LaTeX in data",
        "Q:\ntests: file://t.jsonl",
        &[(
            "t.jsonl",
            "{\"vars\": {\"q\": \"f = () => ({a: {b: 1}})\"}}\n{\"vars\": {\"q\": \"\\\\frac{{1}}{2}\"}}\n",
        )],
        &["f = () => ({a: {b: 1}})", "\\frac1{2}"],
    ),
    edge(
        "dollar signs in a value that another one holds",
        "Q:\ntests: [{ vars: { q: 'costs {{price}}', price: \"$& $1 $$ $` $'\" } }]",
        &[],
        &["costs $& $1 $$ $` $'"],
    ),
    edge(
        "data that is to stay as it is",
        "Q:\ntests: [{ vars: { q: 'say {{name}} {% if %} file://none', name: x, l: file://none }, options: { rawVars: true } }]",
        &[],
        &["say {{name}} {% if %} file://none"],
    ),
    edge(
        "markup and quotes, which nothing escapes",
        "Q:\ntests: [{ vars: { q: '<b> & \"q\" ''s'' `t` \\n' } }]",
        &[],
        &["<b> & \"q\" 's' `t` \\n"],
    ),
    edge(
        "an end without an opening",
        "prompts: ['a }} b %} c #} {{q}}']\nproviders: [echo]\ntests: [{ vars: { q: '}} %}' } }]",
        &[],
        &["a }} b %} c #} }} %}"],
    ),
];
