//! Starts a guest at build time and makes a component of it that has started already.
//!
//! `preinitialise CORE.wasm COMPONENT.wasm`: runs the core module's `wizer-initialize`, which may
//! import nothing, and makes the memory that it leaves the memory that every instance begins
//! with. For guests whose start costs more than their work: a JavaScript engine, say.
//!
//! A tool of the build, run by `cargo xtask plugins`. An interpreter is enough for it, so that
//! building plugins does not need the engine that the program runs them with.

use std::error::Error;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::{env, fs};

use wasmi::{Engine, Instance, Linker, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};
use wit_component::ComponentEncoder;

/// The export that starts the guest; it is gone afterwards.
const START: &str = "wizer-initialize";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        eprintln!("usage: preinitialise CORE.wasm COMPONENT.wasm");
        return ExitCode::from(2);
    };
    match preinitialise(from.as_ref(), to.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", from.display());
            ExitCode::FAILURE
        }
    }
}

fn preinitialise(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let core = fs::read(from)?;
    let mut wizer = Wizer::new();
    wizer.init_func(START);
    let (module, instrumented) = wizer.instrument(&core).map_err(told)?;
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let compiled = Module::new(&engine, &instrumented[..])?;
    let instance = Linker::new(&engine).instantiate_and_start(&mut store, &compiled)?;
    let start = instance.get_typed_func::<(), ()>(&store, START)?;
    start.call(&mut store, ())?;
    let mut started = Started { store, instance };
    let snapshot = at_once(wizer.snapshot(&module, &mut started)).map_err(told)?;
    let component = ComponentEncoder::default()
        .validate(true)
        .module(&snapshot)
        .map_err(told)?
        .encode()
        .map_err(told)?;
    fs::write(to, component)?;
    Ok(())
}

/// An error with its causes, as text.
fn told(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}

/// The output of a future that waits for nothing.
fn at_once<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("reading an instance that is in memory waits for nothing"),
    }
}

/// The guest after its start.
struct Started {
    store: Store<()>,
    instance: Instance,
}

impl InstanceState for Started {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let global = self.instance.get_global(&self.store, name);
        match global.map(|global| global.get(&self.store)) {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(value)) => SnapshotVal::F32(value.to_bits()),
            Some(Val::F64(value)) => SnapshotVal::F64(value.to_bits()),
            other => panic!("the global `{name}` is {other:?}; guests have numbers only"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(&self.store, name);
        let memory = memory.expect("the memory is exported by what asks for it");
        contents(memory.data(&self.store));
    }
}
