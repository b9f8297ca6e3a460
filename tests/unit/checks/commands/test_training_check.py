"""`check training` tells what it tried, and what is wrong with fits, canaries and batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from dalenius.checks.commands import training
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.replay.replaying import Finding, Replayed
from dalenius.checks.training import replays
from dalenius.checks.training.arrays import HURTFUL, pairs
from dalenius.checks.training.forms import FORMS, shortened

MEANS = [form for form in FORMS if form.estimator == "MeanEstimator"]


@pytest.fixture(autouse=True)
def _few() -> Iterator[None]:
    with patch.object(training, "FORMS", MEANS), patch.object(training, "first_of_each", lambda: MEANS):
        yield


def test_a_right_product_passes() -> None:
    ticks: list[float] = []
    outcome = training.check(CheckRequest(count=4, tick=ticks.append))
    assert outcome.passed, outcome
    assert [figure.tried for figure in outcome.figures] == [16, 8, 1, 1, 2, 3]
    assert ticks == sorted(ticks)
    assert ticks[-1] == 100


def test_what_is_wrong_with_a_fit_is_told_with_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Replayed((), (Finding("leak", "with the same outputs the result differs"),))
    monkeypatch.setattr(training, "on_arrays", lambda *given, **way: wrong)
    monkeypatch.setattr(training, "on_tables", lambda *given: Replayed((), (), "OverflowError: too many"))
    monkeypatch.setattr(training, "inclusions", lambda steps: {"sizes of batches": 1e-9})
    outcome = training.check(CheckRequest(count=4))
    assert not outcome.passed
    assert outcome.findings[0].startswith("MeanEstimator, add_remove, ordinary rows and one far outside: leak")
    assert any("it ended with OverflowError" in each for each in outcome.findings)
    assert any("sizes of batches: as unlikely as 1.0e-09" in each for each in outcome.findings)


def test_few_pairs_have_every_base_and_every_row_that_hurts() -> None:
    for neighbours in ("add_remove", "replace"):
        names = [pair.name for pair in pairs(neighbours, few=True)]
        assert {name.split(" and one ")[1] for name in names} == set(HURTFUL)
        assert len({name.split(" and one ")[0] for name in names}) == 3
        assert len(names) < len(list(pairs(neighbours))) == 12


def test_a_row_that_pulls_harder_than_paid_for_is_found_inside_of_a_batch() -> None:
    form = next(form for form in FORMS if form.how == "by batches")
    pair, calls = next(pairs("add_remove")), list[Any]()
    with shortened(), patch.object(replays, "parts_too_long", lambda found: calls.extend(found) or ()):
        replays.on_arrays(form, pair, delta="1e-6", neighbours="add_remove")
    assert list(replays.parts_too_long(calls)) == []
    gradients = [call for call in calls if hasattr(call.mechanism, "part_squared")]
    assert len(gradients) == 3
    object.__setattr__(gradients[0].mechanism, "part_squared", gradients[0].mechanism.part_squared // 1000)
    (found,) = replays.parts_too_long(calls)
    assert found.kind == "sensitivity"
