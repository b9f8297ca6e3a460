"""Whichever lasts longer: a charge fits if deltas do and one of both other sums, in every account and every block."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.ledger import balances, journal
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, amount_facts, amount_from
from dalenius.ledger.balances import Balances, Sums
from dalenius.ledger.checking import examined
from dalenius.ledger.ledger import Ledger
from ledger_cases import ANA, BEN, PATIENTS, Made

ORDER = Fraction(15)


def amount(divergence: int, epsilon: int = UNBOUNDED, delta: int = 0) -> Charge:
    return Charge(divergence=divergence, delta=delta, order=ORDER, epsilon=epsilon)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """A population with 100 units of divergence, 10 of delta and 200 of epsilon; it is sound at the end of every
    test."""
    with closing(Ledger.in_memory()) as ledger:
        ledger.open(PATIENTS, AccountTerms(amount(100, 200, 10)))
        yield ledger
        findings = examined(ledger._journal._store)
        assert findings.problems == ()
        assert {account: ledger.spent(account) for account in findings.balances} == findings.balances


def charge(ledger: Ledger, size: Charge, account: Account = PATIENTS, block: str = "") -> None:
    ledger.reserve([AccountCharge(account, size, block)], question="q", who="ana")


def takes(ledger: Ledger, size: Charge, account: Account = PATIENTS, block: str = "") -> bool:
    try:
        charge(ledger, size, account, block)
    except BudgetExceeded:
        return False
    return True


def test_pure_charges_go_on_by_addition_when_the_rectangle_is_full(ledger: Ledger) -> None:
    assert [takes(ledger, amount(60, 70)) for _ in range(4)] == [True, True, False, False]
    assert ledger.spent(PATIENTS) == amount(120, 140)
    assert not takes(ledger, amount(1))  # not pure: addition has no place for it, and the rectangle is full
    assert takes(ledger, amount(60, 60))


def test_charges_that_are_not_pure_end_addition(ledger: Ledger) -> None:
    charge(ledger, amount(60, 70))
    charge(ledger, amount(1))
    assert ledger.spent(PATIENTS).epsilon == UNBOUNDED
    assert not takes(ledger, amount(60, 70))
    assert takes(ledger, amount(39, 39))


def test_deltas_are_never_passed_on_either_way(ledger: Ledger) -> None:
    charge(ledger, amount(60, 70, 10))
    assert not takes(ledger, amount(1, 1, 1))
    assert takes(ledger, amount(60, 70))


def test_a_quota_goes_on_by_addition_where_its_population_is_in_the_rectangle(ledger: Ledger) -> None:
    ledger.open(ANA, AccountTerms(amount(30, 90, 10)))
    ledger.open(BEN, AccountTerms(amount(80, 80, 10)))
    charge(ledger, amount(50, 60), ANA)
    assert [takes(ledger, amount(1), account) for account in (ANA, BEN)] == [False, True]
    assert takes(ledger, amount(1, 1), ANA)  # of the population by the rectangle now, and of the quota by addition


def test_a_quota_in_its_rectangle_meets_a_population_that_goes_on_by_addition(ledger: Ledger) -> None:
    ledger.open(ANA, AccountTerms(amount(30, 90, 10)))
    charge(ledger, amount(80, 80))
    charge(ledger, amount(25, 30), ANA)
    assert ledger.spent(PATIENTS) == amount(105, 110)
    assert [takes(ledger, size, ANA) for size in (amount(1), amount(1, 1))] == [False, True]


def test_what_is_left_of_each_figure_is_told(ledger: Ledger) -> None:
    ledger.open(ANA, AccountTerms(amount(30, 60, 3)))
    assert ledger.left(ANA) == amount(30, 60, 3)
    charge(ledger, amount(50, 60, 2), ANA)
    assert (ledger.left(ANA), ledger.left(PATIENTS)) == (amount(0, 0, 1), amount(50, 140, 8))
    charge(ledger, amount(1))
    assert ledger.left(PATIENTS) == amount(49, 0, 8)


# ---- blocks


def blocks_apart(ledger: Ledger) -> list[bool]:
    """Two blocks, of which one has gone beyond the rectangle by addition, and the other has no epsilon any more. Their
    largest figures together would fit in neither way; each of them does."""
    charge(ledger, amount(80), block="north")
    charge(ledger, amount(120, 150), block="south")
    return [takes(ledger, amount(5, 5)), takes(ledger, amount(10, 40), block="south"), takes(ledger, amount(1, 6))]


def test_a_charge_to_all_must_fit_in_every_block(ledger: Ledger) -> None:
    assert blocks_apart(ledger) == [True, True, False]
    assert ledger.spent(PATIENTS) == amount(135, 195)  # 97.5 %, and the north 85 %
    assert ledger.spent(PATIENTS, block="north") == amount(85)
    assert ledger.left(PATIENTS) == amount(0, 0, 10)


def test_the_test_above_notices_the_largest_figures_of_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "Balances", LargestOfEachFigure)
    with closing(Ledger.in_memory()) as ledger:
        ledger.open(PATIENTS, AccountTerms(amount(100, 200, 10)))
        assert blocks_apart(ledger)[0] is False  # nobody bears 80 by noise that is not pure and 120 by other


class LargestOfEachFigure(Balances):
    """Planted bug: of all blocks, the largest sums of each figure are compared, which no unit bears together."""

    def _borne(self, account: Account, block: str = "") -> list[Sums]:
        divergence, delta, epsilon = (max(sizes) for sizes in zip(*super()._borne(account, block), strict=True))
        return [(divergence, delta, epsilon)]


def test_of_many_blocks_those_alone_are_looked_at_that_others_do_not_contain(ledger: Ledger) -> None:
    for number in range(300):
        charge(ledger, amount(number % 17 + 1, 30), block=f"block{number}")
    with ledger._journal.reading() as rows:
        assert Balances(rows)._borne(PATIENTS) == [(17, 0, 30)]


# ---- reserves


def with_a_reserve(ledger: Ledger) -> list[bool]:
    ledger.open(ANA, AccountTerms(amount(60, 120, 6), reserve=amount(40, 80, 4)))
    taken = [takes(ledger, size, BEN) for size in (amount(60, 60), amount(1, 1), amount(0, 0, 7))]
    return [*taken, takes(ledger, amount(40, UNBOUNDED, 4), ANA)]


def test_a_reserve_is_held_in_the_rectangle(ledger: Ledger) -> None:
    """Others could go on by addition, and then its owner could ask for nothing that is not pure."""
    ledger.open(BEN, AccountTerms(amount(90, 200, 10)))
    assert with_a_reserve(ledger) == [True, False, False, True]
    assert ledger.terms(ANA).reserve == amount(40, UNBOUNDED, 4)
    assert ledger.left(BEN) == amount(0, 0, 6)
    assert takes(ledger, amount(0, UNBOUNDED, 6), BEN)


class ReserveLeftToAddition(Balances):
    """Planted bug: what is held is held in divergence alone, and others go on in epsilon."""

    def _held(self, part: Account, payer: Account, now: object) -> Sums:
        divergence, delta, _ = super()._held(part, payer, now)  # type: ignore[arg-type]
        return divergence, delta, 0


class ReserveForgotten(Balances):
    """Planted bug: nothing is held."""

    def _held(self, part: Account, payer: Account, now: object) -> Sums:
        return 0, 0, 0


@pytest.mark.parametrize("bug", [ReserveLeftToAddition, ReserveForgotten])
def test_the_test_above_notices(bug: type[Balances], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "Balances", bug)
    with closing(Ledger.in_memory()) as ledger:
        for account in (PATIENTS, BEN):
            ledger.open(account, AccountTerms(amount(100, 200, 10)))
        assert with_a_reserve(ledger)[1] is True


def test_what_is_held_or_was_lowered_refuses_nothing_that_does_not_add_to_it(ledger: Ledger) -> None:
    """A reserve that came too late, for more delta than there is: others still count, and find no keys."""
    ledger.open(BEN, AccountTerms(amount(90, 200, 10)))
    charge(ledger, amount(5, 5, 8), BEN)
    ledger.open(ANA, AccountTerms(amount(50, 100, 5), reserve=amount(10, 20, 5)))
    assert [takes(ledger, size, BEN) for size in (amount(1, 1), amount(1, 1, 1))] == [True, False]
    ledger.open(BEN, AccountTerms(amount(90, 200, 3)))
    assert takes(ledger, amount(1, 1), BEN)


# ---- how many more


def tried(ledger: Ledger, asked: list[AccountCharge]) -> int:
    """How many times these charges are really taken."""
    for number in range(500):
        try:
            ledger.reserve(asked, question="q", who="ana")
        except BudgetExceeded:
            return number
    return 500


def miscounted(seed: int) -> list[tuple[int, int]]:
    """After a made-up history, charges to some accounts and blocks, each in a ledger of its own, of which another
    number is really taken than was told."""
    draw, wrong = random.Random(seed), []
    for _ in range(6):
        with closing(Ledger.in_memory()) as ledger:
            payer = Account(draw.choice(sorted(_played(ledger, seed))))
            size = replace(Made(draw.randrange(10**6))._amount(), order=ledger.terms(payer).cap.order)
            asked = [AccountCharge(payer, size, draw.choice(["", "x", "y"]))]
            told, taken = ledger.times(asked), tried(ledger, asked)
            wrong += [(told, taken)] if told != taken else []
    return wrong


@pytest.mark.parametrize("seed", range(60))
def test_so_many_more_like_this_are_taken_and_none_besides(seed: int) -> None:
    assert miscounted(seed) == []


def _played(ledger: Ledger, seed: int) -> set[tuple[str, ...]]:
    """A made-up history without ends, and the accounts in it."""
    opened = set[tuple[str, ...]]()
    for step in Made(seed * 3 + 1).steps(14):
        if step.terms and all(step.path[:length] in opened for length in range(1, len(step.path))):
            ledger.open(Account(step.path), AccountTerms(step.terms.cap, reserve=step.terms.reserve))
            opened.add(step.path)
        elif step.kind == "charge" and step.path in opened:
            takes(ledger, step.amount, Account(step.path), step.block)
    return opened


def test_the_test_above_notices_a_count_of_the_rectangle_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    right = balances._times
    monkeypatch.setattr(balances, "_times", lambda before, size, cap: right(before, size, cap.rectangle))
    assert any(miscounted(seed) for seed in range(60))


def test_charges_to_two_populations_are_counted_together(ledger: Ledger) -> None:
    doctors = Account(("doctors",))
    ledger.open(doctors, AccountTerms(amount(50, 50)))
    asked = [AccountCharge(PATIENTS, amount(10, 12)), AccountCharge(doctors, amount(20, 25))]
    assert ledger.times(asked) == 2
    assert ledger.times(asked[:1]) == 16  # by addition: 200 / 12; 10 in the rectangle
    with pytest.raises(InvalidParameter):
        ledger.times([AccountCharge(PATIENTS, amount(0))])


def test_nothing_more_is_taken_of_an_account_that_is_not_due(ledger: Ledger) -> None:
    ledger.open(ANA, AccountTerms(amount(50, 50), end=ledger.now()))
    assert ledger.times([AccountCharge(ANA, amount(1, 1))]) == 0


# ---- what a refusal says


def test_a_refusal_tells_by_how_much_the_share_would_rise_and_what_is_left_of_it(ledger: Ledger) -> None:
    charge(ledger, amount(60, 70))
    with pytest.raises(BudgetExceeded, match=r"costs 71% of the budget of 'patients', and 65% is left") as refused:
        charge(ledger, amount(100, 142))
    assert refused.value.left == amount(40, 130, 10)
    with pytest.raises(BudgetExceeded, match=r"costs 95% of the budget of 'patients', and 65% is left;"):
        charge(ledger, amount(70))  # it is not pure: 130 % of the rectangle, where 35 % were spent by addition


def test_a_refusal_of_a_quota_is_told_in_parts_of_the_population_s_budget(ledger: Ledger) -> None:
    ledger.open(ANA, AccountTerms(amount(50, 100, 5)))
    charge(ledger, amount(20, 80), ANA)
    with pytest.raises(BudgetExceeded, match=r"costs 35% of the budget of 'patients', and 30% is left in the quota"):
        charge(ledger, amount(35), ANA)


# ---- amounts as they are written, and the largest of them


def test_an_amount_is_written_with_its_epsilon_where_it_has_one() -> None:
    written = {
        (5, 1, "15"): amount(5, delta=1),
        (5, 1, "15", 7): amount(5, 7, 1),
        (5, 1, None): Charge(divergence=5, delta=1, order=None),
    }
    for facts, known in written.items():
        assert amount_facts(known) == list(facts)
        assert amount_from(list(facts)) == known
    assert amount_from([5, 1, "15"]).epsilon == UNBOUNDED
    assert amount_from([5, 1, None]).epsilon == 5


def stops(ledger: Ledger) -> bool:
    """Whether epsilons that are none, and some that are near it, add up to none in every account and block."""
    ledger.open(ANA, AccountTerms(amount(50, delta=10)))
    for size in (amount(1), amount(1, UNBOUNDED - 1), amount(1, 5), amount(1)):
        for block in ("", "x"):
            charge(ledger, size, ANA, block)
    with ledger._journal.reading() as rows:
        kinds = set(rows.execute("SELECT DISTINCT typeof(epsilon), epsilon FROM spent"))
    return kinds == {("integer", UNBOUNDED)} and ledger.spent(PATIENTS) == ledger.spent(ANA) == amount(8)


def test_a_sum_of_epsilons_stops_at_the_largest_number(ledger: Ledger) -> None:
    assert stops(ledger)


@pytest.mark.parametrize("sum_", ["spent.epsilon + excluded.epsilon", "(spent.epsilon + excluded.epsilon) & 1023"])
def test_the_test_above_notices_a_store_that_makes_a_float_of_it_or_wraps(
    sum_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = balances._ADD.split("CASE")[0]
    monkeypatch.setattr(balances, "_ADD", f"{start} 0 * ? + 0 * ? + {sum_}")
    with closing(Ledger.in_memory()) as ledger:
        ledger.open(PATIENTS, AccountTerms(amount(100, 200, 10)))
        assert not stops(ledger)
