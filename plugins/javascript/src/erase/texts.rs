//! The JavaScript of TypeScript for whoever runs it elsewhere.

use runner_plugin::script::Program;
use serde_json::{Value, json};

use super::{Refused, erased, is_typed};

/// The name of the only argument of a call that wants the texts, and no run. A private door of the
/// host, which calls nothing so by itself.
pub(crate) const ASKED: &str = "$erase";

/// The JavaScript of each file with types, or why there is none, by its path:
/// `{"a.ts": {"text": "…"}, "b.ts": {"refused": "…"}}`.
pub(crate) fn texts(program: &Program) -> Value {
    let main = (&program.name, &program.source);
    let modules = program.modules.iter();
    let files = modules.map(|module| (&module.path, &module.source));
    let files = std::iter::once(main).chain(files);
    files
        .filter(|(path, _)| is_typed(path))
        .map(|(path, source)| {
            let text = match erased(source) {
                Ok(text) => json!({ "text": text }),
                Err(Refused { message, place }) => {
                    json!({ "refused": format!("{message} ({path}:{}:{})", place.0, place.1) })
                }
            };
            (path.clone(), text)
        })
        .collect()
}
