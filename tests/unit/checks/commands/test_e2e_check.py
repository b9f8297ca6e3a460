"""`check e2e`: what the groups of an answer prove stays below the charge, and a curator that charges half is caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from costs import cases
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.catalog.catalog import Population
from dalenius.checks.commands import e2e
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.sampling import reporting
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
from dalenius.ledger.accounts import Account, AccountCharge
from dalenius.mechanisms.keys.key_selection import GeometricKeySelection
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.robust.stability import StabilityTest
from dalenius.mechanisms.selection.top_k import TopK
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.neighbours import AddRemove

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
    for selection in (GeometricKeySelection, RenyiKeySelection):
        patch.setattr(selection, "release", lambda self, value, entropy: tuple(value.in_order()[0]))


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
    "all keys of a person's one": (_all_keys, lambda shape: shape.found and shape.world == "order"),
    "all keys of a person's many": (_all_keys, _finds("SUM", "AVG", "COUNT(*)", groups=100)),
    "all keys, with their counts": (_all_keys, _finds("COUNT(DISTINCT", groups=1000)),
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
    alike = [*SMOOTH, *TESTED, *(statistics for _, statistics, _ in KEYED)]
    listed = {*STATISTICS, *SEVERAL, *CHOICES, *(statistic for statistics in alike for statistic in statistics)}
    assert {shape.statistic for shape in found if not shape.ranked} == listed
    assert {shape.world for shape in found} == {"add", "replace", "order", "bell", "part"}
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


CHARGES: dict[str, tuple[Charge, Loss]] = {
    "pure": (Charge(divergence=10**15, order=None), PureDP(1)),
    "both sums": (
        Charge(divergence=5 * 10**14, order=Fraction(10), epsilon=10**15),
        RenyiCurve(((Fraction(10), Fraction(1, 2)),), Fraction(0), Fraction(1)),
    ),
    "divergence": (
        Charge(divergence=5 * 10**14, delta=10**16, order=Fraction(10)),
        RenyiCurve(((Fraction(10), Fraction(1, 2)),), Fraction(1, 10**4)),
    ),
    "everything": (RenyiFilter.of(Budget(1, "1e-3")).cap, ApproximateDP(1, "1e-3")),
}


@pytest.mark.parametrize("name", CHARGES)
def test_a_charge_is_read_as_the_loss_that_the_ledger_states_and_everything_as_the_budget(name: str) -> None:
    amount, loss = CHARGES[name]
    budget = Budget(1, "1e-3" if amount.order else 0)
    people = Population("people", RenyiFilter.of(budget), AddRemove())
    receipt = SimpleNamespace(charges=(AccountCharge(Account(("people", "ana")), amount),))
    assert e2e.charge_of(receipt, people) == loss  # type: ignore[arg-type]


def test_a_charge_in_both_sums_is_tested_in_both() -> None:
    both, divergence = CHARGES["both sums"][1], CHARGES["divergence"][1]
    by_divergence, by_addition = e2e._points(both)
    assert by_addition == ApproximateDP(1, 0)
    assert by_divergence == reporting.tested_at(replace(both, epsilon=None))  # type: ignore[type-var]
    assert e2e._points(divergence) == [reporting.tested_at(divergence)]
    assert e2e._points(ApproximateDP(1, "1e-3")) == [ApproximateDP(1, "1e-3")]
