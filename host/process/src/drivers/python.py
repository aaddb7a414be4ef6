"""Runs the Python of a config in the user's own interpreter, one call at a time.

The host writes one JSON object a line to standard input and reads one a line from standard output,
each behind a token that nobody else knows. Whatever the user's code prints, or a program that it
starts, goes to standard error or comes back as log lines of its call.

The rules are those of the sandbox's Python (`plugins/python`): which function is called, what a
script prints, how a body becomes a function.
"""

import ast
import asyncio
import importlib.util
import inspect
import io
import json
import math
import os
import sys
import traceback

# The host's end of standard output; file descriptor 1 becomes standard error, also for C libraries
# and for programs that the user's code starts.
CHANNEL = os.fdopen(os.dup(1), "wb")
ERRORS = os.dup(2)
os.dup2(2, 1)
# And the host's words are nothing that the user's code could read or close.
INPUT = os.fdopen(os.dup(0), "rb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

MODULES = {}
TOKEN = json.loads(INPUT.readline())["token"].encode()


def say(message):
    tell(json.dumps(message))


def tell(line):
    # A line of its own, whatever a program that shares the pipe has left unfinished.
    CHANNEL.write(b"\n" + TOKEN + line.encode() + b"\n")
    CHANNEL.flush()


def end(call, answer):
    """A call has ended, and whatever it wrote past us stands before this in the other pipe."""
    os.write(ERRORS, b"\n" + TOKEN + json.dumps({"quiet": call}).encode() + b"\n")
    tell(answer)


class Log(io.TextIOBase):
    """A stream whose lines are log lines of the call that is under way."""

    def __init__(self, level):
        self.level = level
        self.call = None
        self.rest = ""

    def writable(self):
        return True

    @property
    def encoding(self):
        return "utf-8"

    def fileno(self):
        return 1 if self.level == "info" else 2

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self.emit(line)
        return len(text)

    def emit(self, line):
        # Only who masks secrets may cut.
        text = line if len(line) <= 65536 else f"(a line of {len(line)} characters)"
        say({"id": self.call, "log": {"level": self.level, "text": text}})

    def end(self):
        if self.rest:
            self.emit(self.rest)
        self.rest = ""


OUT, ERR = Log("info"), Log("warn")


def load(path):
    """The module of a file, loaded once. A load that failed is tried again: it says why each time."""
    if path not in MODULES:
        folder = os.path.dirname(path)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        name = os.path.basename(path).rsplit(".", 1)[0]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        # Dataclasses and pickles look their module up by its name.
        shadowed = sys.modules.get(name)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            if shadowed is None:
                del sys.modules[name]
            else:
                sys.modules[name] = shadowed
            raise
        MODULES[path] = module
    return MODULES[path]


def entry(path, name):
    """A function of a file, or one of a class in it (`Class.method`)."""
    found = load(path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise NoEntry(f"{os.path.basename(path)} has no function `{name}`")
        found = getattr(found, part)
    return found


class NoEntry(Exception):
    pass


def printed(path, arguments):
    """What a file prints when it is run as a script with its arguments as JSON."""
    sys.argv = [path, *(json.dumps(argument) for argument in arguments)]
    sys.path.insert(0, os.path.dirname(path))
    kept, sys.stdout = sys.stdout, io.StringIO()
    try:
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        exec(code, {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        text, sys.stdout = sys.stdout.getvalue(), kept
        sys.path.pop(0)
    text = text.removesuffix("\n")
    if not text.strip():
        raise NoEntry(f"{os.path.basename(path)} printed nothing")
    return text


def body(source, name, names):
    """A function that has the source as its body; lines keep their numbers."""
    tree = ast.parse(source, name)
    frame = ast.parse("def main(): pass")
    function = frame.body[0]
    function.args.args = [ast.arg(arg=name) for name in names]
    function.body = tree.body or function.body
    return compile(ast.fix_missing_locations(frame), name, "exec")


def evaluate(call):
    names = [name for name, _ in call["arguments"]]
    values = [value for _, value in call["arguments"]]
    if call["form"] == "file":
        if call.get("entry") is None:
            return printed(call["path"], values)
        found = entry(call["path"], call["entry"])
        return found(*values) if callable(found) else found
    here = os.path.join(os.getcwd(), "promptfooconfig.yaml")
    scope = {"json": json, "math": math, "__name__": "inline", "__file__": here}
    if call["form"] == "expression":
        scope.update(zip(names, values))
        return eval(compile(call["source"].strip(), call["name"], "eval"), scope)
    exec(body(call["source"], call["name"], names), scope)
    return scope["main"](*values)


async def awaited(value):
    return await value


def settled(value):
    return asyncio.run(awaited(value)) if inspect.isawaitable(value) else value


def plain(value):
    """What `json` doesn't know by itself, as common libraries mean it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    for method in ("tolist", "isoformat", "_asdict"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(value, "as_integer_ratio"):
        return float(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


def failure(error):
    # Not ours, nor those by which Python imports.
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename[0] != "<"]
    # The innermost first, as everywhere in our messages.
    stack = [f"    at {one.name} ({one.filename}:{one.lineno})" for one in reversed(frames)]
    message = str(error)
    name = type(error).__name__
    told = message if isinstance(error, NoEntry) else f"{name}: {message}" if message else name
    place = {"file": frames[-1].filename, "line": frames[-1].lineno} if frames else {}
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        place = {"file": error.filename, "line": error.lineno}
    missing = isinstance(error, (NoEntry, ModuleNotFoundError))
    return {"message": told, **place, "stack": "\n".join(stack), "missing": missing}


def main():
    sys.stdout, sys.stderr = OUT, ERR
    say({"ready": True})
    for line in INPUT:
        request = json.loads(line)
        if "ping" in request:
            say({"pong": request["ping"]})
            continue
        if "call" not in request:
            continue
        OUT.call = ERR.call = request["id"]
        try:
            value = settled(evaluate(request["call"]))
            value = json.dumps(value, default=plain, allow_nan=False)
            answer = f'{{"id": {request["id"]}, "value": {value}}}'
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            answer = json.dumps({"id": request["id"], "error": failure(error)})
        OUT.end(), ERR.end()
        end(request["id"], answer)
        OUT.call = ERR.call = None


main()
