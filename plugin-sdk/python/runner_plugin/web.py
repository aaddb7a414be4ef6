"""Requests through the runner: it adds keys, keeps to limits, tries again and remembers, for granted addresses only."""

import json as json_module
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from . import _door
from ._door import http
from .errors import PluginError, code_of, error_of, hosted, json_or_none


@dataclass
class Response:
    """A whole response, of any status."""

    status: int
    #: Lower-case names; the first of several values.
    headers: dict[str, str]
    body: bytes
    #: Remembered by the runner, or recorded.
    cached: bool

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        try:
            return json_module.loads(self.body)
        except ValueError as error:
            raise PluginError("bad-response", f"the response is not JSON: {error}", status=self.status) from None

    def or_raise(self) -> "Response":
        """Itself if its status is 2xx, else the error that the status stands for."""
        if self.ok:
            return self
        message = f"the server answered HTTP {self.status}"
        raise PluginError(code_of(self.status), message, status=self.status, detail=json_or_none(self.body))


def _request(
    url: str,
    *,
    method: Optional[str] = None,
    headers: Optional[Mapping[str, str]] = None,
    json: Any = None,
    body: Union[bytes, str, None] = None,
    credential: Optional[str] = None,
    bucket: Optional[str] = None,
    timeout_ms: Optional[int] = None,
    cache: bool = True,
):
    pairs = list((headers or {}).items())
    if json is not None:
        body = json_module.dumps(json, separators=(",", ":"), ensure_ascii=False)
        pairs.append(("content-type", "application/json"))
    body = body.encode() if isinstance(body, str) else body
    method = method or ("GET" if body is None else "POST")
    mode = http.CacheMode.AUTO if cache else http.CacheMode.BYPASS
    return http.Request(method, url, pairs, body, credential, bucket, timeout_ms, mode)


def _response(said) -> Response:
    headers = dict(reversed(said.headers))
    return Response(said.status, headers, bytes(said.body), said.cached)


def fetch(url: str, **options: Any) -> Response:
    """Sends a request and gives the whole response.

    `json` or `body` is sent by POST unless `method` says otherwise; `credential` names a key that the runner adds,
    `bucket` what shares a rate limit, usually the model. `headers`, `timeout_ms` and `cache=False` are known, too.
    """
    request = _request(url, **options)
    with hosted():
        return _response(_door.send(request))


def fetch_all(requests: Sequence[Mapping[str, Any]]) -> list[Union[Response, PluginError]]:
    """Sends several at once, each what `fetch` takes by name; in the place of one that failed is its error."""
    said = _door.send_all([_request(**request) for request in requests])
    return [error_of(one.value) if isinstance(one, _door.Err) else _response(one.value) for one in said]
