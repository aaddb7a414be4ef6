//! The commands, and what they share: the environment, the folders, the streams.
//!
//! Each has a file, but for two that read a config as `eval` does: `retry` is an `eval` of a kept
//! run, and `plugin lock` stands beside the other looks at a config in `eval/check.rs`.

use std::path::PathBuf;

use anyhow::Context as _;
use runner_store::{OpenOptions, Store};

use crate::arguments::{self, Arguments, Command, Global, Plugin};
use crate::consent::{Remembered, TRUST_VARIABLE};
use crate::environment::Environment;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::home::Home;
use crate::logging;
use crate::memory_limit;
use crate::open_files;
use crate::stdout;
use crate::talk::Talk;
use crate::terminal::Terminal;

mod added;
mod build;
mod built;
mod bundled;
mod cache;
mod call;
mod config;
mod delete;
mod diff;
mod docs;
mod doctor;
mod ended;
mod eval;
mod explain;
mod export;
mod fixtures;
mod import;
mod init;
mod inspect;
mod learnt;
mod list;
mod merge;
mod migrate;
mod pack;
mod prices;
mod scaffold;
mod show;
mod shown_plan;
mod trial;
mod trust;
mod version;
mod view;

/// What every command knows.
struct CommandContext {
    environment: Environment,
    cwd: PathBuf,
    home: Home,
    terminal: Terminal,
    talk: Talk,
    verbose: bool,
    /// `RUNNER_TRUST` of the process itself.
    trusted: Option<String>,
    /// What the person agreed to.
    remembered: Remembered,
    /// The files of variables that flags name.
    env_files: Vec<PathBuf>,
    /// What a `.env` gave that nobody named.
    found_keys: Vec<String>,
    /// Files that the program may have open at once; `None`: as many as it likes.
    files: Option<u64>,
}

impl CommandContext {
    fn new(global: &Global) -> Result<Self, Failure> {
        let mut environment = Environment::of_process();
        let cwd = std::env::current_dir().context("the current folder can't be found")?;
        if cwd.to_str().is_none() {
            let message = format!(
                "the current folder is called {}, which is not UTF-8",
                cwd.display()
            );
            return Err(
                Failure::usage(message).help("give the folders on the way to it other names")
            );
        }
        // Before any file is read: a file must not say that it is trusted.
        let trusted = environment.get(TRUST_VARIABLE).map(str::to_owned);
        let remembered = Remembered::at(Home::find(&environment, &cwd)?.agreements());
        for file in &global.env_file {
            environment.read_file(file)?;
        }
        let found_keys = if global.env_file.is_empty() {
            environment.read_keys(&cwd.join(".env"))
        } else {
            Vec::new()
        };
        memory_limit::watch(environment.mebibytes("MEMORY_LIMIT")?)?;
        let terminal = Terminal::detect(&environment);
        if terminal.job {
            stdout::heed_job();
        }
        let talk = Talk::new(terminal.color_talk).read_by_job(terminal.job);
        logging::start(&environment, &talk)?;
        let home = Home::find(&environment, &cwd)?;
        Ok(Self {
            environment,
            cwd,
            home,
            terminal,
            talk,
            verbose: global.verbose,
            trusted,
            remembered,
            env_files: global.env_file.clone(),
            found_keys,
            files: open_files::raise(),
        })
    }

    /// Says which keys a `.env` gave that nobody named.
    fn tell_found_keys(&self) {
        if !self.found_keys.is_empty() {
            let names = self.found_keys.join(", ");
            let said = format!("from .env: {names} (keys only; --env-file .env takes all of it)");
            self.talk.note(&said);
        }
    }

    /// Warns where results are not kept for long.
    fn tell_home(&self) {
        if let Some(warning) = self.home.warning() {
            self.talk.warning(&warning);
        }
    }

    /// Warns of variables that are nearly ours.
    fn tell_slips(&self) {
        for (name, meant) in self.environment.slips() {
            let said = format!("environment variable RUNNER_{name} is not read");
            let help = format!("did you mean RUNNER_{meant}?");
            self.talk.warning(&format!("{said}\nhelp: {help}"));
        }
    }

    /// Opens the database of runs; made if there is none.
    fn store(&self) -> Result<Store, Failure> {
        let options = OpenOptions {
            wal: !self.environment.flag("DISABLE_WAL_MODE")?,
        };
        self.home.make()?;
        let store = Store::open(&self.home.runs(), options).map_err(anyhow::Error::new)?;
        let store = match self.environment.seconds("LOCK_TIMEOUT")? {
            Some(patience) => store.with_patience(patience),
            None => store,
        };
        Ok(match self.environment.mebibytes("LEFT_FREE")? {
            Some(bytes) => store.with_left_free(bytes),
            None => store,
        })
    }

    /// The database of runs, if there is one: a question makes no file.
    fn existing_store(&self) -> Result<Option<Store>, Failure> {
        if self.home.runs().exists() {
            self.store().map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Carries out a command line; gives the exit code.
///
/// # Errors
/// Why it could not.
pub(crate) fn run(arguments: Arguments) -> Result<u8, Failure> {
    if arguments.version {
        version::run(arguments.global.verbose)?;
        return Ok(SUCCESS);
    }
    let Some(command) = arguments.command else {
        stdout::print(&arguments::long_help())?;
        return Ok(SUCCESS);
    };
    let setting = match CommandContext::new(&arguments.global) {
        // It tells what stops every command beside what else it finds.
        Err(failure) => match command {
            Command::Doctor(doctor) => return doctor::run(&doctor, &Err(failure)),
            _ => return Err(failure),
        },
        Ok(setting) => setting,
    };
    let job = setting.terminal.job;
    let done = match command {
        Command::Eval(eval) => eval::run(&eval, &setting),
        Command::Retry(retry) => eval::run(&retry.into_eval(), &setting),
        Command::List(list) => list::run(&list, &setting),
        Command::Show(show) => show::run(&show, &setting),
        Command::Delete(delete) => delete::run(&delete, &setting),
        Command::Export(export) => export::run(&export, &setting),
        Command::Import(import) => import::run(&import, &setting),
        Command::Migrate(migrate) => migrate::run(&migrate, &setting),
        Command::Merge(merge) => merge::run(&merge, &setting),
        Command::Diff(diff) => diff::run(&diff, &setting),
        Command::View(view) => view::run(&view, &setting),
        Command::Init(init) => init::run(&init, &setting),
        Command::Config(config) => config::run(&config, &setting),
        Command::Cache(cache) => cache::run(&cache, &setting),
        Command::Prices(prices) => prices::run(&prices, &setting),
        Command::Trust(trust) => trust::run(*trust, &setting),
        Command::Doctor(doctor) => doctor::run(&doctor, &Ok(setting)),
        Command::Explain(explain) => explain::run(&explain, &setting),
        Command::Completions(shell) => learnt::completions(&shell),
        Command::Man(man) => learnt::man(&man, &setting),
        Command::Plugin(Plugin::Inspect(inspect)) => inspect::run(&inspect, &setting),
        Command::Plugin(Plugin::New(new)) => scaffold::run(&new, &setting),
        Command::Plugin(Plugin::Add(add)) => added::add(&add, &setting),
        Command::Plugin(Plugin::Remove(remove)) => added::remove(&remove, &setting),
        Command::Plugin(Plugin::Verify(verify)) => added::verify(&verify, &setting),
        Command::Plugin(Plugin::Build(build)) => build::run(&build, &setting),
        Command::Plugin(Plugin::Test(test)) => fixtures::run(&test, &setting),
        Command::Plugin(Plugin::List(list)) => bundled::run(&list, &setting),
        Command::Plugin(Plugin::Call(call)) => call::run(&call, &setting),
        Command::Plugin(Plugin::Docs(docs)) => docs::run(&docs, &setting),
        Command::Plugin(Plugin::Pack(pack)) => pack::run(pack, &setting),
        Command::Plugin(Plugin::Lock(lock)) => eval::lock(&lock, &setting),
    };
    done.map_err(|failure| failure.read_by_job(job))
}
