"""A provider: turns a request into an answer.

Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Optional, Union

from . import types


@dataclass
class Target:
    """What is called: `id` as the config writes it ("openai:chat:gpt-4o"), `name` what
    follows the prefix and its colon ("chat:gpt-4o", empty for a bare prefix)."""

    id: str
    name: str
    config_json: str
