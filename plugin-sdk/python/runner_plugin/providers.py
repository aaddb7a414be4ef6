"""A provider: a function that answers a prompt, and what the contract asks for around it."""

import inspect
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, TypeVar

from ._about import about, only_known, parameters, parsed, written
from ._door import types
from .errors import guarded

_GIVEN = (
    "prompt", "model", "config", "messages", "id", "temperature", "top_p", "max_tokens", "seed", "stop", "response_schema", "tools",
    "options", "timeout_ms", "context",
)
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "total": "total_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
_FINISH = {
    "stop": "Stop",
    "length": "Length",
    "tool-calls": "ToolCalls",
    "refusal": "Refusal",
    "content-filter": "ContentFilter",
}

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass
class Answer:
    """What a model said."""

    text: Optional[str] = None
    #: A value that is no text.
    output: Any = None
    #: Tokens, by `input`, `output`, `total`, `cache_read`, `cache_write`, `reasoning`; others under `other`.
    usage: dict[str, Any] = field(default_factory=dict)
    #: In US dollars, if the server says so.
    cost: Optional[float] = None
    model: Optional[str] = None
    #: "stop", "length", "tool-calls", "refusal", "content-filter", or the server's own word.
    finish: Optional[str] = None
    #: The server's answer.
    raw: Any = None
    metadata: Optional[dict[str, Any]] = None


def provider(
    name: str, *, prefixes: Optional[list[str]] = None, config: Optional[dict[str, Any]] = None, **more: Any
) -> Callable[[_Function], _Function]:
    """Makes a provider of a function, whose parameters say what it is given; it gives a text or an `Answer`.

    Ids begin with the name, or with one of `prefixes`. `config` is a JSON Schema of the provider's config. What else may
    be said is of the plugin: `hosts`, `credentials`, `settings`, `check`, `version`, `description` and so on.
    """

    def made(function):
        names = parameters(function, _GIVEN)
        plugin = about(function, name, more if config is None else {**more, "config": config})
        plugin.prefixes.extend(prefixes or [name])
        function.__globals__["Provider"] = _provider(function, names)
        return function

    return made


def _provider(function, names):
    class Provider:
        def complete(self, target, request, context):
            return guarded(lambda: _completion(function(**_given(names, target, request, context))))

    return Provider


def _given(names, target, request, context):
    given = {
        "id": lambda: target.id,
        "model": lambda: target.name,
        "config": lambda: parsed(target.config_json),
        "response_schema": lambda: parsed(request.response_schema_json),
        "tools": lambda: parsed(request.tools_json),
        "options": lambda: parsed(request.options_json) or {},
        "context": lambda: context,
    }
    return {name: given[name]() if name in given else getattr(request, name) for name in names}


def _usage(usage):
    other = list(usage.get("other", {}).items())
    counts = {name: count for name, count in usage.items() if name != "other"}
    only_known("usage", counts, _USAGE)
    known = dict.fromkeys(_USAGE.values())
    known.update((_USAGE[name], count) for name, count in counts.items())
    return types.Usage(**known, other=other)


def _finish(word):
    if word is None:
        return None
    if word in _FINISH:
        return getattr(types, f"FinishReason_{_FINISH[word]}")()
    return types.FinishReason_Other(word)


def _completion(said):
    told = Answer(said) if isinstance(said, str) else said
    if inspect.iscoroutine(told):
        told.close()
        raise TypeError("it gave a coroutine, and nothing waits in a plugin: leave out 'async' and 'await'")
    if not isinstance(told, Answer) or (told.text is None and told.output is None):
        raise TypeError(f"it gave {said!r}, and not a text or an Answer with text or output")
    content = [] if told.text is None else [types.Part_Text(told.text)]
    return types.Completion(
        message=types.Message(types.Role.ASSISTANT, None, content),
        output_json=written(told.output),
        finish_reason=_finish(told.finish),
        usage=_usage(told.usage),
        cost_usd=told.cost,
        model=told.model,
        raw_json=told.raw if isinstance(told.raw, str) else written(told.raw),
        metadata_json=written(told.metadata),
    )
