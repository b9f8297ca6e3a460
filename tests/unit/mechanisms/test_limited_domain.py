"""The top k of unknown keys: the proof's own decomposition on small databases, the order of the list, refusals."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from checks import ALARM, SeededEntropy
from costs import cases
from dalenius.accounting.composition import compose, repeated
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.keys.key_selection import Key, KeyCounts
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.privacy.losses import ApproximateDP, BoundedRange
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.cases.case import neighbouring
from dalenius.verify.cases.keys import key_counts
from dalenius.verify.cases.planted import WithoutHandicap, planted

ADD, REPLACE = AddRemove("row"), Replace("row")
UNITS = (("a",), ("b", "c"), ("c", "d"), ("a", "b", "c", "d"))
DELTA = Fraction(1, 20)


def limited(relation: Neighbours = ADD, **parameters: object) -> LimitedTopK:
    chosen = {"k": 2, "rate": Fraction(1), "delta": DELTA, "neighbours": relation, "reach": 2, **parameters}
    return LimitedTopK(**chosen)  # type: ignore[arg-type]


def common_law(mechanism: LimitedTopK, value: KeyCounts, other: KeyCounts) -> dict[tuple[Key, ...], arb]:
    """The law of choosing among the keys that are in reach for both values."""
    keys, scores = mechanism.candidates(value)
    shared = set(mechanism.candidates(other)[0])
    places = [place for place, key in enumerate(keys) if key in shared]
    law: dict[tuple[Key, ...], arb] = {}
    kept = [int(scores[place]) for place in [*places, len(keys)]]
    mechanism._follow([keys[place] for place in places], kept, (), arb(1), law)
    return law


def thinned(mechanism: LimitedTopK, here: KeyCounts, there: KeyCounts) -> tuple[Fraction, Fraction]:
    """What is left in the first world after thinning both by one function, and the worst log-ratio of what is left."""
    with precise():
        laws = mechanism.probabilities(here), mechanism.probabilities(there)
        common = common_law(mechanism, here, there), common_law(mechanism, there, here)
        kept = {o: (laws[0][o] / common[0][o]).min(laws[1][o] / common[1][o]) for o in common[0]}
        left = sum((kept[o] * common[0][o] for o in kept), arb(0))
        worst = max(upper((common[0][o] / common[1][o]).log()) for o in kept)
        return lower(left), worst


@cases("relation", [ADD, REPLACE], ids=str, fast=1)
@pytest.mark.parametrize("changed", [None, 4], ids=str)
def test_beside_an_event_of_delta_the_list_is_k_choices_of_bounded_range(
    relation: Neighbours, changed: int | None
) -> None:
    mechanism = limited(relation, changed=changed)
    _, pairs = neighbouring(key_counts, relation, UNITS, most=4)
    found = [thinned(mechanism, *pair) for pair in pairs]
    steps = relation.add_remove_steps
    assert min(left for left, _ in found) >= 1 - DELTA
    assert max(worst for _, worst in found) <= mechanism.k * mechanism.rate * steps


def test_the_test_above_notices_an_exponential_mechanism_over_keys_found_in_the_data() -> None:
    mechanism = planted(WithoutHandicap, limited())
    _, pairs = neighbouring(key_counts, ADD, UNITS, most=4)
    assert min(thinned(mechanism, *pair)[0] for pair in pairs) < 1 - 5 * DELTA


def test_the_handicap_is_the_stated_one_and_smaller_if_few_keys_change() -> None:
    anywhere, few = limited(reach=1000), limited(reach=1000, changed=3)
    with precise():
        for mechanism, strangers in ((anywhere, 1000), (few, 3)):
            figure = 2 + ball(strangers * (1 - DELTA) / DELTA).log()
            assert upper(figure) <= mechanism.handicap < lower(figure) + 1
    assert limited(REPLACE, changed=3, reach=1000).handicap > few.handicap


def test_large_keys_are_listed_in_order_and_the_list_ends_before_lonely_ones() -> None:
    value = KeyCounts([("c",), ("lonely",), ("a",), ("b",)], np.array([300, 1, 900, 600]))
    mechanism = limited(k=4, reach=10)
    for seed in range(20):
        assert mechanism.release(value, SeededEntropy(seed)) == (("a",), ("b",), ("c",))


def test_a_list_of_lonely_keys_ends_at_once_but_for_delta() -> None:
    value = KeyCounts([(name,) for name in "abcde"], np.ones(5, dtype=np.int64))
    with precise():
        law = limited(k=3, reach=5).probabilities(value)
        assert lower(law[()]) >= 1 - DELTA


def test_the_list_follows_its_exact_law() -> None:
    value, mechanism = KeyCounts([("a",), ("b",), ("c",)], np.array([9, 8, 7])), limited(k=2, reach=3)
    entropy, draws = SeededEntropy("lists"), 1500
    seen = Counter(mechanism.release(value, entropy) for _ in range(draws))
    law = {listed: float(chance) for listed, chance in mechanism.probabilities(value).items()}
    assert set(seen) <= set(law)
    large = [listed for listed in law if law[listed] * draws > 5]
    rest = draws - sum(seen[o] for o in large), draws * (1 - sum(law[o] for o in large))
    observed, expected = [*(seen[o] for o in large), rest[0]], [*(law[o] * draws for o in large), rest[1]]
    assert stats.chisquare(observed, expected).pvalue > ALARM
    assert stats.chisquare(observed, np.roll(expected, 1)).pvalue < ALARM


def test_permuted_rows_give_the_same_list_from_equal_randomness() -> None:
    names, units = [(f"key {i}",) for i in range(200)], np.arange(200) // 5
    order = np.random.default_rng(4).permutation(200)
    mechanism = limited(k=10, reach=50, rate=Fraction(1, 5))
    first = mechanism.release(KeyCounts(names, units), SeededEntropy("same"))
    assert first == mechanism.release(KeyCounts([names[i] for i in order], units[order]), SeededEntropy("same"))


def test_the_loss_is_k_choices_and_one_event() -> None:
    change = Sensitivity(linf=3, monotone=True)
    mechanism = LimitedTopK.calibrated(k=5, sensitivity=change, epsilon=1, delta="1e-6", neighbours=ADD)
    assert (mechanism.each, mechanism.changed) == (3, None)
    expected = compose([repeated(BoundedRange(mechanism.rate * 3), 5), ApproximateDP(0, "1e-6")])
    assert mechanism.loss(sensitivity=change) == expected
    few = LimitedTopK.calibrated(
        k=5, sensitivity=Sensitivity.sparse(coordinates=8, each=1), epsilon=1, delta="1e-6", neighbours=REPLACE
    )
    assert few.changed == 4


def test_what_the_proof_does_not_cover_is_refused() -> None:
    mechanism = limited(changed=2)
    for change in (
        Sensitivity(linf=2, monotone=True),
        Sensitivity(linf=1, monotone=True),
        Sensitivity.sparse(coordinates=3, each=1, monotone=True),
    ):
        with pytest.raises(TheoremDoesNotApply, match="of 2 keys"):
            mechanism.loss(sensitivity=change)
    with pytest.raises(TheoremDoesNotApply, match="counts"):
        mechanism.loss(sensitivity=Sensitivity(linf=1))
    assert limited(changed=3).loss(sensitivity=Sensitivity.sparse(coordinates=3, each=1, monotone=True)).delta == DELTA


def test_no_keys_at_all_give_an_empty_list() -> None:
    assert limited().release(KeyCounts([], np.array([], dtype=np.int64)), SeededEntropy("none")) == ()


def test_the_error_holds_for_each_choice() -> None:
    value, mechanism = KeyCounts([(i,) for i in range(50)], np.arange(100, 150)), limited(k=1, reach=50)
    bound = mechanism.error("0.01")
    picked = [mechanism.release(value, SeededEntropy(("error", seed))) for seed in range(300)]
    assert sum(149 - (100 + keys[0][0]) > bound for keys in picked if keys) <= 12  # type: ignore[operator]
