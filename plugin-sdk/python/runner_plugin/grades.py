"""A grader: a function that says of an answer whether it is one, and what the contract asks for around it."""

import inspect
import math
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Sequence, TypeVar

from ._about import about, only_known, parameters, parsed, written
from ._door import exported, meta
from .errors import guarded

#: What a function may take, and what of it is asked for apart.
_GIVEN = (
    "output", "value", "threshold", "config", "json", "completion", "prompt", "vars", "test", "latency_ms", "cost_usd", "type", "context",
)
_READS = {"completion": "COMPLETION", "prompt": "PROMPT", "vars": "VARS", "test": "TEST", "latency_ms": "LATENCY", "cost_usd": "COST"}

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass
class Grade:
    """A grade. Without `passes` the score decides: above 0, or at least the assertion's threshold."""

    passes: Optional[bool] = None
    #: From 0 to 1; without one, 1 or 0.
    score: Optional[float] = None
    reason: Optional[str] = None
    named_scores: dict[str, float] = field(default_factory=dict)
    #: Parts, each with `name`, `passes`, `score`, `weight` and `reason`.
    components: Sequence[dict[str, Any]] = ()
    metadata: Optional[dict[str, Any]] = None


def grader(
    name: str, *, value: Optional[dict[str, Any]] = None, opposite: Optional[Callable[..., Any]] = None, **more: Any
) -> Callable[[_Function], _Function]:
    """Makes an assertion type of a function, whose parameters say what it is given.

    `value` is a JSON Schema of the assertion's value. `not-NAME` is the opposite, unless the function `opposite` says
    it. What else may be said is of the plugin: `hosts`, `credentials`, `llm`, `version`, `description` and so on.
    """

    def made(function):
        names = parameters(function, _GIVEN)
        reads = meta.Inputs(0)
        for asked in names:
            if asked in _READS:
                reads |= meta.Inputs[_READS[asked]]
        plugin = about(function, name, more)
        plugin.types.append(meta.AssertionType(name, written(value), reads))
        plugin.functions[name] = (function, names, opposite)
        function.__globals__["Assertion"] = _assertion(plugin.functions)
        return function

    return made


def _assertion(functions):
    class Assertion:
        def evaluate(self, input, context):
            def act():
                function, names, opposite = functions[input.type]
                is_turned = input.inverse and opposite is None
                if input.inverse and opposite:
                    function, names = opposite, parameters(opposite, _GIVEN)
                return _graded(function(**_given(names, input, context)), input.threshold, is_turned)

            return guarded(act)

    return Assertion


def _given(names, input, context):
    given = {
        "value": lambda: parsed(input.value_json),
        "config": lambda: parsed(input.config_json) or {},
        "json": lambda: parsed(input.output_json),
        "vars": lambda: parsed(input.vars_json) or {},
        "test": lambda: parsed(input.test_json) or {},
        "context": lambda: context,
    }
    return {name: given[name]() if name in given else getattr(input, name) for name in names}


def _graded(said, threshold, is_turned):
    grade = exported("assertion")
    told = _spread(said)
    passes = told.passes
    if passes is None:
        passes = told.score > 0 if threshold is None else told.score >= threshold
    score = float(passes) if told.score is None else float(told.score)
    if not math.isfinite(score):
        raise ValueError(f"the score is {score}")
    passes = bool(passes) != is_turned
    return grade.Grade(
        passes,
        1 - score if is_turned else score,
        f"Assertion {'passed' if passes else 'failed'}" if told.reason is None else told.reason,
        [(name, float(one)) for name, one in told.named_scores.items()],
        [_component(grade, part) for part in told.components],
        written(told.metadata),
    )


def _component(grade, part):
    only_known("a component", part, ("name", "passes", "score", "weight", "reason"))
    passes = bool(part["passes"])
    score = float(part.get("score", passes))
    return grade.Component(part["name"], passes, score, float(part.get("weight", 1)), part.get("reason", ""))


def _spread(said):
    if isinstance(said, bool):
        return Grade(said)
    if isinstance(said, (int, float)):
        return Grade(score=said)
    if isinstance(said, Grade) and (said.passes is not None or said.score is not None):
        return said
    if inspect.iscoroutine(said):
        said.close()
        raise TypeError("it gave a coroutine, and nothing waits in a plugin: leave out 'async' and 'await'")
    raise TypeError(f"it gave {said!r}, and not True or False, a number or a Grade of one of them")
