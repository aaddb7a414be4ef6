//! Plugins in JavaScript and Python, built by the toolchains of their authors and run by the real program.
//!
//! `cargo xtask test` installs those below the target folder, where npm and PyPI can be asked. Where one is missing,
//! what would need it is skipped, and says so.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::link_sdk;
use runner_tests::{Answer, ModelApi, Run, target_folder};
use serde_json::json;

/// A run that finds the programs of this machine, as npm's do, and where Zig keeps what it compiled.
pub(crate) fn with_path() -> Run {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let kept = target_folder().join("tools/zig-cache");
    Run::new()
        .env("PATH", path)
        .env("ZIG_GLOBAL_CACHE_DIR", kept)
}

/// Where what its toolchain is installed in is, if it is.
fn installed(lang: &str) -> Option<PathBuf> {
    let (folder, program) = match lang {
        "js" => (
            "npm/componentize-qjs@0.4.5/node_modules",
            ".bin/componentize-qjs",
        ),
        "python" => ("python/componentize-py-0.25.1", "bin/componentize-py"),
        _ => ("tools/ziglang-0.17.0", "bin/wasm-tools"),
    };
    let folder = target_folder().join(folder);
    if folder.join(program).is_file() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: no {program} is there to build plugins with; `cargo xtask test` asks for it"
    );
    None
}

/// Does what the folder's README says is to be installed, out of what is there; false where that is not.
pub(crate) fn install(folder: &Path, lang: &str) -> bool {
    let Some(tools) = installed(lang) else {
        return false;
    };
    if lang != "js" {
        symlink(tools, folder.join(".venv")).expect("linked");
        return true;
    }
    link_sdk(folder);
    for entry in fs::read_dir(&tools).expect("it was installed").flatten() {
        let to = folder.join("node_modules").join(entry.file_name());
        symlink(entry.path(), to).expect("linked");
    }
    true
}

const IN_JAVASCRIPT: &str = r#"import { defineGrader, fetch } from "runner-plugin";
import { complete } from "runner-plugin/llm";

const acts = {
  broken: () => null.length,
  lines: () => console.warn("one", { two: [2] }) ?? true,
  web: ({ url }) => ({
    pass: new TextDecoder().decode(new TextEncoder().encode("é€")) === "é€" && structuredClone({ a: 1 }).a === 1,
    reason: new URL("../x?q=é", url + "/a/b").pathname,
  }),
  ask: ({ url }) => ({ pass: true, reason: fetch(url + "/ask", { body: "{}", credential: "probe-key" }).orThrow().json().answer }),
  later: async () => true,
  judge: () => ({ pass: true, reason: complete("judge", "hello").text }),
};

export const { meta, assertion } = defineGrader({
  name: "probe",
  hosts: ["https://api.example.com"],
  credentials: { "probe-key": "PROBE_API_KEY" },
  llm: { judge: "to repeat it" },
  grade: ({ value }) => acts[value.act](value),
});
"#;

const IN_PYTHON: &str = r#"import http.client
import json
import logging
import urllib.request

from runner_plugin import Grade, grader
from runner_plugin.llm import complete


def broken(url):
    return {}["length"]


def lines(url):
    print("one", [2])
    logging.warning("three")
    return True


def ask(url):
    headers = {"content-type": "application/json", "runner-credential": "probe-key"}
    with urllib.request.urlopen(urllib.request.Request(url + "/ask", b"{}", headers)) as reply:
        return Grade(True, reason=json.load(reply)["answer"])


def plain(url):
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("POST", "/ask", b"{}", {"runner-credential": "probe-key"})
    return Grade(True, reason=json.load(connection.getresponse())["answer"])


def judge(url):
    return Grade(True, reason=complete("judge", "hello").text)


@grader("probe", hosts=["https://api.example.com"], credentials={"probe-key": "PROBE_API_KEY"}, llm={"judge": "to repeat it"})
def grade(value):
    return globals()[value["act"]](value.get("url"))
"#;

/// The host that the graders say they want, which is not asked.
const NOBODY: &str = "https://api.example.com";

/// A grader that does what its value says, and a server that it may ask with a key.
struct Probe {
    run: Run,
    api: ModelApi,
}

impl Probe {
    fn built(lang: &str, file: &str, code: &str) -> Option<Self> {
        let run = with_path().env("PROBE_API_KEY", "probe-secret-value");
        let new = [
            "plugin",
            "new",
            "probe",
            "--lang",
            lang,
            "--kind",
            "assertion",
        ];
        run.clone().args(new).finish().expect_code(0);
        let folder = run.project().join("probe");
        if !install(&folder, lang) {
            return None;
        }
        let run = run.file(&format!("probe/{file}"), code).in_folder(folder);
        let built = run.clone().args(["plugin", "build"]).finish();
        built.expect_code(0);
        let api = ModelApi::start();
        Some(Self { run, api })
    }

    /// Does it, with a host granted beside key and model, and holds what is said against what is expected of it.
    fn expect(&self, act: &str, host: &str, code: i32, lines: &[&str]) {
        let value = json!({ "act": act, "url": self.api.url() }).to_string();
        let asked = ["plugin", "call", ".", "--output", "x", "--value", &value];
        let key = ["--allow-key", "probe-key=PROBE_API_KEY"];
        let model = [
            "--allow-llm",
            "judge=echo",
            "--allow-host",
            NOBODY,
            "--allow-host",
            host,
        ];
        let run = self.run.clone().args(asked).args(key).args(model);
        let finished = run.finish();
        let told = finished.told();
        finished.expect_code(code);
        for line in lines {
            assert!(told.contains(line), "{act}: {line}\nis not in\n{told}");
        }
    }

    /// What both languages do over the network and with models.
    fn expect_network(&self, ways: &[&str]) {
        for way in ways {
            self.expect(way, NOBODY, 100, &["code        denied"]);
            assert!(self.api.requests().is_empty());
        }
        let answer = json!({ "answer": "from the server" });
        self.api.always(Answer::json(&answer));
        for way in ways {
            let said = ["reason      from the server"];
            self.expect(way, &self.api.url(), 0, &said);
        }
        for seen in self.api.requests() {
            let key = seen.header("authorization");
            assert_eq!(key, Some("Bearer probe-secret-value"));
            assert_eq!(seen.header("runner-credential"), None);
        }
        self.expect("judge", NOBODY, 0, &["reason      hello"]);
    }
}

#[test]
fn a_component_in_javascript_has_what_its_author_expects() {
    let Some(probe) = Probe::built("js", "plugin.js", IN_JAVASCRIPT) else {
        return;
    };
    let broken = "TypeError: cannot read property 'length' of null (plugin.js:5)";
    probe.expect("broken", NOBODY, 100, &["code        other", broken]);
    probe.expect("lines", NOBODY, 0, &["probe: warn: one {\"two\":[2]}"]);
    probe.expect("web", NOBODY, 0, &["outcome     pass", "reason      /x"]);
    probe.expect("later", NOBODY, 100, &["leave out 'async' and 'await'"]);
    probe.expect_network(&["ask"]);
}

#[test]
fn a_component_in_python_has_what_its_author_expects() {
    let Some(probe) = Probe::built("python", "app.py", IN_PYTHON) else {
        return;
    };
    let broken = "KeyError: 'length' (app.py:11)";
    probe.expect("broken", NOBODY, 100, &["code        other", broken]);
    let lines = ["probe: info: one [2]", "probe: warn: three"];
    probe.expect("lines", NOBODY, 0, &lines);
    probe.expect_network(&["ask", "plain"]);
}
