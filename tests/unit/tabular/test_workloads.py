"""Workloads: answers are those of their weights, and no neighbour moves them further than they say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from costs import cases
from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Marginals, MatrixWorkload, Product, Ranges, Workload, parities, points

TABLE = CellDomain({"age": 3, "city": 2, "ill": 2})
LINE = CellDomain({"day": 6})
WORKLOADS: dict[str, Workload] = {
    "all pairs": Marginals.all(TABLE, 2),
    "some groups": Marginals(TABLE, [("city",), ("ill", "age")]),
    "all ranges": Ranges.all(LINE),
    "prefixes": Ranges.prefixes(LINE),
    "some ranges": Ranges(LINE, [(0, 0), (1, 4), (1, 5)]),
    "thirds": MatrixWorkload(LINE, [[0, 1, 2, 3, 0, 1], [3, 3, 0, 0, 1, 1]], denominator=3),
    "parities": parities(3),
    "points": points(LINE),
    "product": Product(Ranges.prefixes(LINE), Marginals.all(CellDomain({"a": 2, "b": 3}), 1)),
}


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_answers_are_those_of_the_weights(workload: Workload) -> None:
    histogram = np.arange(workload.grid.cells) ** 2 + 1
    answers = workload.answers(histogram)
    assert answers.dtype == np.int64
    assert len(answers) == len(workload) == workload.count
    assert answers.tolist() == [int(workload.weights(q) @ histogram) for q in range(workload.count)]
    assert answers.tolist() == [int(workload.answer(q, histogram)) for q in range(workload.count)]
    assert answers.tolist() == (workload.matrix @ histogram).tolist()


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_weights_are_parts_of_one(workload: Workload) -> None:
    assert workload.matrix.min() >= 0
    assert workload.matrix.max() <= workload.denominator


@cases("rows", [1, 2], fast=1)
@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()], ids=["add_remove", "replace"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_no_unit_moves_the_answers_further_than_stated(name: str, neighbours: Neighbours, rows: int) -> None:
    """Over every unit of at most `rows` rows, and of those that move most the stated norms are reached."""
    workload = WORKLOADS[name]
    stated = workload.sensitivity(neighbours, rows=rows)
    units = [sum(workload.matrix.T[list(cells)]) for cells in product(range(workload.grid.cells), repeat=rows)]
    moves = units if isinstance(neighbours, AddRemove) else [one - other for one in units for other in units]
    assert max(np.abs(move).sum() for move in moves) <= stated.l1
    assert max((move**2).sum() for move in moves) <= stated.l2_squared
    assert max(np.abs(move).max() for move in moves) <= stated.linf
    if isinstance(neighbours, AddRemove):
        assert max(np.abs(move).sum() for move in moves) == stated.l1
        assert max((move**2).sum() for move in moves) == stated.l2_squared


def test_the_test_above_notices_a_norm_that_forgets_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Marginals, "column_norms", lambda self: (len(self.groups) - 1,) * 2 + (1,))
    with pytest.raises(AssertionError):
        test_no_unit_moves_the_answers_further_than_stated("all pairs", AddRemove(), 1)


def test_marginals_are_held_by_their_columns_alone() -> None:
    wide = CellDomain({f"c{place}": 10 for place in range(30)})
    pairs = Marginals.all(wide, 2)
    assert pairs.count == 30 * 29 // 2 * 100
    assert pairs.title(0) == "c0 = 0 and c1 = 0"
    with pytest.raises(InvalidParameter, match="at most"):
        _ = Marginals.all(CellDomain({"a": 3000, "b": 3000}), 1).matrix


def test_what_a_question_asks_is_told() -> None:
    assert WORKLOADS["some ranges"].title(1) == "day from 1 to 4"
    assert WORKLOADS["product"].title(4) == "day from 0 to 0 and b = 2"
    assert "question 1" in WORKLOADS["thirds"].title(1)


@pytest.mark.parametrize(
    "made",
    [
        lambda: MatrixWorkload(LINE, [[1, 0, 2, 0, 0, 0]]),
        lambda: MatrixWorkload(LINE, [[1, 0]]),
        lambda: MatrixWorkload(LINE, [[0.5] * 6]),
        lambda: MatrixWorkload(LINE, [[-1] * 6]),
        lambda: Ranges(LINE, [(2, 1)]),
        lambda: Ranges(LINE, [(0, 6)]),
        lambda: Ranges(TABLE, [(0, 1)]),
        lambda: Marginals(TABLE, []),
        lambda: Marginals(TABLE, [("nobody",)]),
        lambda: Marginals.all(TABLE, 4),
        lambda: Marginals(TABLE, [("age",)], importance={("city",): 1}),
        lambda: Product(Ranges.prefixes(LINE), points(LINE)),
        lambda: CellDomain({}),
        lambda: CellDomain({"a": 0}),
    ],
)
def test_what_makes_no_sense_is_refused(made: object) -> None:
    with pytest.raises(InvalidParameter):
        made()  # type: ignore[operator]


def test_numbers_become_whole_parts_of_a_common_denominator() -> None:
    found = MatrixWorkload.from_numbers(CellDomain({"x": 3}), [["0.5", "1/3", 1]])
    assert found.denominator == 6
    assert found.matrix.tolist() == [[3, 2, 6]]
    assert found.normalised(found.answers(np.array([2, 3, 1])), 6).tolist() == [pytest.approx(0.5)]
