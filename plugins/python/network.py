"""Requests of programs that may send them: `urllib.request` and `http.client`, without a socket.

The host grants it by one more argument, the answers that there are so far. A program that asks for more
ends with its request, and is run again from its beginning when the answer is there: a call is a
function of its arguments, so that it comes to the same place. The library's own code does all but the
wire, where what it would write to a socket becomes one request. Other programs find none of it.
"""

import base64
import importlib
import io
import json
import sys
import types

import boundary

# The argument's name, which no program can give its own.
ANSWERS = "$answers"

# What programs may import that may send requests.
SENDS = "http http.client urllib urllib.error urllib.request urllib.response".split()


class Waits(BaseException):
    """The program waits for an answer. No `except Exception` is meant for it."""


class Requests:
    """What a program asks."""

    def __init__(self):
        self.answers = None
        self.next = 0
        self.asked = None

    def answer(self, request):
        if self.answers is None:
            raise boundary.NoAccess(boundary.lacks("http.client", boundary.NO_NETWORK))
        if self.asked is None and self.next < len(self.answers):
            answer = self.answers[self.next]
            self.next += 1
            if answer["url"] != request["url"]:
                raise RuntimeError("the answers are not those of these requests")
            return answer
        # A program that goes on all the same still waits for its first one.
        self.asked = self.asked or request
        raise Waits


REQUESTS = Requests()


class Wire:
    """What a connection has for its socket."""

    def __init__(self, scheme, host, port, timeout):
        host = f"[{host}]" if ":" in host else host
        usual = {"http": 80, "https": 443}[scheme]
        self.origin = f"{scheme}://{host}" if port == usual else f"{scheme}://{host}:{port}"
        self.timeout = timeout
        self.sent = bytearray()

    def sendall(self, data):
        self.sent += data

    def makefile(self, mode, *rest):
        request = self.request()
        self.sent = bytearray()
        answer = REQUESTS.answer(request)
        if "failed" in answer:
            raise self.failure(answer)
        return io.BytesIO(raw(answer))

    def failure(self, answer):
        if answer.get("isLate"):
            return TimeoutError(answer["failed"])
        return LIBRARY["urllib.error"].URLError(answer["failed"])

    def request(self):
        head, _, body = bytes(self.sent).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = [line.split(": ", 1) for line in lines]
        fields = {name.lower(): value for name, value in headers}
        if fields.get("transfer-encoding") == "chunked":
            body = unchunked(body)
        own = {"connection", "accept-encoding", "content-length", "transfer-encoding"}
        if fields.get("host") == self.origin.partition("://")[2]:
            own.add("host")
        request = {
            "method": method,
            "url": self.origin + target.partition("#")[0],
            "headers": [[name, value] for name, value in headers if name.lower() not in own],
        }
        if body:
            request["base64"] = base64.b64encode(body).decode()
        if isinstance(self.timeout, (int, float)):
            request["timeoutMs"] = max(1, int(self.timeout * 1000))
        return request

    def close(self):
        pass


def unchunked(body):
    parts, at = [], 0
    while at < len(body):
        begin = body.index(b"\r\n", at) + 2
        end = begin + int(body[at:begin], 16)
        parts.append(body[begin:end])
        at = end + 2
    return b"".join(parts)


def raw(answer):
    """An answer as a server writes it."""
    body = answer["text"].encode() if "text" in answer else base64.b64decode(answer["base64"])
    status = answer["status"]
    phrases = {int(one): one.phrase for one in LIBRARY["http"].HTTPStatus}
    framing = {"content-length", "transfer-encoding", "content-encoding", "connection"}
    lines = [f"HTTP/1.1 {status} {phrases.get(status, '')}"]
    lines += [f"{name}: {value}" for name, value in answer["headers"] if name not in framing]
    lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


def connection(scheme):
    """What opens a connection."""

    def connect(self):
        if self._tunnel_host:
            boundary.refusal("http.client.HTTPConnection.set_tunnel", boundary.NO_NETWORK)()
        self.sock = Wire(scheme, self.host, self.port, self.timeout)

    return connect


class Context:
    """What stands for certificates, which are the host's to check."""

    post_handshake_auth = None
    verify_mode = 2
    check_hostname = True

    def set_alpn_protocols(self, protocols):
        pass


def library():
    """The modules that send requests, with our wire. Imported at build time, where the rest of the library
    imports some of them, too."""
    ssl = types.ModuleType("ssl")
    ssl.SSLContext, ssl.CERT_NONE = Context, 0
    ssl._create_default_https_context = ssl.create_default_context = lambda *_, **__: Context()
    sys.modules["ssl"] = ssl
    for name in SENDS:
        importlib.import_module(name)
    del sys.modules["ssl"]
    client = sys.modules["http.client"]
    client.HTTPConnection.connect = connection("http")
    client.HTTPSConnection.connect = connection("https")
    return {name: sys.modules[name] for name in SENDS}


def apart(arguments):
    """The answers, if the program may send requests, and its own arguments."""
    if arguments and arguments[-1].name == ANSWERS:
        return json.loads(arguments[-1].value_json), arguments[:-1]
    return None, arguments


def begin(answers):
    """Makes the library importable, and its requests asked."""
    REQUESTS.answers = answers
    sys.modules.update(LIBRARY)


def said(value):
    """What the program came to: JSON of its value."""
    return f'{{"value":{value}}}'


def waits():
    """The request that the program waits for, as JSON; `None`: for none."""
    if REQUESTS.asked is None:
        return None
    return json.dumps({"requests": [REQUESTS.asked]})


LIBRARY = library()
