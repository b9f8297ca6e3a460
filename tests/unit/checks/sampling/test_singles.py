"""Keys that are shown come in their own order, whatever their counts; any other order is found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dalenius.checks.sampling.draws import KEYS, unlike_its_law
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(8))
SHOWN = list({type(case.at(Fraction(1))): case for case in CASES if isinstance(case.at(Fraction(1)), KEYS)}.values())


def by_counts(shown: Any, value: Any) -> Any:
    counts = dict(zip(value.keys, value.counts.tolist(), strict=True))
    return _listed(shown, sorted(shown, key=lambda key: -counts[key]))


def by_place(shown: Any, value: Any) -> Any:
    return _listed(shown, [key for key in value.keys if key in shown])


def _listed(shown: Any, keys: list[Any]) -> Any:
    return {key: shown[key] for key in keys} if isinstance(shown, dict) else tuple(keys)


def test_every_kind_of_mechanism_that_shows_keys_is_here() -> None:
    assert {type(case.at(Fraction(1))) for case in SHOWN} == set(KEYS)


def findings(case: Case, epsilon: Fraction) -> list[str]:
    return list(unlike_its_law(case, epsilon, case.values[-1], risk=Fraction(1, 10**9), runs=100))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("case", SHOWN, ids=str)
def test_keys_come_in_their_own_order(case: Case, epsilon: Fraction) -> None:
    assert findings(case, epsilon) == []


@pytest.mark.parametrize("wrong", [by_counts, by_place])
@pytest.mark.parametrize("case", SHOWN, ids=str)
def test_keys_in_the_order_of_counts_or_of_the_engine_are_found(
    case: Case, wrong: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: Any = type(case.at(Fraction(1)))
    right = kind.release
    monkeypatch.setattr(kind, "release", lambda self, value, entropy: wrong(right(self, value, entropy), value))
    assert any("are shown in the order" in each for each in findings(case, Fraction(1)))
