"""The public hypothesis of an online session: expected counts of all cells, to be saved, published and asked.

Where the hypotheses of online sessions are kept. They are public: a lost or damaged one costs accuracy alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalenius.catalog.places import make_folder, replace_text
from dalenius.errors import InvalidParameter
from dalenius.ledger.ledger import Ledger
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.session.curator import Curator
from dalenius.synth.inference.fitting import fit
from dalenius.synth.measured import known
from dalenius.synth.online.conditions import Conditions
from dalenius.synth.online.opening import MOST_CELLS
from dalenius.synth.online.update_rules import Hypothesis
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.written import array_from, array_text, axis_facts, axis_from

KIND, VERSION = "dalenius public counts", 1
_BAR = 2.2
"""How many deviations a bar is: of normal and of Laplace noise, more than 95 % lies within."""
_MOST_WORK = 10**9
"""How many cells a fit looks at, about, before it ends as it is."""
_SMALLEST = 1e-12
_LEAST = 1e-5
"""The part of all rows that is spread over all cells: an empty cell could learn nothing."""


@dataclass(frozen=True)
class PublicCount:
    """An expected number of rows, and how far off it is at most at 95 %; None where nothing was measured that says."""

    count: float
    error: int | None

    def __str__(self) -> str:
        bar = "with an unknown error" if self.error is None else f"± {self.error} at 95 %"
        return f"about {self.count:.0f} {bar}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class PublicCounts:
    """Expected counts of all cells, made of what was released alone: asking it costs nothing and tells nothing more.

    `measured` are the noisy marginals that the session began with, `asked` is how many questions were compared with the
    data so far, `hard` how many of them were measured, and `bar` how far off, at 95 % each, answers were at most when
    they were given.
    """

    axes: tuple[BinnedColumn, ...]
    counts: Hypothesis
    measured: tuple[NoisyMarginal, ...]
    asked: int = 0
    hard: int = 0
    bar: int = 0
    receipt: str = ""

    @classmethod
    def fitted(
        cls, axes: tuple[BinnedColumn, ...], measured: tuple[NoisyMarginal, ...], *, bar: int, receipt: str
    ) -> PublicCounts:
        """What noisy marginals alone suggest."""
        grid = Conditions(axes).grid
        steps = max(50, min(1_000, _MOST_WORK // (grid.cells * len(measured))))
        model = fit(grid, measured, steps=steps)
        counts = np.maximum(model.counts(grid.columns).ravel(), _LEAST * model.total / grid.cells)
        return cls(axes, counts * (model.total / counts.sum()), measured, bar=bar, receipt=receipt)

    @property
    def grid(self) -> CellDomain:
        return self.conditions.grid

    @property
    def total(self) -> float:
        """How many rows there are, about."""
        return float(self.counts.sum())

    @cached_property
    def conditions(self) -> Conditions:
        return Conditions(self.axes)

    def learned(self, counts: Hypothesis, *, asked: int, hard: int, bar: int) -> PublicCounts:
        """The same, after so many questions. No cell is empty, so that each can still learn."""
        kept = np.maximum(counts, _SMALLEST)
        return replace(self, counts=kept, asked=asked, hard=hard, bar=max(bar, self.bar))

    def ask(self, condition: str) -> PublicCount:
        """How many rows a condition is true for, such as "age >= 65 AND city = 'Oslo'".

        There is an error bar where the condition's columns were measured together: the distance from what was measured,
        and the noise of that. It covers noise that the question was not chosen by.
        """
        true = self.conditions.true(condition)
        count = float(self.counts[true.ravel()].sum())
        return PublicCount(count, self._bar(condition, count))

    def _bar(self, condition: str, count: float) -> int | None:
        columns = self.conditions.columns(condition)
        found = known(self.measured, columns, self.grid)
        if found is None:
            return None
        true = self.conditions.true(condition, columns)
        noise = _BAR * found.deviation * sqrt(true.sum())
        return ceil(abs(count - float(np.asarray(found.counts)[true].sum())) + noise)

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write it down as JSON, for anybody."""
        Path(path).write_text(self.to_text(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> PublicCounts:
        """What was saved. Nothing in the file is run."""
        return cls.from_text(Path(path).read_text(encoding="utf-8"))

    def to_text(self) -> str:
        """It as a JSON text."""
        marginals = [
            {"columns": part.columns, "counts": array_text(part.counts), "deviation": part.deviation}
            for part in self.measured
        ]
        facts = {
            "kind": KIND, "version": VERSION, "receipt": self.receipt,
            "asked": self.asked, "hard": self.hard, "bar": self.bar,
            "axes": list(map(axis_facts, self.axes)), "counts": array_text(self.counts), "measured": marginals,
        }  # fmt: skip
        return json.dumps(facts)

    @classmethod
    def from_text(cls, text: str) -> PublicCounts:
        """What such a text says; refused where it is damaged."""
        try:
            return cls._from_facts(json.loads(text))
        except InvalidParameter:
            pass
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
            pass
        except Exception as error:  # zlib's own error is none of the above
            if type(error).__module__ != "zlib":
                raise
        raise InvalidParameter("file", "damaged", allowed="what PublicCounts.save wrote") from None

    @classmethod
    def _from_facts(cls, facts: Mapping[str, Any]) -> PublicCounts:
        if facts["kind"] != KIND or facts["version"] != VERSION:
            raise ValueError(KIND)
        axes = tuple(map(axis_from, facts["axes"]))
        grid = Conditions(axes).grid
        if grid.cells > MOST_CELLS or len(grid.columns) != len(axes):
            raise ValueError("cells")
        counts = array_from(facts["counts"], (grid.cells,))
        if not (counts > 0).all():
            raise ValueError("counts")
        measured = []
        for part in facts["measured"]:
            columns = grid.ordered(part["columns"])
            measured.append(
                NoisyMarginal(columns, array_from(part["counts"], grid.shape(columns)), _size(part["deviation"]))
            )
        asked, hard, bar = (int(facts[name]) for name in ("asked", "hard", "bar"))
        return cls(axes, counts, tuple(measured), asked, hard, bar, str(facts["receipt"]))

    def __repr__(self) -> str:
        names = ", ".join(self.grid.columns)
        tested = f"; of {self.asked} questions each was within ± {self.bar} at 95 % when asked" if self.asked else ""
        return f"<PublicCounts of about {self.total:.0f} rows over {names}{tested}>"


def _size(number: Any) -> float:
    found = float(number)
    if not 0 < found < 1e300:
        raise ValueError("deviation")
    return found


NAME = "online"
_IN_MEMORY: WeakKeyDictionary[Ledger, dict[str, PublicCounts]] = WeakKeyDictionary()


def keep(curator: Curator, counts: PublicCounts) -> None:
    """Keep a hypothesis under its receipt: in the database's folder, for its owner's eyes, or in memory."""
    if curator.folder is None:
        _IN_MEMORY.setdefault(curator.ledger, {})[counts.receipt] = counts
        return
    place = curator.folder.path / NAME
    make_folder(place)
    replace_text(place / f"{counts.receipt}.json", counts.to_text())


def kept(curator: Curator, receipt: str, axes: tuple[BinnedColumn, ...]) -> PublicCounts | None:
    """The hypothesis that was kept under a receipt, if it is there, whole, and about these axes."""
    if curator.folder is None:
        return _IN_MEMORY.get(curator.ledger, {}).get(receipt)
    try:
        found = PublicCounts.load(curator.folder.path / NAME / f"{receipt}.json")
    except (OSError, UnicodeDecodeError, InvalidParameter):
        return None
    return found if found.axes == axes and found.receipt == receipt else None
