"""What somebody offers is read exactly, and the cheapest price that suffices is found."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from dalenius.accounting.budget import Budget
from dalenius.catalog.catalog import LEAST_SHARE, Catalog
from dalenius.errors import InvalidParameter
from dalenius.session.offers import Offer, Target, as_level, bought, warning

HALF, LEVEL = Fraction(1, 2), Fraction(95, 100)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("± 50 at 95%", Target(Fraction(50), False, LEVEL)),
        ("±50", Target(Fraction(50), False, None)),
        ("+/- 0.5 at 0.99", Target(HALF, False, Fraction(99, 100))),
        ("+-50", Target(Fraction(50), False, None)),
        (" 2% ", Target(Fraction(1, 50), True, None)),
        ("± 2 % at 90%", Target(Fraction(1, 50), True, Fraction(9, 10))),
        (50, Target(Fraction(50), False, None)),
        (0.5, Target(HALF, False, None)),
    ],
)
def test_errors_are_read_as_people_write_them(written: Any, read: Target) -> None:
    assert Target.read(written) == read


@pytest.mark.parametrize("written", ["", "±", "fifty", "-5", "0", "± nan", "inf", "50 at", "50 at 200%", "5 5", "%"])
def test_what_is_no_error_is_refused(written: str) -> None:
    with pytest.raises(InvalidParameter):
        Target.read(written)


@pytest.mark.parametrize("written", ["fifty", "", "± many at 95%"])
def test_a_refused_error_shows_the_allowed_forms(written: str) -> None:
    with pytest.raises(InvalidParameter, match="'± 50 at 95%', '± 50' or '2%'"):
        Target.read(written)


def test_exactly_one_price_is_named() -> None:
    Offer(epsilon=1).require_one()
    for offer in (Offer(), Offer(epsilon=1, share="1%"), Offer(share="1%", error=5), Offer(1, "1%", 5)):
        with pytest.raises(InvalidParameter, match="exactly one"):
            offer.require_one()


def test_levels_must_agree() -> None:
    assert Offer(error="± 5 at 90%").agreed_level() == Offer(level="90%").agreed_level() == Fraction(9, 10)
    assert Offer(epsilon=1).agreed_level() == LEVEL
    assert Offer(error={"a": "5 at 90%", "b": "6"}).agreed_level() == Fraction(9, 10)
    with pytest.raises(InvalidParameter, match="same wherever"):
        Offer(error="± 5 at 90%", level=0.95).agreed_level()
    for wrong in ("0%", "100%", 1, "x", 0.4):
        with pytest.raises(InvalidParameter):
            as_level(wrong)


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("least", [LEAST_SHARE, Fraction(1, 300_000), Fraction(1, 7)])
def test_less_than_the_least_share_is_refused_with_an_offer_that_passes(delta: Any, least: Fraction) -> None:
    declared = Catalog().with_population("us", budget=Budget(3, delta), neighbours="add_remove", least_share=least)
    people = [declared.population("us")]
    for name, offer in (("epsilon", "1e-9"), ("share", least * Fraction(99, 100))):
        none: dict[str, Any] = {"epsilon": None, "share": None}
        with pytest.raises(InvalidParameter, match="the least that a question takes") as refused:
            bought(people, **{**none, name: offer})
        (enough,) = re.findall(rf"{name}='(.*?)' is enough", str(refused.value))
        assert people[0].renyi_filter.share(bought(people, **{**none, name: enough})["us"]) < least * Fraction(102, 100)


@pytest.mark.textbook("S18.10")
def test_a_large_epsilon_is_warned_about() -> None:
    catalog = Catalog()
    for name, epsilon in (("small", 1), ("large", 20)):
        catalog = catalog.with_population(name, budget=Budget(epsilon), neighbours="add_remove")
    small, large = {"small": catalog.population("small")}, {"large": catalog.population("large")}
    assert warning(small, {"small": Fraction(1)}) is None
    assert "weak" in str(warning(large, {"large": Fraction(11)}))
    assert "in all" in str(warning(large, {"large": Fraction(1)}))
