//! `runner view`: the program serves what a run left, to whoever opens the address it printed, until
//! Ctrl-C. What the pages show is tested beside them.

use runner_tests::{Run, Viewed};

const CONFIG: &str = "
description: greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada }] }
";

#[test]
fn a_run_is_served_to_whoever_opens_the_address_until_it_is_interrupted() {
    let evaluated = Run::new().config(CONFIG).arg("eval").finish();
    evaluated.expect_code(0);
    let viewed = Viewed::of(&evaluated.again());
    assert!(viewed.refusal("/").starts_with("HTTP/1.1 403"));
    assert!(viewed.page("/").contains("greetings"));
    viewed.end().expect_code(0);
}

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its number").port().to_string();
    let finished = Run::new()
        .args(["view", "--no-open", "--port", &port])
        .finish();
    finished.expect_code(2);
    let said = format!("error: port {port} of 127.0.0.1 can't be listened on");
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
}
