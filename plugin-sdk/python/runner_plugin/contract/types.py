"""Records shared by all interfaces. No functions, no resources: importing this
alone leaves a component "pure" (see world `assertion-pure`).

Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Optional, Union


class ErrorCode(Enum):
    """What went wrong, as a closed set the host can act on."""

    INVALID_REQUEST = 0
    AUTH = 1
    RATE_LIMITED = 2
    QUOTA_EXHAUSTED = 3
    NOT_FOUND = 4
    CONTEXT_LENGTH = 5
    CONTENT_FILTER = 6
    TIMEOUT = 7
    TRANSIENT = 8
    BAD_RESPONSE = 9
    DENIED = 10
    BUDGET = 11
    UNSUPPORTED = 12
    OTHER = 13


@dataclass
class Error:
    code: ErrorCode
    message: str
    status: Optional[int]
    retry_after_ms: Optional[int]
    detail_json: Optional[str]


@dataclass
class Media:
    """Bytes with a media type, for example "image/png"."""

    mime_type: str
    data: bytes


@dataclass
class ToolCall:
    id: str
    name: str
    arguments_json: str


@dataclass
class ToolResult:
    id: str
    content: str
    is_error: bool


@dataclass
class Part_Text:
    value: str


@dataclass
class Part_Media:
    value: Media


@dataclass
class Part_Url:
    value: str


@dataclass
class Part_ToolCall:
    value: ToolCall


@dataclass
class Part_ToolResult:
    value: ToolResult


@dataclass
class Part_Reasoning:
    value: str


@dataclass
class Part_Other:
    value: str


Part = Union[Part_Text, Part_Media, Part_Url, Part_ToolCall, Part_ToolResult, Part_Reasoning, Part_Other]


class Role(Enum):
    SYSTEM = 0
    DEVELOPER = 1
    USER = 2
    ASSISTANT = 3
    TOOL = 4


@dataclass
class Message:
    role: Role
    name: Optional[str]
    content: list[Part]


@dataclass
class Usage:
    """Token counts as the API reported them; `none` means "not reported"."""

    input_tokens: Optional[int]
    output_tokens: Optional[int]
    total_tokens: Optional[int]
    cache_read_tokens: Optional[int]
    cache_write_tokens: Optional[int]
    reasoning_tokens: Optional[int]
    other: list[tuple[str, int]]


@dataclass
class FinishReason_Stop:
    pass


@dataclass
class FinishReason_Length:
    pass


@dataclass
class FinishReason_ToolCalls:
    pass


@dataclass
class FinishReason_Refusal:
    pass


@dataclass
class FinishReason_ContentFilter:
    pass


@dataclass
class FinishReason_Other:
    value: str


FinishReason = Union[FinishReason_Stop, FinishReason_Length, FinishReason_ToolCalls, FinishReason_Refusal, FinishReason_ContentFilter, FinishReason_Other]


@dataclass
class Completion:
    """One model answer."""

    message: Message
    output_json: Optional[str]
    finish_reason: Optional[FinishReason]
    usage: Usage
    cost_usd: Optional[float]
    model: Optional[str]
    raw_json: Optional[str]
    metadata_json: Optional[str]


@dataclass
class Request:
    """A request to a model."""

    messages: list[Message]
    prompt: str
    temperature: Optional[float]
    top_p: Optional[float]
    max_tokens: Optional[int]
    seed: Optional[int]
    stop: list[str]
    response_schema_json: Optional[str]
    tools_json: Optional[str]
    options_json: Optional[str]
    timeout_ms: Optional[int]


@dataclass
class CallContext:
    """Identity of the call, for labels and seeds. Stable across retries and cache."""

    call_id: str
    attempt: int
    deadline_ms: Optional[int]
    test_index: int
    repeat_index: int
    labels: list[tuple[str, str]]
