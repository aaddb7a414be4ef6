//! Files by their bytes: what each is taken for, and that any cut of a good one is noticed.

use wit_component::{ComponentEncoder, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

use super::*;

/// A component of `world` in which every function traps.
fn component(wit: &str, world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("test.wit", wit).expect("WIT parses");
    let world = resolve
        .select_world(&[package], Some(world))
        .expect("a world");
    let abi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);
    let mut module = dummy_module(&resolve, world, abi);
    let encoding = wit_component::StringEncoding::UTF8;
    embed_component_metadata(&mut module, &resolve, world, encoding, false).expect("embeds");
    ComponentEncoder::default()
        .module(&module)
        .expect("a module")
        .encode()
        .expect("a component")
}

fn published() -> &'static str {
    include_str!("../../../../wit/v0_1/plugin.wit")
}

fn refused(file: &[u8]) -> Finding {
    read(file)
        .and_then(|outline| admit(&outline, 1 << 20))
        .expect_err("refused")
}

#[test]
fn files_that_are_no_webassembly_are_called_what_they_seem() {
    let zip = b"PK\x03\x04rest".as_slice();
    let html = b"\n <!DOCTYPE html><html>".as_slice();
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00".as_slice();
    let cut_in_character = [&[b'a'; 1_023][..], "é".as_bytes()].concat();
    for (file, what) in [
        (b"".as_slice(), "an empty file"),
        (b"hello, world\n".as_slice(), "a text file"),
        (cut_in_character.as_slice(), "a text file"),
        (b"\x7fELF\x02\x01".as_slice(), "ELF"),
        (zip, "a zip archive"),
        (b"\x1f\x8b\x08".as_slice(), "a gzip archive"),
        (lfs, "a Git LFS pointer"),
        (html, "an HTML page"),
        (b"  (module)".as_slice(), "WebAssembly text"),
        (b"(component)".as_slice(), "WebAssembly text"),
        (b"\xff\xfe\x00\x01".as_slice(), "binary data"),
    ] {
        let finding = refused(file);
        assert_eq!(finding.code, MessageCode::P001, "{what}");
        assert!(finding.message.contains(what), "{}", finding.message);
        assert!(
            !finding.help.contains('\n') && !finding.help.is_empty(),
            "{what}"
        );
    }
}

#[test]
fn core_modules_are_told_how_to_become_components() {
    for (text, help) in [
        ("(module)", "wasm-tools component new"),
        (
            r#"(module (import "extism:host/env" "input_length" (func (result i64))))"#,
            "Extism",
        ),
        (
            r#"(module (import "env" "proxy_log" (func (param i32))))"#,
            "proxy-wasm",
        ),
        (
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#,
            "wasm32-wasip2",
        ),
        (
            r#"(module (@custom "component-type:x" ""))"#,
            "lacks the last step",
        ),
        (
            r#"(module (@custom "component-type:x" "") (@custom "producers" "\01\0cprocessed-by\01\05rustc\011"))"#,
            "--target wasm32-wasip2",
        ),
    ] {
        let finding = refused(&wat::parse_str(text).expect("text parses"));
        assert_eq!(finding.code, MessageCode::P003, "{text}");
        assert!(finding.help.contains(help), "{}", finding.help);
    }
}

#[test]
fn a_component_of_the_published_world_is_read_and_admitted() {
    let outline = read(&component(published(), "provider-plugin")).expect("reads");
    assert!(outline.exports_ours("provider") && outline.exports_ours("meta"));
    assert!(!outline.exports_ours("assertion"));
    let imports: Vec<_> = outline
        .imports
        .iter()
        .map(|import| import.name.as_str())
        .collect();
    assert!(imports.contains(&"runner:plugin/http@0.1.2"), "{imports:?}");
    assert_eq!(outline.api(), Version::of("0.1.2"));
    assert_eq!(admit(&outline, 1 << 20), Ok(()));
}

/// Sections tell their length, so a cut inside one is seen. A cut between two leaves a smaller
/// component: without its exports, or without the notes after them, which are no code.
#[test]
fn every_cut_of_a_component_is_noticed() {
    let whole = component(published(), "assertion-pure");
    let outline = read(&whole).expect("reads");
    let mut cuts = [0; 3];
    for end in 1..whole.len() {
        match read(&whole[..end]).and_then(|cut| admit(&cut, 1 << 20).map(|()| cut)) {
            Ok(cut) => {
                assert_eq!(cut, outline, "cut at {end}");
                cuts[0] += 1;
            }
            Err(finding) if finding.code == MessageCode::P004 => cuts[1] += 1,
            Err(finding) => {
                assert_eq!(finding.code, MessageCode::P002, "cut at {end}");
                let place = format!("ends at byte {end}");
                assert!(
                    finding.message.contains(&place),
                    "{end}: {}",
                    finding.message
                );
                cuts[2] += 1;
            }
        }
    }
    assert!(cuts[0] <= 2 && cuts[1] < 30 && cuts[2] > 500, "{cuts:?}");
}

#[test]
fn bytes_that_make_no_sense_are_damage() {
    let mut file = component(published(), "assertion-pure");
    file[8] = 0x7f;
    assert_eq!(refused(&file).code, MessageCode::P002);
    assert_eq!(refused(b"\0asm\xff\xff\xff\xff").code, MessageCode::P002);
}

#[test]
fn other_tracks_name_the_side_to_upgrade() {
    for (version, help) in [
        ("0.2.0", "upgrade runner"),
        ("1.0.0", "upgrade runner"),
        ("0.0.9", "current SDK"),
    ] {
        let wit = published().replace("@0.1.2", &format!("@{version}"));
        let finding = refused(&component(&wit, "assertion-plugin"));
        assert_eq!(finding.code, MessageCode::P005, "{version}");
        assert!(finding.help.contains(help), "{version}: {}", finding.help);
    }
    let newer = published().replace("@0.1.2", "@0.1.9");
    let outline = read(&component(&newer, "assertion-plugin")).expect("reads");
    assert_eq!(admit(&outline, 1 << 20), Ok(()), "same track");
}

#[test]
fn components_of_other_worlds_are_told_what_they_export() {
    let other = component(
        "package other:thing@1.0.0; interface run { go: func(); } world w { export run; }",
        "w",
    );
    let finding = refused(&other);
    assert_eq!(finding.code, MessageCode::P004);
    assert!(
        finding.message.contains("`other:thing/run@1.0.0`"),
        "{}",
        finding.message
    );
    let silent = format!("{}\nworld w {{ export assertion; }}", published());
    let finding = refused(&component(&silent, "w"));
    assert_eq!(finding.code, MessageCode::P004);
    assert!(
        finding.message.contains("no `runner:plugin/meta`"),
        "{}",
        finding.message
    );
}

#[test]
fn a_name_that_breaks_its_line_does_not_break_ours() {
    let named = list(&["url=<https://a\r\nhelp: all fine>", "b\u{1b}[31m"]);
    assert_eq!(
        named,
        "`url=<https://a\\r\\nhelp: all fine>`, `b\\u{1b}[31m`"
    );
}

#[test]
fn what_is_never_offered_is_named() {
    let wit = format!(
        "{}
        world w {{ import wasi:keyvalue/store@0.2.0; include assertion-pure; }}
        package wasi:keyvalue@0.2.0 {{ interface store {{ open: func(); }} }}",
        published()
    );
    let finding = refused(&component(&wit, "w"));
    assert_eq!(finding.code, MessageCode::P008);
    assert!(
        finding.message.contains("`wasi:keyvalue/store@0.2.0`"),
        "{}",
        finding.message
    );
    // Its maker knows how to leave it out.
    let names = b"\x09producers\x01\x0cprocessed-by\x02\x05rustc\x011\x0eComponentizeJS\x010";
    let section = [&[0, names.len() as u8], &names[..]].concat();
    let finding = refused(&[component(&wit, "w"), section].concat());
    assert!(
        finding.help.contains("componentize-js --disable all"),
        "{}",
        finding.help
    );
    let bare = format!(
        "{}\nworld w {{ import get: func(); include assertion-pure; }}",
        published()
    );
    assert_eq!(refused(&component(&bare, "w")).code, MessageCode::P008);
}

#[test]
fn an_interface_of_a_later_version_is_named() {
    let wit = published().replace("@0.1.2", "@0.1.4");
    let wit = format!(
        "{wit}
        interface clock {{ now: func() -> u64; }}
        world w {{ import clock; include assertion-pure; }}"
    );
    let finding = refused(&component(&wit, "w"));
    assert_eq!(finding.code, MessageCode::P006);
    assert!(
        finding.message.contains("needs `clock` (API 0.1.4)"),
        "{}",
        finding.message
    );
}

#[test]
fn memory_at_start_counts_before_anything_runs() {
    let text = "(component (core module (memory 1000)) (core module (memory 24)))";
    let outline = read(&wat::parse_str(text).expect("text parses")).expect("reads");
    assert_eq!(outline.start_memory, 64 << 20);
    let finding = fits(&outline, 16 << 20).expect_err("too much");
    assert_eq!(finding.code, MessageCode::P014);
    assert!(
        finding
            .message
            .contains("needs 64 MiB at start, limit is 16 MiB"),
        "{}",
        finding.message
    );
    assert_eq!(fits(&outline, 64 << 20), Ok(()));
}

#[test]
fn long_lists_end() {
    let names: Vec<String> = (0..7).map(|n| n.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(list(&names), "`0`, `1`, `2`, `3`, `4` and 2 more");
}
