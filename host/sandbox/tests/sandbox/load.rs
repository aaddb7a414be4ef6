//! Files that cannot be used, from the path to the message; and the good one beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::world::{call, guest, hostile, sandbox};
use runner_sandbox::{MessageCode, Options, Purity, Sandbox, limits};
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

pub(crate) const PUBLISHED: &str = include_str!("../../../../wit/v0_1/plugin.wit");

/// Folder for the files of one test.
pub(crate) struct Files(tempfile::TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("writes");
        path
    }
}

/// A component of `world` made from `module`, or from one in which every function traps.
pub(crate) fn component(wit: &str, world: &str, module: Option<&str>) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("test.wit", wit).expect("WIT parses");
    let world = resolve
        .select_world(&[package], Some(world))
        .expect("a world");
    let abi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);
    let mut module = module.map_or_else(
        || dummy_module(&resolve, world, abi),
        |text| wat::parse_str(text).expect("text parses"),
    );
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)
        .expect("embeds");
    ComponentEncoder::default()
        .module(&module)
        .expect("a module")
        .encode()
        .expect("a component")
}

/// A core module for `assertion-pure` with this memory and this `describe`.
fn grader(memory: u32, describe: &str) -> String {
    format!(
        r#"(module
            (memory (export "memory") {memory})
            (func $recurse (result i32) (i32.add (call $recurse) (i32.const 1)))
            (func (export "runner:plugin/meta@0.1.2#describe") (result i32) {describe})
            (func (export "runner:plugin/meta@0.1.2#check-config")
                (param i32 i32) (result i32) unreachable)
            (func (export "runner:plugin/assertion@0.1.2#evaluate")
                (param i32) (result i32) unreachable)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#
    )
}

/// Loads a file that must be refused, and gives code and text.
pub(crate) fn refusal(sandbox: &Sandbox, path: &Path) -> (MessageCode, String) {
    let error = sandbox.load(path, Some("acme")).expect_err("refused");
    let text = error.to_string();
    let head = format!("plugin 'acme' ({}", path.display());
    assert!(text.starts_with(&head), "{text}");
    assert!(text.contains(&format!("): {} ", error.code())), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("help: "), "{text}");
    (error.code(), text)
}

#[test]
fn files_that_are_no_plugins() {
    let sandbox = sandbox();
    let files = Files::new();
    let good = fs::read(guest("hostile")).expect("the guest is built");
    for (name, content, code, says) in [
        (
            "empty.wasm",
            b"".as_slice(),
            MessageCode::P001,
            "an empty file",
        ),
        (
            "text.wasm",
            b"hello\n".as_slice(),
            MessageCode::P001,
            "a text file",
        ),
        (
            "cut.wasm",
            &good[..good.len() / 2],
            MessageCode::P002,
            "ends at byte",
        ),
        (
            "core.wasm",
            b"\0asm\x01\0\0\0".as_slice(),
            MessageCode::P003,
            "a core module",
        ),
        (
            "bare.wasm",
            b"\0asm\x0d\0\x01\0".as_slice(),
            MessageCode::P004,
            "exports nothing",
        ),
    ] {
        let (found, text) = refusal(&sandbox, &files.write(name, content));
        assert_eq!(found, code, "{text}");
        assert!(text.contains(says) && text.contains(", sha256 "), "{text}");
    }
    let (code, text) = refusal(&sandbox, Path::new("nowhere/acme.wasm"));
    assert_eq!(code, MessageCode::P015);
    assert!(!text.contains("sha256"), "{text}");
    assert_eq!(
        refusal(&sandbox, files.0.path()).0,
        MessageCode::P015,
        "a directory"
    );
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let files = Files::new();
    let path = files.write("huge.wasm", b"\0asm");
    let file = fs::File::options().write(true).open(&path).expect("opens");
    file.set_len(limits::MAX_FILE_BYTES + 1)
        .expect("a sparse file");
    let (code, text) = refusal(&sandbox(), &path);
    assert_eq!(code, MessageCode::P015);
    assert!(text.contains("larger than 64 MiB"), "{text}");
}

#[test]
fn damage_inside_a_whole_file_is_found_by_validation() {
    let files = Files::new();
    let text =
        grader(1, "i32.const 0").replace("(i32.add (call $recurse) (i32.const 1))", "i64.const 0");
    let mut resolve = Resolve::default();
    let package = resolve.push_str("test.wit", PUBLISHED).expect("WIT parses");
    let world = resolve
        .select_world(&[package], Some("assertion-pure"))
        .expect("a world");
    let mut module = wat::parse_str(text).expect("text parses");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)
        .expect("embeds");
    let component = ComponentEncoder::default()
        .validate(false)
        .module(&module)
        .expect("a module")
        .encode()
        .expect("a component");
    let (code, text) = refusal(&sandbox(), &files.write("invalid.wasm", &component));
    assert_eq!(code, MessageCode::P002, "{text}");
    assert!(text.contains("no valid WebAssembly at byte"), "{text}");
}

#[test]
fn departures_from_the_published_wit_name_the_function() {
    let sandbox = sandbox();
    let files = Files::new();
    let newer = PUBLISHED.replace("@0.1.2", "@0.1.7");
    let watching = newer.replace(
        "interface http {",
        "interface http {\n watch: func() -> u64;",
    );
    let other_error = PUBLISHED.replace(
        "send: func(request: request) -> result<response, error>;",
        "send: func(request: request) -> result<response, string>;",
    );
    let other_input = PUBLISHED.replace("threshold: option<f64>,", "threshold: f64,");
    let other_flags = PUBLISHED.replace("vars, test, latency, cost }", "vars, test, latency }");
    for (wit, code, says) in [
        (
            watching,
            MessageCode::P006,
            "needs `http.watch` (API 0.1.7), this runner has 0.1.2",
        ),
        (
            other_error,
            MessageCode::P007,
            "published 0.1.2 for `http.send`",
        ),
        (other_input, MessageCode::P007, "for `assertion.evaluate`"),
        (other_flags, MessageCode::P007, "for `meta.describe`"),
        // Linked and asked, which is as far as a component without behaviour gets.
        (newer, MessageCode::P011, "its `describe` failed: crashed"),
    ] {
        let path = files.write("acme.wasm", &component(&wit, "assertion-plugin", None));
        let (found, text) = refusal(&sandbox, &path);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn wasi_is_served_where_it_is_virtual() {
    let sandbox = sandbox();
    let files = Files::new();
    let with = |package: &str, interface: &str, function: &str| {
        format!(
            "{PUBLISHED}
            world w {{ import {package}/{interface}@0.2.6; include assertion-pure; }}
            package {package}@0.2.6 {{ interface {interface} {{ {function} }} }}"
        )
    };
    for (wit, code) in [
        (
            with("wasi:random", "random", "get-random-u64: func() -> u64;"),
            MessageCode::P011,
        ),
        (
            with("wasi:random", "random", "get-dice: func() -> u64;"),
            MessageCode::P008,
        ),
        (
            with("wasi:sockets", "tcp", "open: func();"),
            MessageCode::P008,
        ),
        (
            with("wasi:http", "handler", "open: func();"),
            MessageCode::P008,
        ),
    ] {
        let path = files.write("acme.wasm", &component(&wit, "w", None));
        let (found, text) = refusal(&sandbox, &path);
        assert_eq!(found, code, "{text}");
    }
}

#[test]
fn describe_is_bounded_and_checked() {
    let sandbox = sandbox();
    let files = Files::new();
    for (describe, says) in [
        (
            "(loop $forever (br $forever)) unreachable",
            "used its CPU budget",
        ),
        ("(call $recurse)", "recursion too deep"),
        ("unreachable", "crashed"),
        (
            "(drop (memory.grow (i32.const 1000))) unreachable",
            "out of memory (limit 16.1 MiB",
        ),
        ("(i32.const 60000)", "`name` is not a lower-case kebab name"),
        (
            "(i32.const 90000)",
            "passed a value that is not in its memory",
        ),
    ] {
        let says = says.replace("`name` is", "name `` is");
        let module = grader(1, describe);
        let path = files.write(
            "acme.wasm",
            &component(PUBLISHED, "assertion-pure", Some(&module)),
        );
        let (code, text) = refusal(&sandbox, &path);
        assert_eq!(code, MessageCode::P011, "{text}");
        assert!(text.contains(&says), "{describe}: {text}");
    }
}

#[test]
fn memory_at_start_is_refused_unless_granted() {
    let sandbox = sandbox();
    let files = Files::new();
    let module = grader(3_000, "unreachable");
    let path = files.write(
        "acme.wasm",
        &component(PUBLISHED, "assertion-pure", Some(&module)),
    );
    let (code, text) = refusal(&sandbox, &path);
    assert_eq!(code, MessageCode::P014, "{text}");
    assert!(
        text.contains("needs 187.5 MiB at start, limit is 128 MiB"),
        "{text}"
    );
    let granted = sandbox.load_as(&path, None, 256 << 20, None);
    assert_eq!(
        granted.expect_err("it only traps").code(),
        MessageCode::P011
    );
    // It is not even counted, let alone run.
    let other = sandbox.load_as(&path, None, 0, Some("9f"));
    assert_eq!(other.expect_err("another file").code(), MessageCode::P017);
}

#[test]
fn an_overlong_compilation_is_given_up() {
    let sandbox = Sandbox::new(Options {
        instances: 1,
        compile_timeout: Duration::ZERO,
        ..Options::default()
    })
    .expect("an engine");
    let (code, text) = refusal(&sandbox, &guest("hostile"));
    assert_eq!(code, MessageCode::P016, "{text}");
}

/// Each had its own time, and a config can name hundreds.
#[test]
fn compilations_share_the_time_that_is_waited_for() {
    let sandbox = Sandbox::new(Options {
        instances: 1,
        // No machine compiles it in that.
        compile_timeout: Duration::from_millis(2),
        ..Options::default()
    })
    .expect("an engine");
    let told = [(); 4].map(|()| refusal(&sandbox, &guest("hostile")).1);
    assert!(told[0].contains("takes longer than 0.002 s"), "{told:?}");
    assert!(told[3].contains("takes longer than 0 s"), "{told:?}");
}

#[test]
fn a_good_plugin_says_what_it_is() {
    let sandbox = sandbox();
    let plugin = hostile(&sandbox);
    assert_eq!(plugin.name(), "hostile");
    assert_eq!(plugin.sha256().len(), 64);
    assert_eq!(plugin.purity(), Purity::Impure);
    assert!(plugin.embeds());
    let capabilities = plugin.capabilities();
    assert!(capabilities.log && capabilities.http && capabilities.llm && capabilities.wasi);
    assert_eq!(plugin.validate_config(&serde_json::json!({})), []);
    assert_eq!(plugin.validate_config(&serde_json::json!(1)).len(), 1);
    let alias = sandbox
        .load(&guest("hostile"), Some("other"))
        .expect("loads");
    assert_eq!(
        (alias.name(), alias.info().name.as_str()),
        ("other", "hostile")
    );
}

#[test]
fn inspection_tells_what_it_can_of_any_file() {
    let sandbox = sandbox();
    let files = Files::new();
    let good = sandbox.inspect(&guest("hostile"));
    assert_eq!(good.api.as_deref(), Some("0.1.2"));
    assert_eq!(good.problem, None);
    assert_eq!(good.info.map(|info| info.name).as_deref(), Some("hostile"));
    let wit = PUBLISHED.replace("@0.1.2", "@0.2.0");
    let path = files.write("next.wasm", &component(&wit, "provider-plugin", None));
    let next = sandbox.inspect(&path);
    assert_eq!(next.api.as_deref(), Some("0.2.0"));
    assert!(
        next.exports
            .contains(&"runner:plugin/provider@0.2.0".to_owned())
    );
    assert_eq!(
        next.problem.map(|notice| notice.code),
        Some(MessageCode::P005)
    );
    let missing = sandbox.inspect(Path::new("nowhere.wasm"));
    assert_eq!(
        missing.problem.map(|notice| notice.code),
        Some(MessageCode::P015)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn the_cache_is_closed_to_others_and_serves_the_second_load() {
    use std::os::unix::fs::PermissionsExt;

    let files = Files::new();
    let cache = files.0.path().join("cache/plugins");
    let options = |compile_timeout| Options {
        cache_dir: Some(cache.clone()),
        instances: 2,
        compile_timeout,
        ..Options::default()
    };
    let first = Sandbox::new(options(Duration::from_mins(10))).expect("an engine");
    let described = hostile(&first).info().clone();
    let mode = fs::metadata(&cache).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    drop(first);
    // No time to compile: only the cache can serve this one.
    let second = Sandbox::new(options(Duration::ZERO)).expect("an engine");
    let plugin = hostile(&second);
    assert_eq!(plugin.info(), &described);
    let host = crate::world::Recorder::new();
    let input = runner_sandbox::abi::Input::new("fine", "");
    let context = runner_sandbox::abi::CallContext::new("a");
    let called = plugin.evaluate(call(&host), &input, &context).await;
    assert!(called.result.expect("called").expect("graded").pass);
    // A file that is not a compiled component is compiled anew rather than trusted.
    for entry in fs::read_dir(&cache).expect("there").flatten() {
        if entry
            .path()
            .extension()
            .is_some_and(|end| end == "component")
        {
            // A new file under the name: the old one is mapped by the plugin above.
            fs::remove_file(entry.path()).expect("removes");
            fs::write(entry.path(), b"no code").expect("writes");
        }
    }
    let (code, _) = refusal(&second, &guest("hostile"));
    assert_eq!(code, MessageCode::P016, "there was no time to compile it");
}
