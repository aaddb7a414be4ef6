"""What code of configs can reach, and what is said where it reaches further.

The wall is the component: its WASI has no environment, files, sockets or real clock, whatever
Python says. This module makes that readable: each of the usual ways out fails by its name and
tells what to do instead. It also imports the part of the standard library that programs may use,
since nothing can be loaded once the component is built.
"""

import builtins
import importlib
import linecache
import sys
from collections.abc import MutableMapping

# What programs may import. `xml.etree.ElementTree` brings its parents.
OFFERED = """
abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath codecs collections
collections.abc colorsys configparser contextlib contextvars copy csv dataclasses datetime decimal
difflib email.utils enum errno fnmatch fractions functools gc graphlib hashlib heapq hmac html
html.entities html.parser importlib inspect io ipaddress itertools json json.decoder json.encoder
keyword locale logging math numbers operator os os.path pathlib pickle platform posixpath pprint
queue random re reprlib secrets shlex shutil statistics string stringprep struct sys textwrap threading time
timeit token tokenize tomllib traceback types typing unicodedata unittest urllib.parse uuid warnings
weakref xml xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils zlib
""".split()

# Present in the interpreter, and of no use: (why, what to do instead).
NO_NETWORK = (
    "there is no network; the providers, of which `http` asks any address, have it, and `urllib.request` "
    "where the config grants it hosts: `plugins: { python: { permissions: { hosts: [...] } } }`"
)
NO_PROCESS = "there are no other programs; write what it does in Python, or give its result as a variable"
NO_FILES = "there are no files; give the content as a variable: `vars: { x: file://data.json }`"
NO_NATIVE = "there is no native code"
REFUSED = {
    "socket": NO_NETWORK,
    "ssl": NO_NETWORK,
    "select": NO_NETWORK,
    "selectors": NO_NETWORK,
    "http": NO_NETWORK,
    "urllib.request": NO_NETWORK,
    "ftplib": NO_NETWORK,
    "smtplib": NO_NETWORK,
    "requests": NO_NETWORK,
    "httpx": NO_NETWORK,
    "aiohttp": NO_NETWORK,
    "urllib3": NO_NETWORK,
    "openai": NO_NETWORK,
    "anthropic": NO_NETWORK,
    "subprocess": NO_PROCESS,
    "multiprocessing": NO_PROCESS,
    "signal": NO_PROCESS,
    "pty": NO_PROCESS,
    "tempfile": NO_FILES,
    "glob": NO_FILES,
    "sqlite3": NO_FILES,
    "dotenv": "there is no environment; give the value as a variable of the test",
    "ctypes": NO_NATIVE,
    "cffi": NO_NATIVE,
}

# Functions of `os` that would reach out.
OS_PROCESS = """
abort execl execle execlp execlpe execv execve execvp execvpe fork forkpty getlogin kill killpg popen
posix_spawn posix_spawnp spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe system wait
waitpid _exit
""".split()
OS_FILES = """
access chdir chmod chown fdopen link listdir lstat makedirs mkdir open pipe read readlink remove
removedirs rename renames replace rmdir scandir stat statvfs symlink truncate unlink utime walk write
""".split()

ENVIRONMENT = "code does not see the environment; give the value as a variable of the test"


# The files of the program, by the names that its code has them under.
PROGRAM = set()


class Absent:
    """Marks what is raised because the sandbox lacks something."""


class NoAccess(Absent, OSError):
    """A call that would leave the sandbox."""


class NoModule(Absent, ModuleNotFoundError):
    """A module that does not exist here."""


class NoVariable(Absent, KeyError):
    """An environment variable that was read."""

    def __str__(self):
        return self.args[0]


def lacks(what, why):
    return f"`{what}` does not exist in the sandbox: {why}"


def refusal(what, why):
    """A function that fails by its name."""

    def refused(*arguments, **named):
        raise NoAccess(lacks(what, why))

    refused.__name__ = refused.__qualname__ = what.rsplit(".", 1)[-1]
    return refused


def refused_module(name):
    """The error for a module that can't be imported."""
    known = [prefix for prefix in parents(name) if prefix in REFUSED]
    if known:
        return NoModule(lacks(f"import {name}", REFUSED[known[0]]), name=name)
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        why = "this part of the standard library is not in the Python plugin"
    else:
        why = (
            "there are no packages, only the standard library and .py files beside the code; put what is "
            "needed into such a file, or compute it before and give it as a variable"
        )
    return NoModule(lacks(f"import {name}", why), name=name)


def parents(name):
    """`a.b.c` → `a`, `a.b`, `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def asked_by_program():
    """Whether it was the program that called into this file."""
    frame = sys._getframe()
    while frame.f_code.co_filename == asked_by_program.__code__.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename in PROGRAM


class Environment(MutableMapping):
    """`os.environ`: empty, and reading it says so. What a program sets, it finds."""

    def __init__(self):
        self.own = {}

    def __getitem__(self, name):
        if name in self.own:
            return self.own[name]
        raise NoVariable(lacks(f"os.environ[{name!r}]", ENVIRONMENT))

    def get(self, name, *default):
        """With a default as in an empty environment; without one a program learns why there is
        none, instead of a `None` that shows up elsewhere. The library just gets none."""
        if default or not asked_by_program():
            return self.own.get(name, *default)
        return self[name]

    def __contains__(self, name):
        return name in self.own

    def __setitem__(self, name, value):
        self.own[name] = value

    def __delitem__(self, name):
        del self.own[name]

    def __iter__(self):
        return iter(self.own)

    def __len__(self):
        return len(self.own)

    def copy(self):
        return dict(self.own)


def audit(event, arguments):
    """Stops what opens files below Python: the parser looks for a file to quote from."""
    if event == "open":
        raise NoAccess(lacks("open", NO_FILES))


def close(os):
    """Imports what is offered, then closes the ways out. Called once, at build time."""
    for name in OFFERED:
        importlib.import_module(name)
    os.environ = environment = Environment()
    os.getenv = lambda name, *default: environment.get(name, *default)
    os.putenv = environment.__setitem__
    for names, why in ((OS_PROCESS, NO_PROCESS), (OS_FILES, NO_FILES)):
        for name in names:
            os.__dict__[name] = sys.modules["posix"].__dict__[name] = refusal(f"os.{name}", why)
    builtins.open = refusal("open", NO_FILES)
    for name in ("io", "_io"):
        module = sys.modules[name]
        module.open = module.open_code = builtins.open
        module.FileIO = refusal("io.FileIO", NO_FILES)
    sys.addaudithook(audit)
    # Lines of code are quoted from what was handed over; else it would look for files.
    linecache.checkcache = lambda filename=None: None
    linecache.lazycache = lambda filename, module_globals: False
    linecache.updatecache = lambda filename, module_globals=None: []
    builtins.input = refusal("input", "nobody types here; give the value as a variable of the test")
    for name in ("exit", "quit"):
        if not hasattr(builtins, name):
            setattr(builtins, name, sys.exit)
    threading = sys.modules["threading"]
    one_thread = "there is one thread; `async` functions can take turns in it"
    threading.Thread.start = refusal("threading.Thread.start", one_thread)
    # Nobody could end the waiting.
    threading.Condition.wait = refusal("threading.Condition.wait", one_thread)
    for name in list(sys.modules):
        if any(prefix in REFUSED for prefix in parents(name)):
            del sys.modules[name]
