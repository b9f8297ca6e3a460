from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import mpmath as mp
import pytest

from dalenius.accounting.composition import Composition, DataPartition, ParallelLoss, compose, parallel_composition
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution, largest_odds
from dalenius.privacy.losses import ZCDP, ApproximateDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace

LOSSES: list[Loss] = [ApproximateDP("0.5", "1e-6"), ApproximateDP("0.3", "1e-5"), PureDP(Fraction(1, 10))]
BY_VALUE, BY_INDEX = DataPartition(of="row", by="value"), DataPartition(of="row", by="index")


@pytest.mark.textbook("S6.2")
@pytest.mark.parametrize(
    ("neighbours", "partition", "dearest"),
    [
        (AddRemove("row"), BY_VALUE, 1),
        (AddRemove("row"), BY_INDEX, 1),
        (Replace("row"), BY_INDEX, 1),
        (Replace("row"), BY_VALUE, 2),
    ],
)
def test_parts_cost_the_largest_or_the_two_largest_where_a_row_can_move(
    neighbours: Neighbours, partition: DataPartition, dearest: int
) -> None:
    loss = parallel_composition(LOSSES, neighbours=neighbours, partition=partition)
    for alpha in (2, 8):
        assert loss.renyi(alpha) == sum(sorted((part.renyi(alpha) for part in LOSSES), reverse=True)[:dearest])
    assert loss.delta == sum([Fraction(1, 10**5), Fraction(1, 10**6)][:dearest])


def occupied(rows: tuple[str, ...], cells: str, keep: Fraction) -> Distribution[tuple[bool, ...]]:
    """For each cell a randomized bit that says whether a row is in it: the exact law of all bits together."""
    laws = [Distribution({cell in rows: keep, cell not in rows: 1 - keep}) for cell in cells]
    return Distribution(
        {
            bits: prod((law.mass(bit) for law, bit in zip(laws, bits, strict=True)), start=Fraction(1))
            for bits in product((False, True), repeat=len(cells))
        }
    )


@pytest.mark.textbook("S6.2")
def test_the_exact_loss_of_a_partition_by_value_is_the_maximum_under_add_remove_and_the_sum_under_replace() -> None:
    """Each bit has odds 3. Adding a row changes one bit, replacing it by one of another cell changes two: 'the maximum'
    would be broken under replace."""
    keep = Fraction(3, 4)
    alone, empty, moved = (occupied(rows, "abc", keep) for rows in (("a",), (), ("b",)))
    assert largest_odds(alone, empty) == 3
    assert largest_odds(alone, moved) == 9
    claims = {}
    with mp.workdps(30):
        bit = PureDP(Fraction(mp.nstr(mp.log(3), 25)))
    for relation in (AddRemove("row"), Replace("row")):
        claims[relation] = parallel_composition([bit] * 3, neighbours=relation, partition=BY_VALUE).renyi(1000)
    assert float(claims[AddRemove("row")]) == pytest.approx(float(mp.log(3)), rel=1e-2)
    assert float(claims[Replace("row")]) == pytest.approx(float(mp.log(9)), rel=1e-2)


@pytest.mark.textbook("S6.2")
def test_a_partition_learnt_from_the_data_is_refused() -> None:
    with pytest.raises(TheoremDoesNotApply, match="fixed before the data was read"):
        parallel_composition(LOSSES, neighbours=AddRemove("row"), partition=DataPartition(of="row", by="data"))


@pytest.mark.textbook("S6.2")
def test_rows_of_a_person_are_no_partition_of_persons() -> None:
    """One person's rows can lie in every part, so under unit protection a partition of rows adds up."""
    with pytest.raises(TheoremDoesNotApply, match="compose"):
        parallel_composition(LOSSES, neighbours=AddRemove("unit"), partition=BY_VALUE)
    units = parallel_composition(LOSSES, neighbours=AddRemove("unit"), partition=DataPartition(of="unit", by="value"))
    assert units.renyi(4) < compose(LOSSES).renyi(4)


def test_what_is_missing_or_wrong_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        parallel_composition(LOSSES, neighbours=None, partition=BY_VALUE)
    with pytest.raises(InvalidParameter):
        parallel_composition([], neighbours=AddRemove("row"), partition=BY_VALUE)
    with pytest.raises(InvalidParameter):
        parallel_composition([1.0], neighbours=AddRemove("row"), partition=BY_VALUE)  # type: ignore[list-item]
    with pytest.raises(InvalidParameter):
        DataPartition(of="row", by="cell")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        ParallelLoss((PureDP(Fraction(1)),), touched=0)


def test_parallel_releases_compose_with_others() -> None:
    inner = parallel_composition(
        [PureDP(Fraction(1)), ZCDP(Fraction(1, 9))], neighbours=AddRemove("row"), partition=BY_VALUE
    )
    both = compose([inner, inner, ZCDP(Fraction(1, 2))])
    assert isinstance(both, Composition)
    assert both.renyi(3) == 2 * inner.renyi(3) + Fraction(3, 2)


def test_parts_that_are_not_pure_are_not_forgotten() -> None:
    mixed = ParallelLoss((PureDP(Fraction(1)), ZCDP(Fraction(1, 2))), touched=1)
    with pytest.raises(TheoremDoesNotApply):
        to_pure(mixed)
