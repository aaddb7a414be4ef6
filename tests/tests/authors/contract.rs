//! The records of the contract as authors in JavaScript and Python see them, written anew from the WIT and held
//! against what the SDKs have.
//!
//! After a change of the contract, `RUNNER_BLESS=1 cargo test --release --workspace --test end_to_end
//! authors::contract` writes them. What plugins and host call is no part of it: the SDKs wrap that.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use runner_tests::workspace_root;
use wit_parser::{Docs, Interface, Resolve, Type, TypeDef, TypeDefKind, TypeOwner};

/// The interfaces whose records authors meet, each after those that it uses.
const INTERFACES: [&str; 7] = [
    "types",
    "log",
    "http",
    "llm",
    "meta",
    "provider",
    "assertion",
];

/// A string takes everything.
const WRITABLE: &str = "a string can be written to";

const WRITTEN: &str =
    "Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.";

#[test]
fn the_sdks_have_the_records_of_the_contract() {
    let mut resolve = Resolve::default();
    let folder = workspace_root().join("wit/v0_1");
    let (package, _) = resolve.push_dir(&folder).expect("the contract is read");
    let interfaces = &resolve.packages[package].interfaces;
    let all = INTERFACES.map(|name| (name, &resolve.interfaces[interfaces[name]]));
    let namespaces = all.map(|(name, interface)| typescript(&resolve, name, interface));
    let mut files = vec![(
        PathBuf::from("js/contract.d.ts"),
        format!("// {WRITTEN}\n{}", namespaces.concat()),
    )];
    for (name, interface) in all {
        let file = PathBuf::from("python/runner_plugin/contract").join(format!("{name}.py"));
        files.push((file, python(&resolve, interface)));
    }
    for (file, text) in files {
        held(&file, &text);
    }
}

/// Header and glue are wit-bindgen's, but for what links the world's type: `wasm-tools component embed` adds that.
#[test]
fn the_header_for_c_has_the_records_of_the_contract() {
    let mut resolve = wit_bindgen_core::wit_parser::Resolve::default();
    let folder = workspace_root().join("wit/v0_1");
    let (package, _) = resolve.push_dir(&folder).expect("the contract is read");
    let world = resolve.select_world(&[package], Some("assertion-plugin"));
    let options = wit_bindgen_c::Opts {
        no_object_file: true,
        rename_world: Some("runner".to_owned()),
        ..Default::default()
    };
    let mut files = wit_bindgen_core::Files::default();
    let mut generator = options.build();
    let written = generator.generate(&mut resolve, world.expect("it is there"), &mut files);
    written.expect("it can be written in C");
    for (name, text) in files.iter() {
        let text = std::str::from_utf8(text).expect("it is text");
        let (text, _) = text
            .split_once("\n// Ensure that the")
            .unwrap_or((text, ""));
        held(
            &PathBuf::from("c").join(name),
            &format!("{}\n", text.trim_end()),
        );
    }
}

/// Holds a file below `plugin-sdk` against what it should be, or makes it that.
fn held(file: &Path, text: &str) {
    let file = workspace_root().join("plugin-sdk").join(file);
    if std::env::var_os("RUNNER_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, text).expect("written");
    }
    let has = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        has == text,
        "{} is not what the contract says; RUNNER_BLESS=1 writes it",
        file.display()
    );
}

/// `one-word` as `oneWord`.
fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let (first, rest) = pascal.split_at(1);
    first.to_lowercase() + rest
}

/// `one-word` as `OneWord`.
fn pascal(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    name.split('-').map(word).collect()
}

/// `one-word` as `one_word`, and a word of Python's as `pass_`.
fn snake(name: &str) -> String {
    let is_word = matches!(name, "pass" | "not" | "from" | "import");
    name.replace('-', "_") + if is_word { "_" } else { "" }
}

/// The types of an interface that are its own and have members; others are names for what can be written out.
fn own<'a>(
    resolve: &'a Resolve,
    interface: &'a Interface,
) -> impl Iterator<Item = (&'a str, &'a TypeDef)> {
    let types = interface.types.iter();
    types
        .map(|(name, id)| (name.as_str(), &resolve.types[*id]))
        .filter(|(_, definition)| {
            matches!(
                definition.kind,
                TypeDefKind::Record(_)
                    | TypeDefKind::Variant(_)
                    | TypeDefKind::Enum(_)
                    | TypeDefKind::Flags(_)
            )
        })
}

/// The name of the interface in which a type stands, and its own; `None` for one that has none.
fn place<'a>(resolve: &'a Resolve, definition: &'a TypeDef) -> Option<(&'a str, &'a str)> {
    let TypeOwner::Interface(owner) = definition.owner else {
        return None;
    };
    let owner = resolve.interfaces[owner].name.as_deref()?;
    Some((owner, definition.name.as_deref()?))
}

fn comment(docs: &Docs, indent: &str) -> String {
    let Some(text) = &docs.contents else {
        return String::new();
    };
    let lines: Vec<&str> = text.trim().lines().collect();
    format!(
        "{indent}/** {} */\n",
        lines.join(&format!("\n{indent} *  "))
    )
}

fn typescript(resolve: &Resolve, name: &str, interface: &Interface) -> String {
    let mut text = format!("\nexport namespace {name} {{\n");
    for (name, definition) in own(resolve, interface) {
        text += &comment(&definition.docs, "  ");
        let name = pascal(name);
        let of = |ty: &Type| typescript_type(resolve, ty);
        let body = match &definition.kind {
            TypeDefKind::Record(record) => {
                writeln!(text, "  interface {name} {{").expect(WRITABLE);
                for field in &record.fields {
                    let (ty, name) = (of(&field.ty), camel(&field.name));
                    let is_optional = ty.ends_with(" | null");
                    let mark = if is_optional { "?" } else { "" };
                    text += &comment(&field.docs, "    ");
                    writeln!(text, "    {name}{mark}: {ty};").expect(WRITABLE);
                }
                text += "  }\n";
                continue;
            }
            TypeDefKind::Variant(variant) => {
                let case = |case: &wit_parser::Case| match &case.ty {
                    Some(ty) => format!("{{ tag: \"{}\"; val: {} }}", case.name, of(ty)),
                    None => format!("{{ tag: \"{}\" }}", case.name),
                };
                let cases: Vec<String> = variant.cases.iter().map(case).collect();
                cases.join(" | ")
            }
            TypeDefKind::Enum(of) => {
                let cases = of.cases.iter().map(|case| format!("\"{}\"", case.name));
                cases.collect::<Vec<_>>().join(" | ")
            }
            TypeDefKind::Flags(of) => {
                let flags = of.flags.iter();
                let flags = flags.map(|flag| format!("{}?: boolean", camel(&flag.name)));
                format!("{{ {} }}", flags.collect::<Vec<_>>().join("; "))
            }
            other => panic!("{} has no written form yet", other.as_str()),
        };
        writeln!(text, "  type {name} = {body};").expect(WRITABLE);
    }
    text + "}\n"
}

fn typescript_type(resolve: &Resolve, ty: &Type) -> String {
    let of = |ty: &Type| typescript_type(resolve, ty);
    let id = match ty {
        Type::Bool => return "boolean".to_owned(),
        Type::String | Type::Char => return "string".to_owned(),
        Type::Id(id) => id,
        _ => return "number".to_owned(),
    };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(ty) => of(ty),
        TypeDefKind::List(Type::U8) => "Uint8Array".to_owned(),
        TypeDefKind::List(ty) => format!("Array<{}>", of(ty)),
        TypeDefKind::Option(ty) => format!("{} | null", of(ty)),
        TypeDefKind::Tuple(tuple) => {
            let types: Vec<String> = tuple.types.iter().map(of).collect();
            format!("[{}]", types.join(", "))
        }
        _ => {
            let (owner, name) = place(resolve, &resolve.types[*id]).expect("it has a name");
            format!("{owner}.{}", pascal(name))
        }
    }
}

fn python(resolve: &Resolve, interface: &Interface) -> String {
    let name = interface.name.as_deref().unwrap_or_default();
    let docs = interface.docs.contents.as_deref().unwrap_or_default();
    let mut text = format!(
        "\"\"\"{}\n\n{WRITTEN}\n\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass\nfrom enum import Enum, Flag, auto\nfrom typing import Optional, Union\n\n",
        docs.trim()
    );
    if name != "types" {
        text += "from . import types\n\n";
    }
    for (name, definition) in own(resolve, interface) {
        let name = pascal(name);
        let docs = definition.docs.contents.as_deref().unwrap_or_default();
        let docs = match docs.trim().replace('\n', "\n    ") {
            empty if empty.is_empty() => empty,
            docs => format!("    \"\"\"{docs}\"\"\"\n\n"),
        };
        let of = |ty: &Type| python_type(resolve, ty, interface);
        let members = |names: Vec<String>| names.concat();
        let class = match &definition.kind {
            TypeDefKind::Record(record) => {
                let field = |field: &wit_parser::Field| {
                    format!("    {}: {}\n", snake(&field.name), of(&field.ty))
                };
                let fields = members(record.fields.iter().map(field).collect());
                format!("@dataclass\nclass {name}:\n{docs}{fields}")
            }
            TypeDefKind::Variant(variant) => {
                let of_case = |case: &wit_parser::Case| format!("{name}_{}", pascal(&case.name));
                let class = |case: &wit_parser::Case| {
                    let body = case.ty.as_ref().map(|ty| format!("value: {}", of(ty)));
                    let body = body.unwrap_or_else(|| "pass".to_owned());
                    format!("@dataclass\nclass {}:\n    {body}\n\n\n", of_case(case))
                };
                let classes = members(variant.cases.iter().map(class).collect());
                let cases: Vec<String> = variant.cases.iter().map(of_case).collect();
                format!("{classes}{name} = Union[{}]\n", cases.join(", "))
            }
            TypeDefKind::Enum(of) => {
                let case = |(at, case): (usize, &wit_parser::EnumCase)| {
                    format!("    {} = {at}\n", snake(&case.name).to_uppercase())
                };
                let cases = members(of.cases.iter().enumerate().map(case).collect());
                format!("class {name}(Enum):\n{docs}{cases}")
            }
            TypeDefKind::Flags(of) => {
                let flags = of.flags.iter();
                let flags =
                    flags.map(|flag| format!("    {} = auto()\n", flag.name.to_uppercase()));
                format!("class {name}(Flag):\n{docs}{}", members(flags.collect()))
            }
            other => panic!("{} has no written form yet", other.as_str()),
        };
        text.extend(["\n", &class, "\n"]);
    }
    text.trim_end().to_owned() + "\n"
}

fn python_type(resolve: &Resolve, ty: &Type, here: &Interface) -> String {
    let of = |ty: &Type| python_type(resolve, ty, here);
    let id = match ty {
        Type::Bool => return "bool".to_owned(),
        Type::String | Type::Char => return "str".to_owned(),
        Type::F32 | Type::F64 => return "float".to_owned(),
        Type::Id(id) => id,
        _ => return "int".to_owned(),
    };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(ty) => of(ty),
        TypeDefKind::List(Type::U8) => "bytes".to_owned(),
        TypeDefKind::List(ty) => format!("list[{}]", of(ty)),
        TypeDefKind::Option(ty) => format!("Optional[{}]", of(ty)),
        TypeDefKind::Tuple(tuple) => {
            let types: Vec<String> = tuple.types.iter().map(of).collect();
            format!("tuple[{}]", types.join(", "))
        }
        _ => {
            let (owner, name) = place(resolve, &resolve.types[*id]).expect("it has a name");
            let is_here = here.name.as_deref() == Some(owner);
            let owner = if is_here {
                String::new()
            } else {
                format!("{owner}.")
            };
            format!("{owner}{}", pascal(name))
        }
    }
}
