"""The law of whole prices: whatever takes an allowance compares its whole price with it before its first measurement,
so that a refusal costs nothing; and what it asks for is enough."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from types import CodeType, FrameType
from typing import Any

import pytest

import dalenius.learn
from clinics import clinic
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.composition import repeated
from dalenius.engines.engine import Statements
from dalenius.errors import DaleniusError
from dalenius.learn import MeanEstimator, QuantileEstimator, Ridge
from dalenius.learn.models import PrivateModel
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust import Range
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.randomness.entropy import Entropy
from dalenius.sandbox import confinement
from dalenius.sandbox import sandbox as sandbox_module
from dalenius.session import executor as door
from dalenius.session.databases import Database
from dalenius.session.executor import Purchase
from dalenius.synth import Online, Subsample
from dalenius.synth.tables.families import FamilyWork
from dalenius.synth.tables.synthesizer import Synthesizer
from whole_prices import CASES, ORDER, REPLACED, Case, ReadEntropy, measurers, measuring, takers, takers_of
from whole_prices_of_models import MODEL_CASES, MODELS

EVERY = CASES | MODEL_CASES
RUNS = [(name, order) for name, case in EVERY.items() for order in case.orders]
SYNTHESIZER = Synthesizer(columns=["age", "city"], bins={"age": 3}, order=1)


# ---- what stands alone, and estimators on arrays


def refused_for_nothing(case: Case, order: Fraction | None, short: int) -> bool:
    """Whether so many units too little are refused while nothing was drawn or measured."""
    paid, entropy = case.allowance(order, short=short), ReadEntropy("short")
    before = paid.left
    with pytest.raises(DaleniusError):
        case.run(paid, entropy)
    return paid.left == before and not entropy.read_any


@cache
def called(name: str, order: Fraction | None) -> frozenset[CodeType]:
    """Run a case for its whole price, which has to be enough, and see what was called."""
    with _watched() as seen:
        EVERY[name].run(EVERY[name].allowance(order), ReadEntropy("enough"))
    return frozenset(seen)


@pytest.mark.parametrize(("name", "order"), RUNS)
def test_a_unit_too_little_is_refused_for_nothing_and_the_whole_price_is_enough(
    name: str, order: Fraction | None
) -> None:
    whole = EVERY[name].allowance(order).left.divergence
    assert refused_for_nothing(EVERY[name], order, 1)
    assert refused_for_nothing(EVERY[name], order, (whole + 1) // 2)
    called(name, order)


def test_every_estimator_has_a_case() -> None:
    exported = (getattr(dalenius.learn, name) for name in dalenius.learn.__all__)
    models = {each for each in exported if isinstance(each, type) and issubclass(each, PrivateModel)}
    assert {type(model) for model in MODELS.values()} == models


# ---- what a database sells


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[type, Purchase], Any, set[CodeType]]]:
    """One of each kind of work that a database sells, bought at the door, with the engine and all that was called."""
    found: dict[type, Purchase] = {}
    whole = door.measured

    def kept(priced: Purchase, *others: Any) -> Any:
        found[type(priced)] = priced
        return whole(priced, *others)

    with clinic(path=tmp_path_factory.mktemp("sold") / "clinic") as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "measured", kept)
        patch.setattr(sandbox_module, "_wait", lambda until: None)
        with _watched() as seen:
            SYNTHESIZER.cost(db.table("visits"), share="5%")
            _buy(db)
            (fit,) = [each for each in found.values() if type(each).__name__ == "Fit"]
            found[FamilyWork] = FamilyWork(fit, fit)
            (neighbours,) = _neighbours(fit)
            door.measured(
                found[FamilyWork],
                Statements(db._curator.engine),
                door.allowance(found[FamilyWork], {"patients": neighbours}),
            )
        yield found, db._curator.engine, seen


def _buy(db: Database) -> None:
    rows, learnt = db.table("visits"), {"columns": ["age"], "share": "1%"}
    db.sql("SELECT city, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY city").run(share="1%")
    if confinement.supported():
        terms = {"columns": ["age"], "output": Range(0, 120, step="0.5"), "seconds": 12, "megabytes": 64, "blocks": 2}
        Subsample(_mean_age, **terms).run(rows, epsilon="0.1")
    SYNTHESIZER.fit(rows, share="5%", key="once").evaluate(rows, share="1%")
    Online(columns=["age", "city"], bins={"age": 3}, updates=3, questions=20).open(rows, share="10%")
    MeanEstimator(epsilon=None).fit(rows, **learnt)
    QuantileEstimator([0.5], epsilon=None).fit(rows, **learnt)
    Ridge(epsilon=None, method="objective").fit(rows, "cost", **learnt)


def _mean_age(rows: Any) -> float:
    return float(sum(row[0] for row in rows) / max(1, len(rows)))


def test_what_a_database_sells_is_refused_before_it_reads_where_a_unit_is_missing(sold: Any) -> None:
    found, engine, _ = sold
    assert len(found) == 7 + confinement.supported()
    for priced in found.values():
        (neighbours,) = _neighbours(priced)
        (charged,) = priced.charge.values()
        case = Case(
            lambda paid, _, priced=priced: door.measured(priced, Statements(_Shut()), paid), priced.loss, neighbours
        )  # type: ignore[misc]
        assert case.allowance(charged.order).left <= charged
        assert refused_for_nothing(case, charged.order, 1), type(priced)
        enough = case.allowance(charged.order)
        door.measured(priced, Statements(engine), enough)


def _neighbours(priced: Purchase) -> set[Neighbours]:
    return {each.protection.neighbours for each in priced.question.relation.tables if each.protection}


class _Shut:
    """An engine that must not be asked."""

    def run(self, *_: object, **__: object) -> None:
        raise AssertionError("it was read")


# ---- nothing is left out


@contextmanager
def _watched() -> Iterator[set[CodeType]]:
    """All functions that are called in a block."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def test_whatever_takes_an_allowance_is_run_in_a_case(sold: Any) -> None:
    """A new function or class that takes one fails here until it has a case, or is a part of one that has."""
    seen = _run(sold)
    left_out = [name for name, function in takers().items() if function.__code__ not in seen]
    assert left_out == []


def test_whatever_measures_or_draws_is_run_in_a_case(sold: Any) -> None:
    """Also what is private, and what takes an allowance under another name or inside of something."""
    seen = {(code.co_filename, code.co_firstlineno) for code in _run(sold)}
    left_out = [name for name, place in measurers().items() if place not in seen]
    assert left_out == []


def _run(sold: Any) -> set[CodeType]:
    """All that was called in a case, or for what a database sells."""
    rich = Allowance(Charge(divergence=10**16, order=None), neighbours=EVERY["seeded"].neighbours)
    with _watched() as seen:  # a grid is counted where the price is high enough for it
        EVERY["seeded"].run(rich, ReadEntropy("much"))
    return {code for name, order in RUNS for code in called(name, order)} | sold[2] | seen


# ---- the twin


class MeasuresFirst:
    """Three measurements, the price of which nobody looks at before."""

    NOISE = DiscreteLaplace.calibrated(sensitivity=1, epsilon="0.1", neighbours=REPLACED)

    def release(self, allowance: Allowance, entropy: Entropy) -> list[int]:
        exact = Exact(3, sensitivity=1, neighbours=REPLACED)
        return [measure(self.NOISE, exact, allowance, entropy) for _ in range(3)]


def test_the_laws_notice_a_class_that_measures_first_and_one_that_has_no_case() -> None:
    case = Case(MeasuresFirst().release, repeated(MeasuresFirst.NOISE.loss(sensitivity=1), 3))
    for order in (None, ORDER):
        assert not refused_for_nothing(case, order, 1)
    ((name, function),) = takers_of("MeasuresFirst", MeasuresFirst)
    assert name == "MeasuresFirst.release"
    assert function.__code__ not in called("hedge", None)


HIDDEN = """
from dalenius.mechanisms.door import measure as look
class Quiet:
    def _go(self, paid, exact):
        def inner():
            return [look(NOISE, exact, paid, entropy) for _ in range(3)]
        return inner()
    @property
    def drawn(self):
        return self.paid.draw(LOSS)
    def noise(self, entropy):
        return LAW.draw(entropy)
"""


def test_the_law_above_finds_what_measures_without_saying_that_it_takes_an_allowance() -> None:
    assert list(measuring(HIDDEN)) == [("drawn", 8), ("inner", 5)]
    assert len(measurers()) > 30
