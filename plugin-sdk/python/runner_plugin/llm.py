"""Questions to models, for graders. It is apart, since the world of a provider has no such import."""

from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

from ._about import written
from ._door import Err, imported, types
from .errors import PluginError, error_of, hosted

_host = imported("llm")


@dataclass
class ModelAnswer:
    text: str
    completion: types.Completion
    #: The provider behind the name.
    provider_id: str
    cached: bool
    cost_usd: Optional[float]


def _request(
    prompt: str,
    *,
    messages: Optional[list] = None,
    temperature: Optional[float] = None,
    top_p: Optional[float] = None,
    max_tokens: Optional[int] = None,
    seed: Optional[int] = None,
    stop: Sequence[str] = (),
    response_schema: Optional[dict] = None,
    tools: Optional[list] = None,
    options: Optional[dict] = None,
    timeout_ms: Optional[int] = None,
):
    messages = messages or [types.Message(types.Role.USER, None, [types.Part_Text(prompt)])]
    return types.Request(
        messages, prompt, temperature, top_p, max_tokens, seed, list(stop),
        written(response_schema), written(tools), written(options), timeout_ms,
    )


def _answer(said) -> ModelAnswer:
    parts = said.completion.message.content
    text = said.completion.output_json or "".join(part.value for part in parts if isinstance(part, types.Part_Text))
    return ModelAnswer(text, said.completion, said.provider_id, said.cached, said.cost_usd)


def complete(alias: str, prompt: str, **options: Any) -> ModelAnswer:
    """Asks the model behind a name of `llm` one question; `temperature`, `response_schema` and so on are options."""
    with hosted():
        return _answer(_host.complete(alias, _request(prompt, **options)))


def complete_all(alias: str, prompts: Sequence[str], **options: Any) -> list[Union[ModelAnswer, PluginError]]:
    """Asks it several at once; in the place of one that failed is its error."""
    said = _host.complete_all(alias, [_request(prompt, **options) for prompt in prompts])
    return [error_of(one.value) if isinstance(one, Err) else _answer(one.value) for one in said]


def embed(alias: str, texts: Sequence[str]) -> list[list[float]]:
    """A vector of each text."""
    with hosted():
        return _host.embed(alias, list(texts))
