"""What code prints and logs, as lines of the run's log."""

import contextlib
import io
import logging
import sys

from . import _door
from ._door import log


class Lines(io.TextIOBase):
    """A text stream of which each line is one of the log."""

    def __init__(self):
        self.rest = ""

    def writable(self):
        return True

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            if line.strip():
                _door.emit(log.Level.INFO, line)
        return len(text)

    def end(self):
        """Nothing comes after a call, so the last line needs no end."""
        if self.rest:
            self.write("\n")


class _Handler(logging.Handler):
    def emit(self, record):
        name = {"WARNING": "WARN", "CRITICAL": "ERROR"}.get(record.levelname, record.levelname)
        level = log.Level[name] if name in log.Level.__members__ else log.Level.INFO
        _door.emit(level, self.format(record))


def install():
    sys.stdout = Lines()
    logging.basicConfig(handlers=[_Handler()], format="%(message)s", level=logging.NOTSET, force=True)


def ended():
    if isinstance(sys.stdout, Lines):
        sys.stdout.end()


@contextlib.contextmanager
def installed():
    """They are inside, as in a component."""
    root = logging.getLogger()
    before, handlers, level = sys.stdout, root.handlers[:], root.level
    install()
    try:
        yield
    finally:
        ended()
        sys.stdout, root.handlers[:], root.level = before, handlers, level
