"""The component's exports: what it serves, and one run of a program.

Importing this module is the component's start, which happens at build time: whatever is imported
and set up here is a snapshot that every instance begins with. Each call of `run` gets a fresh
instance, so nothing here cleans up after a program.

What a program can reach is decided in `boundary`, what it may send in `network`, which of its files it may import in `local`,
what its time and chance are in `clock`, what its results are as JSON in `values`, and what is said
of one that failed in `faults`.
"""

import clock  # first: it changes what other modules import

import ast
import gc
import inspect
import json
import linecache
import math
import os
import sys
import types

from wit_world import exports
from wit_world.exports import meta, script
from wit_world.imports import log
from componentize_py_types import Err, Ok

import boundary
import faults
import local
import loop
import network
import values

# Most that a program's output may be for the log, in characters; the rest is dropped.
MAX_CONSOLE = 1 << 18

# What an inline program finds in scope beside its arguments: promptfoo's wrapper imports `json`,
# and its documentation writes `math` as if it were there.
AT_HAND = {"json": json, "math": math}

# The name of the only argument by which the host asks which texts are no Python, and has none run.
SYNTAX = "$syntax"


class Meta(exports.Meta):
    def describe(self):
        return meta.Info(
            name="python",
            version="0.1.0",
            description="Runs the Python of configs",
            homepage=None,
            license="MIT OR Apache-2.0",
            provider_prefixes=[],
            assertion_types=[],
            wants=meta.Wants(hosts=[], host_config_key=None, credentials=[], settings=[], llm=[]),
            config_schema_json=None,
            metadata_json='{"script-languages": [{"name": "python", "extensions": ["py"]}]}',
        )

    def check_config(self, config_json):
        return []


class Script(exports.Script):
    def run(self, program, arguments, context):
        console = Console()
        sys.stdout, sys.stderr = console.stream(log.Level.INFO), console.stream(log.Level.WARN)
        clock.begin(program.clock_ms, context.call_id)
        try:
            answers, arguments = network.apart(arguments)
            if answers is not None:
                network.begin(answers)
            result = values.dump(evaluate(program, arguments, console))
            result = Ok(result if answers is None else network.said(result))
        except BaseException as error:
            # Even SystemExit and what a program derives from BaseException: it must not trap.
            result = Err(faults.failure(error, program))
        asked = network.waits()
        if asked is not None:
            result = Ok(asked)
        return script.Outcome(result=result, console=console.lines())


def evaluate(program, arguments, console):
    """The value of a program."""
    if [argument.name for argument in arguments] == [SYNTAX]:
        return misread(json.loads(arguments[0].value_json))
    faults.show(program.name, program.source)
    named = {argument.name: json.loads(argument.value_json) for argument in arguments}
    if program.form == script.Form.FILE:
        local.install(program)
        if program.entry is None:
            return printed(program, list(named.values()), console)
        return settled(called(program, list(named.values())))
    scope = types.ModuleType("inline").__dict__
    scope.update(AT_HAND)
    if program.form == script.Form.EXPRESSION:
        scope.update(named)
        code = compile(program.source.strip(), program.name, "eval")
        return settled(eval(code, scope))
    exec(body(program.source, program.name, list(named)), scope)
    return settled(scope["main"](*named.values()))


def misread(texts):
    """What is wrong with each of the texts that are no Python, by its place in the list."""
    found = []
    for index, text in enumerate(texts):
        name, source, names = text["name"], text["source"], text["names"]
        try:
            match text["form"]:
                case "expression":
                    compile(source.strip(), name, "eval")
                case "body":
                    body(source, name, names)
                case _:
                    compile(source, name, "exec")
        except (SyntaxError, ValueError) as error:
            at = faults.syntax_position(error)
            found.append({"text": index, "message": faults.said(error), "line": at[0], "column": at[1]})
        except (RecursionError, MemoryError):
            pass  # too much to be read here, and no mistake
    return found


def body(source, name, names):
    """A function that has the source as its body. Made in the syntax tree, so that lines keep
    their numbers and texts of several lines their content."""
    tree = ast.parse(source, name)
    frame = ast.parse("def main(): pass")
    function = frame.body[0]
    function.args.args = [ast.arg(arg=name) for name in names]
    function.body = tree.body or function.body
    return compile(ast.fix_missing_locations(frame), name, "exec")


def called(program, arguments):
    """What the entry gives: the value of a function, or the value itself."""
    module = local.load_main(program.name, local.stem(program.name))
    if not hasattr(module, program.entry):
        raise faults.NoEntry(f"{program.name} has no function `{program.entry}`")
    entry = getattr(module, program.entry)
    return entry(*arguments) if callable(entry) else entry


def printed(program, arguments, console):
    """What a file prints when it is run as a script with its arguments as JSON; a file that
    prints nothing has no value."""
    sys.argv = [program.name, *(json.dumps(argument) for argument in arguments)]
    console.keep_all()
    try:
        local.load_main(program.name, "__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    text = console.taken().removesuffix("\n")
    if not text.strip():
        raise faults.NoEntry(
            f"{program.name} printed nothing; name a function of it, as in "
            f"file://{program.name}:function, or let it print its result"
        )
    return text


def settled(value):
    """The value of what a program gave, coroutines run to their end."""
    if inspect.iscoroutine(value):
        return loop.run(value)
    return value


class Console:
    """What a program writes, as lines of the log."""

    def __init__(self):
        self.pieces = []
        self.size = 0
        self.kept = None

    def stream(self, level):
        return Stream(self, level)

    def keep_all(self):
        """From now on standard output is a result and no log."""
        self.kept = []

    def taken(self):
        return "".join(self.kept)

    def write(self, level, text):
        if self.kept is not None and level == log.Level.INFO:
            self.kept.append(text)
            return
        room = MAX_CONSOLE - self.size
        self.size += len(text)
        if room > 0:
            self.pieces.append((level, text[:room]))

    def lines(self):
        lines = []
        for level in (log.Level.INFO, log.Level.WARN):
            text = faults.whole("".join(text for of, text in self.pieces if of == level))
            lines += [script.Line(level=level, text=line) for line in text.splitlines()]
        if self.size > MAX_CONSOLE:
            lines.append(script.Line(level=log.Level.WARN, text="(more was printed, and dropped)"))
        return lines


class Stream:
    """`sys.stdout` or `sys.stderr`."""

    encoding = "utf-8"
    errors = "strict"
    closed = False

    def __init__(self, console, level):
        self.console = console
        self.level = level

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.console.write(self.level, text)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def isatty(self):
        return False

    def writable(self):
        return True

    def readable(self):
        return False


boundary.close(os)
local.only([])
linecache.clearcache()
# What is there now stays: an instance that never looks through it never copies its pages.
gc.collect()
gc.freeze()
