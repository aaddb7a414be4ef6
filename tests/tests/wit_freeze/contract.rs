//! A folder of WIT as lines that say all that a component relies on, and nothing else.
//!
//! One line for the package, one for each function, type and `use` of each interface, one
//! for each import and export of each world. A line begins with its key (three words, or
//! two for the package), then the meaning in full: aliases are followed to their end, so
//! that renaming one changes its own line only. Comments and order in the files leave no
//! trace. Whether an interface is `import` (the host gives it) or `export` (the plugin
//! does) is read from the worlds; what no world names is an optional export.

use std::collections::BTreeSet;
use std::path::Path;

use wit_parser::{
    Function, Handle, Interface, InterfaceId, Param, Resolve, Type, TypeDef, TypeDefKind,
    TypeOwner, WorldItem,
};

/// The lines of the package in `folder`, sorted.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<String>, String> {
    let mut resolve = Resolve::default();
    let pushed = resolve
        .push_dir(folder)
        .map_err(|error| format!("{error:#}"))?;
    lines(&resolve, pushed.0)
}

/// The lines of one package.
fn lines(resolve: &Resolve, package: wit_parser::PackageId) -> Result<Vec<String>, String> {
    let package = &resolve.packages[package];
    let mut lines = BTreeSet::from([format!("package {}", package.name)]);
    let imported: BTreeSet<InterfaceId> = package
        .worlds
        .values()
        .flat_map(|world| resolve.worlds[*world].imports.values())
        .filter_map(|item| match item {
            WorldItem::Interface { id, .. } => Some(*id),
            _ => None,
        })
        .collect();
    for (name, id) in &package.interfaces {
        let role = if imported.contains(id) {
            "import"
        } else {
            "export"
        };
        for line in of_interface(resolve, *id)? {
            lines.insert(format!("{role} {name} {line}"));
        }
    }
    for (name, id) in &package.worlds {
        let world = &resolve.worlds[*id];
        let sides = [("import", &world.imports), ("export", &world.exports)];
        for (side, items) in sides {
            for item in items.values() {
                lines.insert(format!(
                    "world {name} {side} {}",
                    of_world_item(resolve, item)?
                ));
            }
        }
    }
    Ok(lines.into_iter().collect())
}

/// The lines of one interface, without its name.
fn of_interface(resolve: &Resolve, id: InterfaceId) -> Result<Vec<String>, String> {
    let interface = &resolve.interfaces[id];
    let types = interface.types.iter().map(|(name, id)| {
        let definition = &resolve.types[*id];
        Ok(format!(
            "{} {}",
            kind(resolve, definition),
            of_definition(resolve, name, definition)?
        ))
    });
    let functions = interface
        .functions
        .values()
        .map(|function| of_function(resolve, function));
    types.chain(functions).collect()
}

/// The word before a type's name.
fn kind(resolve: &Resolve, definition: &TypeDef) -> &'static str {
    match definition.kind {
        TypeDefKind::Type(Type::Id(target)) if resolve.types[target].owner != definition.owner => {
            "use"
        }
        ref kind => kind.as_str(),
    }
}

/// A definition: its name and its whole meaning.
fn of_definition(resolve: &Resolve, name: &str, definition: &TypeDef) -> Result<String, String> {
    let named = |name: &str, ty: &Option<Type>| match ty {
        Some(ty) => Ok(format!("{name}({})", of_type(resolve, ty)?)),
        None => Ok(name.to_owned()),
    };
    let body = match &definition.kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter();
            braces(fields.map(|f| Ok(format!("{}: {}", f.name, of_type(resolve, &f.ty)?))))?
        }
        TypeDefKind::Variant(variant) => {
            braces(variant.cases.iter().map(|case| named(&case.name, &case.ty)))?
        }
        TypeDefKind::Enum(of) => braces(of.cases.iter().map(|case| Ok(case.name.clone())))?,
        TypeDefKind::Flags(of) => braces(of.flags.iter().map(|flag| Ok(flag.name.clone())))?,
        TypeDefKind::Resource => String::new(),
        other => format!("= {}", of_kind(resolve, other)?),
    };
    Ok(format!("{name} {body}").trim_end().to_owned())
}

/// Parts in braces, in their order: it is part of the ABI.
fn braces(parts: impl Iterator<Item = Result<String, String>>) -> Result<String, String> {
    Ok(format!(
        "{{ {} }}",
        parts.collect::<Result<Vec<_>, _>>()?.join(", ")
    ))
}

/// A function: name, parameters with their names, result.
fn of_function(resolve: &Resolve, function: &Function) -> Result<String, String> {
    let parameter = |p: &Param| Ok(format!("{}: {}", p.name, of_type(resolve, &p.ty)?));
    let parameters: Result<Vec<_>, String> = function.params.iter().map(parameter).collect();
    let result = match &function.result {
        Some(ty) => format!(" -> {}", of_type(resolve, ty)?),
        None => String::new(),
    };
    let word = if function.kind.is_async() {
        "async-func"
    } else {
        "func"
    };
    Ok(format!(
        "{word} {} ({}){result}",
        function.name,
        parameters?.join(", ")
    ))
}

/// An import or export of a world.
fn of_world_item(resolve: &Resolve, item: &WorldItem) -> Result<String, String> {
    match item {
        WorldItem::Interface { id, .. } => interface_name(&resolve.interfaces[*id]),
        WorldItem::Function(function) => of_function(resolve, function),
        WorldItem::Type { id, .. } => Ok(format!("type {}", of_type(resolve, &Type::Id(*id))?)),
    }
}

/// The name of an interface; interfaces written inside a world have none.
fn interface_name(interface: &Interface) -> Result<String, String> {
    let nameless = || "an interface without a name can't be versioned; give it one".to_owned();
    interface.name.clone().ok_or_else(nameless)
}

/// A type as it is written where it is used.
fn of_type(resolve: &Resolve, ty: &Type) -> Result<String, String> {
    let word = match ty {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S8 => "s8",
        Type::S16 => "s16",
        Type::S32 => "s32",
        Type::S64 => "s64",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::Char => "char",
        Type::String => "string",
        Type::ErrorContext => "error-context",
        Type::Id(id) => return of_id(resolve, &resolve.types[*id]),
    };
    Ok(word.to_owned())
}

/// A type by its owner and name, or spelled out where it has none or is an alias.
fn of_id(resolve: &Resolve, definition: &TypeDef) -> Result<String, String> {
    let has_body = matches!(
        definition.kind,
        TypeDefKind::Record(_)
            | TypeDefKind::Variant(_)
            | TypeDefKind::Enum(_)
            | TypeDefKind::Flags(_)
            | TypeDefKind::Resource
    );
    let (Some(name), true) = (&definition.name, has_body) else {
        return of_kind(resolve, &definition.kind);
    };
    match definition.owner {
        TypeOwner::Interface(id) => Ok(format!(
            "{}.{name}",
            interface_name(&resolve.interfaces[id])?
        )),
        TypeOwner::World(_) | TypeOwner::None => Ok(name.clone()),
    }
}

/// A type that is spelled out.
fn of_kind(resolve: &Resolve, kind: &TypeDefKind) -> Result<String, String> {
    let of = |ty: &Type| of_type(resolve, ty);
    let or_none = |ty: &Option<Type>| ty.as_ref().map_or(Ok("_".to_owned()), of);
    Ok(match kind {
        TypeDefKind::Type(ty) => of(ty)?,
        TypeDefKind::List(ty) => format!("list<{}>", of(ty)?),
        TypeDefKind::Option(ty) => format!("option<{}>", of(ty)?),
        TypeDefKind::Result(result) => {
            format!(
                "result<{}, {}>",
                or_none(&result.ok)?,
                or_none(&result.err)?
            )
        }
        TypeDefKind::Tuple(tuple) => {
            let types: Result<Vec<_>, String> = tuple.types.iter().map(of).collect();
            format!("tuple<{}>", types?.join(", "))
        }
        TypeDefKind::Handle(Handle::Own(id)) => format!("own<{}>", of(&Type::Id(*id))?),
        TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", of(&Type::Id(*id))?),
        // Not in any track so far. Better no answer than one that would miss a change.
        other => return Err(format!("{} has no written form yet", other.as_str())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> Result<Vec<String>, String> {
        let mut resolve = Resolve::default();
        let package = resolve
            .push_str("a.wit", text)
            .map_err(|error| format!("{error:#}"))?;
        lines(&resolve, package)
    }

    const TEXT: &str = "
        package a:b@0.1.2;
        interface types {
          type json = string;
          record error { code: u16, detail: option<json> }
          enum level { low, high }
          variant part { text(string), other }
          flags reads { vars, cost }
        }
        interface door {
          use types.{error, level};
          send: func(level: level, pairs: list<tuple<string, u64>>) -> result<_, error>;
        }
        interface grader { grade: func(); }
        interface extra { more: func() -> bool; }
        world plugin { import door; export grader; }";

    #[test]
    fn every_part_of_a_contract_has_its_line() -> Result<(), String> {
        let expected = [
            "export extra func more () -> bool",
            "export grader func grade ()",
            "import door func send (level: types.level, pairs: list<tuple<string, u64>>) \
             -> result<_, types.error>",
            "import door use error = types.error",
            "import door use level = types.level",
            "import types enum level { low, high }",
            "import types flags reads { vars, cost }",
            "import types record error { code: u16, detail: option<string> }",
            "import types type json = string",
            "import types variant part { text(string), other }",
            "package a:b@0.1.2",
            "world plugin export grader",
            "world plugin import door",
            "world plugin import types",
        ];
        assert_eq!(of_text(TEXT)?, expected);
        Ok(())
    }

    #[test]
    fn comments_and_order_leave_no_trace() -> Result<(), String> {
        let moved = "
            package a:b@0.1.2;
            world plugin { export grader; import door; }
            /// Words.
            interface extra { more: func() -> bool; }
            interface grader { grade: func(); }
            interface door {
              use types.{level, error};
              /// More words.
              send: func(level: level, pairs: list<tuple<string, u64>>) -> result<_, error>;
            }
            interface types {
              flags reads { vars, cost }
              variant part { text(string), other }
              enum level { low, high }
              record error { code: u16, detail: option<json> }
              type json = string;
            }";
        assert_eq!(of_text(moved)?, of_text(TEXT)?);
        Ok(())
    }

    #[test]
    fn what_cannot_be_written_is_refused_not_skipped() {
        let text = "package a:b; interface i { f: func() -> stream<u8>; } world w { export i; }";
        assert!(of_text(text).is_err());
    }
}
