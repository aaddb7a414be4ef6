//! The engine of one call: a runtime with its limits, and a context with the prelude.
//!
//! One machine per call: nothing that code does to its globals can reach the next call. The
//! machine of an instance's first call is made ahead (`prepare`); a machine that was used
//! lies until the next call wants another, since taking it down would cost every call time
//! for instances that are dropped anyway.

use std::cell::RefCell;

use rquickjs::function::Func;
use rquickjs::{Context, Ctx, Function, Object, Result, Runtime, Value};
use runner_plugin::script::Level;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::call::Call;
use crate::context::eval;
use crate::{clock, collation, modules, web};

/// The files of the prelude in their order: later ones build on earlier ones.
const PRELUDE: [&str; 6] = [
    include_str!("prelude.js"),
    include_str!("prelude/timers.js"),
    include_str!("prelude/locale.js"),
    include_str!("prelude/collation.js"),
    include_str!("prelude/web.js"),
    include_str!("prelude/node.js"),
];

/// What the engine may allocate. The host allows 128 MiB by default for everything, copies of
/// arguments and result included; below that the engine throws, and says so, where the host
/// could only stop it.
const MEMORY_BYTES: usize = 72 << 20;

/// What recursion may use before the engine throws. The component has 1 MiB of it, and the
/// host's own stack holds out a little longer than this.
const STACK_BYTES: usize = 512 << 10;

/// Allocations between two looks for cycles. Most calls end before the first.
const GC_THRESHOLD_BYTES: usize = 8 << 20;

thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

/// The context goes before its runtime.
struct Machine {
    context: Context,
    _runtime: Runtime,
    used: bool,
}

/// Makes a machine for the next call, if there is none.
pub(crate) fn prepare() {
    MACHINE.with_borrow_mut(|place| {
        if place.as_ref().is_none_or(|machine| machine.used) {
            // The old one first: both at once might not fit.
            *place = None;
            *place = Some(Machine::new());
        }
    });
}

/// Runs `act` on a machine that nothing has run on.
pub(crate) fn with<T>(act: impl FnOnce(&Ctx<'_>) -> T) -> T {
    prepare();
    let context = MACHINE.with_borrow_mut(|place| {
        let machine = place.as_mut().expect("it was prepared just now");
        machine.used = true;
        machine.context.clone()
    });
    context.with(|ctx| act(&ctx))
}

impl Machine {
    fn new() -> Self {
        let runtime = Runtime::new().expect("the engine fits into the smallest memory");
        runtime.set_memory_limit(MEMORY_BYTES);
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_gc_threshold(GC_THRESHOLD_BYTES);
        runtime.set_loader(modules::Files, modules::Files);
        let context = Context::full(&runtime).expect("a context fits into the smallest memory");
        context
            .with(|ctx| prelude(&ctx))
            .expect("the prelude runs in every context");
        Self {
            context,
            _runtime: runtime,
            used: false,
        }
    }
}

fn prelude(ctx: &Ctx<'_>) -> Result<()> {
    let host = Object::new(ctx.clone())?;
    host.set("random", Func::from(|| Call::with(Call::random)))?;
    host.set("emit", Func::from(emit))?;
    host.set("parse", Func::from(parse))?;
    host.set("refuse", Func::from(modules::refuse))?;
    host.set("resolve", Func::from(modules::resolve))?;
    host.set("source", Func::from(modules::source))?;
    host.set("compile", Func::from(modules::compile))?;
    host.set("namespace", Func::from(modules::namespace))?;
    host.set("encode", Func::from(web::encode))?;
    host.set("decode", Func::from(web::decode))?;
    host.set("url", Func::from(web::url))?;
    host.set("collate", Func::from(collation::collate))?;
    host.set("graphemes", Func::from(graphemes))?;
    host.set("now", Func::from(clock::now_ms))?;
    host.set("advance", Func::from(clock::advance))?;
    for text in PRELUDE {
        let set_up: Function = eval(ctx, "runner:prelude", text)?;
        set_up.call::<_, ()>((host.clone(),))?;
    }
    Ok(())
}

/// What a reader takes for the characters of a text, by Unicode's rules: how many units of UTF-16 each
/// has.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine calls it with what it owns"
)]
fn graphemes(text: String) -> Vec<u32> {
    let units = |of: &str| of.encode_utf16().count() as u32;
    text.graphemes(true).map(units).collect()
}

fn emit(level: u8, text: String) {
    let level = match level {
        0 => Level::Trace,
        1 => Level::Debug,
        2 => Level::Info,
        3 => Level::Warn,
        _ => Level::Error,
    };
    Call::with(|call| call.emit(level, text));
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine calls it with what it owns"
)]
fn parse(ctx: Ctx<'_>, text: String) -> Result<Value<'_>> {
    ctx.json_parse(text)
}
