"""Tests of a plugin, without WebAssembly and without a runner: `call` asks it once, against a script.

What the plugin asks that the script does not have, what it leaves out of it, and what it uses and does not say that it
wants are errors of the test.
"""

import json
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Optional
from urllib.parse import urlsplit

from . import _network, _output
from ._about import only_known, written
from .contract import assertion, http, provider, types
from .errors import _case, error_of
from .native import Err, playing

#: Names of judges that every assertion has, wanted or not.
_JUDGES = ("grader", "embedding", "classifier", "moderation")
_SCRIPT = ("exchanges", "models", "vectors")
_GRADE = (
    "type", "value", "threshold", "config", "output", "json", "completion", "prompt", "vars", "test", "latency_ms", "cost_usd",
)
_ASK = (
    "provider", "prompt", "messages", "config", "temperature", "top_p", "max_tokens", "seed", "stop", "response_schema", "tools",
    "options", "timeout_ms",
)


@dataclass
class Played:
    """What came of a call, and what the plugin did."""

    grade: Optional[assertion.Grade] = None
    completion: Optional[types.Completion] = None
    #: The answer, of a completion.
    text: Optional[str] = None
    #: Level and line.
    log: list[tuple[str, str]] = field(default_factory=list)
    requests: list[http.Request] = field(default_factory=list)
    #: Name and question.
    asked: list[tuple[str, types.Request]] = field(default_factory=list)


class _Wrong(AssertionError):
    pass


def _covers(host, url):
    """A grant of the form `https://*.example.com` covers an address."""
    wanted, asked = urlsplit(host.replace("*.", "")), urlsplit(url)
    ports = {"http": 80, "https": 443}
    is_same = [(part.scheme, part.port or ports.get(part.scheme)) for part in (wanted, asked)]
    is_below = "*." in host and str(asked.hostname).endswith(f".{wanted.hostname}")
    return is_same[0] == is_same[1] and (is_below if "*." in host else asked.hostname == wanted.hostname)


class _Stage:
    """The host that the script makes."""

    def __init__(self, script, wants):
        self.left = list(script.get("exchanges", ()))
        self.models, self.given = script.get("models", {}), script.get("vectors", {})
        self.wants, self.wrong = wants, None
        self.log, self.requests, self.asked = [], [], []

    def fail(self, message):
        """What the test has to fail of, whatever the plugin makes of it."""
        self.wrong = self.wrong or _Wrong(message)
        raise self.wrong

    def exchange(self, request):
        wants = self.wants
        if not wants.host_config_key and not any(_covers(host, request.url) for host in wants.hosts):
            self.fail(f"'hosts' lacks the origin of {request.url}, which is asked")
        if request.credential and request.credential not in [want.name for want in wants.credentials]:
            self.fail(f"'credentials' lacks '{request.credential}', which is used")
        self.requests.append(request)
        if not self.left:
            self.fail(f"the script has no exchange left for {request.method} {request.url}")
        following = self.left.pop(0)
        only_known("an exchange", following, ("request", "response", "error"))
        wanted = following.get("request", {})
        asked = (request.method, request.url)
        expected = (wanted.get("method", request.method), wanted.get("url", request.url))
        if asked != expected:
            self.fail(f"the script has {' '.join(expected)} next, and the plugin asked {' '.join(asked)}")
        if "error" in following:
            code, message = following["error"]["code"], following["error"]["message"]
            raise Err(types.Error(_case(code), message, None, None, None))
        return _response(**following["response"])

    def alias(self, name):
        if name not in _JUDGES and name not in dict(self.wants.llm):
            self.fail(f"'llm' lacks '{name}', which is asked")

    def answer(self, alias, request):
        self.alias(alias)
        self.asked.append((alias, request))
        if alias not in self.models:
            self.fail(f"the script has no model '{alias}'")
        model = self.models[alias]
        return model(request) if callable(model) else model

    def vectors(self, alias, texts):
        self.alias(alias)
        if alias not in self.given:
            self.fail(f"the script has no vectors of '{alias}'")
        vectors = self.given[alias]
        return vectors(texts) if callable(vectors) else vectors


def _response(status=200, headers=None, json=None, text="", body=None):
    if body is None:
        body = (text if json is None else written(json)).encode()
    return http.Response(status, list((headers or {}).items()), body, False)


def _play(plugin, script, act):
    stage = _Stage(script, plugin.Meta().describe().wants)
    refused, result = None, None
    with playing(stage), _network.installed(), _output.installed():
        try:
            result = act()
        except Err as error:
            refused = error_of(error.value)
    if stage.wrong:
        raise stage.wrong
    if refused:
        raise refused
    if stage.left:
        raise _Wrong(f"the plugin left out {len(stage.left)} exchanges of the script")
    return result, {"log": stage.log, "requests": stage.requests, "asked": stage.asked}


def _messages(prompt):
    return [types.Message(types.Role.USER, None, [types.Part_Text(prompt)])] if isinstance(prompt, str) else prompt


_CONTEXT = types.CallContext("0" * 16, 1, None, 0, 0, [])


def _grade(plugin, request, script):
    only_known("a grade's call", request, _GRADE)
    known = [kind.name for kind in plugin.Meta().describe().assertion_types]
    kind = request.get("type", known[0])
    name = kind.removeprefix("not-")
    if name not in known:
        raise _Wrong(f"the plugin has no type '{name}'")
    of = request.get
    input = assertion.Input(
        type=name, inverse=name != kind, value_json=written(of("value")), threshold=of("threshold"), config_json=written(of("config")),
        output=of("output", ""), output_json=written(of("json")), completion=of("completion"), prompt=_messages(of("prompt", [])),
        vars_json=written(of("vars")), test_json=written(of("test")), latency_ms=of("latency_ms"), cost_usd=of("cost_usd"), extra_json=None,
    )
    grade, played = _play(plugin, script, lambda: plugin.Assertion().evaluate(input, _CONTEXT))
    return Played(grade=grade, **played)


def _ask(plugin, request, script):
    only_known("a completion's call", request, _ASK)
    of, id = request.get, request["provider"]
    target = provider.Target(id, id.partition(":")[2], json.dumps(of("config", {})))
    asked = types.Request(
        of("messages", _messages(of("prompt", ""))), of("prompt", ""), of("temperature"), of("top_p"), of("max_tokens"), of("seed"),
        of("stop", []), written(of("response_schema")), written(of("tools")), written(of("options")), of("timeout_ms"),
    )
    said, played = _play(plugin, script, lambda: plugin.Provider().complete(target, asked, _CONTEXT))
    text = "".join(part.value for part in said.message.content if isinstance(part, types.Part_Text))
    return Played(completion=said, text=text, **played)


def call(plugin: ModuleType, **request: Any) -> Played:
    """Asks a plugin, which is a module, for one grade, or with `provider` for one completion.

    A grade's call has `type`, `value`, `output`, `vars` and so on, a completion's `prompt` and `config`. `exchanges` is what
    it will ask servers and is told, `{"request": {"method", "url"}, "response": {"status", "json"}}` each; `models` what
    models say, by name. What it refuses is raised as a `PluginError`.
    """
    script = {key: request.pop(key) for key in _SCRIPT if key in request}
    return (_ask if "provider" in request else _grade)(plugin, request, script)
