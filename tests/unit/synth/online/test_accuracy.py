"""How accurate a session will be is said before it is paid for, and what says too little is refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from clinics import visits
from dalenius.errors import InvalidParameter
from dalenius.session.databases import Database
from dalenius.synth.online.counts import Expected, Online
from dalenius.synth.online.sealed import MOST_PEOPLE
from small_sessions import TERMS, rich, session_of


@pytest.fixture
def db() -> Iterator[Database]:
    with rich() as database:
        yield database


def expected(db: Database) -> Expected:
    return Online(**TERMS).expected_error(db.table("visits"), share="50%")


def test_a_price_says_how_long_bars_will_be_and_how_many_rows_a_share_takes(db: Database) -> None:
    cost, bars = Online(**TERMS).cost(db.table("visits"), share="50%"), expected(db)
    assert f"± {bars.easy} rows" in str(cost)
    assert str(bars.rows_for(Fraction(1, 10))) in str(cost)
    assert db.spent()["patients"].share == 0
    assert session_of(db).errors == (bars.easy, bars.measured)


def test_what_is_said_is_the_same_on_an_empty_table(db: Database) -> None:
    with rich(data=visits(patients=0)) as empty:
        assert expected(empty) == expected(db)
        assert str(Online(**TERMS).cost(empty.table("visits"), share="50%")) == str(
            Online(**TERMS).cost(db.table("visits"), share="50%")
        )


@pytest.mark.parametrize("share", ["5%", "0.3%", Fraction(1, 7)])
def test_a_bar_is_within_a_share_of_as_many_rows_as_are_said_to_be_needed_and_not_of_fewer(share: str) -> None:
    part = Fraction(share.removesuffix("%")) / 100 if isinstance(share, str) else share
    bars = Expected(194, 59)
    needed = bars.rows_for(part)
    assert bars.widest <= part * needed
    assert bars.widest > part * (needed - 1)
    bars.require(share, needed)
    with pytest.raises(InvalidParameter, match=f"at least {needed} rows"):
        bars.require(share, needed - 1)


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"accuracy": "0.1%", "total": 1200}, "at least .* rows for this accuracy"),
        ({"accuracy": "0.1%"}, "it takes .* rows"),
        ({"accuracy": 2}, "at least .* rows at this price"),
        ({"total": 3}, "more than .* rows"),
        ({"accuracy": 0, "total": 10**6}, "a share of all rows"),
        ({"accuracy": "-5%", "total": 10**6}, "a share of all rows"),
        ({"accuracy": "fine"}, "a number such as"),
        ({"total": 0}, "1 or more"),
    ],
)
def test_less_accuracy_than_asked_for_is_refused_and_nothing_paid(
    db: Database, terms: dict[str, object], told: str
) -> None:
    with pytest.raises(InvalidParameter, match=told):
        session_of(db, **terms)
    assert db.spent()["patients"].share == 0


def test_enough_accuracy_is_sold_and_is_the_same_session(db: Database) -> None:
    wanted = expected(db).rows_for(Fraction(1, 5))
    session = session_of(db, accuracy="20%", total=wanted)
    assert session_of(db, accuracy=expected(db).widest).receipt == session.receipt == session_of(db).receipt


def test_a_price_that_buys_no_noise_is_refused_at_once(db: Database) -> None:
    for price in ({"epsilon": "0.0000001"}, {"share": "0.0000000001"}, {"share": "1%", "updates": 10**12}):
        with pytest.raises(InvalidParameter, match=r"price|least"):
            session_of(db, **({"share": None} | price))
    assert db.spent()["patients"].share == 0


def test_noise_beyond_the_most_people_ends_no_session(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The total of noisy marginals can be anything; what was paid for must still answer."""
    from dalenius.synth.online.public import PublicCounts

    monkeypatch.setattr(PublicCounts, "total", property(lambda self: 4.0 * MOST_PEOPLE))
    assert session_of(db).ask("TRUE").left
