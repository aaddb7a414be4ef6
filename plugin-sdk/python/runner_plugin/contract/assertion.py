"""An assertion (grader): scores one answer.

Written from wit/v0_1/plugin.wit by a test of the repository. Not to be changed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Optional, Union

from . import types


@dataclass
class Input:
    type: str
    inverse: bool
    value_json: Optional[str]
    threshold: Optional[float]
    config_json: Optional[str]
    output: str
    output_json: Optional[str]
    completion: Optional[types.Completion]
    prompt: list[types.Message]
    vars_json: Optional[str]
    test_json: Optional[str]
    latency_ms: Optional[int]
    cost_usd: Optional[float]
    extra_json: Optional[str]


@dataclass
class Component:
    """Part of a grade; flat, because WIT has no recursive types."""

    name: str
    pass_: bool
    score: float
    weight: float
    reason: str


@dataclass
class Grade:
    pass_: bool
    score: float
    reason: str
    named_scores: list[tuple[str, float]]
    components: list[Component]
    metadata_json: Optional[str]
