//! One program from text to outcome: compile, find the function, call it, wait, convert.

use rquickjs::function::Args;
use rquickjs::{Ctx, Error, Function, Object, Promise, Value};
use runner_plugin::script::{Argument, Failure, FailureKind, Form, Outcome, Program};

use crate::call::Call;
use crate::failure::{self, Stage};
use crate::json::{self, NoJson};
use crate::{clock, context, erase, machine, modules, needed, network, shape, syntax};

/// Why a program has no result.
enum Stop {
    Engine(Error, Stage),
    Known(Failure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Engine(error, Stage::Running)
    }
}

impl Stop {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self::Known(Failure::new(kind, message))
    }
}

/// Runs a program.
pub(crate) fn run(program: &Program, arguments: &[Argument], call_id: &str) -> Outcome {
    if program.language != "javascript" {
        let message = format!("this plugin does not run `{}`", program.language);
        return Outcome::failed(Failure::new(FailureKind::Other, message));
    }
    if let [argument] = arguments
        && let Some(answer) = asked(argument, program)
    {
        return Outcome {
            result: Ok(Some(answer.to_string())),
            console: Vec::new(),
        };
    }
    let program = match erase::of_program(program) {
        Ok(program) => program,
        Err(failure) => return Outcome::failed(failure),
    };
    let program = &*program;
    let (answers, arguments) = network::apart(arguments);
    Call::begin(program, call_id);
    let result = machine::with(|ctx| {
        // After the machine is made, which reads the clock too.
        clock::set(program.clock_ms);
        let result = answers.map_or(Ok(()), |answers| network::begin(ctx, answers));
        let result = result.map_err(Stop::from);
        let result = result.and_then(|()| attempt(ctx, program, arguments));
        let result = match answers {
            Some(_) => network::outcome(result),
            None => result,
        };
        result.map_err(|stop| match stop {
            Stop::Engine(error, stage) => failure::of(ctx, &error, stage),
            Stop::Known(failure) => failure,
        })
    });
    Outcome {
        result,
        console: Call::end(),
    }
}

/// The answer to a question of the host, for which nothing is run.
fn asked(argument: &Argument, program: &Program) -> Option<serde_json::Value> {
    match argument.name.as_str() {
        erase::ASKED => Some(erase::texts(program)),
        syntax::ASKED => Some(syntax::misread(&argument.value_json)),
        _ => None,
    }
}

fn attempt(
    ctx: &Ctx<'_>,
    program: &Program,
    arguments: &[Argument],
) -> Result<Option<String>, Stop> {
    let meant = match program.form {
        Form::Expression | Form::Body => inline(ctx, program, arguments)?.into_value(),
        Form::File => export(ctx, program)?,
    };
    let result = match meant.as_function() {
        Some(function) => call(ctx, function, program, arguments)?,
        None => meant,
    };
    let result = settled(ctx, result)?;
    if result.is_function() && program.form != Form::File {
        let message = "the code is a function and is not called; write its body, or \
                       `file://x.js` that exports it";
        return Err(Stop::new(FailureKind::BadResult, message));
    }
    json::of(ctx, &result).map_err(|why| match why {
        NoJson::Thrown(error) => error.into(),
        NoJson::Unfit(message) => Stop::new(FailureKind::BadResult, message),
    })
}

/// The function that code of a config is.
fn inline<'js>(
    ctx: &Ctx<'js>,
    program: &Program,
    arguments: &[Argument],
) -> Result<Function<'js>, Stop> {
    let names: Vec<&str> = arguments.iter().map(|a| a.name.as_str()).collect();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if let Some(name) = names
        .iter()
        .find(|name| name.is_empty() || !name.chars().all(part))
    {
        let message = format!("an argument can't be called `{name}`");
        return Err(Stop::new(FailureKind::Other, message));
    }
    let wrapped = match program.form {
        Form::Expression => shape::expression(&program.source, &names),
        Form::Body | Form::File => shape::body(&program.source, &names),
    };
    context::function(ctx, &program.name, wrapped)
        .map_err(|error| Stop::Engine(error, Stage::Compiling))
}

/// What a file exports under the entry.
fn export<'js>(ctx: &Ctx<'js>, program: &Program) -> Result<Value<'js>, Stop> {
    let exports = modules::load(ctx, &program.name)?;
    let missing = |what: &str| {
        let listed = listed(&program.name, &exports);
        let message = format!("`{}` {what}; {listed}", program.name);
        Stop::new(FailureKind::NotFound, message)
    };
    let default = default_of(&exports)?;
    if let Some(entry) = &program.entry {
        for holder in [&exports, &default] {
            if let Some(object) = holder.as_object() {
                let found: Value = object.get(entry.as_str())?;
                if !found.is_undefined() {
                    return Ok(found);
                }
            }
        }
        // `module.exports = fn` is known by the name that the function has.
        let name = default.as_object().filter(|_| default.is_function());
        let name = name.map(|function| function.get::<_, Value>("name"));
        let name = name.transpose()?.and_then(Value::into_string);
        if name.is_some_and(|name| name.to_string().is_ok_and(|name| name == *entry)) {
            return Ok(default);
        }
        return Err(missing(&format!("exports no `{entry}`")));
    }
    let functions = !default.is_function() && default == exports && has_function(&exports);
    if functions {
        return Err(missing("has no default export"));
    }
    Ok(default)
}

/// The default export: `export default`, `module.exports`, or the one inside the other, which
/// compilers to CommonJS make.
fn default_of<'js>(exports: &Value<'js>) -> Result<Value<'js>, Error> {
    let mut value = exports.clone();
    for _ in 0..2 {
        let Some(object) = value.as_object().filter(|_| !value.is_function()) else {
            break;
        };
        let inner: Value = object.get("default")?;
        if inner.is_undefined() {
            break;
        }
        value = inner;
    }
    Ok(value)
}

fn has_function(exports: &Value<'_>) -> bool {
    let plain = exports.as_object().filter(|_| !exports.is_array());
    plain.is_some_and(|object| functions(object).next().is_some())
}

/// The names of an object's functions.
fn functions<'js>(object: &Object<'js>) -> impl Iterator<Item = String> {
    let props = object.props::<String, Value<'js>>().flatten();
    props
        .filter(|(_, value)| value.is_function())
        .map(|(name, _)| name)
}

/// What there is instead.
fn listed(file: &str, exports: &Value<'_>) -> String {
    let names: Vec<String> = exports
        .as_object()
        .into_iter()
        .flat_map(functions)
        .collect();
    match names.as_slice() {
        [] => "it exports no function".to_owned(),
        [first, ..] => {
            let all = names.join("`, `");
            format!("it exports `{all}`: write `{file}:{first}` to mean one")
        }
    }
}

/// Calls a function with the arguments in their order. Code of a config gets of each what it
/// names; what a file does with its arguments is not looked at.
fn call<'js>(
    ctx: &Ctx<'js>,
    function: &Function<'js>,
    program: &Program,
    arguments: &[Argument],
) -> Result<Value<'js>, Stop> {
    let mut given = Args::new(ctx.clone(), arguments.len());
    for argument in arguments {
        let json = match program.form {
            Form::Expression | Form::Body => {
                needed::part(&program.source, &argument.name, &argument.value_json)
            }
            Form::File => Some(argument.value_json.as_str().into()),
        };
        let Some(json) = json else {
            given.push_arg(Value::new_undefined(ctx.clone()))?;
            continue;
        };
        let value = ctx.json_parse(&*json).map_err(|_| {
            ctx.catch();
            let message = format!("the argument `{}` is not JSON", argument.name);
            Stop::new(FailureKind::Other, message)
        })?;
        given.push_arg(value)?;
    }
    Ok(given.apply(function)?)
}

/// What a promise, or anything with a `then`, comes to.
fn settled<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Value<'js>, Stop> {
    let Some(object) = value.as_object() else {
        return Ok(value);
    };
    if !value.is_promise() {
        let then: Value = object.get("then")?;
        if !then.is_function() {
            return Ok(value);
        }
    }
    let (promise, resolve, _): (Promise, _, _) = ctx.promise()?;
    resolve.call::<_, ()>((value,))?;
    Ok(context::awaited(ctx, &promise)?)
}
