"""Time and chance of a call: told by the host, and the same whenever the call is repeated.

Time begins at the program's `clock-ms` and moves a microsecond whenever it is read, so that a loop
that waits for it ends; `sleep` moves it and takes none. Chance follows from the call's id.

The component has no clock and no source of chance to ask. So this module comes before all others:
it gives the modules `time`, `os` and `random` functions that do not ask for any, and `datetime` its
version in Python, which reads the time from them.
"""

import os
import sys
import time
from types import SimpleNamespace

# What the clock shows where the host says nothing: 2025-01-01, in nanoseconds since 1970.
BEGIN = 1_735_689_600 * 10**9

# The functions of `time` that read it when they are given none, and how many arguments come first.
SHOWING = {"gmtime": 0, "localtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}


class Clock:
    def __init__(self):
        self.begin = self.now = BEGIN

    def set(self, milliseconds):
        self.begin = self.now = BEGIN if milliseconds is None else milliseconds * 10**6

    def wall(self):
        self.now += 1_000
        return self.now

    def since(self):
        return self.wall() - self.begin

    def sleep(self, seconds):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.now += int(seconds * 10**9)


class Chance:
    """Bytes that follow from the call's id: blocks of a hash of id and number."""

    def __init__(self):
        self.seed = b""
        self.block = 0

    def set(self, call_id):
        self.seed = call_id.encode()
        self.block = 0

    def bytes(self, count):
        from hashlib import sha256

        found = b""
        while len(found) < count:
            found += sha256(b"%d:%s" % (self.block, self.seed)).digest()
            self.block += 1
        return found[:count]


CLOCK = Clock()
CHANCE = Chance()


def begin(milliseconds, call_id):
    """Sets both for a call."""
    import random

    CLOCK.set(milliseconds)
    CHANCE.set(call_id)
    random.seed(call_id)


def told(name, first):
    """A function of `time` that is given the time where it would read it."""
    original = getattr(time, name)
    as_tuple = name in ("asctime", "strftime")

    def showing(*arguments):
        if len(arguments) == first or arguments[first:] == (None,):
            seconds = CLOCK.wall() / 10**9
            now = time.gmtime(seconds) if as_tuple else seconds
            arguments = (*arguments[:first], now)
        return original(*arguments)

    showing.__name__ = showing.__qualname__ = name
    return showing


def install():
    """Once, at build time, before anything else is imported."""
    for name, first in SHOWING.items():
        setattr(time, name, told(name, first))
    time.sleep = CLOCK.sleep
    for name in ("monotonic", "perf_counter", "process_time", "thread_time", "time"):
        read = CLOCK.wall if name == "time" else CLOCK.since
        setattr(time, name, lambda read=read: read() / 10**9)
        setattr(time, name + "_ns", lambda read=read: read())
    time.get_clock_info = lambda name: SimpleNamespace(
        implementation="virtual", monotonic=name != "time", adjustable=False, resolution=1e-6
    )
    os.urandom = CHANCE.bytes
    for name in ("clock_gettime", "clock_gettime_ns", "clock_getres", "clock_settime"):
        if hasattr(time, name):
            delattr(time, name)
    for name in ("datetime", "_datetime", "_strptime", "random"):
        sys.modules.pop(name, None)
    sys.modules["_datetime"] = None  # so that `datetime` is the one written in Python
    import random

    class Random(random.Random):
        """As the library's, but that no seed means one that follows from the call."""

        def __new__(cls, *arguments, **named):
            return super().__new__(cls, 0)

        def seed(self, a=None, version=2):
            super().seed(CHANCE.bytes(16) if a is None else a, version)

    Random.__qualname__ = "Random"
    Random.__module__ = "random"
    random.Random = Random


install()
