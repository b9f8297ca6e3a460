"""`check planted`: every bug of tests/planted turns the check that should find it, and nothing else does."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from dalenius.audit.checks.outcomes import Asked, Figure, Outcome
from dalenius.audit.checks.planting import SMALL, Planted
from dalenius.audit.checks.registry import BUGS, CHECKS
from dalenius.errors import InvalidParameter

NAME = "planted"
LEAST = 25


def check(asked: Asked, /) -> Outcome:
    """Plant each bug and run a small form of its check with and without it; `count` tries the first few bugs alone."""
    bugs = list(planted_bugs())[: asked.count or None]
    figures, wrong = [], []
    idle = {bug.check for bug in bugs} | (set() if asked.count else needed())
    for place, bug in enumerate(bugs, start=1):
        caught = bug.caught()
        shown = f"{bug.check}: {caught.said[:90]}" if caught.said else f"not by {bug.check}"
        figures.append(Figure(f"{bug.name} ({', '.join(bug.threats)})", 1, shown, f"by {bug.check}", bool(caught)))
        if caught:
            idle.discard(bug.check)
        elif caught.said:
            wrong.append(f"{bug.check} finds something without {bug.name}: {caught.without}")
        else:
            wrong.append(f"{bug.name} is not found by {bug.check}")
        asked.tick(100 * place / len(bugs))
    wrong += [f"{name} catches nothing" for name in sorted(idle)]
    number = sum(figure.held for figure in figures)
    enough = number == len(bugs) and (bool(asked.count) or number >= LEAST)
    total = Figure("planted bugs", len(bugs), f"{number} caught", f"all, {LEAST} or more", enough)
    return Outcome(NAME, (*figures, total), tuple(wrong))


def needed() -> set[str]:
    """The checks that a bug must turn: all but this one, and exact laws, which have no command of their own."""
    return {*CHECKS, *SMALL} - {NAME}


def planted_bugs() -> Sequence[Planted]:
    """The bugs of the source checkout, file by file."""
    if not BUGS.is_dir():
        raise InvalidParameter(
            "planted", "an installed package", allowed="run in a checkout of the source: the bugs lie in tests/planted"
        )
    return [bug for path in sorted(BUGS.glob("*.py")) for bug in _bugs(path)]


def _bugs(path: Path) -> Sequence[Planted]:
    spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    bugs: Sequence[Planted] = module.BUGS
    return bugs
