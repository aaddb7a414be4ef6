//! What a recording holds, and what it gives again.

use std::time::Duration;

use super::*;
use crate::exchange::ExchangeCode;
use crate::memory::remembered::{Ending, StoredResponse};
use crate::pieces::PieceEnd;
use crate::policy::secret::Secret;
use runner_scheduler::Class;

const KEY: &str = "sk-test-0123456789";

fn masker() -> Masker {
    Masker::new(&[Secret::new(KEY)])
}

fn envelope(body: &str) -> Envelope {
    Envelope {
        method: "POST".to_owned(),
        url: format!("https://api.acme.com/v1?key={KEY}"),
        headers: vec![("x-own".to_owned(), format!("a {KEY}"))],
        body: body.to_owned().into(),
        credential: Some(Secret::new(KEY).fingerprint()),
        repeat: 0,
    }
}

fn answer(body: &[u8]) -> Interaction {
    Interaction {
        ending: Ending::Answered {
            response: StoredResponse {
                status: 200,
                headers: vec![("x-echo".to_owned(), KEY.to_owned())],
                body: body.to_vec(),
                pieces: vec![PieceEnd { bytes: 1, ms: 7 }],
            },
            retry_after: Some(Duration::from_millis(5)),
            cached: false,
        },
        attempts: 2,
        latency: Duration::from_micros(1234),
    }
}

fn body(found: CassetteMatch) -> Vec<u8> {
    match found {
        CassetteMatch::Replay(Interaction {
            ending: Ending::Answered { response, .. },
            ..
        }) => response.body,
        other => panic!("no answer: {other:?}"),
    }
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("recording.jsonl");
    (folder, path)
}

fn by_case(tag: u64) -> Caller<'static> {
    Caller { tag, name: None }
}

fn record(path: &Path, interactions: &[(&str, u64, Interaction)]) {
    let cassette = Exchanges::Record(Recording::create(path).expect("created")).cassette(&masker());
    for (body, tag, interaction) in interactions {
        assert_eq!(
            cassette.find(&envelope(body), &by_case(*tag)),
            CassetteMatch::Live
        );
        cassette.record(&envelope(body), &by_case(*tag), interaction);
    }
}

fn player(path: &Path) -> Box<dyn Cassette> {
    Exchanges::Replay(Playback::open(path).expect("opened")).cassette(&masker())
}

#[test]
fn no_secret_is_in_the_file_and_what_was_recorded_comes_back() {
    let (_folder, path) = file();
    let failed = Interaction {
        ending: Ending::Failed {
            code: ExchangeCode::Transient,
            class: Class::Transient,
            message: format!("lost the connection, {KEY}"),
        },
        attempts: 4,
        latency: Duration::ZERO,
    };
    let request = format!("my key is {KEY}");
    let bytes = [&[0xff, 0xfe], KEY.as_bytes()].concat();
    record(
        &path,
        &[(&request, 1, answer(&bytes)), ("other", 2, failed)],
    );
    let text = std::fs::read_to_string(&path).expect("it is a text");
    assert!(!text.contains(KEY), "{text}");
    assert!(!text.contains(Secret::new(KEY).fingerprint().as_str()));

    let cassette = player(&path);
    assert!(cassette.is_offline());
    let CassetteMatch::Replay(played) = cassette.find(&envelope(&request), &by_case(1)) else {
        panic!("it is there");
    };
    assert_eq!(
        (played.attempts, played.latency),
        (2, Duration::from_micros(1234))
    );
    let mut expected = answer(&[&[0xff, 0xfe][..], b"[masked]"].concat());
    if let Ending::Answered { response, .. } = &mut expected.ending {
        response.headers[0].1 = "[masked]".to_owned();
    }
    assert_eq!(played, expected);
    let CassetteMatch::Replay(played) = cassette.find(&envelope("other"), &by_case(2)) else {
        panic!("it is there");
    };
    assert!(matches!(
        played.ending,
        Ending::Failed {
            code: ExchangeCode::Transient,
            class: Class::Transient,
            message
        } if message == "lost the connection, [masked]"
    ));
}

#[test]
fn equal_requests_get_their_own_case_s_answer_then_the_others_in_order_then_the_last() {
    let (_folder, path) = file();
    let interactions = [
        ("q", 1, answer(b"a")),
        ("q", 2, answer(b"b")),
        ("q", 1, answer(b"c")),
    ];
    record(&path, &interactions);
    let cassette = player(&path);
    let given: Vec<Vec<u8>> = [2, 1, 3, 2, 9]
        .into_iter()
        .map(|tag| body(cassette.find(&envelope("q"), &by_case(tag))))
        .collect();
    assert_eq!(given, [b"b", b"a", b"c", b"b", b"c"]);
}

#[test]
fn a_request_that_is_not_there_is_told_with_what_comes_nearest() {
    let (_folder, path) = file();
    record(
        &path,
        &[("say hello", 1, answer(b"a")), ("zzz", 1, answer(b"b"))],
    );
    let CassetteMatch::Missing { nearest } =
        player(&path).find(&envelope("say howdy"), &by_case(1))
    else {
        panic!("it is not there");
    };
    assert_eq!(
        nearest,
        " with this body; from byte 5 on the nearest has …say hello…, and this one …say howdy…"
    );
}

#[test]
fn a_cut_last_line_is_left_out_and_a_foreign_file_is_neither_read_nor_overwritten() {
    let (_folder, path) = file();
    record(&path, &[("q", 1, answer(b"a")), ("r", 1, answer(b"b"))]);
    let text = std::fs::read_to_string(&path).expect("read");
    std::fs::write(&path, &text[..text.len() - 9]).expect("written");
    let cassette = player(&path);
    assert_eq!(body(cassette.find(&envelope("q"), &by_case(1))), b"a");
    assert!(matches!(
        cassette.find(&envelope("r"), &by_case(1)),
        CassetteMatch::Missing { .. }
    ));

    std::fs::write(&path, "results, not a recording\n").expect("written");
    assert!(matches!(
        Playback::open(&path),
        Err(CassetteError::Foreign { .. })
    ));
    assert!(matches!(
        Recording::create(&path),
        Err(CassetteError::Foreign { .. })
    ));
    let kept = std::fs::read_to_string(&path).expect("read");
    assert_eq!(kept, "results, not a recording\n");
}

#[test]
fn what_is_wrong_with_a_line_is_said_in_one() {
    let (_folder, path) = file();
    record(&path, &[("q", 1, answer(b"a"))]);
    let mut text = std::fs::read_to_string(&path).expect("read");
    text += "{\"method\": \"G\", \"a\\nok: all passed\\u2028\": 1}\n";
    std::fs::write(&path, text).expect("written");
    let Err(error) = Playback::open(&path) else {
        panic!("the second exchange is none");
    };
    let told = error.to_string();
    assert!(told.contains(":3: not a recorded exchange: "), "{told}");
    assert!(!told.contains(['\n', '\u{2028}']), "{told}");
}

#[test]
fn an_exchange_beyond_what_a_run_takes_is_refused_while_it_is_read() {
    let (_folder, path) = file();
    record(&path, &[("q", 1, answer(b"a"))]);
    let text = std::fs::read_to_string(&path).expect("read");
    let headers = r#"["a","b"],"#.repeat(30_000);
    for (from, to, why) in [
        (
            r#"[["x-own""#,
            format!(r#"[{headers}["x-own""#),
            "headers of more than 1 MiB",
        ),
        (
            r#"[["x-echo""#,
            format!(r#"[{headers}["x-echo""#),
            "headers of more than 1 MiB",
        ),
        (
            r#"{"text":"q"}"#,
            format!(r#"{{"text":"{}"}}"#, "q".repeat((64 << 20) + 1)),
            "a body of more than 64 MiB",
        ),
        (
            r#"{"text":"a"}"#,
            format!(r#"{{"base64":"{}"}}"#, "q".repeat((64 << 20) + 1)),
            "a body of more than 64 MiB",
        ),
    ] {
        let large = text.replace(from, &to);
        assert_ne!(large, text);
        std::fs::write(&path, large).expect("written");
        let told = Playback::open(&path).expect_err(why).to_string();
        assert!(
            told.contains(&format!(":2: not a recorded exchange: {why}")),
            "{told}"
        );
    }
}

/// A recording may be a stranger's, and a file without end takes no room on a disk.
#[test]
fn a_line_is_read_as_far_as_it_may_be_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hole.jsonl");
    let hole = File::create(&path).expect("made");
    hole.set_len(1 << 40).expect("a hole");
    assert!(matches!(
        Playback::open(&path),
        Err(CassetteError::Foreign { .. })
    ));
    std::fs::write(&path, format!("{HEAD}\n{}\n", "x".repeat(20))).expect("written");
    let lines = || Lines::of(&path).expect("it has the head of a recording");
    assert!(matches!(lines().whole(21), Ok(Some(_))));
    let error = lines().whole(20).expect_err("it is too long");
    assert_eq!(
        error.to_string(),
        format!(
            "{}:2: not a recorded exchange: it is longer than 20 bytes",
            path.display()
        )
    );
}

#[test]
fn one_account_never_gets_the_answer_of_another() {
    let (_folder, path) = file();
    let other = Secret::new("sk-other-0123456789");
    let of = |key: &Secret| Envelope {
        credential: Some(key.fingerprint()),
        ..envelope("q")
    };
    let (mine, theirs) = (of(&Secret::new(KEY)), of(&other));
    let named = |name| Caller {
        tag: 1,
        name: Some(name),
    };
    let recorded = |names: [&'static str; 2]| {
        let recording = Recording::create(&path).expect("created");
        let cassette = Exchanges::Record(recording).cassette(&masker());
        cassette.record(&mine, &named(names[0]), &answer(b"mine"));
        cassette.record(&theirs, &named(names[1]), &answer(b"theirs"));
    };
    recorded(["A", "B"]);
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(!text.contains(other.fingerprint().as_str()), "{text}");
    let player = |path: &Path| player(path);
    // A replay has no key, and only one of the two may be asked.
    assert_eq!(body(player(&path).find(&theirs, &named("B"))), b"theirs");
    assert_eq!(body(player(&path).find(&mine, &named("A"))), b"mine");
    let CassetteMatch::Ambiguous { whose } = player(&path).find(&mine, &named("C")) else {
        panic!("A's or B's");
    };
    assert!(whose.contains("'A', 'B'"), "{whose}");
    recorded(["http", "http"]);
    let CassetteMatch::Ambiguous { whose } = player(&path).find(&mine, &named("http")) else {
        panic!("the first's or the second's");
    };
    assert!(whose.contains("several keys"), "{whose}");
}
