"""`urllib.request` and `http.client` over the runner's requests, since a component has no sockets.

A connection is a stand-in that collects what is sent and asks once the answer is read. The headers `runner-credential` and
`runner-bucket` say what `fetch` says by name; neither is sent.
"""

import contextlib
import http.client
import io
import urllib.request

from . import _door
from ._door import http as records
from .errors import hosted

#: What belongs to one connection, which is the runner's.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}


def _is_sent(name, value):
    is_default = name == "user-agent" and value.startswith("Python-urllib/")
    return name not in _OWN and not name.startswith("runner-") and not is_default


class _Wire:
    """What `http.client` takes for a socket."""

    def __init__(self, origin, timeout):
        self.origin, self.sent = origin, bytearray()
        self.timeout_ms = max(1, int(timeout * 1000)) if isinstance(timeout, (int, float)) else None

    def sendall(self, data, *_):
        self.sent += data

    def makefile(self, *_, **__):
        head, _, body = bytes(self.sent).partition(b"\r\n\r\n")
        self.sent = bytearray()
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        named = dict(pairs)
        if named.get("transfer-encoding") == "chunked":
            body = _whole(body)
        request = records.Request(
            method=method,
            url=self.origin + path,
            headers=[pair for pair in pairs if _is_sent(*pair)],
            body=body or None,
            credential=named.get("runner-credential"),
            bucket=named.get("runner-bucket"),
            timeout_ms=self.timeout_ms,
            cache=records.CacheMode.AUTO,
        )
        with hosted():
            said = _door.send(request)
        lines = [f"HTTP/1.1 {said.status} -"]
        lines += [f"{name}: {value}" for name, value in said.headers if name not in _OWN]
        lines += [f"content-length: {len(said.body)}", "", ""]
        return io.BytesIO("\r\n".join(lines).encode("latin-1", "replace") + bytes(said.body))

    def settimeout(self, *_):
        pass

    def setsockopt(self, *_):
        pass

    def close(self):
        pass


def _whole(body):
    """A body that was written in chunks, since its length was not known."""
    chunks, at = [], 0
    while at < len(body):
        begin = body.index(b"\r\n", at) + 2
        end = begin + int(body[at:begin], 16)
        chunks.append(body[begin:end])
        at = end + 2
    return b"".join(chunks)


def _connecting(scheme, usual):
    def connect(self):
        port = "" if self.port in (None, usual) else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.sock = _Wire(f"{scheme}://{host}{port}", self.timeout)

    return connect


class _Encrypted(http.client.HTTPConnection):
    """A connection by https where there is no `ssl`: that is the runner's part."""

    default_port = 443

    def __init__(self, host, port=None, timeout=None, source_address=None, blocksize=8192, **_):
        super().__init__(host, port, timeout, source_address, blocksize)


class _Opening(urllib.request.AbstractHTTPHandler):
    def https_open(self, request):
        return self.do_open(http.client.HTTPSConnection, request)

    https_request = urllib.request.AbstractHTTPHandler.do_request_


def install():
    """From now on they ask through the runner."""
    if not hasattr(http.client, "HTTPSConnection"):
        http.client.HTTPSConnection = _Encrypted
    if not hasattr(urllib.request, "HTTPSHandler"):
        urllib.request.HTTPSHandler = _Opening
    http.client.HTTPConnection.connect = _connecting("http", 80)
    http.client.HTTPSConnection.connect = _connecting("https", 443)
    # Redirects and proxies are the runner's, too.
    urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({}), _Opening))


@contextlib.contextmanager
def installed():
    """They do inside, as in a component."""
    kinds = (http.client.HTTPConnection, http.client.HTTPSConnection)
    before, opener = [kind.connect for kind in kinds], urllib.request._opener
    install()
    try:
        yield
    finally:
        for kind, connect in zip(kinds, before):
            kind.connect = connect
        urllib.request.install_opener(opener)
