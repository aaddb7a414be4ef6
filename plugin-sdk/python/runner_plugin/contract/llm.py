"""Calls another provider of the same run, for model-graded assertions. Only
targets named in `permissions.llm` exist. Calls count toward this plugin's
budget and share the run's rate limits and cache. Nesting is limited to one level.

Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Optional, Union

from . import types


@dataclass
class Answer:
    completion: types.Completion
    provider_id: str
    cached: bool
    cost_usd: Optional[float]
