"""What a check of the system by itself says: what it tried, how often, the figure and the goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

Tick: TypeAlias = Callable[[float], object]
"""Called with the percent that is done."""


@dataclass(frozen=True)
class Figure:
    """One line of a check: `tried` cases of `what` gave `found`, where `goal` was to hold."""

    what: str
    tried: int
    found: str
    goal: str
    held: bool


@dataclass(frozen=True)
class Outcome:
    """The figures of a check, and in words what it found wrong, each with the seed that shows it again."""

    check: str
    figures: tuple[Figure, ...]
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return bool(self.figures) and not self.findings and all(figure.held for figure in self.figures)


@dataclass(frozen=True)
class CheckRequest:
    """How a check is asked to run: on made-up data with the catalog in `folder` if there is one, else with our own.

    `count` is how many cases are tried, None or 0 for the check's own number; `seed` names them.
    """

    folder: Path | None = None
    count: int | None = None
    seed: int = 0
    tick: Tick = field(default=lambda percent: None)


class Check(Protocol):
    """A check: a function of how it is asked. A planted bug must turn its outcome."""

    def __call__(self, asked: CheckRequest, /) -> Outcome:
        """Try, and tell."""
