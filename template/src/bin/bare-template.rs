//! The language without a system below it.
//!
//! `cargo xtask check pure` compiles this to bare WebAssembly and looks that the module imports
//! nothing: whatever clock, randomness, file or lock a template could reach would be an import
//! there. A program and not an example, since those bring the libraries of tests with them.

use std::hint::black_box;

use runner_template::{Limits, Scope, Template, is_plain, pieces};

fn main() {
    let text =
        black_box("{% for a in b %}{{ a.c | sort | dump(2) ~ a.split('') ** 2 }}{% endfor %}");
    let variables = black_box(serde_json::Map::new());
    black_box((is_plain(text), pieces(text).count()));
    let Ok(template) = Template::parse(text) else {
        return;
    };
    black_box((template.paths(), template.custom_filters()));
    let scope = Scope {
        variables: &variables,
        filters: None,
        allowance: None,
        escape: None,
    };
    drop(black_box(template.render(scope, &Limits::default())));
}
