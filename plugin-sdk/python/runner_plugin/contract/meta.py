"""Exported by every plugin. Called once per file hash with all imports denied, a tenth of a
second's worth of instructions and 16 MiB beyond what the component starts with; the answer
is cached by hash.

Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Optional, Union

from . import types


@dataclass
class CredentialWant:
    """A secret that the plugin wants the host to add to its requests. Never the value."""

    name: str
    reason: str
    env: str
    env_config_key: Optional[str]
    value_config_key: Optional[str]
    scheme: str


@dataclass
class SettingWant:
    """An environment variable whose value, if set and granted, fills a config key that
    the config leaves out. For addresses and the like; never for secrets."""

    env: str
    config_key: str


@dataclass
class Wants:
    """What the plugin asks for. A request, never a grant; shown by
    `runner plugin inspect` and in the message that asks for grants."""

    hosts: list[str]
    host_config_key: Optional[str]
    credentials: list[CredentialWant]
    settings: list[SettingWant]
    llm: list[tuple[str, str]]


class Inputs(Flag):
    """Parts of `assertion.input` that cost time to hand over or make a grade depend on
    more than the answer. What is not asked for arrives empty."""

    COMPLETION = auto()
    PROMPT = auto()
    VARS = auto()
    TEST = auto()
    LATENCY = auto()
    COST = auto()


@dataclass
class AssertionType:
    """One assertion type that the component serves. `not-` is added by the host."""

    name: str
    value_schema_json: Optional[str]
    reads: Inputs


@dataclass
class Info:
    name: str
    version: str
    description: str
    homepage: Optional[str]
    license: Optional[str]
    provider_prefixes: list[str]
    assertion_types: list[AssertionType]
    wants: Wants
    config_schema_json: Optional[str]
    metadata_json: Optional[str]
