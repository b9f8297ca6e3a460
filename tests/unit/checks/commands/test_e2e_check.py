"""`check e2e`: what the groups of an answer prove stays below the charge, and a curator that charges half is caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from costs import cases
from dalenius.accounting.amounts import Charge
from dalenius.checks.commands import e2e
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.sampling.shapes import (
    CHOICES,
    CONTENTS,
    KEYED,
    SEVERAL,
    SMOOTH,
    STATISTICS,
    TESTED,
    QuestionShape,
    shapes,
)
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.robust.stability import StabilityTest
from dalenius.mechanisms.selection.top_k import TopK
from dalenius.privacy.losses import PureDP

FEW: dict[str, Any] = {"vias": ["process"], "groups": 4_000, "few": 40}


def test_every_mechanism_that_a_price_can_choose_is_met_or_the_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = [shape for shape in shapes(999) if _plain(shape)][:1]
    monkeypatch.setattr(e2e, "shapes", lambda count, seed: counted)
    monkeypatch.setattr(e2e, "ALL_MECHANISMS", 1)
    for every, held in (({DiscreteLaplace}, True), ({DiscreteLaplace, DiscreteGaussian}, False)):
        monkeypatch.setattr(e2e, "choosable", lambda every=every: every)
        outcome = e2e.check(CheckRequest(), **FEW)
        assert outcome.passed == outcome.figures[-1].held == held
    assert outcome.figures[-1].found == "all but DiscreteGaussian"


def test_a_curator_that_charges_half_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(**figures: Any) -> Charge:
        return Charge.within(**{**figures, "divergence": figures["divergence"] / 2})

    monkeypatch.setattr(Charge, "covering", halved)
    monkeypatch.setattr(e2e, "shapes", lambda count, seed: [shape for shape in shapes(999) if _plain(shape)][:2])
    outcome = e2e.check(CheckRequest(), **FEW)
    assert not outcome.passed
    assert "charged epsilon = 1, but epsilon is at least" in outcome.findings[0]


def _plain(shape: Any) -> bool:
    return (shape.world, shape.content, shape.statistic) == ("add", "alone", "COUNT(*) AS s") and shape.most.rows == 1


def test_an_audit_that_sees_nothing_anywhere_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = [shape for shape in shapes(999) if _plain(shape)][:1]
    monkeypatch.setattr(e2e, "shapes", lambda count, seed: blind)
    monkeypatch.setattr(e2e, "ENOUGH", 0)
    monkeypatch.setattr(e2e, "SEEN", Fraction(99, 100))
    outcome = e2e.check(CheckRequest(), **FEW)
    assert outcome.findings == ()
    assert not outcome.passed


ENOUGH: dict[str, Any] = {"vias": ["process"], "groups": 12_000, "few": 800}


def _narrow_bells(patch: pytest.MonkeyPatch) -> None:
    right = DiscreteGaussian.release
    patch.setattr(DiscreteGaussian, "release", lambda self, *given: right(_third(self), *given))


def _third(noise: DiscreteGaussian) -> DiscreteGaussian:
    return replace(noise, variance=noise.variance / 9)


def _no_smooth_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SmoothCauchy, "noise", lambda self, bound, entropy: 0)


def _no_stability_test(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StabilityTest, "passes", lambda self, number, entropy: True)


def _no_threshold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ThresholdedCounts, "threshold", 1)


def _all_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RenyiKeySelection, "release", lambda self, value, entropy: tuple(value.in_order()[0]))


def _no_end_of_the_list(patch: pytest.MonkeyPatch) -> None:
    def listed(self: LimitedTopK, value: Any, entropy: object) -> tuple[Any, ...]:
        return tuple(self.candidates(value)[0][: self.k])

    patch.setattr(LimitedTopK, "release", listed)


def _ranked_without_noise(patch: pytest.MonkeyPatch) -> None:
    def ranked(self: TopK, scores: Any, entropy: object) -> tuple[int, ...]:
        return tuple(np.argsort(-scores, kind="stable")[: self.k].tolist())

    patch.setattr(TopK, "release", ranked)


def _asks(*beginnings: str) -> Callable[[QuestionShape], bool]:
    return lambda shape: shape.statistic.startswith(beginnings) and not shape.found


def _finds(*beginnings: str, groups: int = 1) -> Callable[[QuestionShape], bool]:
    return lambda shape: shape.found and shape.statistic.startswith(beginnings) and shape.most.groups == groups


PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[QuestionShape], bool]]] = {
    "Gaussian noise of a third": (_narrow_bells, lambda shape: shape.statistic in SEVERAL and shape.span == 1),
    "a quantile without noise": (_no_smooth_noise, _asks("ROBUST_MEDIAN", "ROBUST_QUANTILE")),
    "a trimmed mean without noise": (_no_smooth_noise, _asks("ROBUST_TRIMMED_MEAN")),
    "a mode without its test": (_no_stability_test, _asks("STABLE_MODE")),
    "a quantile without its test": (_no_stability_test, _asks("STABLE_MEDIAN", "STABLE_QUANTILE")),
    "a proposal without its test": (_no_stability_test, _asks("PROPOSED")),
    "a scale without its test": (_no_stability_test, _asks("ROBUST_SCALE")),
    "a threshold that is dropped": (_no_threshold, _finds("COUNT(DISTINCT")),
    "all keys": (_all_keys, _finds("SUM", "AVG", "COUNT(*)")),
    "all keys, with their counts": (_all_keys, _finds("COUNT(DISTINCT", groups=100)),
    "a list of all keys": (_no_end_of_the_list, lambda shape: shape.found and shape.ranked),
    "a ranking without noise": (_ranked_without_noise, lambda shape: not shape.found and shape.ranked),
}


@cases("bug", PLANTED, fast=1)
def test_a_bug_in_a_mechanism_is_caught_by_the_first_question_that_reaches_it(
    monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    plant, meant = PLANTED[bug]
    first = next(shape for shape in shapes(e2e.ALL_MECHANISMS) if meant(shape))
    monkeypatch.setattr(e2e, "shapes", lambda count, seed: [first])
    plant(monkeypatch)
    assert e2e.check(CheckRequest(), **ENOUGH).findings


def test_two_hundred_shapes_differ_and_cover_all_that_is_asked() -> None:
    found = shapes(200)
    assert len(set(found)) == 200
    alike = [*SMOOTH, *TESTED, *(statistics for statistics, _ in KEYED)]
    listed = {*STATISTICS, *SEVERAL, *CHOICES, *(statistic for statistics in alike for statistic in statistics)}
    assert {shape.statistic for shape in found if not shape.ranked} == listed
    assert {shape.world for shape in found} == {"add", "replace", "order", "bell"}
    assert 50 < sum(shape.world == "bell" for shape in found) < 100
    assert {bool(shape.join) for shape in found} == {bool(shape.end) for shape in found} == {True, False}
    assert {shape.most.rows for shape in found} == {1, 3}
    assert shapes(200, seed=1) != found
    assert shapes(200) == found


def test_contents_differ_by_one_person() -> None:
    for first, second in CONTENTS.values():
        people, others = Counter(map(repr, first)), Counter(map(repr, second))
        assert sum((people - others).values()) + sum((others - people).values()) in (1, 2)
        assert (len(first) == len(second)) == (sum((people - others).values()) == 1)


def test_a_charge_is_read_as_the_loss_that_the_ledger_states() -> None:
    class Account:
        path = ("people", "ana")

    class Entry:
        account, amount = Account, Charge.covering(divergence=Fraction(1, 2), delta=Fraction(0), order=None)

    class Receipt:
        charges = (Entry,)

    assert e2e.charge_of(Receipt, "people") == PureDP(Fraction(1, 2))
