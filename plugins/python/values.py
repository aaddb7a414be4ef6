"""What a program gave, as JSON.

Nothing is silently changed: what JSON cannot hold is an error that says where in the value it is.
Dataclasses and named tuples are what they hold; numbers that are equal to a JSON number are it.
"""

import dataclasses
import json
import math
from decimal import Decimal
from fractions import Fraction

# Longest result, in bytes: what crosses to the host, with room.
MAX_RESULT = 15 << 20

# Deepest nesting.
MAX_DEPTH = 100


# Taken now: a program may change the module.
WRITE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class NoJson(Exception):
    """A result that has no JSON form."""


def dump(value):
    """`None` stays no value: Python has no other word for it."""
    text = WRITE(plain(value, "the result", 0, set()))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise NoJson("the result holds a text that is no Unicode (a lone surrogate)") from None
    if size > MAX_RESULT:
        raise NoJson(f"the result is larger than {MAX_RESULT >> 20} MiB")
    return text


def plain(value, where, depth, above):
    if isinstance(value, str) and len(value) > MAX_RESULT:
        # Known before anything is spent on it.
        raise NoJson(f"{where} is larger than {MAX_RESULT >> 20} MiB")
    if value is None or isinstance(value, (bool, str)):
        return value if type(value) in (bool, str, type(None)) else str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (float, Decimal, Fraction)):
        number = float(value)
        if not math.isfinite(number):
            raise NoJson(f"{where} is {number}, which JSON cannot hold")
        return number
    if depth >= MAX_DEPTH:
        raise NoJson(f"{where} is nested more than {MAX_DEPTH} deep, or holds itself")
    if id(value) in above:
        raise NoJson(f"{where} holds itself")
    above = above | {id(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain(fields, where, depth, above)
    if isinstance(value, dict):
        return {
            key_of(key, where): plain(item, f"{where}[{key!r}]", depth + 1, above)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{at}]", depth + 1, above) for at, item in enumerate(value)]
    raise NoJson(f"{where} is of the type {type(value).__name__}, which JSON cannot hold")


def key_of(key, where):
    """Keys as Python's own `json` writes them."""
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, (bool, int, float)):
        return WRITE(key)
    raise NoJson(f"{where} has a key of the type {type(key).__name__}")
