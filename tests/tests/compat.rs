//! The program over every config of `tests/compat`, held against what promptfoo said of them.
//!
//! Needs neither promptfoo nor npm: its verdicts are stored, by `cargo xtask compat --write`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use runner_tests::compat::Suite;

/// Programs at once.
const AT_ONCE: usize = 4;

#[test]
fn every_config_is_judged_as_promptfoo_judges_it_but_for_what_is_listed() {
    let suite = Suite::read();
    assert_eq!(suite.strays(), [""; 0], "listed, and no such config");
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(config) = suite.configs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if suite.pending(&config.name).is_none() {
                        let told = against_the_verdict(&suite, config);
                        wrong.lock().expect("no test panics with it").extend(told);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no test panics with it");
    assert!(
        wrong.is_empty(),
        "{} differences; `cargo xtask compat --stored NAME` shows those of a config:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What is not as it should be, a line each.
fn against_the_verdict(suite: &Suite, config: &runner_tests::compat::Config) -> Vec<String> {
    let name = &config.name;
    let Some(there) = suite.verdict(name) else {
        return vec![format!("{name}: promptfoo's verdict is not stored")];
    };
    let (here, errors) = config.run(&suite.server());
    let (_, unknown, gone) = suite.sort_out(name, there.differences(&here));
    let told = unknown.iter().map(|it| match it.field {
        "refused" => format!("{name}: {it}: {errors}"),
        _ => format!("{name}: {it}"),
    });
    let gone = gone.iter().map(|line| format!("listed, and gone: {line}"));
    told.chain(gone).collect()
}

#[test]
fn there_are_enough_configs_and_each_says_what_it_is_for() {
    let suite = Suite::read();
    assert!(suite.configs.len() >= 120, "{}", suite.configs.len());
    for config in &suite.configs {
        assert!(config.says_its_purpose(), "{}", config.name);
    }
}
