//! Files that code imports: only those that were handed over, by relative path, as ES modules
//! or CommonJS.
//!
//! Which of the two a `.js` file is, is decided by what it compiles as: what is no CommonJS is
//! an ES module. Each may use the other: `require` of an ES module gives its namespace, and
//! `import` of CommonJS gives `module.exports` as the default and what the text assigns to
//! `exports` by name, as Node does it. Anything that is not a relative path is refused by name.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine calls these functions with what it owns"
)]

use std::path::Path;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Result, Value};
use runner_plugin::script::Position;

use crate::call::Call;
use crate::{context, shape};

/// Name of the errors for what the sandbox does not have.
pub(crate) const UNSUPPORTED: &str = "UnsupportedError";

/// Name of the errors for files that are not there.
pub(crate) const NOT_FOUND: &str = "NotFoundError";

/// What a path may leave out, as Node has it.
const ENDINGS: [&str; 10] = [
    "",
    ".js",
    ".mjs",
    ".cjs",
    ".json",
    "/index.js",
    ".ts",
    ".mts",
    ".cts",
    "/index.ts",
];

/// What there is of locales.
const ENGLISH: &str = "numbers, dates and order are here in the forms of en-US, in UTC";

/// What there is of Node's modules.
const SMALL: &str =
    "only the parts that need no world are here: `runner plugin docs javascript` lists them";

/// The files of the call as the engine's resolver and loader.
pub(crate) struct Files;

impl Resolver for Files {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if Call::with(|call| call.required.take()).is_some_and(|path| path == name) {
            return Ok(name.to_owned());
        }
        if builtin_names(ctx, name)?.is_some() {
            return Ok(name.to_owned());
        }
        Call::with(|call| call.import_at = import_position(call, base, name));
        resolve(ctx.clone(), base.to_owned(), name.to_owned(), false)
    }
}

impl Loader for Files {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let is_file = Call::with(|call| call.sources.contains_key(name));
        if let Some(names) = builtin_names(ctx, name)?.filter(|_| !is_file) {
            let names = names.iter().map(String::as_str);
            return Module::declare(ctx.clone(), name, reexported("builtin", name, names));
        }
        let text = source(ctx.clone(), name.to_owned())?;
        if ends(name, "json") || is_common(ctx, name, &text)? {
            return Module::declare(ctx.clone(), name, bridge(name, &text));
        }
        let declared = Module::declare(ctx.clone(), name, &*shape::without_shebang(&text));
        if declared.is_err() {
            Call::with(|call| call.broken = true);
        }
        declared
    }
}

/// Resolves the path of what `specifier` means in the file `base`; throws what is wrong with it.
pub(crate) fn resolve(
    ctx: Ctx<'_>,
    base: String,
    specifier: String,
    required: bool,
) -> Result<String> {
    let written = if required {
        format!("require('{specifier}')")
    } else {
        format!("import '{specifier}'")
    };
    let relative = ["./", "../"]
        .iter()
        .any(|start| specifier.starts_with(start));
    if !relative && specifier != "." && specifier != ".." {
        return Err(refused(&ctx, &written, help(&specifier)));
    }
    let found = Call::with(|call| {
        let file = call.sources.contains_key(&base);
        let base = if file { base.as_str() } else { "" };
        let path = join(base, &specifier)?;
        let mut candidates = ENDINGS.iter().map(|ending| format!("{path}{ending}"));
        let found = candidates.find(|path| call.sources.contains_key(path));
        found.or_else(|| Some(typed(&path)?).filter(|path| call.sources.contains_key(path)))
    });
    found.ok_or_else(|| {
        let message =
            format!("{written}: there is no such file among those that belong to this code");
        named(&ctx, NOT_FOUND, &message)
    })
}

/// The text of a file.
pub(crate) fn source(ctx: Ctx<'_>, path: String) -> Result<String> {
    let text = Call::with(|call| call.sources.get(&path).cloned());
    text.ok_or_else(|| named(&ctx, NOT_FOUND, &format!("there is no file `{path}`")))
}

/// Compiles a file as the function that a CommonJS module is; `None` if it is an ES module.
pub(crate) fn compile(ctx: Ctx<'_>, path: String) -> Result<Option<Function<'_>>> {
    let text = source(ctx.clone(), path.clone())?;
    if ends(&path, "mjs") || ends(&path, "mts") {
        return Ok(None);
    }
    let compiled = context::function(&ctx, &path, shape::module(&text));
    if compiled.is_ok() || ends(&path, "cjs") || ends(&path, "cts") {
        Call::with(|call| call.broken |= compiled.is_err());
        return compiled.map(Some);
    }
    ctx.catch();
    Call::with(|call| call.added.remove(&path));
    Ok(None)
}

/// What an ES module exports. It is run to its end, whatever it awaits.
pub(crate) fn namespace(ctx: Ctx<'_>, path: String) -> Result<Object<'_>> {
    Call::with(|call| call.required = Some(path.clone()));
    let promise = Module::import(&ctx, path)?;
    context::awaited(&ctx, &promise)
}

/// Throws that something does not exist here.
pub(crate) fn refuse(ctx: Ctx<'_>, what: String) -> Result<()> {
    Err(refused(&ctx, &what, help(&what)))
}

fn refused(ctx: &Ctx<'_>, what: &str, help: &str) -> Error {
    let message = format!("`{what}` does not exist in the sandbox: {help}");
    named(ctx, UNSUPPORTED, &message)
}

/// Throws an error with a name of its own.
fn named(ctx: &Ctx<'_>, name: &str, message: &str) -> Error {
    let thrown = Exception::from_message(ctx.clone(), message).and_then(|error| {
        error.as_object().set("name", name)?;
        Ok(error.throw())
    });
    thrown.unwrap_or_else(|error| error)
}

/// What to do instead.
fn help(what: &str) -> &'static str {
    let plain = what.strip_prefix("node:").unwrap_or(what);
    let plain = plain.split(['.', '/']).next().unwrap_or_default();
    match plain {
        "process" if what.starts_with("process.env") => {
            "code does not see the environment; give the value as a variable of the test"
        }
        "fs" => "code does not see files; give the content as a variable, `file://…`",
        "fetch" => {
            "code does not reach the network unless the config grants it hosts: \
             `plugins: { javascript: { permissions: { hosts: [...] } } }`"
        }
        "http" | "https" | "axios" | "node-fetch" | "undici" | "XMLHttpRequest" | "WebSocket" => {
            "code does not reach the network; a provider or a plugin can"
        }
        "Intl" => ENGLISH,
        "path" | "assert" | "util" | "url" | "buffer" | "timers" => SMALL,
        name if name.starts_with("Buffer") || name.starts_with("TextDecoder") => SMALL,
        name if ["toLocale", "localeCompare"]
            .iter()
            .any(|start| name.starts_with(start)) =>
        {
            ENGLISH
        }
        _ => "code sees its arguments and the files that it imports by relative path",
    }
}

/// `specifier` from the folder of `base`; `None` if it leads out of the shared folder.
fn join(base: &str, specifier: &str) -> Option<String> {
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut path: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(specifier.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                path.pop()?;
            }
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

/// The file with types that is imported as what it is compiled to: `x.js` for `x.ts`.
fn typed(path: &str) -> Option<String> {
    let (name, extension) = path.rsplit_once('.')?;
    let typed = extension
        .strip_suffix("js")
        .filter(|it| matches!(*it, "" | "m" | "c"))?;
    Some(format!("{name}.{typed}ts"))
}

/// Where `base` names `specifier`: the engine does not say it of a static import.
fn import_position(call: &Call, base: &str, specifier: &str) -> Option<Position> {
    let text = call.sources.get(base)?;
    let quoted = ['"', '\'', '`'].map(|quote| text.find(&format!("{quote}{specifier}{quote}")));
    let before = &text[..quoted.into_iter().flatten().min()?];
    let line = before.rsplit('\n').next().unwrap_or_default();
    Some(Position {
        file: base.to_owned(),
        line: u32::try_from(before.matches('\n').count()).ok()? + 1,
        column: u32::try_from(line.chars().count()).ok()? + 1,
    })
}

/// Has a path this extension?
fn ends(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|end| end == extension)
}

/// Is a file that is imported CommonJS? Leaves no exception behind.
fn is_common(ctx: &Ctx<'_>, path: &str, text: &str) -> Result<bool> {
    // Most ES modules need no second compilation to be known as such.
    let exports = text.contains("exports");
    if !exports && !ends(path, "cjs") && !ends(path, "cts") {
        return Ok(false);
    }
    Ok(compile(ctx.clone(), path.to_owned())?.is_some())
}

/// An ES module that exports what a CommonJS or JSON file does.
fn bridge(path: &str, text: &str) -> String {
    reexported("load", path, exported_names(text).into_iter())
}

/// What a module of Node's that is here exports; `None` if `name` isn't one.
fn builtin_names(ctx: &Ctx<'_>, name: &str) -> Result<Option<Vec<String>>> {
    context::helper(ctx, "names")?.call((name,))
}

/// An ES module with what the helper `get` gives for `path` as its default, and with `names` of it.
fn reexported<'a>(get: &str, path: &str, names: impl Iterator<Item = &'a str>) -> String {
    use std::fmt::Write as _;
    let path = serde_json::Value::from(path).to_string();
    let mut module = format!("const m = globalThis.__runner.{get}({path});\nexport default m;\n");
    for (at, name) in names.enumerate() {
        writeln!(
            module,
            "const e{at} = m.{name}; export {{ e{at} as {name} }};"
        )
        .expect("a string takes any text");
    }
    module
}

/// The names that a CommonJS text assigns: `exports.name =`, and those in the braces of
/// `module.exports = { … }`.
fn exported_names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (at, found) in text.match_indices("exports") {
        let rest = &text[at + found.len()..];
        if let Some(name) = rest.strip_prefix('.').map(identifier) {
            let assigned = rest[1 + name.len()..].trim_start();
            if assigned.starts_with('=') && !assigned.starts_with("==") {
                names.push(name);
            }
        } else if let Some(braces) = rest.trim_start().strip_prefix('=') {
            let inside = braces.trim_start().strip_prefix('{').unwrap_or_default();
            let inside = inside.split('}').next().unwrap_or_default();
            names.extend(inside.split(',').map(|part| identifier(part.trim_start())));
        }
    }
    names.retain(|name| !name.is_empty() && *name != "default");
    names.sort_unstable();
    names.dedup();
    names
}

/// The identifier that a text begins with; empty if none. ASCII names only.
fn identifier(text: &str) -> &str {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let end = text.find(|c| !part(c)).unwrap_or(text.len());
    let name = &text[..end];
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return "";
    }
    name
}

/// Loads the module `path` as code that requires it sees it.
pub(crate) fn load<'js>(ctx: &Ctx<'js>, path: &str) -> Result<Value<'js>> {
    context::helper(ctx, "load")?.call((path,))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_their_folder() {
        for (base, specifier, path) in [
            ("a/b.js", "./c.js", Some("a/c.js")),
            ("a/b.js", "../c", Some("c")),
            ("a/b.js", "..", Some("")),
            ("b.js", "./x/../y.js", Some("y.js")),
            ("b.js", "../c.js", None),
            ("", "./c.js", Some("c.js")),
        ] {
            assert_eq!(
                join(base, specifier).as_deref(),
                path,
                "{specifier} in {base}"
            );
        }
    }

    #[test]
    fn names_are_read_from_the_text() {
        let text = "exports.a = 1; module.exports.b= 2; if (exports.c == 1) {}\n\
                    module.exports = { d, e: 3, 'f': 4, ...g };";
        assert_eq!(exported_names(text), ["a", "b", "d", "e"]);
    }
}
