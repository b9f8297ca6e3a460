"""Private partitions: the sensitivity of their costs, the step that their proof rests on, and what they draw."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.synth.strategies import partitions
from dalenius.synth.strategies.partitions import PrivatePartition, release_partitioned, uneven
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Ranges

RNG = np.random.default_rng(11)
CELLS, PIECE = 16, 2


def neighbours_of(histogram: np.ndarray) -> list[np.ndarray]:
    return [histogram + step * one for one in np.eye(len(histogram), dtype=np.int64) for step in (1, -1)]


def largest_change(cost: object) -> int:
    assert callable(cost)
    worst = 0
    for _ in range(60):
        histogram = RNG.integers(0, 6, size=7)
        for other in neighbours_of(histogram):
            worst = max(worst, *(int(np.abs(cost(histogram, block) - cost(other, block)).max()) for block in (2, 3, 8)))
    return worst


def test_one_person_changes_a_cost_by_at_most_one() -> None:
    assert largest_change(uneven) == 1


def test_the_check_above_notices_the_whole_sum_of_distances() -> None:
    def twice(histogram: np.ndarray, block: int) -> np.ndarray:
        return np.floor(2 * np.abs(histogram[:block] - histogram[:block].mean()).sum(keepdims=True))

    assert largest_change(twice) > 1


def test_costs_do_not_wrap() -> None:
    assert uneven(np.array([2**62, 0, 0, 0]), 4).tolist() == [3 * 2**60]


class Tree:
    """Costs of all blocks and pieces on one histogram, with given noise."""

    def __init__(self, histogram: np.ndarray, noise: list[np.ndarray], kept: np.ndarray) -> None:
        self.costs = [uneven(histogram, PIECE << level) + part for level, part in enumerate(noise)]
        self.kept = kept

    def bounds(self) -> tuple[int, ...]:
        return partitions._cheapest(self.costs, self.kept, cells=CELLS, piece=PIECE)


def holding(bounds: tuple[int, ...], cell: int, sizes: list[int]) -> tuple[int, int] | None:
    """The level and place of the chosen block that holds a cell, or None where its piece is kept cell by cell."""
    start = max(bound for bound in bounds if bound <= cell)
    end = min(bound for bound in bounds if bound > cell)
    for level, size in enumerate(sizes):
        block = PIECE << level
        place = cell // block
        if place < size and (place * block, min(CELLS, (place + 1) * block)) == (start, end):
            return level, place
    return None


def stays(shift: int) -> bool:
    """Whether the choice stays on every neighbour once the noise of what holds the changed cell is lowered."""
    for _ in range(60):
        histogram = RNG.integers(0, 5, size=CELLS)
        sizes = [len(uneven(histogram, PIECE << level)) for level in range(4)]
        noise = [RNG.integers(-2, 3, size=size) for size in sizes]
        kept = RNG.integers(-1, 3, size=sizes[0])
        chosen = Tree(histogram, noise, kept).bounds()
        for cell, other in ((place, histogram + step) for place in range(CELLS) for step in steps(place)):
            found = holding(chosen, cell, sizes)
            lower, lower_kept = [part.copy() for part in noise], kept.copy()
            if found is None:
                lower_kept[cell // PIECE] -= shift
            else:
                lower[found[0]][found[1]] -= shift
            if Tree(other, lower, lower_kept).bounds() != chosen:
                return False
    return True


def steps(cell: int) -> list[np.ndarray]:
    one = np.eye(CELLS, dtype=np.int64)[cell]
    return [one, -one]


def test_the_step_of_the_proof_holds_with_a_shift_of_two() -> None:
    assert stays(2)


def test_the_check_above_notices_a_shift_that_is_too_small() -> None:
    assert not stays(1)


SCALE, REACH = 2, 60
NOISE = np.array([np.exp(-abs(z) / SCALE) for z in range(-REACH, REACH + 1)])
NOISE = NOISE / NOISE.sum()


def shifted(cost: int) -> np.ndarray:
    """The law of a cost with noise, as weights of the integers from -80 to 80."""
    law = np.zeros(161)
    law[80 - REACH + cost : 80 + REACH + 1 + cost] = NOISE
    return law


def above(law: np.ndarray) -> np.ndarray:
    """The chance of each integer or a larger one."""
    return law[::-1].cumsum()[::-1]


def outcomes(histogram: np.ndarray) -> np.ndarray:
    """The exact chances of all partitions of four cells in two pieces: one bucket, or each piece a bucket or kept."""
    kept, chances = shifted(0), []
    for cost in uneven(histogram, 2).tolist():
        bucket = shifted(cost)
        chances.append((bucket * above(kept), kept * (above(bucket) - bucket)))
    root = shifted(int(uneven(histogram, 4)[0]))
    below = np.concatenate([[0], root.cumsum()])
    split = []
    for first in chances[0]:
        for second in chances[1]:
            both = np.convolve(first, second)  # of the integers from -160 to 160
            beaten = 1 - below[np.clip(np.arange(-160, 161) + 80 + 1, 0, 161)]
            split.append(float((both * beaten).sum()))
    return np.array([1 - sum(split), *split])


def worst_ratio() -> float:
    worst = 0.0
    for cells in product(range(4), repeat=4):
        here = outcomes(np.array(cells))
        for one in np.eye(4, dtype=np.int64):
            there = outcomes(np.array(cells) + one)
            worst = max(worst, float(np.abs(np.log(here / there)).max()))
    return worst


def test_no_partition_becomes_likelier_than_stated_by_its_exact_law() -> None:
    finding = PrivatePartition(scale=Fraction(SCALE), cells=4, piece=2, neighbours=AddRemove())
    stated = float(finding.loss(sensitivity=1).epsilon)
    assert worst_ratio() <= stated + 1e-6


def test_the_check_above_notices_half_the_noise() -> None:
    """Priced as for a shift by one, which is what a single cost changes by, the same mechanism would leak."""
    assert worst_ratio() > 1 / SCALE + 0.05


def test_the_noise_pays_for_a_shift_of_two_for_each_person() -> None:
    for people in (1, 2, 6):
        finding = PrivatePartition.calibrated(cells=64, sensitivity=people, epsilon="0.3", neighbours=AddRemove())
        assert finding.loss(sensitivity=people) == PureDP(Fraction(3, 10))
        assert finding.scale == 2 * people / Fraction(3, 10)


def test_even_data_get_few_buckets_and_uneven_data_many() -> None:
    even, uneven_data = np.full(256, 50), np.tile([0, 2000], 128)
    finding = PrivatePartition.calibrated(cells=256, sensitivity=1, epsilon=1, neighbours=AddRemove())
    few = [len(finding.release(even, SeededEntropy(run))) for run in range(20)]
    many = [len(finding.release(uneven_data, SeededEntropy(run))) for run in range(20)]
    assert np.mean(few) < 64
    assert np.mean(many) > 250


@pytest.mark.parametrize("relation", [AddRemove(), Replace()])
def test_a_release_draws_no_more_than_its_price_and_answers_agree(relation: Neighbours) -> None:
    truth = np.repeat([30, 0, 5, 100], 16)
    exact = Exact(truth, sensitivity=Sensitivity(l1=relation.add_remove_steps), neighbours=relation)
    workload = Ranges(CellDomain({"x": 64}), [(0, 63), (0, 20), (21, 63)])
    for price, size, order in ((None, Fraction(1, 3), None), (ZCDP(Fraction(1, 8)), 1, Fraction(8))):
        full = Charge.covering(divergence=Fraction(size), delta=Fraction(0), order=order)
        budget_part = Allowance(full, neighbours=relation)
        estimate = release_partitioned(exact, 64, budget_part, SeededEntropy(3), price=price)
        assert budget_part.left.divergence < full.divergence / 10
        total, left, right = estimate.answers(workload).values
        assert total == pytest.approx(left + right)
        assert estimate.bounds[0] == 0
        assert estimate.bounds[-1] == 64


def test_bars_hold_the_noise_where_buckets_are_even() -> None:
    truth = np.repeat([30, 0, 5, 100], 16)
    exact = Exact(truth, sensitivity=Sensitivity(l1=1), neighbours=AddRemove())
    workload = Ranges(CellDomain({"x": 64}), [(0, 15), (16, 31), (0, 31), (32, 63)])
    outside = 0
    for run in range(40):
        budget_part = Allowance(Charge(divergence=10**15, order=None), neighbours=AddRemove())
        answers = release_partitioned(exact, 64, budget_part, SeededEntropy(run), price=PureDP(Fraction(1))).answers(
            workload
        )
        outside += int((np.abs(answers.values - workload.answers(truth)) > answers.bars).sum())
    assert outside < 0.15 * 160
