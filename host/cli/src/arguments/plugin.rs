//! The arguments of `plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use serde_json::{Map, Value};

use super::{Lock, help, variable};

/// `runner plugin …`
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Make a folder with a plugin that works, to change into one of your own
    #[command(after_help = help::NEW)]
    New(New),
    /// Build the plugin in a folder with its language's own tools, and look whether it can be loaded
    #[command(after_help = help::BUILD)]
    Build(Build),
    /// Run a plugin on its fixtures, and compare the results with what they expect
    #[command(after_help = help::TEST)]
    Test(Test),
    /// Ask a plugin for one grade or one completion, without a config
    #[command(after_help = help::CALL)]
    Call(Box<Call>),
    /// Keep a component on this machine, under its digest, for configs to name
    #[command(after_help = help::ADD)]
    Add(Add),
    /// Forget a component that was added
    Remove(Remove),
    /// Look whether the components that were added are what they were
    Verify(VerifyAdded),
    /// List the plugins that come with the program and those that were added, and what they serve
    List(ListPlugins),
    /// Say what a component is, what it wants and whether it can be loaded
    Inspect(Inspect),
    /// Write runner.lock beside the config: which components it uses, and what each may do
    Lock(Box<Lock>),
    /// Print the documentation of a plugin that comes with the program
    Docs(Docs),
    /// Put compiled plugins into a program
    #[command(hide = true)]
    Pack(Pack),
}

/// `runner plugin new`
#[derive(Debug, Args)]
pub(crate) struct New {
    /// Its name, which is also its provider prefix or its assertion type: my-grader
    pub(crate) name: String,
    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub(crate) lang: Language,
    /// What it is: what grades answers, or what answers prompts
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) kind: PluginKind,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A language that plugins can be begun in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Rust, for wasm32-wasip2
    Rust,
    /// JavaScript, in QuickJS
    Js,
    /// Python, in CPython
    Python,
    /// C, by Zig; graders alone
    C,
}

/// What a plugin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginKind {
    /// A grader: it serves an assertion type
    Assertion,
    /// A client of a model's API: it serves provider ids
    Provider,
}

/// `runner plugin build`
#[derive(Debug, Args)]
pub(crate) struct Build {
    /// The folder of the plugin [default: this folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin test`
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The folder of the plugin, with its fixtures in `fixtures` [default: this folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The component [default: the one that is built in the folder]
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) plugin: Option<PathBuf>,
    /// Only fixtures whose names have TEXT in them
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print JSON: what came of each fixture, and how it differs from what it expects
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin add`
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The component (.wasm), the folder that it is built in, or an address (https)
    #[arg(value_name = "FILE|DIR|URL")]
    pub(crate) source: String,
    /// The digest that it must have, in hexadecimal
    #[arg(long, value_name = "DIGEST")]
    pub(crate) sha256: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin remove`
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Its name; with its digest where several have that name
    #[arg(value_name = "NAME[@sha256:DIGEST]")]
    pub(crate) name: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin verify`
#[derive(Debug, Args)]
pub(crate) struct VerifyAdded {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin list`
#[derive(Debug, Args)]
pub(crate) struct ListPlugins {
    /// Print JSON, with version, digest and what each wants
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin call`
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The component (.wasm), the folder that it is built in, or the name of a plugin that comes with the program
    #[arg(value_name = "FILE|DIR|NAME")]
    pub(crate) plugin: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a fixture for `plugin test` to FILE (.json): what was asked, what was exchanged, what came of it
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// The answer to grade, as it is
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        help_heading = "A grade"
    )]
    pub(crate) output: Option<String>,
    /// The assertion type [default: the plugin's only one]
    #[arg(long = "type", value_name = "TYPE", help_heading = "A grade")]
    pub(crate) kind: Option<String>,
    /// The assertion's value: JSON, or else text
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "A grade"
    )]
    pub(crate) value: Option<String>,
    /// The assertion's threshold
    #[arg(long, value_name = "N", help_heading = "A grade")]
    pub(crate) threshold: Option<f64>,
    /// Who judges, where the assertion asks a model: the id of a provider
    #[arg(long, value_name = "PROVIDER", help_heading = "A grade")]
    pub(crate) grader: Option<String>,

    /// The prompt, as it is: what the provider is asked, or what the answer answers
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        help_heading = "A completion"
    )]
    pub(crate) prompt: Option<String>,
    /// The provider's id, with the model: acme:small [default: the plugin's only prefix]
    #[arg(long, value_name = "ID", help_heading = "A completion")]
    pub(crate) provider: Option<String>,

    /// The `config` of the provider or the assertion, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) config: Option<Map<String, Value>>,
    /// The test's variables, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) vars: Option<Map<String, Value>>,

    /// Let it reach this address, as `https://api.acme.com`; repeatable
    #[arg(long, value_name = "ORIGIN", help_heading = "What it may do")]
    pub(crate) allow_host: Vec<String>,
    /// Let its requests name a key that it wants, with the environment variable that holds it; repeatable
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = variable, help_heading = "What it may do")]
    pub(crate) allow_key: Vec<(String, String)>,
    /// Let it ask a provider by a name that it wants; repeatable
    #[arg(long, value_name = "NAME=PROVIDER", value_parser = variable, help_heading = "What it may do")]
    pub(crate) allow_llm: Vec<(String, String)>,
    /// Let its requests come through wasi:http, as `fetch` makes them
    #[arg(long, help_heading = "What it may do")]
    pub(crate) allow_wasi_http: bool,
}

/// An object of JSON.
fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

/// `runner plugin docs`
#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// The plugin; without it, all are listed
    pub(crate) name: Option<String>,
    /// Print JSON, with the texts as Markdown
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner plugin pack`, which `cargo xtask bundle` runs.
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The plugins (.wasm)
    #[arg(required = true)]
    pub(crate) components: Vec<PathBuf>,
    /// The program that shall carry them; it carries nothing yet
    #[arg(long, value_name = "FILE")]
    pub(crate) program: PathBuf,
    /// Where to write it
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// The plugin to compress the others against
    #[arg(long, value_name = "NAME")]
    pub(crate) like: Option<String>,
    /// How hard they are compressed
    #[arg(long, value_name = "N", default_value_t = 19, value_parser = clap::value_parser!(i32).range(1..=22))]
    pub(crate) level: i32,
    /// The commit that the program was built from
    #[arg(long, value_name = "ID")]
    pub(crate) commit: Option<String>,
}

/// `runner plugin inspect`
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The component (.wasm), the folder that it is built in, or the name of a plugin that comes with the program
    #[arg(value_name = "FILE|DIR|NAME")]
    pub(crate) plugin: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
