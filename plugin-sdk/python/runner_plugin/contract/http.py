"""Outbound HTTP through the host's client: pooling, proxy, TLS, retries, rate
limits, cache and record/replay are the host's. Redirects are followed within
the origin only. 4xx and 5xx are responses, not errors.

Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Optional, Union

from . import types


class CacheMode(Enum):
    AUTO = 0
    BYPASS = 1


@dataclass
class Request:
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: Optional[bytes]
    credential: Optional[str]
    bucket: Optional[str]
    timeout_ms: Optional[int]
    cache: CacheMode


@dataclass
class Response:
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    cached: bool
