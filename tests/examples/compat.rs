//! `cargo xtask compat`: promptfoo and the program over every config of `tests/compat`.
//!
//! Arguments: `--promptfoo NODE ENTRY COMPILED` (without it the stored verdicts stand for
//! promptfoo), `--write` (keep what promptfoo says), and words that names of configs contain.
//! Differences go to stdout, a line each as `differences.jsonl` wants them after what is for
//! reading; a difference that is not listed, one that is listed and gone, and a stored verdict
//! that promptfoo doesn't give any more end it with code 1.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use runner_tests::compat::{Config, Promptfoo, Said, Suite};

/// Configs at once: promptfoo takes a core for itself.
const AT_ONCE: usize = 2;

/// What is asked for.
struct Wish {
    promptfoo: Option<Promptfoo>,
    write: bool,
    words: Vec<String>,
}

/// What came of one config.
struct Result {
    config: Config,
    there: Said,
    /// What is to be told.
    talk: String,
    wrong: bool,
}

fn main() -> ExitCode {
    let wish = wish();
    let mut suite = Suite::read();
    let chosen = |config: &&Config| {
        let mut words = wish.words.iter();
        wish.words.is_empty() || words.any(|word| config.name.contains(word.as_str()))
    };
    let configs: Vec<Config> = suite.configs.iter().filter(chosen).cloned().collect();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(config) = configs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = compare(&suite, config, &wish);
                    print!("{}", result.talk);
                    results.lock().expect("nothing panics with it").push(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("nothing panics with it");
    let wrong = results.iter().filter(|result| result.wrong).count();
    println!("{} configs, {wrong} not as listed", results.len());
    if wish.write {
        let said = results.into_iter().map(|it| (it.config.name, it.there));
        suite.write(said);
    }
    for stray in suite.strays() {
        println!("'{stray}' is listed, and there is no such config");
    }
    if wrong == 0 && suite.strays().is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn wish() -> Wish {
    let mut wish = Wish {
        promptfoo: None,
        write: false,
        words: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--promptfoo" => {
                let mut path = || PathBuf::from(arguments.next().expect("three paths follow"));
                wish.promptfoo = Some(Promptfoo::new(path(), path(), path()));
            }
            "--write" => wish.write = true,
            _ => wish.words.push(argument),
        }
    }
    wish
}

fn compare(suite: &Suite, config: &Config, wish: &Wish) -> Result {
    let name = &config.name;
    let mut talk = Vec::new();
    let mut wrong = false;
    let stored = suite.verdict(name);
    let there = match (&wish.promptfoo, stored) {
        (Some(promptfoo), _) => ask(promptfoo, suite, config, &mut talk),
        (None, Some(stored)) => stored.clone(),
        (None, None) => {
            let talk = format!("{name}: no verdict of promptfoo is stored\n");
            return Result {
                config: config.clone(),
                there: Said::Refused,
                talk,
                wrong: true,
            };
        }
    };
    let is_same = |stored: &Said| stored.differences(&there).is_empty();
    if !wish.write && !stored.is_some_and(is_same) {
        wrong = true;
        talk.push("  the stored verdict is another".to_owned());
    }
    let (here, errors) = config.run(&suite.server());
    let differences = there.differences(&here);
    if here == Said::Refused && !differences.is_empty() {
        talk.push(format!("  runner refused it: {}", refusal(&errors)));
    }
    for note in there.notes(&here) {
        talk.push(format!("  for reading: {note}"));
    }
    let (known, unknown, gone) = suite.sort_out(name, differences);
    if let Some(why) = suite.pending(name) {
        let count = known.len() + unknown.len();
        talk.push(format!("  pending ({why}): {count} differences"));
    } else {
        wrong |= !unknown.is_empty() || !gone.is_empty();
        talk.extend(
            gone.iter()
                .map(|line| format!("  listed, and gone: {line}")),
        );
    }
    for difference in &known {
        talk.push(format!("  listed: {difference}"));
    }
    for difference in &unknown {
        talk.push(format!("  {difference}"));
    }
    for difference in &unknown {
        talk.push(difference.to_line(name).to_string());
    }
    let mut text = String::new();
    if !talk.is_empty() {
        text = format!("{name}:\n{}\n", talk.join("\n"));
    }
    Result {
        config: config.clone(),
        there,
        talk: text,
        wrong,
    }
}

/// What promptfoo says now.
fn ask(promptfoo: &Promptfoo, suite: &Suite, config: &Config, talk: &mut Vec<String>) -> Said {
    let (said, document, output) = promptfoo.run(config, &suite.server());
    if said == Said::Refused {
        talk.push(format!("  promptfoo refused it: {}", refusal(&output)));
    }
    if std::env::var_os("RUNNER_COMPAT_SHOW").is_some() {
        talk.push(format!("{:#}", document["results"]["results"]));
    }
    said
}

/// What a program that refused a config says of it.
fn refusal(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let told = lines.find(|line| line.contains("Error") || line.contains("error:"));
    told.or(text.lines().last()).unwrap_or_default().to_owned()
}
