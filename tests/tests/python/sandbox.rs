//! What code can't reach and what it can't do, and how it is told.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{asserting, check, components, evaluated, python, reason, rows};

/// Code, words of the reason it fails with.
const UNSUPPORTED: [(&str, &str); 21] = [
    ("__import__('os').environ['HOME']", "`os.environ['HOME']`"),
    (
        "__import__('os').environ.get('HOME')",
        "`os.environ['HOME']`",
    ),
    ("__import__('os').getenv('HOME')", "`os.environ['HOME']`"),
    ("open('/etc/passwd').read()", "`open`"),
    ("__import__('io').open('/etc/passwd')", "`open`"),
    (
        "__import__('pathlib').Path('/etc/passwd').read_text()",
        "`open`",
    ),
    ("__import__('os').listdir('/')", "`os.listdir`"),
    ("__import__('os').system('id')", "`os.system`"),
    ("__import__('os').popen('id')", "`os.popen`"),
    (
        "__import__('subprocess').run(['id'])",
        "`import subprocess`",
    ),
    (
        "__import__('socket').create_connection(('127.0.0.1', 80))",
        "`import socket`",
    ),
    (
        "__import__('urllib.request').request.urlopen('http://127.0.0.1')",
        "`import urllib.request`",
    ),
    ("__import__('http.client')", "`import http`"),
    ("__import__('numpy').array([1])", "`import numpy`"),
    (
        "__import__('requests').get('http://127.0.0.1')",
        "`import requests`",
    ),
    ("__import__('ctypes').CDLL(None)", "`import ctypes`"),
    ("__import__('sqlite3').connect('x')", "`import sqlite3`"),
    ("__import__('multiprocessing')", "`import multiprocessing`"),
    ("__import__('tkinter')", "`import tkinter`"),
    ("input('?')", "`input`"),
    ("__import__('ruby')", "`import ruby`"),
];

#[test]
fn what_the_sandbox_lacks_is_named_with_a_way_out() {
    let assertion = |(code, _): &(&str, &str)| json!({"type": "python", "value": code});
    let assertions: Value = UNSUPPORTED.iter().map(assertion).collect();
    let finished = evaluated(asserting(&assertions).env("HOME", "/root/of/all"));
    let rows = rows(&finished);
    for (index, (code, words)) in UNSUPPORTED.iter().enumerate() {
        let component = &rows[0]["gradingResult"]["componentResults"][index];
        let said = reason(component);
        let lacks = format!("{words} does not exist in the sandbox: ");
        assert!(said.contains(&lacks), "{code}: {component}");
        assert_eq!(component["pass"], false, "{component}");
        assert_eq!(component["errorCode"], "script", "{component}");
    }
    assert!(!finished.read("out.json").contains("/root/of/all"));
    assert!(!finished.read("out.json").contains("root:x:0"));
}

#[test]
fn what_code_may_try_it_may_try() {
    check(&[
        (
            json!({"value": "__import__('os').environ.get('X', 'd') == 'd'"}),
            (true, 1.0),
        ),
        (
            json!({"value": "'X' not in __import__('os').environ"}),
            (true, 1.0),
        ),
        (
            json!({"value": "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nreturn numpy is None"}),
            (true, 1.0),
        ),
        (
            json!({"value": "import os\ntry:\n    os.environ['X']\nexcept KeyError:\n    os.environ['X'] = '1'\nreturn os.environ['X'] == '1'"}),
            (true, 1.0),
        ),
        (
            json!({"value": "__import__('os').path.join('a', 'b') == 'a/b'"}),
            (true, 1.0),
        ),
        (
            json!({"value": "__import__('os').path.exists('/etc')"}),
            (false, 0.0),
        ),
    ]);
}

#[test]
fn the_standard_library_is_there() {
    let modules = [
        "collections",
        "csv",
        "datetime",
        "decimal",
        "difflib",
        "functools",
        "hashlib",
        "html.parser",
        "itertools",
        "json",
        "logging",
        "math",
        "pathlib",
        "random",
        "re",
        "statistics",
        "string",
        "textwrap",
        "typing",
        "unicodedata",
        "unittest",
        "urllib.parse",
        "uuid",
        "xml.etree.ElementTree",
    ];
    let imports = modules.map(|name| format!("import {name}")).join("\n");
    let uses = "import statistics, decimal, xml.etree.ElementTree as tree, urllib.parse, hashlib, re, difflib\n\
        assert statistics.mean([1, 2]) == 1.5 and statistics.quantiles([1, 2, 3])\n\
        assert str(decimal.Decimal('1.10') * 2) == '2.20'\n\
        assert tree.fromstring('<a><b/></a>').find('b') is not None\n\
        assert urllib.parse.quote('ä') == '%C3%A4'\n\
        assert hashlib.sha256(b'').hexdigest()[:4] == 'e3b0'\n\
        assert re.sub(r'(\\w)', r'<\\1>', 'a') == '<a>'\n\
        assert difflib.SequenceMatcher(None, 'abc', 'abd').ratio() > 0.6\n\
        return True";
    check(&[(json!({"value": format!("{imports}\n{uses}")}), (true, 1.0))]);
}

/// Time begins with the run and moves when it is looked at; chance follows from the case. Neither
/// depends on the machine.
#[test]
fn time_and_chance_are_told() {
    let value = "import time, datetime, random, uuid, os, secrets, logging\n\
        a = time.time(); b = datetime.datetime.now(datetime.timezone.utc).timestamp()\n\
        assert 0 < b - a < 1 and time.monotonic() < 1, (a, b)\n\
        assert datetime.date.today() == datetime.datetime.now().date()\n\
        assert time.strftime('%Y') == str(time.gmtime().tm_year) == time.ctime()[-4:]\n\
        before = time.time(); time.sleep(3600); assert 3600 <= time.time() - before < 3601\n\
        logging.warning('logged')\n\
        parts = [random.random(), random.Random().random(), str(uuid.uuid4()), os.urandom(4).hex(), secrets.token_hex(4)]\n\
        return {'pass': True, 'score': 1, 'reason': json.dumps(parts) + time.strftime(' %Y')}";
    let assertion = json!({"type": "python", "value": value});
    let components = components(asserting(&json!([assertion, assertion])));
    assert_eq!(components[0]["pass"], true, "{}", components[0]);
    assert_eq!(reason(&components[0]), reason(&components[1]));
    let year = reason(&components[0]).rsplit(' ').next().expect("a year");
    assert!(year.parse::<u32>().is_ok_and(|year| year >= 2025), "{year}");
}

#[test]
fn what_code_prints_goes_to_the_log() {
    let assertion = json!([{"type": "python", "value": "print('seen', output) or True"}]);
    let run = asserting(&assertion).args([
        "eval",
        "-v",
        "--no-table",
        "--events",
        "events.jsonl",
        "-o",
        "out.json",
    ]);
    let finished = run.finish();
    assert_snapshot!(finished.told());
    let events = finished.read("events.jsonl");
    let line = r#""event":"log","plugin":"python""#;
    assert!(
        events.contains(line) && events.contains(r#""message":"seen "#),
        "{events}"
    );
    let by = &finished.json("out.json")["results"]["results"][0]["provenance"];
    assert_eq!(
        (&by["plugin"], &by["graders"][0]["plugin"]),
        (&json!("echo"), &json!("python"))
    );
    assert!(
        by["graders"][0]["fuel"].as_u64() > by["fuel"].as_u64(),
        "{by}"
    );
    let shown = finished.again().args(["show", "--test", "0"]).finish();
    assert!(
        shown.stdout.contains("\nLog:\n  info python: seen "),
        "{}",
        shown.stdout
    );
}

/// Code, whether it breaks a limit, words of the reason.
const HOSTILE: [(&str, bool, &str); 13] = [
    ("while True: pass\nreturn True", true, "CPU"),
    (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\nreturn True",
        true,
        "CPU",
    ),
    (
        "all = []\nwhile True: all.append(bytearray(1000000))\nreturn True",
        false,
        "memory",
    ),
    ("'x' * 50000000", false, "larger than"),
    ("f = lambda: f() + 1\nreturn f()", false, "RecursionError"),
    ("a = []\na.append(a)\nreturn a", false, "holds itself"),
    ("import sys\nsys.exit(0)", false, "SystemExit"),
    (
        "x = 1\nraise BaseException('all')",
        false,
        "BaseException: all",
    ),
    (
        "print(chr(0xd800))\nraise ValueError(chr(0xd800))",
        false,
        "ValueError",
    ),
    ("chr(0xd800)", false, "no Unicode"),
    (
        "class E(Exception):\n    def __str__(self): raise E()\nraise E()",
        false,
        "the code failed",
    ),
    (
        "import asyncio\nreturn asyncio.Event().wait()",
        false,
        "never comes",
    ),
    ("output == 'say seven'", false, ""),
];

/// Each costs its own component, and says what happened.
#[test]
fn hostile_code_harms_nothing_and_is_explained() {
    let assertion = |(code, ..): &(&str, bool, &str)| json!({"type": "python", "value": code});
    let assertions: Value = HOSTILE.iter().map(assertion).collect();
    let finished = evaluated(asserting(&assertions));
    let rows = rows(&finished);
    for (index, (code, breaks, words)) in HOSTILE.iter().enumerate() {
        let component = &rows[0]["gradingResult"]["componentResults"][index];
        assert!(reason(component).contains(words), "{code}: {component}");
        let limit = component["errorCode"].as_str();
        assert_eq!(limit, breaks.then_some("C103"), "{code}: {component}");
        let is_fine = index == HOSTILE.len() - 1;
        assert_eq!(component["pass"] == true, is_fine, "{code}: {component}");
    }
    assert_eq!(rows[0]["response"]["output"], "say seven");
}

/// What one call does to the interpreter, no other sees.
#[test]
fn calls_know_nothing_of_each_other() {
    let leaves = "import builtins, json, sys\nbuiltins.left = 1\njson.left = 1\nsys.modules['left'] = json\njson.dumps = None\nreturn True";
    let looks = "import builtins, json, sys\nreturn not any([hasattr(builtins, 'left'), hasattr(json, 'left'), 'left' in sys.modules])";
    let tests = (0..8).fold(String::new(), |mut tests, n| {
        let code = if n % 2 == 0 { leaves } else { looks };
        let assertion = json!([{"type": "python", "value": code}]);
        writeln!(tests, "- {{ vars: {{ n: {n} }}, assert: {assertion} }}").expect("a string");
        tests
    });
    let config = format!("prompts: ['{{{{n}}}}']\nproviders: [echo]\ntests:\n{tests}");
    evaluated(python().config(&config)).expect_code(0);
}
