"""The checks that `dalenius check` knows: what each tries, and how often. They load when they are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import dalenius
from dalenius.checks.outcomes import CheckRequest, Outcome
from dalenius.errors import InvalidParameter, MissingExtra

Check: TypeAlias = Callable[[CheckRequest], Outcome]

BUGS = Path(dalenius.__file__).parents[2] / "tests" / "planted"
"""Where the planted bugs are, in a checkout of the source; an installed package has none."""


@dataclass(frozen=True)
class Listed:
    """A check by its name: `push` cases are enough for every change, `full` show the goal, and fewer than `least` show
    nothing or give false alarms."""

    name: str
    help: str
    counted: str
    push: int
    full: int
    catalog: bool = False
    """Whether it can use the catalog of an owner's folder, over made-up rows."""
    least: int = 1
    needs: Path | None = None
    """A folder of the source without which it cannot be run."""

    @property
    def runs_here(self) -> bool:
        """Whether what it needs is there."""
        return self.needs is None or self.needs.is_dir()

    def run(self, asked: CheckRequest, *, full: bool = False) -> Outcome:
        """Load and run it, with its own number of cases unless one is asked for."""
        if not self.runs_here:
            allowed = f"run in a checkout of the source, which has tests/{BUGS.name}"
            raise InvalidParameter(self.name, "an installed package", allowed=allowed)
        count = (self.full if full else self.push) if asked.count is None else asked.count
        outcome: Outcome = self._loaded()(replace(asked, count=count, folder=asked.folder if self.catalog else None))
        return outcome

    def _loaded(self) -> Check:
        try:
            check: Check = import_module(f"dalenius.checks.commands.{self.name}").check
        except ModuleNotFoundError as error:
            package = str(error.name)
            if package not in _EXTRAS:
                raise
            raise MissingExtra(f"check {self.name}", package=package, extra=_EXTRAS[package]) from None
        return check


_EXTRAS = {"sklearn": "learn", "starlette": "server", "uvicorn": "server", "httpx": "client"}

_LISTED = (
    Listed(
        "replay", "record what is released, and replay it for one person more or less", "plans", 2_000, 50_000,
        catalog=True,
    ),
    Listed("bounding", "one person moves no exact result further than declared", "plans", 500, 5_000, catalog=True),
    Listed(
        "audit", "measure epsilon of every mechanism from its outputs", "draws a side", 10_000, 1_000_000, least=1_000
    ),
    Listed("exact", "the exact law of every mechanism keeps its claim, in small cases", "epsilons", 1, 3),
    Listed("e2e", "measure epsilon of whole questions, over HTTP as well", "questions", 20, 200, least=20),
    Listed("semantics", "engines compute what is defined, cell by cell", "expressions", 2_000, 20_000),
    Listed(
        "float", "no output gives its true value away by its last bits", "draws a value", 100_000, 1_000_000,
        least=1_000,
    ),
    Listed("rng", "no random bits come twice, and all come from the operating system", "draws", 1_000_000, 1_000_000),
    Listed(
        "ledger", "charges come first, stay, and never exceed the budget", "charges", 400, 4_000, catalog=True, least=40
    ),
    Listed("escape", "no text of an analyst gets out of the product", "mutations", 5_000, 100_000),
    Listed(
        "training", "no fit of an estimator tells more of a row than it paid for", "trainings a side", 200, 1_000,
        least=150,
    ),
    Listed("static", "the source keeps its rules", "files", 0, 0),
    Listed("planted", "every planted bug is found by the check that should find it", "bugs", 0, 0, needs=BUGS),
)  # fmt: skip

CHECKS = {listed.name: listed for listed in _LISTED}
"""Name -> check, in the order in which `all` runs them."""
