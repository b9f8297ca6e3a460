"""`check e2e`: what the groups of an answer prove stays below the charge, and a curator that charges half is caught."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from dalenius.accounting.amounts import Amount
from dalenius.audit.checks import e2e
from dalenius.audit.checks.outcomes import Asked
from dalenius.audit.shapes import CHOICES, CONTENTS, STATISTICS, shapes
from dalenius.privacy.losses import PureDP

FEW: dict[str, Any] = {"vias": ["process"], "groups": 4_000, "few": 40}


def test_the_curator_passes() -> None:
    told: list[float] = []
    outcome = e2e.check(Asked(count=8, tick=told.append), **FEW)
    assert outcome.passed, outcome.findings
    assert outcome.figures[0].tried == 8
    assert told[-1] == 100


def test_a_curator_that_charges_half_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(**figures: Any) -> Amount:
        return Amount.within(**{**figures, "divergence": figures["divergence"] / 2})

    monkeypatch.setattr(Amount, "covering", halved)
    monkeypatch.setattr(e2e, "shapes", lambda count, seed: [shape for shape in shapes(999) if _plain(shape)][:2])
    outcome = e2e.check(Asked(), **FEW)
    assert not outcome.passed
    assert "charged epsilon = 1, but epsilon is at least" in outcome.findings[0]


def _plain(shape: Any) -> bool:
    return (shape.world, shape.content, shape.statistic) == ("add", "alone", "COUNT(*) AS s") and shape.most.rows == 1


def test_an_audit_that_sees_nothing_anywhere_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = [shape for shape in shapes(999) if _plain(shape)][:1]
    monkeypatch.setattr(e2e, "shapes", lambda count, seed: blind)
    monkeypatch.setattr(e2e, "ENOUGH", 0)
    monkeypatch.setattr(e2e, "SEEN", Fraction(99, 100))
    outcome = e2e.check(Asked(), **FEW)
    assert outcome.findings == ()
    assert not outcome.passed


@pytest.mark.deep
def test_the_curator_passes_over_http() -> None:
    outcome = e2e.check(Asked(count=8), **{**FEW, "vias": ["http"]})
    assert outcome.passed, outcome.findings
    assert "over HTTP" in outcome.figures[0].what


def test_two_hundred_shapes_differ_and_cover_all_that_is_asked() -> None:
    found = shapes(200)
    assert len(set(found)) == 200
    assert {shape.statistic for shape in found} == {*STATISTICS, *CHOICES}
    assert {shape.world for shape in found} == {"add", "replace", "bell"}
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

    class Charge:
        account, amount = Account, Amount.covering(divergence=Fraction(1, 2), delta=Fraction(0), order=None)

    class Receipt:
        charges = (Charge,)

    assert e2e.charge_of(Receipt, "people") == PureDP(Fraction(1, 2))
