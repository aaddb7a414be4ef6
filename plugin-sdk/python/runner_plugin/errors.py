"""What goes wrong, as the runner takes it: a code that it acts on, and a line for people."""

import contextlib
import json
import os
import re
import traceback
import urllib.error
from typing import Any, Optional

from . import _door, _output
from ._door import Err, log, types

_SDK = os.path.dirname(__file__)
_LIBRARY = os.path.dirname(os.__file__)

_CODES = {401: "auth", 403: "auth", 404: "not-found", 408: "timeout", 409: "transient", 425: "transient", 429: "rate-limited"}


class PluginError(Exception):
    """An error with a code of the contract (`rate-limited`), which decides whether a request is sent again."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: Optional[int] = None,
        retry_after_ms: Optional[int] = None,
        detail: Any = None,
    ) -> None:
        super().__init__(message)
        _case(code)
        self.code, self.message, self.status = code, message, status
        self.retry_after_ms, self.detail = retry_after_ms, detail


def _case(code):
    try:
        return types.ErrorCode[code.replace("-", "_").upper()]
    except KeyError:
        known = ", ".join(case.name.lower().replace("_", "-") for case in types.ErrorCode)
        raise ValueError(f"there is no code '{code}'; there are {known}") from None


def code_of(status):
    """The code that a status stands for where nothing says better."""
    if status in _CODES:
        return _CODES[status]
    if status >= 500:
        return "transient"
    return "invalid-request" if status >= 400 else "bad-response"


def json_or_none(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def error_of(record):
    """An error of the contract as one to raise."""
    code = record.code.name.lower().replace("_", "-")
    detail = json_or_none(record.detail_json) if record.detail_json else None
    return PluginError(code, record.message, status=record.status, retry_after_ms=record.retry_after_ms, detail=detail)


@contextlib.contextmanager
def hosted():
    """What the host refuses inside is a `PluginError`."""
    refused = None
    try:
        yield
    except Err as error:
        refused = error.value
    if refused:
        raise error_of(refused)


def _place(error):
    """The innermost place of the author's own code, as ` (file:line)`."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename)]
    return f" ({re.sub(r'^/[0-9]+/', '', own[-1].filename)}:{own[-1].lineno})" if own else ""


def _is_own(file):
    return not file.startswith((_SDK, _LIBRARY, "<frozen"))


def failure(error):
    """What was raised, as the contract has it. An exception becomes a line with its file and line."""
    if isinstance(error, PluginError):
        detail = None if error.detail is None else json.dumps(error.detail)
        return types.Error(_case(error.code), error.message, error.status, error.retry_after_ms, detail)
    _door.emit(log.Level.DEBUG, "".join(traceback.format_exception(error)))
    if isinstance(error, urllib.error.HTTPError):
        detail = json_or_none(error.read())
        detail = None if detail is None else json.dumps(detail)
        return types.Error(_case(code_of(error.code)), f"the server answered HTTP {error.code}", error.code, None, detail)
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return types.Error(types.ErrorCode.OTHER, words + _place(error), None, None, None)


def guarded(act):
    """Calls the author's code; what it raises is an error of the contract."""
    try:
        return act()
    except Exception as error:
        refused = failure(error)
    finally:
        _output.ended()
    raise Err(refused)
