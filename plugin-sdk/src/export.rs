//! From a Rust type to the exports of a component.
//!
//! One macro per kind of component. Each expands, for wasm only, to the exported
//! functions and to the description of the world that the linker turns into a component; for
//! any other target it only checks that the type fits, so that a plugin's tests run natively.
//!
//! A panic in a sandbox is an `unreachable` without words. So a hook writes the message to the
//! log first, but only in components that import `log` anyway: in a provider always, in a
//! grader from its first use of `log`, `http` or `llm` on. A grader that uses none of them
//! stays free of imports, which is worth more than the message.

use std::marker::PhantomData;

use serde_json::Value;

use crate::assertion::check_values;
use crate::wire::assertion::exports::runner::plugin::assertion as assertion_wire;
use crate::wire::hands::runner::plugin::types as wire;
use crate::wire::meta::exports::runner::plugin::meta as meta_wire;
use crate::wire::provider::exports::runner::plugin::provider as provider_wire;
use crate::wire::script::exports::runner::plugin::script as script_wire;
use crate::{Assertion, Provider, Script};

/// The exports of a component that is a provider.
pub struct OfProvider<P>(PhantomData<P>);

/// The exports of a component that is a grader.
pub struct OfAssertion<A>(PhantomData<A>);

/// The exports of a component that is both.
pub struct OfBoth<P, A>(PhantomData<(P, A)>);

/// The exports of a component that runs code of configs.
pub struct OfScript<S>(PhantomData<S>);

impl<P: Provider> meta_wire::Guest for OfProvider<P> {
    fn describe() -> meta_wire::Info {
        P::describe().checks_targets()
    }

    fn check_config(config_json: String) -> Vec<(String, String)> {
        check_config::<P>(&config_json)
    }
}

impl<P: Provider> provider_wire::Guest for OfProvider<P> {
    fn complete(
        target: provider_wire::Target,
        request: wire::Request,
        context: wire::CallContext,
    ) -> Result<wire::Completion, wire::Error> {
        complete::<P>(&target, &request, &context)
    }
}

impl<A: Assertion> meta_wire::Guest for OfAssertion<A> {
    fn describe() -> meta_wire::Info {
        A::describe()
    }

    fn check_config(config_json: String) -> Vec<(String, String)> {
        check_values::<A>(&config_json)
    }
}

impl<A: Assertion> assertion_wire::Guest for OfAssertion<A> {
    fn evaluate(
        input: assertion_wire::Input,
        context: wire::CallContext,
    ) -> Result<assertion_wire::Grade, wire::Error> {
        Ok(A::evaluate(&input, &context)?)
    }
}

impl<P: Provider, A: Assertion> meta_wire::Guest for OfBoth<P, A> {
    fn describe() -> meta_wire::Info {
        P::describe().joined(A::describe()).checks_targets()
    }

    fn check_config(config_json: String) -> Vec<(String, String)> {
        check_config::<P>(&config_json)
    }
}

impl<P: Provider, A: Assertion> provider_wire::Guest for OfBoth<P, A> {
    fn complete(
        target: provider_wire::Target,
        request: wire::Request,
        context: wire::CallContext,
    ) -> Result<wire::Completion, wire::Error> {
        complete::<P>(&target, &request, &context)
    }
}

impl<P: Provider, A: Assertion> assertion_wire::Guest for OfBoth<P, A> {
    fn evaluate(
        input: assertion_wire::Input,
        context: wire::CallContext,
    ) -> Result<assertion_wire::Grade, wire::Error> {
        hook_panics();
        Ok(A::evaluate(&input, &context)?)
    }
}

impl<S: Script> meta_wire::Guest for OfScript<S> {
    fn describe() -> meta_wire::Info {
        S::describe()
    }

    fn check_config(_: String) -> Vec<(String, String)> {
        Vec::new()
    }
}

impl<S: Script> script_wire::Guest for OfScript<S> {
    fn run(
        program: script_wire::Program,
        arguments: Vec<script_wire::Argument>,
        context: wire::CallContext,
    ) -> script_wire::Outcome {
        S::run(&program, &arguments, &context)
    }
}

fn complete<P: Provider>(
    target: &provider_wire::Target,
    request: &wire::Request,
    context: &wire::CallContext,
) -> Result<wire::Completion, wire::Error> {
    hook_panics();
    Ok(P::complete(target, request, context)?)
}

/// The member of a checked config that holds the provider's id and name. The host adds it where
/// `checks` in the metadata lists `target`; it is no part of the config.
const TARGET: &str = "$target";

fn check_config<P: Provider>(config_json: &str) -> Vec<(String, String)> {
    let mut config: Value = match serde_json::from_str(config_json) {
        Ok(config) => config,
        Err(error) => return vec![(String::new(), format!("config is not JSON: {error}"))],
    };
    let target = config
        .as_object_mut()
        .and_then(|config| config.remove(TARGET));
    let mut problems = P::check_config(&config);
    if let Some(target) = target {
        let text = |key: &str| target[key].as_str().unwrap_or_default().to_owned();
        let target = provider_wire::Target {
            id: text("id"),
            name: text("name"),
            config_json: config.to_string(),
        };
        let refused = P::check_target(&target).err();
        problems.extend(refused.map(|error| (String::new(), error.message)));
    }
    problems
}

/// Makes a panic write its message to the host's log before it traps. Does nothing the second
/// time, and nothing outside wasm, where a panic has a test to report to.
#[doc(hidden)]
pub fn hook_panics() {
    #[cfg(target_arch = "wasm32")]
    {
        use crate::wire::hands::runner::plugin::log;
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            std::panic::set_hook(Box::new(|panic| {
                log::emit(log::Level::Error, &panic.to_string(), &[]);
            }));
        });
    }
}

/// Makes a type that is a [`Provider`] the plugin of this crate.
///
/// ```
/// # use runner_plugin::{CallContext, Completion, Error, Info, Provider, Request, Target};
/// struct Parrot;
///
/// impl Provider for Parrot {
///     fn describe() -> Info {
///         Info::new("parrot", "0.1.0", "Says it again.").prefix("parrot")
///     }
///     fn complete(_: &Target, request: &Request, _: &CallContext) -> Result<Completion, Error> {
///         Ok(Completion::text(&request.prompt))
///     }
/// }
///
/// runner_plugin::export_provider!(Parrot);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_provider {
    ($provider:ty) => {
        const _: () = {
            type Exported = $crate::export::OfProvider<$provider>;
    $crate::exports!(Exported: meta, provider);
        };
    };
}

/// Makes a type that is an [`Assertion`] the plugin of this crate.
///
/// ```
/// # use runner_plugin::{Assertion, CallContext, Error, Grade, Info, Input};
/// struct Short;
///
/// impl Assertion for Short {
///     fn describe() -> Info {
///         Info::new("short", "0.1.0", "Passes a short answer.").assertion("short")
///     }
///     fn evaluate(input: &Input, _: &CallContext) -> Result<Grade, Error> {
///         Ok(input.judge(input.output.len() < 80, "be short"))
///     }
/// }
///
/// runner_plugin::export_assertion!(Short);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_assertion {
    ($assertion:ty) => {
        const _: () = {
            type Exported = $crate::export::OfAssertion<$assertion>;
    $crate::exports!(Exported: meta, assertion);
        };
    };
}

/// Makes a [`Provider`] and an [`Assertion`], which may be one type, the plugin of this crate.
#[macro_export]
macro_rules! export_both {
    ($provider:ty, $assertion:ty) => {
        const _: () = {
            type Exported = $crate::export::OfBoth<$provider, $assertion>;
    $crate::exports!(Exported: meta, provider, assertion);
        };
    };
}

/// Makes a type that is a [`Script`] the plugin of this crate.
///
/// ```
/// # use runner_plugin::script::{Argument, Failure, FailureKind, Outcome, Program};
/// # use runner_plugin::{CallContext, Info, Script};
/// /// A language whose programs are JSON texts, which mean themselves.
/// struct Plain;
///
/// impl Script for Plain {
///     fn describe() -> Info {
///         Info::new("plain", "0.1.0", "JSON as a language.").script_language("json", &["json"])
///     }
///     fn run(program: &Program, _: &[Argument], _: &CallContext) -> Outcome {
///         match runner_plugin::json::read("the program", &program.source) {
///             Ok(value) => Outcome::value(&value),
///             Err(error) => Outcome::failed(Failure::new(FailureKind::Syntax, error.message)),
///         }
///     }
/// }
///
/// runner_plugin::export_script!(Plain);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_script {
    ($script:ty) => {
        const _: () = {
            type Exported = $crate::export::OfScript<$script>;
    $crate::exports!(Exported: meta, script);
        };
    };
}

/// The part that the macros share; not for plugins.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($exported:ident: $($interface:ident),+) => {
        $(
            #[cfg(target_arch = "wasm32")]
            $crate::wire::$interface::export!($exported with_types_in $crate::wire::$interface);
            #[cfg(not(target_arch = "wasm32"))]
            const _: () = $crate::wire::$interface::fits::<$exported>();
        )+
    };
}
