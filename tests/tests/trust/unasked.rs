//! What is told, asked or sent before the person agreed, where a config makes it look like nothing.

use std::path::Path;

use runner_tests::{ModelApi, Run};
use serde_json::json;

use super::KEY;

fn asked(config: &str) -> String {
    let run = Run::new().config(config).env("OPENAI_API_KEY", KEY);
    run.args(["trust", "--show"]).finish().stdout
}

const NOTHING: &str = "nothing here needs your agreement\n";

/// The author of a pull request would read in the log which files the machine has.
#[test]
fn whether_a_program_outside_is_there_is_said_after_it_was_agreed_to() {
    let here = std::env::current_exe().expect("this test is a program");
    let gone = here.with_file_name("no-such-program");
    let provider = |path: &Path| format!("  - 'exec: {}'\n", path.display());
    let both = provider(&here) + &provider(&gone);
    let run = Run::new().config(&format!("prompts: [hi]\nproviders:\n{both}"));
    let shown = run.args(["trust", "--show"]).finish();
    shown.expect_code(2);
    for path in [&here, &gone] {
        let line = format!("run '{}' in ", path.display());
        assert!(shown.stdout.contains(&line), "{}", shown.told());
    }
    assert!(!shown.told().contains("no program"), "{}", shown.told());
    let agreed = shown.again().args(["eval", "--trust-config"]).finish();
    agreed.expect_code(2);
    let said = format!("there is no program `{}`", gone.display());
    assert!(agreed.stderr.contains(&said), "{}", agreed.told());
}

/// A program that was agreed to without a key would get it as the server of its own config.
#[test]
fn beside_a_program_a_key_for_this_machine_is_asked_for() {
    let api = ModelApi::start();
    let server = format!(
        "{{ id: http, config: {{ url: '{}/x', headers: {{ x-key: '{{{{ env.OPENAI_API_KEY }}}}' }} }} }}",
        api.url()
    );
    let config = |more: &str| format!("prompts: [hi]\nproviders: [{server}{more}]\n");
    assert_eq!(asked(&config("")), NOTHING);
    let beside = asked(&config(", 'exec: cat'"));
    let origin = api.url().trim_end_matches("/v1").to_owned();
    let line = format!("send the environment variable OPENAI_API_KEY to {origin}");
    assert!(
        beside.contains(&line) && beside.contains("run 'cat'"),
        "{beside}"
    );
    assert!(api.requests().is_empty());
}

#[test]
fn a_vendor_s_key_goes_unasked_to_its_models_alone() {
    let with = |path: &str| {
        asked(&format!(
            "prompts: [hi]\nproviders:\n  - id: openai:gpt-4o\n    config: {{ apiBaseUrl: 'https://api.openai.com{path}' }}\n"
        ))
    };
    for path in ["", "/v1", "/v1/eu"] {
        assert_eq!(with(path), NOTHING, "{path}");
    }
    for path in ["/dashboard/billing", "/v1/../dashboard"] {
        let shown = with(path);
        let line = "send the environment variable OPENAI_API_KEY to https://api.openai.com";
        assert!(shown.contains(line), "{path}: {shown}");
    }
}

/// A config with one provider behind the gateway, whose `config` this is.
fn behind_gateway(id: &str, config: &str) -> String {
    format!("prompts: [hi]\nproviders:\n  - id: cloudflare-gateway:{id}\n    config: {config}\n")
}

fn with_keys(config: &str) -> Run {
    let run = Run::new().config(config).env("OPENAI_API_KEY", KEY);
    run.env("CLOUDFLARE_API_KEY", "cf-test-0123456789-very-secret")
}

fn show(run: Run) -> String {
    run.args(["trust", "--show"]).finish().stdout
}

fn through(key: &str, path: &str) -> String {
    format!("send the environment variable {key} to https://gateway.ai.cloudflare.com{path}\n")
}

const THEIRS: &str = "{ accountId: theirs, gatewayId: gw }";

/// Whose gateway it is sees the key's requests, and may hand them to a server of its own.
#[test]
fn a_vendor_s_key_goes_through_a_stranger_s_gateway_only_if_that_was_agreed_to() {
    let stated = behind_gateway("openai:gpt-4o", THEIRS);
    let shown = show(with_keys(&stated));
    assert!(
        shown.contains(&through("OPENAI_API_KEY", "/v1/theirs/gw/openai")),
        "{shown}"
    );
    // What the config's own `env` says is the config's word, what the person exports theirs.
    let by_env = behind_gateway("openai:gpt-4o", "{}")
        + "env: { CLOUDFLARE_ACCOUNT_ID: theirs, CLOUDFLARE_GATEWAY_ID: gw }\n";
    let shown = show(with_keys(&by_env));
    assert!(
        shown.contains(&through("OPENAI_API_KEY", "/v1/theirs/gw/openai")),
        "{shown}"
    );
    let exported = |run: Run| {
        let run = run.env("CLOUDFLARE_ACCOUNT_ID", "mine");
        run.env("CLOUDFLARE_GATEWAY_ID", "gw")
    };
    assert_eq!(
        show(exported(with_keys(&behind_gateway("openai:gpt-4o", "{}")))),
        NOTHING
    );
    let shown = show(exported(with_keys(&behind_gateway(
        "openai:gpt-4o",
        "{ accountId: theirs }",
    ))));
    assert!(
        shown.contains(&through("OPENAI_API_KEY", "/v1/theirs/gw/openai")),
        "{shown}"
    );
}

#[test]
fn an_agreement_about_a_gateway_is_for_one_address_of_it() {
    // Cloudflare's own key is at home there, but for an address that the config writes.
    assert_eq!(
        show(with_keys(&behind_gateway("workers-ai:m", THEIRS))),
        NOTHING
    );
    let address = "https://gateway.ai.cloudflare.com/v1/theirs/gw/custom-evil/v1";
    for (id, key) in [
        ("openai:m", "OPENAI_API_KEY"),
        ("workers-ai:m", "CLOUDFLARE_API_KEY"),
    ] {
        let shown = show(with_keys(&behind_gateway(
            id,
            &format!("{{ apiBaseUrl: '{address}' }}"),
        )));
        assert!(
            shown.contains(&through(key, "/v1/theirs/gw/custom-evil")),
            "{shown}"
        );
    }
    let stated = behind_gateway("openai:gpt-4o", THEIRS);
    // An agreement is for one account and gateway.
    let agreed = with_keys(&stated).args(["trust", "--yes"]).finish();
    agreed.expect_code(0);
    let shown = |config: &str| show(agreed.again().config(config));
    assert!(shown(&stated).contains("agreed to"));
    let other = stated.replace("gw", "other");
    assert!(shown(&other).contains(&through("OPENAI_API_KEY", "/v1/theirs/other/openai")));
}

/// A token has two addresses: of who gives it, and of who gets it.
#[test]
fn what_a_key_of_google_s_is_made_of_is_asked_for_where_it_goes() {
    let api = ModelApi::start();
    let key = json!({
        "type": "authorized_user", "client_id": "x",
        "client_secret": "{{env.MY_SECRET}}", "refresh_token": "{{env.OPENAI_API_KEY}}",
    });
    for credentials in [json!(key.to_string()), key] {
        let config =
            json!({ "projectId": "p", "apiBaseUrl": api.url(), "credentials": credentials });
        let config = json!({
            "prompts": ["hi"],
            "providers": [{ "id": "vertex:gemini-2.5-flash", "config": config }],
        });
        let run = Run::new()
            .config(&config.to_string())
            .env("OPENAI_API_KEY", KEY);
        let shown = run.env("MY_SECRET", KEY).args(["trust", "--show"]).finish();
        shown.expect_code(2);
        for name in ["MY_SECRET", "OPENAI_API_KEY"] {
            let to = "https://oauth2.googleapis.com";
            let line = format!("send the environment variable {name} to {to}");
            assert!(shown.stdout.contains(&line), "{}", shown.told());
        }
    }
}

/// Of a large `config` it is not remembered where everything stands.
#[test]
fn what_a_server_of_tokens_sees_is_asked_for_where_and_beside_whatever_it_stands() {
    let api = ModelApi::start();
    let asks = |many: usize, of: &str, member: serde_json::Value| {
        let mut auth = json!({
            "type": "oauth", "grantType": "client_credentials",
            "tokenUrl": "https://id.example/token", "clientId": "me", "clientSecret": "a-secret",
        });
        auth[of] = member;
        let body: serde_json::Map<_, _> = (0..many).map(|n| (format!("k{n}"), n.into())).collect();
        let config = json!({ "url": api.url(), "body": body, "auth": auth });
        let config =
            json!({ "prompts": ["hi"], "providers": [{ "id": "http", "config": config }] });
        let run = Run::new()
            .config(&config.to_string())
            .env("OPENAI_API_KEY", KEY);
        let first = run.args(["trust", "--yes"]).finish();
        let second = first.again().args(["trust", "--yes"]).finish();
        let line = "send the environment variable OPENAI_API_KEY to https://id.example";
        assert!(
            (first.told() + &second.told()).contains(line),
            "{many} {of}: {} {}",
            first.told(),
            second.told()
        );
    };
    asks(0, "clientSecret", json!("{{ env.OPENAI_API_KEY }}"));
    asks(9_000, "clientSecret", json!("{{ env.OPENAI_API_KEY }}"));
    asks(0, "scopes", json!(["a", "{{ env.OPENAI_API_KEY }}"]));
}

/// It can spell a key backwards, and no mask finds it.
#[test]
fn a_key_in_the_config_of_a_provider_that_is_code_is_asked_for() {
    let code = "module.exports = class { id() { return 'x' } async callApi() { return { output: 'a' } } };";
    for config in [
        json!({ "apiKey": "{{ env.OPENAI_API_KEY }}" }),
        json!({ "headers": { "Authorization": "Bearer {{ env.OPENAI_API_KEY }}" } }),
    ] {
        let config = json!({
            "prompts": ["hi"], "providers": [{ "id": "file://p.js", "config": config }],
        });
        let run = Run::new().config(&config.to_string()).file("p.js", code);
        let run = run.env("OPENAI_API_KEY", KEY);
        let shown = run.args(["trust", "--show"]).finish();
        shown.expect_code(2);
        let line = "let the value of the environment variable OPENAI_API_KEY appear in results";
        assert!(shown.stdout.contains(line), "{}", shown.told());
        shown
            .again()
            .args(["trust", "--yes"])
            .finish()
            .expect_code(0);
        shown.again().arg("eval").finish().expect_code(0);
    }
}
