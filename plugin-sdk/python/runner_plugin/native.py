"""What stands for the runner in tests: a script that says what a plugin will ask, and is told."""

import contextlib
from dataclasses import dataclass
from typing import Any

from .contract import llm, types

_stage = None


@dataclass
class Ok:
    value: Any


class Err(Exception):
    """A refusal of the host, or one of the plugin's."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value


@contextlib.contextmanager
def playing(stage):
    """The script that is asked inside."""
    global _stage
    before, _stage = _stage, stage
    try:
        yield
    finally:
        _stage = before


def _on_stage(what):
    if _stage is None:
        raise RuntimeError(f"{what} outside a test's call(): there is no runner to ask")
    return _stage


def _all(act, asked):
    def one(item):
        try:
            return Ok(act(item))
        except Err as error:
            return error

    return [one(item) for item in asked]


def emit(level, message, fields):
    if _stage is not None:
        _stage.log.append((level.name.lower(), message))


def send(request):
    return _on_stage(f"the request {request.method} {request.url}").exchange(request)


def send_all(requests):
    return _all(send, requests)


def complete(alias, request):
    text = _on_stage(f"the question to '{alias}'").answer(alias, request)
    message = types.Message(types.Role.ASSISTANT, None, [types.Part_Text(text)])
    usage = types.Usage(None, None, None, None, None, None, [])
    return llm.Answer(types.Completion(message, None, None, usage, None, None, None, None), alias, False, None)


def complete_all(alias, requests):
    return _all(lambda request: complete(alias, request), requests)


def embed(alias, texts):
    return _on_stage(f"the vectors of '{alias}'").vectors(alias, texts)
