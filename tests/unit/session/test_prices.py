"""What a price buys: an epsilon, a share and an error mean what they say, and a budget lasts as its two sums allow."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dl
from asked_price import priced
from clinics import COLUMNS, clinic
from dalenius.accounting.amounts import UNBOUNDED
from dalenius.accounting.conversion import to_approximate
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter
from dalenius.ledger.accounts import Account
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.session.databases import Database
from dalenius.session.offers import Offer

COUNT, KEYS = "SELECT COUNT(*) AS n FROM visits", "SELECT icd, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY icd"
BUDGET = dl.Budget(1, "1e-6")


def one_row(budget: dl.Budget = BUDGET, **declared: Any) -> Database:
    """A table with one row of each patient."""
    db = dl.create()
    db.add_population("patients", budget=budget, **declared)
    rows = pa.table({"patient_id": range(300), "age": [each % 90 for each in range(300)], "icd": ["A", "B", "C"] * 100})
    columns = {name: COLUMNS[name] for name in ("age", "icd")}
    db.add_table("visits", rows, population="patients", unit="patient_id", max_rows=1, columns=columns)
    return db


def spent(db: Database) -> Any:
    return db.spent()["patients"].amount


@pytest.mark.textbook("S18.10")
def test_an_epsilon_means_what_textbooks_mean() -> None:
    """A count at 0.4 has Laplace noise of scale 1 / 0.4, in a budget with a delta as in one without."""
    for budget in (BUDGET, dl.Budget(1)):
        (step,) = priced(one_row(budget).sql(COUNT), Offer(epsilon="0.4")).steps
        assert step.mechanism == DiscreteLaplace(Fraction(5, 2), step.mechanism.neighbours)


def test_where_a_unit_moves_many_numbers_gaussian_noise_of_its_own_law_is_bought() -> None:
    db = clinic(BUDGET)
    asked = db.sql("SELECT age, SUM(cost) AS s FROM visits GROUP BY age", max_rows=3, max_groups=30)
    (step,) = priced(asked, Offer(epsilon="0.5")).steps
    assert isinstance(step.mechanism, DiscreteGaussian)
    change = step.measurement.sensitivity
    assert step.mechanism.delta(sensitivity=change, epsilon="0.5") <= BUDGET.delta
    assert to_approximate(step.loss, delta=BUDGET.delta).epsilon > Fraction(51, 100)  # a Rényi order knows less of it
    narrower = DiscreteGaussian(step.mechanism.variance * Fraction(99, 100), step.mechanism.neighbours)
    assert narrower.delta(sensitivity=change, epsilon="0.5") > BUDGET.delta


@pytest.mark.parametrize("offer", [{"epsilon": 1}, {"epsilon": "1.0"}, {"share": 1}, {"share": "100%"}])
def test_the_whole_budget_is_for_one_answer_alone(offer: dict[str, Any]) -> None:
    db = one_row()
    db.sql(KEYS).run(**offer)
    assert spent(db) == db._curator.catalog.population("patients").renyi_filter.cap
    assert str(db.left()["patients"]) == "0% of the budget"
    with pytest.raises(BudgetExceeded):
        db.sql(COUNT).run(share="0.01%")
    fresh = one_row()
    fresh.sql(COUNT).run(share="0.01%")
    with pytest.raises(BudgetExceeded):
        fresh.sql(KEYS).run(**offer)


def test_one_answer_alone_has_all_of_delta_for_unknown_keys() -> None:
    def event(**offer: Any) -> Fraction:
        (step,) = priced(one_row().sql(KEYS), Offer(**offer)).steps
        assert isinstance(step.mechanism, ThresholdedCounts | CountedKeys)
        return step.loss.delta

    assert event(epsilon=1) == event(share=1) == BUDGET.delta
    assert event(epsilon="0.5") <= BUDGET.delta / 20


@settings(max_examples=12)
@given(st.lists(st.sampled_from(["3%", "10%", "25%", "0.1", "0.3"]), min_size=1, max_size=8))
def test_a_share_is_never_passed_and_what_is_shown_is_the_increase(offers: list[str]) -> None:
    db, before = one_row(), Fraction(0)
    for place, each in enumerate(offers):
        asked = db.sql(f"SELECT SUM(age) AS s FROM visits WHERE age > {place}")
        offer: dict[str, Any] = {"share": each} if each.endswith("%") else {"epsilon": each}
        cost = asked.cost(**offer)
        try:
            asked.run(**offer)
        except BudgetExceeded:
            assert not cost.affordable
            continue
        after = db.spent()["patients"].share
        assert cost.affordable
        assert cost.shares["patients"] == after - before
        assert not each.endswith("%") or after - before <= Fraction(each[:-1]) / 100
        before = after
    assert before <= 1


@pytest.mark.parametrize("offer", [{"epsilon": "0.3"}, {"epsilon": "0.05"}, {"share": "20%"}])
def test_about_so_many_more_like_it_fit(offer: dict[str, Any]) -> None:
    db = one_row()
    first = db.sql(COUNT).cost(**offer)
    assert first.more is not None
    for _ in range(first.more + 1):
        assert str(db.sql(COUNT).cost(**offer).loss) == str(first.loss)
        db.sql(COUNT).run(**offer, fresh=True)
    after = db.sql(COUNT).cost(**offer)
    assert after.more is None or str(after.loss) != str(first.loss)  # what fits has more noise, if anything does
    while db.sql(COUNT).cost(**offer).affordable:
        db.sql(COUNT).run(**offer, fresh=True)
    with pytest.raises(BudgetExceeded):
        db.sql(COUNT).run(**offer, fresh=True)


def test_the_least_price_is_a_floor_on_both_sums() -> None:
    """So no more than 1 / least_share questions are answered, by whichever sum lasts longer."""
    db = one_row(least_share="10%")
    db.sql(COUNT).run(epsilon="0.1")
    cap = db._curator.catalog.population("patients").renyi_filter.cap
    assert spent(db).epsilon >= cap.epsilon // 10
    assert spent(db).divergence >= cap.divergence // 10
    with pytest.raises(InvalidParameter, match=r"epsilon='0\.1' is enough"):
        db.sql(COUNT).run(epsilon="0.09")
    for place in range(9):
        db.sql(f"{COUNT} WHERE age > {place}").run(epsilon="0.1")
    with pytest.raises(BudgetExceeded):
        db.sql(f"{COUNT} WHERE age > 50").run(epsilon="0.1")


def test_where_others_have_something_reserved_addition_is_not_offered() -> None:
    db = one_row()
    db.add_study("flu", population="patients", share="20%", reserve="20%", purpose="a trial")
    (step,) = priced(db.sql(COUNT), Offer(share="30%")).steps
    assert step.charge["patients"].epsilon == UNBOUNDED
    assert db.sql(COUNT).cost(share="30%").affordable
    assert not db.sql(COUNT).cost(epsilon="0.9").affordable


def test_an_analyst_with_a_largest_epsilon_may_ask_at_it_and_not_above() -> None:
    db = clinic(BUDGET)
    db.grant("ana", tables=["visits"], most_epsilon="0.5")
    ana = db.as_analyst("ana")
    many = "SELECT age, SUM(cost) AS s FROM visits GROUP BY age"
    for offer in ({"epsilon": "0.51"}, {"share": "100%"}, {"share": "60%"}):
        with pytest.raises(AccessDenied, match=r"more than epsilon = 0\.5"):
            ana.sql(COUNT).run(**offer)
    assert ana.sql(many, max_rows=3, max_groups=30).run(epsilon="0.5").receipt
    assert ana.sql(COUNT).run(share="2%").receipt


def test_an_error_costs_what_its_share_would() -> None:
    db = one_row()
    cost = db.sql(COUNT).cost(error="50 at 95%")
    assert db.sql(COUNT).expected_error(error="50 at 95%")["n"].fixed <= 50
    assert db.sql(COUNT).expected_error(share=cost.shares["patients"])["n"].fixed <= 51
    assert db.sql(COUNT).expected_error(share=cost.shares["patients"] * Fraction(9, 10))["n"].fixed > 50


def test_a_share_or_an_error_that_was_bought_is_replayed_whatever_was_spent_since() -> None:
    db = one_row()
    first = [db.sql(COUNT).run(share="5%"), db.sql(COUNT).run(error="40 at 95%")]
    db.sql("SELECT SUM(age) AS s FROM visits").run(epsilon="0.3")
    before = spent(db)
    again = [db.sql(COUNT).run(share="5%"), db.sql(COUNT).run(error="40 at 95%")]
    assert spent(db) == before
    assert [each.receipt for each in again] == [each.receipt for each in first]


def test_a_card_and_the_registry_say_the_same_as_the_cost() -> None:
    db = one_row()
    db.sql(COUNT).run(epsilon="0.2")
    cost = db.sql(KEYS).cost(share="7%")
    answer = db.sql(KEYS).run(share="7%")
    assert answer.card is not None
    (people,) = answer.card.people
    assert people.share in answer.charge
    assert people.share in str(cost)
    assert db.registry()["patients"].spent == db.spent()["patients"].share
    assert db._curator.ledger.spent(Account(("patients",))) == spent(db)


def test_beside_keys_gaussian_noise_has_what_their_event_leaves_of_delta() -> None:
    db = clinic(BUDGET)
    asked = db.sql(KEYS, max_rows=3, max_groups=40)
    for epsilon in (1, "0.5"):
        (step,) = priced(asked, Offer(epsilon=epsilon)).steps
        found = step.mechanism
        assert isinstance(found, ThresholdedCounts)
        assert isinstance(found.noise, DiscreteGaussian)
        alone = found.noise.delta(sensitivity=step.measurement.sensitivity, epsilon=epsilon)
        assert BUDGET.delta * Fraction(99, 100) < alone + found.delta <= BUDGET.delta
        assert found.delta <= BUDGET.delta / (2 if epsilon == 1 else 20)
    asked.run(epsilon="0.5")
    assert db.spent()["patients"].share < 1


def test_noise_of_its_own_law_is_as_private_as_it_was_found_to_be() -> None:
    """Somewhat more noise would be somewhat less private here: the variance is not rounded."""
    budget = dl.Budget("1.5", "0.14780339173891795")
    (step,) = priced(one_row(budget).sql(COUNT), Offer(epsilon="1.5")).steps
    assert isinstance(step.mechanism, DiscreteGaussian)
    assert step.mechanism.delta(sensitivity=1, epsilon="1.5") <= budget.delta
    more = DiscreteGaussian(Fraction(166667, 500000), step.mechanism.neighbours)  # six digits, rounded up
    assert more.variance > step.mechanism.variance
    assert more.delta(sensitivity=1, epsilon="1.5") > budget.delta


def test_a_share_is_kept_to_whatever_others_have_spent() -> None:
    """One analyst's quota has room for noise of a kind that would close addition to everybody."""
    db = clinic(BUDGET)
    for name in ("ana", "bob"):
        db.grant(name, tables=["visits"], share="60%" if name == "ana" else "20%")
    db.as_analyst("ana").sql(COUNT).run(epsilon="0.5")
    before = db.spent()["patients"].share
    many = db.as_analyst("bob").sql("SELECT age, COUNT(*) AS n FROM visits GROUP BY age", max_rows=3, max_groups=30)
    answer = many.run(share="12%")
    assert db.spent()["patients"].share - before <= Fraction(12, 100)
    assert "charged 12% of patients" in repr(answer)


def test_a_share_is_kept_to_in_every_block() -> None:
    db = dl.create()
    db.add_population("patients", budget=BUDGET)
    rows = pa.table({"patient_id": range(300), "region": ["north", "south"] * 150})
    columns = {"region": dl.Category("north", "south", nullable=False)}
    db.add_table("visits", rows, population="patients", unit="patient_id", max_rows=1, columns=columns)
    db.partition("visits.region", ["north", "south"])
    db.sql(f"{COUNT} WHERE region = 'north'").run(epsilon="0.5")
    db.sql("SELECT COUNT(*) AS n FROM visits WHERE region = 'south'").run(share="45%")
    shown = dict(db.registry()["patients"].blocks)
    db.sql(COUNT).run(share="5%")
    for name, share in db.registry()["patients"].blocks:
        assert share - shown[name] <= Fraction(5, 100)
