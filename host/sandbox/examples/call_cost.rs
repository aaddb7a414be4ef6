//! What a fresh call costs: instance, call, drop, one after the other on one thread.
//!
//! `cargo run --release -p runner-sandbox --example call_cost -- PLUGIN.wasm TYPE [CALLS]`
//! prints microseconds per call of an assertion: median, 90 and 99 per cent, and what the
//! plugin itself reports. For a script plugin, TYPE is an expression of its first language.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use runner_sandbox::{
    Call, CallLimits, CallUsage, DenyingHost, InputOf, Options, Plugin, Sandbox, abi,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(kind)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: call_cost PLUGIN.wasm TYPE [CALLS]");
        return ExitCode::from(2);
    };
    let calls: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    match measure(PathBuf::from(path), &kind, calls.max(1)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(
    path: PathBuf,
    kind: &str,
    calls: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let sandbox = Sandbox::new(Options::default())?;
    println!("engine     {:>9.1} µs", micros(start));
    let start = Instant::now();
    let plugin = sandbox.load(&path, None)?;
    println!("load       {:>9.1} µs", micros(start));
    let mut times = Vec::with_capacity(calls);
    let mut usage = None;
    for _ in 0..calls {
        let call = Call {
            host: Arc::new(DenyingHost),
            limits: CallLimits::assertion(),
            nested: false,
            input: InputOf::default(),
        };
        let start = Instant::now();
        let used = one(&plugin, call, kind).await?;
        times.push(micros(start));
        usage = Some(used);
    }
    times.sort_by(f64::total_cmp);
    for (name, share) in [("median", 50), ("90 %", 90), ("99 %", 99)] {
        println!(
            "{name:<10} {:>9.1} µs",
            times[(times.len() - 1) * share / 100]
        );
    }
    if let Some(usage) = usage {
        println!("{usage:?}");
    }
    Ok(())
}

/// One call; its answer must be good.
async fn one(
    plugin: &Plugin,
    call: Call,
    kind: &str,
) -> Result<CallUsage, Box<dyn std::error::Error>> {
    let context = abi::CallContext::new("cost");
    let Some(language) = plugin.script_languages().first() else {
        let input = abi::Input {
            value_json: Some("\"fine\"".into()),
            ..abi::Input::new(kind, "a fine answer")
        };
        let called = plugin.evaluate(call, &input, &context).await;
        called.result?.map_err(|error| error.message)?;
        return Ok(called.usage);
    };
    let program = abi::Program {
        language: language.name.clone(),
        form: abi::Form::Expression,
        name: "cost".into(),
        source: kind.into(),
        entry: None,
        modules: Vec::new(),
        clock_ms: None,
    };
    let values = [
        ("output", "\"a fine answer\""),
        ("context", "{\"vars\":{\"n\":1}}"),
    ];
    let arguments = values.map(|(name, value)| abi::Argument {
        name: name.into(),
        value_json: value.into(),
    });
    let called = plugin.script(call, &program, &arguments, &context).await;
    called.result?.map_err(|failure| failure.message)?;
    Ok(called.usage)
}

fn micros(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}
