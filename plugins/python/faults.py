"""What is said of a program that failed: kind, message, place, and how it came there.

Only frames of the program's own files are shown; those of the plugin and of the standard library
are of no help to who wrote the program.
"""

import linecache
import traceback
from itertools import islice

from wit_world.exports import script

import boundary
import values

# Most frames of a stack: a recursion has a thousand of the same.
MAX_FRAMES = 20

# Longest message, and line of code, in characters.
MAX_MESSAGE = 4000
MAX_LINE = 200


class NoEntry(Exception):
    """The program has no such function."""


class NoFile(ModuleNotFoundError):
    """A file of the program that was not handed over."""


class Stuck(Exception):
    """A coroutine that waits for what never comes."""


def show(name, source):
    """Notes a file of the program, so that its lines can be quoted."""
    boundary.PROGRAM.add(name)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def whole(text):
    """A text that can cross to the host: lone surrogates, which are no Unicode, are replaced."""
    return text.encode(errors="replace").decode()


def failure(error, program):
    """What is said of an error, whatever the program made of its parts."""
    try:
        return told(error, program)
    except BaseException:
        return script.Failure(
            kind=script.FailureKind.EXCEPTION,
            message="an error that breaks when it is looked at",
            position=None,
            stack=None,
        )


def told(error, program):
    if isinstance(error, MemoryError):
        # What filled the memory is held by the frames that the error came through.
        traceback.clear_frames(error.__traceback__)
    frames = own_frames(error)
    return script.Failure(
        kind=kind(error),
        message=whole(said(error)),
        position=position(error, frames, program),
        stack=whole("\n".join(stack(error, frames))) or None,
    )


def kind(error):
    kinds = script.FailureKind
    if isinstance(error, boundary.Absent):
        return kinds.UNSUPPORTED
    if isinstance(error, (NoEntry, NoFile)):
        return kinds.NOT_FOUND
    if isinstance(error, (values.NoJson, Stuck)):
        return kinds.BAD_RESULT
    if isinstance(error, MemoryError):
        return kinds.EXHAUSTED
    if isinstance(error, SyntaxError):
        return kinds.SYNTAX
    return kinds.EXCEPTION


def said(error):
    """`TypeError: …`; the sandbox's own errors without their class, which says nothing."""
    if isinstance(error, MemoryError):
        return "MemoryError: the memory of the sandbox is used up"
    try:
        text = error.msg if isinstance(error, SyntaxError) and error.msg else str(error)
    except BaseException:
        text = "(its message could not be had)"
    if isinstance(error, (boundary.Absent, NoEntry, NoFile, values.NoJson, Stuck)):
        return text[:MAX_MESSAGE]
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:MAX_MESSAGE]


class Frame:
    """A call in a file of the program: where it was when the error came through."""

    def __init__(self, code, at):
        self.name = code.co_name
        self.file = code.co_filename
        line, _, column, _ = next(islice(code.co_positions(), at // 2, None), (None,) * 4)
        self.number = line or code.co_firstlineno
        self.text = linecache.getline(self.file, self.number)
        # Columns come in bytes.
        before = self.text.encode()[: column or 0].decode(errors="ignore")
        self.column = 0 if column is None else len(before) + 1


def own_frames(error):
    """Innermost last."""
    frames = []
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_filename in boundary.PROGRAM:
            frames.append(Frame(code, entry.tb_lasti))
        entry = entry.tb_next
    return frames


def position(error, frames, program):
    if isinstance(error, SyntaxError) and error.filename in boundary.PROGRAM:
        line, column = syntax_position(error)
        return script.Position(file=error.filename, line=line, column=column)
    if not frames:
        return None
    frame = frames[-1]
    return script.Position(file=frame.file, line=max(frame.number, 1), column=frame.column)


def syntax_position(error):
    """Line and column, from 1; column 0: not known."""
    return max(getattr(error, "lineno", None) or 1, 1), max(getattr(error, "offset", None) or 0, 0)


def stack(error, frames):
    """Innermost first, one call a line, with the line of code."""
    lines = []
    for frame in list(reversed(frames))[:MAX_FRAMES]:
        place = f"    at {frame.name} ({frame.file}:{frame.number})"
        text = frame.text.strip()[:MAX_LINE]
        lines.append(f"{place}: {text}" if text else place)
    if len(frames) > MAX_FRAMES:
        lines.append(f"    … {len(frames) - MAX_FRAMES} more")
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and not isinstance(error, SyntaxError):
        lines.append(f"  while handling {said(cause)}")
    return lines
