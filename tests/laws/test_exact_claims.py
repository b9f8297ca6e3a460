"""Every mechanism's claim is computed from its exact law, and every planted bug is refuted by it."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from costs import cases
from dalenius.accounting.conversion import to_pure
from dalenius.privacy.losses import PureDP
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.planted import PLANTED, PLANTED_EVENTS
from dalenius.verify.checked import CheckedPairs

ONE, ROUNDING = Fraction(1), Fraction(1, 10**12)
FAR = Fraction(10**9)
"""An e^epsilon at which only what one input has alone is left."""

BROKEN = {
    "Laplace above, broken": "Laplace above",
    "limited top two, broken": "limited top two",
    "two keys priced as one": "geometric keys",
    "a mode of three values priced as one": "stable mode",
}


@cache
def checked(case: Case) -> CheckedPairs:
    return case.checked(ONE)


@cases("case", [case for case in CASES if case.pure and case.complete], ids=str, fast=3)
def test_a_pure_claim_is_proved(case: Case) -> None:
    found, claim = checked(case), to_pure(case.claim(ONE))
    assert found.holds(claim, tolerance=ROUNDING) is True
    if case.tight:
        assert found.holds(PureDP(claim.epsilon * Fraction(99, 100))) is False


@cases("case", [case for case in CASES if case.event], ids=str, fast=2)
def test_no_claim_with_an_event_is_refuted(case: Case) -> None:
    assert checked(case).holds(case.claim(ONE), tolerance=ROUNDING) is not False


@cases("case", PLANTED, ids=str, fast=2)
def test_planted_bugs_are_refuted(case: Case) -> None:
    assert checked(case).holds(to_pure(case.claim(ONE)), tolerance=ROUNDING) is False


@cases("case", [case for case in PLANTED_EVENTS if not case.name.startswith("Gaussian")], ids=str, fast=1)
def test_planted_bugs_in_the_choice_of_keys_have_a_larger_delta_than_what_they_break(case: Case) -> None:
    whole = next(
        other for other in CASES if other.name == BROKEN.get(case.name) and other.neighbours == case.neighbours
    )
    event = whole.claim(ONE).delta
    assert checked(case).least.delta(FAR) > event
    assert checked(whole).least.delta(FAR) <= event
