"""The one door: charge first, then open, and never open without a charge."""

from __future__ import annotations

import traceback
from fractions import Fraction

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import BudgetExceeded, FunctionFailed, InvalidParameter, NeighbourMismatch, UnusableValue
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

ROWS = AddRemove("row")
COUNT = DiscreteLaplace.calibrated(sensitivity=1, epsilon="0.1", neighbours=ROWS)


def budget(epsilon: str = "1", neighbours: Neighbours = ROWS) -> PrivacyFilter:
    return PrivacyFilter(Budget(epsilon), neighbours=neighbours)


class Watched:
    """A function to map over a sealed value that notices when the value is opened."""

    def __init__(self) -> None:
        self.opened = 0

    def __call__(self, value: int) -> int:
        self.opened += 1
        return value


def watched(sensitivity: int = 1, neighbours: Neighbours = ROWS) -> tuple[Watched, Exact[int]]:
    watch = Watched()
    return watch, Exact(100, sensitivity=1, neighbours=neighbours).map(watch, sensitivity=sensitivity)


def test_a_measurement_costs_the_loss_of_one_use_and_gives_a_noisy_value() -> None:
    budget_part = budget()
    watch, exact = watched()
    allowance = budget_part.allow(COUNT.loss(sensitivity=1))
    noisy = measure(COUNT, exact, allowance, SeededEntropy(1))
    assert watch.opened == 1
    assert noisy == COUNT.release(100, SeededEntropy(1))
    assert budget_part.left.divergence == 9 * 10**14
    assert allowance.left.divergence == 0


def test_nothing_is_opened_when_the_allowance_does_not_suffice() -> None:
    watch, exact = watched(sensitivity=2)
    allowance = budget().allow(COUNT.loss(sensitivity=1))
    with pytest.raises(BudgetExceeded, match="nothing was run or charged"):
        measure(COUNT, exact, allowance, SeededEntropy(1))
    assert watch.opened == 0
    assert allowance.left.divergence == 10**14


def test_an_allowance_pays_once_for_what_was_paid_once() -> None:
    watch, exact = watched()
    allowance = budget().allow(COUNT.loss(sensitivity=1))
    measure(COUNT, exact, allowance, SeededEntropy(1))
    with pytest.raises(BudgetExceeded):
        measure(COUNT, exact, allowance, SeededEntropy(1))
    assert watch.opened == 1


@pytest.mark.textbook("S1.2")
@pytest.mark.parametrize(
    ("mechanism", "value", "budget_part"),
    [
        (ROWS, ROWS, Replace("row")),
        (ROWS, Replace("row"), ROWS),
        (Replace("row"), ROWS, ROWS),
        (ROWS, ROWS, AddRemove("unit")),
    ],
)
def test_neighbours_that_differ_are_refused_and_cost_nothing(
    mechanism: Neighbours, value: Neighbours, budget_part: Neighbours
) -> None:
    watch, exact = watched(neighbours=value)
    laplace = DiscreteLaplace.calibrated(sensitivity=1, epsilon="0.1", neighbours=mechanism)
    allowance = budget(neighbours=budget_part).allow(COUNT.loss(sensitivity=1))
    with pytest.raises(NeighbourMismatch, match="this call ran and charged nothing"):
        measure(laplace, exact, allowance, SeededEntropy(1))
    assert watch.opened == 0
    assert allowance.left.divergence == 10**14


def test_what_a_failing_function_says_stays_sealed_and_the_charge_stays() -> None:
    def fails(value: int) -> int:
        raise ValueError(f"the secret is {value}")

    allowance = budget().allow(COUNT.loss(sensitivity=1))
    with pytest.raises(FunctionFailed) as caught:
        measure(
            COUNT, Exact(4242, sensitivity=1, neighbours=ROWS).map(fails, sensitivity=1), allowance, SeededEntropy(1)
        )
    assert "4242" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert allowance.left.divergence == 0


def test_a_mapped_vector_must_have_said_its_norm() -> None:
    scalar = Exact(3, sensitivity=1, neighbours=ROWS)
    budget_part = budget()
    with pytest.raises(FunctionFailed):
        measure(
            COUNT,
            scalar.map(lambda n: [n, n], sensitivity=1),
            budget_part.allow(COUNT.loss(sensitivity=1)),
            SeededEntropy(1),
        )
    stated = scalar.map(lambda n: [n, n], sensitivity=Sensitivity(l1=2))
    assert len(measure(COUNT, stated, budget_part.allow(COUNT.loss(sensitivity=2)), SeededEntropy(1))) == 2


def test_a_value_from_a_row_is_never_in_the_error_about_its_type() -> None:
    allowance = budget().allow(COUNT.loss(sensitivity=1))
    exact = Exact(4000 + 242.5, sensitivity=1, neighbours=ROWS)
    with pytest.raises(UnusableValue, match="what was paid for it stays paid") as caught:
        measure(COUNT, exact, allowance, SeededEntropy(1))  # type: ignore[type-var]
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "4242" not in "".join(shown.format())
    assert caught.value.__context__ is None


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("wrong", [None, 5, "abc", PrivacyFilter, []])
def test_a_wrong_argument_is_refused_before_anything_is_charged(place: int, wrong: object) -> None:
    watch, exact = watched()
    allowance = budget().allow(COUNT.loss(sensitivity=1))
    arguments: list[object] = [COUNT, exact, allowance, SeededEntropy(1)]
    arguments[place] = wrong
    with pytest.raises(InvalidParameter, match="nothing was run or charged"):
        measure(*arguments)  # type: ignore[arg-type]
    assert watch.opened == 0
    assert allowance.left.divergence == 10**14


def test_the_charge_comes_before_any_randomness() -> None:
    class Forbidden(Entropy):
        def read(self, count: int) -> bytes:
            raise AssertionError("entropy was read")

    _, exact = watched()
    allowance = budget().allow(COUNT.loss(sensitivity=Fraction(1)))
    with pytest.raises(UnusableValue):
        measure(COUNT, exact, allowance, Forbidden())
    assert allowance.left.divergence == 0


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_whatever_a_mapped_function_raises_brings_nothing_along(stop: type[BaseException]) -> None:
    def stops(value: int) -> int:
        raise stop(f"the secret is {value}")

    allowance = budget().allow(COUNT.loss(sensitivity=1))
    with pytest.raises((FunctionFailed, KeyboardInterrupt)) as caught:
        measure(
            COUNT, Exact(4242, sensitivity=1, neighbours=ROWS).map(stops, sensitivity=1), allowance, SeededEntropy(1)
        )
    assert "4242" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("mask", [[0, 1, 0], [1, 1, 1], [0, 0, 0]])
def test_masked_arrays_never_leave(mask: list[int]) -> None:
    masked = np.ma.MaskedArray([11, 22, 33], mask=mask)
    allowance = budget().allow(COUNT.loss(sensitivity=1))
    with pytest.raises(UnusableValue):
        measure(COUNT, Exact(masked, sensitivity=Sensitivity(l1=1), neighbours=ROWS), allowance, SeededEntropy(1))
    for mechanism in (
        COUNT,
        NoisyMax(scale=Fraction(1), neighbours=ROWS),
        PermuteAndFlip(rate=Fraction(1), neighbours=ROWS),
    ):
        with pytest.raises(UnusableValue, match="a masked array"):
            mechanism.release(masked, SeededEntropy(1))  # type: ignore[attr-defined]
