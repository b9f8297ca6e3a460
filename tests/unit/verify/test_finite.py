"""The exact finite checker: worst loss, the curve of delta, the worst pair and the worst event of small tables."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dalenius import verify
from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import approximate_max_divergence, epsilon_distance, is_private
from dalenius.privacy.losses import ZCDP, ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import ball, precise
from dalenius.verify.checked import finite

F = Fraction
RESPONSE = {0: {0: F(3, 4), 1: F(1, 4)}, 1: {0: F(1, 4), 1: F(3, 4)}}
ONE_SIDED = {0: {"a": F(1, 2), "b": F(1, 2)}, 1: {"a": F(9, 10), "c": F(1, 10)}}


@st.composite
def tables(draw: st.DrawFn) -> dict[int, dict[int, Fraction]]:
    found = {}
    for value in range(3):
        weights = draw(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any))
        found[value] = {outcome: F(weight, sum(weights)) for outcome, weight in enumerate(weights)}
    return found


def test_the_name_is_a_function_of_the_room() -> None:
    assert verify.finite is finite


def test_randomized_response_has_the_loss_of_its_odds_and_two_worst_answers() -> None:
    checked = finite(RESPONSE, [(0, 1)])
    assert checked.ratio == 3
    assert math.isclose(checked.epsilon, math.log(3))
    assert checked.epsilon >= F(math.log(3)) - F(1, 10**15)
    assert checked.pair is not None
    assert (checked.pair, checked.event) in {((0, 1), (0,)), ((1, 0), (1,))}


def test_the_curve_is_made_of_lines_in_e_to_epsilon() -> None:
    (piece,) = finite(RESPONSE, [(0, 1)]).pieces()
    assert (piece.start, piece.end, piece.mass, piece.other) == (1, 3, F(3, 4), F(1, 4))


@given(tables(), st.fractions(1, 5))
def test_delta_is_the_largest_hockey_stick_of_all_pairs_and_the_pieces_say_the_same(
    law: dict[int, dict[int, Fraction]], odds: Fraction
) -> None:
    pairs = [(0, 1), (1, 2), (0, 2)]
    checked = finite(law, pairs)
    expected = max(epsilon_distance(law[x], law[y], odds=odds) for x, y in pairs)
    assert checked.delta_at(odds=odds) == expected
    drawn = [piece.mass - odds * piece.other for piece in checked.pieces() if piece.start <= odds <= piece.end]
    assert (max(drawn) if drawn else 0) == expected


@given(tables(), st.fractions(0, 1))
def test_epsilon_is_the_worst_approximate_divergence_of_all_pairs(
    law: dict[int, dict[int, Fraction]], delta: Fraction
) -> None:
    expected = [approximate_max_divergence(law[x], law[y], delta=delta) for x, y in ((0, 1), (1, 0))]
    assert finite(law, [(0, 1)]).epsilon_at(delta=delta) == max(0, *expected)


@given(tables(), st.fractions(0, 3), st.fractions(0, F(1, 2)))
def test_claims_are_decided_exactly(law: dict[int, dict[int, Fraction]], epsilon: Fraction, delta: Fraction) -> None:
    checked = finite(law, [(0, 1)])
    assert checked.holds((epsilon, delta)) is is_private(law[0], law[1], epsilon=epsilon, delta=delta)
    assert checked.holds(PureDP(epsilon)) is is_private(law[0], law[1], epsilon=epsilon)


@given(tables())
def test_the_worst_event_has_the_worst_ratio(law: dict[int, dict[int, Fraction]]) -> None:
    checked = finite(law, [(0, 1)])
    if checked.pair is None:
        assert law[0] == law[1]
        return
    first, second = (law[value] for value in checked.pair)
    ratios = {first[outcome] / second[outcome] if second[outcome] else math.inf for outcome in checked.event}
    assert ratios == {checked.ratio}


def test_an_outcome_of_one_input_alone_is_an_infinite_loss_and_a_delta_that_stays() -> None:
    checked = finite(ONE_SIDED, [(0, 1)])
    assert checked.ratio == math.inf
    assert checked.epsilon == math.inf
    assert checked.event == ("b",)
    assert checked.delta_at(epsilon=50) == F(1, 2)
    assert checked.epsilon_at(delta="1/4") == math.inf
    assert checked.holds(100) is False
    assert "infinite" in str(checked)


def test_all_three_ways_to_say_who_is_a_neighbour_agree() -> None:
    law = {(): {0: F(1, 2), 1: F(1, 2)}, (0,): {0: F(3, 4), 1: F(1, 4)}, (1,): {0: F(1, 4), 1: F(3, 4)}}
    stated = finite(law, [((), (0,)), ((), (1,))])
    assert finite(law, AddRemove("row")).most.pieces() == stated.most.pieces()
    assert finite(law, lambda x, y: len(x) < len(y)).ratio == stated.ratio == 2
    assert finite(law, Replace("row")).ratio == 3


def test_both_directions_count() -> None:
    law = {0: {"a": F(99, 100), "b": F(1, 100)}, 1: {"a": F(1, 2), "b": F(1, 2)}}
    assert finite(law, [(0, 1)]).ratio == finite(law, [(1, 0)]).ratio == 50


def test_masses_must_add_up_unless_the_tables_are_said_to_be_truncated() -> None:
    short = {0: {"a": F(9, 10)}, 1: {"a": F(9, 10)}}
    with pytest.raises(InvalidParameter, match="add up to exactly 1"):
        finite(short, [(0, 1)])
    with pytest.raises(InvalidParameter, match="add up"):
        finite({0: {"a": F(11, 10)}}, [], truncated=True)
    checked = finite(short, [(0, 1)], truncated=True)
    assert checked.delta_at(epsilon=1) == F(1, 10)
    assert checked.holds(1) is None
    assert checked.holds((1, "0.2")) is True


def test_what_a_truncated_table_leaves_out_refutes_nothing() -> None:
    half = {0: {"a": F(1, 2), "b": F(1, 2)}, 1: {"a": F(1, 2)}}
    assert finite(half, [(0, 1)], truncated=True).holds(1) is None
    worse = {0: {"a": F(1, 2), "b": F(1, 2)}, 1: {"a": F(9, 10)}}
    assert finite(worse, [(0, 1)], truncated=True).holds(1) is False


def test_enclosures_prove_and_refute_and_leave_open_what_is_met_exactly() -> None:
    with precise():
        keep = 1 / (1 + (-ball(F(1))).exp())
        law = {0: {0: keep, 1: 1 - keep}, 1: {0: 1 - keep, 1: keep}}
    checked = finite(law, [(0, 1)])
    assert checked.holds("1.001") is True
    assert checked.holds("0.999") is False
    assert checked.holds(1) is None
    assert checked.holds(1, tolerance="1e-12") is True
    assert isinstance(law[0][0], arb)


def test_concentrated_claims_are_proved_by_the_worst_loss_and_refuted_by_a_divergence() -> None:
    checked = finite(RESPONSE, [(0, 1)])
    assert checked.holds(ZCDP(F(1))) is True
    assert checked.holds(ZCDP(F(1, 100))) is False
    assert checked.holds(ApproximateDP(1, "0.2")) is True
    assert checked.renyi(2) == pytest.approx(math.log(F(9, 16) * 4 + F(1, 16) * F(4, 3)))


def test_equal_tables_cost_nothing() -> None:
    checked = finite({0: {"a": 1}, 1: {"a": 1}}, [(0, 1)])
    assert (checked.epsilon, checked.pair, checked.event, checked.pieces()) == (0, None, (), ())
    assert "epsilon = 0" in str(checked)


@pytest.mark.parametrize(
    ("law", "related"),
    [(RESPONSE, []), ({}, []), (RESPONSE, lambda x, y: False), (RESPONSE, [(0, 0)]), ({(0,): {0: 1}}, Replace())],
)
def test_nothing_to_compare_is_refused_and_proves_no_claim(law: Any, related: Any) -> None:
    with pytest.raises(InvalidParameter, match="at least one pair"):
        finite(law, related)


@pytest.mark.parametrize("mass", ["nan", "inf"])
def test_a_mass_that_is_no_number_is_refused(mass: str) -> None:
    with pytest.raises(InvalidParameter, match="a ball around one"):
        finite({0: {0: arb(mass)}, 1: {0: F(1)}}, [(0, 1)])


def test_a_pair_without_a_table_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="have a table"):
        finite(RESPONSE, [(0, 2)])


def test_it_reads_well() -> None:
    said = str(finite(RESPONSE, [(0, 1)]))
    assert "worst loss, exactly: ln 3 = 1.09862" in said
    assert "delta at epsilon = 0: 0.5" in said
    assert finite({"<b>": {0: 1}, "c": {1: 1}}, [("<b>", "c")])._repr_html_().count("<b>") == 0


def test_odds_below_one_are_refused() -> None:
    """The curve is that of epsilons from 0 on: below it would be wrong, not exact."""
    checked = finite(RESPONSE, [(0, 1)])
    assert checked.delta_at(odds=1) == checked.delta_at(epsilon=0)
    with pytest.raises(InvalidParameter, match="at least 1"):
        checked.delta_at(odds=Fraction(1, 2))


def test_what_a_truncated_table_leaves_out_is_said_where_listed_outcomes_are_alike() -> None:
    half = {0: {"a": Fraction(1, 2)}, 1: {"a": Fraction(1, 2)}}
    said = str(finite(half, [(0, 1)], truncated=True))
    assert "epsilon = 0\n" not in said.replace("delta at epsilon = 0", "")
    assert "not all outcomes are listed" in said
    assert "delta at epsilon = 1: 0.5" in said


def test_an_outcome_that_a_neighbour_never_gives_refutes_every_divergence() -> None:
    rare = Fraction(1, 10**30)
    law = {0: {"a": 1 - rare, "b": rare}, 1: {"a": Fraction(1)}}
    assert finite(law, [(0, 1)]).holds(ZCDP(1)) is False
    assert finite(law, [(0, 1)]).holds((1, Fraction(1, 10**29))) is True


@pytest.mark.parametrize(
    ("law", "related", "said"),
    [
        (RESPONSE, (0, 1), "a list of pairs"),
        ([{"a": 1}], [(0, 0)], "for each input"),
        (RESPONSE, AddRemove(), "tuples of rows"),
        ({0: {"a": 0.1 + 0.2, "b": 0.7}, 1: {"a": 1}}, [(0, 1)], "Write fractions"),
    ],
)
def test_tables_of_another_form_are_refused_with_what_to_write(law: Any, related: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        finite(law, related)
