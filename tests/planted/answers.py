"""Bugs beside the numbers of an answer: what its texts say, in which order keys come, who pays for it, and who gets it
again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from dalenius.checks.commands.planted import Planted
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.measuring import pricing, releasing
from dalenius.measuring.pricing import Priced
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.privacy.exact import unseal
from dalenius.session import replays
from dalenius.session.answers import answers as notes
from dalenius.session.curator import Principal
from dalenius.session.executor import Payer

right_release, right_sql, right_charges = releasing.release, DuckDBEngine.compile_sql, Payer.charges
right_charge = Priced.charge.fget  # type: ignore[attr-defined]
above = ThresholdedCounts.release


@contextmanager
def noted() -> Iterator[None]:
    """The remark on small groups is made of the exact totals."""
    largest = 0

    def release(program: Any, steps: Any, results: Any, *given: Any) -> Any:
        nonlocal largest
        largest = sum(int(total) for result in results for part in unseal(result).totals for total in part)
        return right_release(program, steps, results, *given)

    def small_groups(shaped: Any) -> Iterator[str]:
        yield f"This is made of {largest} in all."

    with patch.object(pricing, "release", release), patch.object(notes, "_small_groups", small_groups):
        yield


def with_cardinalities(self: DuckDBEngine, step: Any) -> str:
    """The text of a pass, and how the engine means to run it: it knows how many rows there are."""
    text = right_sql(self, step)
    with self._file.reading() as connection:
        ((_, planned),) = connection.execute(f"EXPLAIN {text}").fetchall()
    return text + "".join(f"\n-- {line}" for line in planned.splitlines())


def the_first_alone(self: Priced) -> Any:
    return dict(list(right_charge(self).items())[:1])


def the_first_account(self: Payer, amounts: Any) -> Any:
    return right_charges(self, amounts)[:1]


def whoever_asks(principal: Principal, name: str) -> Any:
    return principal.curator.ledger.receipt(name)


def by_exact_counts(self: ThresholdedCounts, value: Any, source: Any) -> Any:
    counts = dict(zip(value.keys, value.counts.tolist(), strict=True))
    return dict(sorted(above(self, value, source).items(), key=lambda shown: -counts[shown[0]]))


BUGS = (
    Planted("an exact total in the notes", ("C2", "D6"), "replay", noted, count=20),
    Planted("row counts of the engine in the derivation", ("D6",), "replay",
            lambda: patch.object(DuckDBEngine, "compile_sql", with_cardinalities), count=20),
    Planted("a second population left out of the price", ("C2", "G1"), "replay",
            lambda: patch.object(Priced, "charge", property(the_first_alone)), count=80),
    Planted("a second population not charged", ("B3", "H5"), "ledger",
            lambda: patch.object(Payer, "charges", the_first_account), part="prices of questions", count=40),
    Planted("stored answers for whoever asks", ("L6",), "ledger",
            lambda: patch.object(replays, "_readable", whoever_asks), part="stored answers asked for by everybody",
            count=40),
    Planted("found keys in the order of exact counts", ("D2",), "audit",
            lambda: patch.object(ThresholdedCounts, "release", by_exact_counts), part="Laplace above", count=1_000),
)  # fmt: skip
