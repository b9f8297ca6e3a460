"""Robust statistics in SQL: one in each group, priced for all groups of a unit, and alike for neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from clinics import CITIES, clinic, visits
from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.composition import repeated
from dalenius.checks.replay.queries import replayed
from dalenius.errors import InvalidParameter, QueryRefused, TheoremDoesNotApply
from dalenius.measuring.pricing import priced
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.robust.stable_answers import StableMode
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.group import group_privacy
from dalenius.privacy.losses import ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import fresh_entropy
from dalenius.session.databases import Database
from dalenius.session.offers import bought

MEDIANS = "SELECT city, ROBUST_MEDIAN(age) AS m FROM visits GROUP BY city"


def grouped(neighbours: Neighbours, *, groups: int = 2, rows: int = 3) -> GroupedStatistic:
    noise = SmoothCauchy.calibrated(epsilon=Fraction(1, 2))
    one = SmoothQuantile(lower=0, upper=100, noise=noise, neighbours=AddRemove(), rows=rows)
    return GroupedStatistic(statistic=one, groups=groups, neighbours=neighbours)


@pytest.mark.textbook("S11.1")
@pytest.mark.parametrize(("neighbours", "steps"), [(AddRemove(), 1), (Replace(), 2)])
def test_all_groups_of_a_unit_are_paid_for(neighbours: Neighbours, steps: int) -> None:
    most = 2 * 3 * steps
    assert grouped(neighbours).loss(sensitivity=Sensitivity(l1=most)) == repeated(PureDP(Fraction(steps, 2)), 2)
    with pytest.raises(TheoremDoesNotApply):
        grouped(neighbours).loss(sensitivity=Sensitivity(l1=most + 1))


def test_a_replaced_unit_is_two_steps_away_in_one_release_and_not_two_releases() -> None:
    """Two uses at epsilon cost less in a Rényi account than one at twice epsilon, which is what a group loses."""
    paid = price(grouped(Replace()).loss(sensitivity=12), order=Fraction(8))
    assert price(repeated(PureDP(Fraction(1, 2)), 4), order=Fraction(8)).divergence < paid.divergence
    assert paid == price(repeated(PureDP(1), 2), order=Fraction(8))


def test_the_delta_of_a_replaced_unit_is_that_of_two_steps() -> None:
    mode = StableMode(epsilon=Fraction(1), delta=Fraction(1, 10**6), neighbours=AddRemove(), rows=3)
    found = GroupedStatistic(statistic=mode, groups=2, neighbours=Replace()).loss(sensitivity=12)
    assert found == repeated(group_privacy(ApproximateDP(1, Fraction(1, 10**6)), size=2), 2)
    assert float(found.delta) == pytest.approx(2e-6 * (1 + math.e))


def test_each_group_has_its_own_median() -> None:
    mechanism = GroupedStatistic(
        statistic=SmoothQuantile(lower=0, upper=100, noise=SmoothCauchy.calibrated(epsilon=50), neighbours=AddRemove()),
        groups=1,
        neighbours=AddRemove(),
    )
    groups = [ValueCounts(np.array([value]), np.array([500])) for value in (7, 93)]
    assert mechanism.release(groups, fresh_entropy()) == (7, 93)


def test_sql_and_frames_ask_for_it() -> None:
    with clinic(dl.Budget(epsilon=60, delta="1e-9"), data=visits(patients=3000, each=1)) as db:
        answer = db.sql(MEDIANS).run(epsilon=50)
        found = dict(zip(answer["city"], answer["m"], strict=True))
        assert sum(abs(found[city] - 49) > 10 for city in CITIES) <= 1, "Cauchy noise has heavy tails"
        assert set(answer["m ±"]) == {None}, "how large the noise was depends on the values"
    with clinic() as db:
        assert db.table("visits").agg(m=dl.aggregates.robust_median("cost")).run(epsilon=1).names == ("m",)
        assert db.sql("SELECT ROBUST_MEDIAN(day) AS d FROM visits").run(epsilon=1).names == ("d",)
        assert db.table("visits").agg(m=dl.aggregates.robust_quantile("cost", "0.9")).run(epsilon=1).names == ("m",)


def test_each_quantile_of_a_column_is_its_own_and_they_share_the_price() -> None:
    text = "SELECT ROBUST_QUANTILE(age, 0.1) AS low, ROBUST_QUANTILE(age, 0.9) AS high, MEDIAN(age) AS m FROM visits"
    with clinic(dl.Budget(epsilon=2000, delta="1e-9"), data=visits(patients=3000, each=1)) as db:
        answer = db.sql(text).run(epsilon=1500)
        assert answer["low"][0] < answer["m"][0] < answer["high"][0]
        kinds = [step.mechanism.split()[0] for step in answer.card.steps]
        assert kinds == ["GroupedStatistic", "GroupedStatistic", "PrivateQuantiles"]


def test_what_has_no_order_or_no_figure_is_refused_before_it_is_paid_for() -> None:
    with clinic() as db:
        with pytest.raises(QueryRefused, match="numbers, dates or moments"):
            db.sql("SELECT ROBUST_MEDIAN(city) AS m FROM visits")
        with pytest.raises(QueryRefused, match="from 0 to 1"):
            db.sql("SELECT ROBUST_QUANTILE(age, 2) AS m FROM visits")
        with pytest.raises(InvalidParameter):
            db.sql("SELECT ROBUST_MEDIAN(age) AS m FROM visits").run(error="± 5")
        assert db.spent()["patients"].share == 0


ALL = {
    "median": MEDIANS,
    "trimmed mean": "SELECT city, ROBUST_TRIMMED_MEAN(age, 0.1) AS m FROM visits GROUP BY city",
    "scale": "SELECT city, ROBUST_SCALE(cost) AS m FROM visits GROUP BY city",
    "mode": "SELECT city, STABLE_MODE(age) AS m, STABLE_MODE(icd) AS i FROM visits GROUP BY city",
    "stable quantile": "SELECT city, STABLE_MEDIAN(age) AS m, STABLE_QUANTILE(day, 0.9) AS d FROM visits GROUP BY city",
    "proposed quantile": "SELECT city, PROPOSED_MEDIAN(age, 3) AS m, PROPOSED_QUANTILE(cost, 0.9, 5) AS c "
    "FROM visits GROUP BY city",
}
every = pytest.mark.parametrize("text", ALL.values(), ids=list(ALL))


@every
def test_neighbours_are_treated_alike(text: str) -> None:
    """A patient with 500 visits more: all rows come at once, and count as `most` says."""
    with clinic(data=visits(patients=40, each=2)) as before, clinic(data=_with_many(40, 500)) as after:
        found = replayed(*_priced(before, after, text))
        assert found.passed, found.findings


@every
def test_a_replaced_patient_is_treated_alike(text: str) -> None:
    one, other = _with_many(40, 500), _with_many(40, 300, start=7)
    with clinic(data=one, neighbours="replace") as before, clinic(data=other, neighbours="replace") as after:
        found = replayed(*_priced(before, after, text))
        assert found.passed, found.findings


@every
def test_more_values_of_a_group_than_stated_are_noticed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: a mechanism that says one value of each patient."""
    with clinic(data=visits(patients=40, each=2)) as before, clinic(data=_with_many(40, 500)) as after:
        price, *engines = _priced(before, after, text)
        monkeypatch.setattr(GroupedStatistic, "rows", property(lambda self: 1))
        monkeypatch.setattr(GroupedStatistic, "loss", lambda self, sensitivity: PureDP("0.001"))
        assert {each.kind for each in replayed(price, *engines).findings} == {"sensitivity"}


def _priced(before: Database, after: Database, text: str) -> tuple[Any, Any, Any]:
    price = priced(before.sql(text).question, amounts=_offered(before))
    return price, before._principal.curator.engine, after._principal.curator.engine


def _offered(db: Database) -> dict[str, Charge]:
    return bought([db._principal.population("patients")], epsilon=1, share=None)


def test_trimmed_means_scales_and_modes_are_asked_for_in_sql_and_frames() -> None:
    text = (
        "SELECT city, ROBUST_TRIMMED_MEAN(age, 0.1) AS mean, ROBUST_SCALE(cost) AS scale, STABLE_MODE(icd) AS icd "
        "FROM visits GROUP BY city HAVING city IS NOT NULL"
    )
    data = visits(patients=6000, each=1)
    data = data.set_column(5, "icd", pa.array(["A" if patient % 7 else "B" for patient in range(6000)]))
    with clinic(dl.Budget(epsilon=400, delta="1e-6"), data=data) as db:
        answer = db.sql(text).run(epsilon=300)
        assert sum(abs(mean - 49.5) > 15 for mean in answer["mean"]) <= 1, "Cauchy noise has heavy tails"
        assert all(100 < scale < 600 for scale in answer["scale"])
        assert answer["icd"] == ("A", "A", "A")
        assert {*answer["mean ±"], *answer["scale ±"], *answer["icd ±"]} == {None}
        frame = db.table("visits").group_by("city")
        asked = frame.agg(
            mean=dl.aggregates.robust_trimmed_mean("age", "0.1"),
            scale=dl.aggregates.robust_scale("cost"),
            icd=dl.aggregates.stable_mode("icd"),
        ).asked()
        assert asked.question.statistics == db.sql(text).question.statistics


def test_stable_and_proposed_quantiles_are_asked_for_in_sql_and_frames() -> None:
    """Ages are spread evenly, so their median moves and needs noise; most costs are equal, so theirs does not."""
    text = (
        "SELECT city, STABLE_MEDIAN(age) AS s, STABLE_MEDIAN(cost) AS c, PROPOSED_MEDIAN(age, 1) AS m "
        "FROM visits GROUP BY city HAVING city IS NOT NULL"
    )
    data = visits(patients=6000, each=1)
    data = data.set_column(3, "cost", pa.array([25.5 if patient % 7 else 900.0 for patient in range(6000)]))
    with clinic(dl.Budget(epsilon=400, delta="1e-6"), data=data) as db:
        answer = db.sql(text).run(epsilon=300)
        assert [float(cost) for cost in answer["c"]] == [25.5] * 3
        assert all(abs(age - 49.5) <= answer["m ±"][0] + 10 for age in answer["m"])
        assert len(set(answer["m ±"])) == 1, "noise for one proposal is public"
        assert set(answer["c ±"]) == {None}
        frame = db.table("visits").group_by("city")
        asked = frame.agg(
            s=dl.aggregates.stable_median("age"),
            c=dl.aggregates.stable_median("cost"),
            m=dl.aggregates.proposed_median("age", 1),
        ).asked()
        assert asked.question.statistics == db.sql(text).question.statistics
        other = db.sql(text.replace("age, 1", "age, 2"))
        assert other.run(epsilon=1).receipt != db.sql(text).run(epsilon=1).receipt


def test_an_answer_that_is_not_stable_is_null_and_costs_the_same() -> None:
    text = "SELECT STABLE_MODE(icd) AS icd, ROBUST_SCALE(age) AS scale FROM visits"
    clear = visits(patients=2000, each=1)
    clear = clear.set_column(5, "icd", pa.array(["A"] * 2000))
    charged = []
    for data in (clear, visits(patients=4, each=1)):
        with clinic(data=data) as db:
            answer = db.sql(text).run(epsilon=2)
            charged.append((answer["icd"], answer.charge))
    assert [each[0] for each in charged] == [("A",), (None,)]
    assert charged[0][1] == charged[1][1]


def test_an_account_without_delta_refuses_what_needs_one_and_pays_nothing() -> None:
    with clinic(dl.Budget(epsilon=3)) as db:
        for term in ("ROBUST_SCALE(age)", "STABLE_MODE(age)", "STABLE_MEDIAN(age)", "PROPOSED_MEDIAN(age, 2)"):
            with pytest.raises(QueryRefused, match="no delta; nothing was read or spent"):
                db.sql(f"SELECT {term} AS m FROM visits").run(epsilon=1)
        assert db.spent()["patients"].share == 0
        assert db.sql("SELECT ROBUST_TRIMMED_MEAN(age, 0.1) AS m FROM visits").run(epsilon=1).names == ("m",)


def test_those_that_need_a_delta_share_it_and_together_keep_to_it() -> None:
    text = "SELECT icd, STABLE_MODE(city) AS c, ROBUST_SCALE(age) AS s, COUNT(*) AS n FROM visits GROUP BY icd"
    for neighbours in ("add_remove", "replace"):
        with clinic(neighbours=neighbours) as db:
            asked = db.sql(text)
            offered = _offered(db)
            found = priced(asked.question, amounts=offered)
            deltas = [step.charge["patients"].delta for step in found.steps]
            assert sum(delta > 0 for delta in deltas) == 3, "the keys, the mode and the scale"
            assert found.charge["patients"] <= offered["patients"]


def test_errors_are_told_before_paying() -> None:
    text = "SELECT ROBUST_TRIMMED_MEAN(age, 0.1) AS m, ROBUST_SCALE(age) AS s, STABLE_MODE(city) AS c FROM visits"
    with clinic() as db:
        told = db.sql(text).expected_error(epsilon=1)
        assert "spread evenly" in str(told["m"])
        assert told["m"].at(10**6) < told["m"].at(10**4) <= 120
        assert "rows cannot halve or double it" in str(told["s"])
        assert "leads by" in str(told["c"])
        told = db.sql("SELECT STABLE_MEDIAN(age) s, PROPOSED_MEDIAN(age, 2) m FROM visits").expected_error(epsilon=1)
        assert "rows cannot change it" in str(told["s"])
        assert "no unit move it by more than proposed" in str(told["m"])
        assert db.spent()["patients"].share == 0
    with clinic(dl.Budget(epsilon=60, delta="1e-9")) as db:
        assert "to within a factor of" in str(db.sql(text).expected_error(epsilon=50)["s"])


@pytest.mark.parametrize(
    ("term", "rule"),
    [
        ("ROBUST_TRIMMED_MEAN(age, 0.5)", "below 0.5"),
        ("ROBUST_TRIMMED_MEAN(age, age)", "a constant"),
        ("ROBUST_TRIMMED_MEAN(city, 0.1)", "takes numbers"),
        ("ROBUST_SCALE(day)", "takes numbers"),
        ("STABLE_MODE(patient_id)", "whose row"),
        ("STABLE_MEDIAN(city)", "numbers, dates or moments"),
        ("PROPOSED_MEDIAN(day, 2)", "takes numbers"),
        ("PROPOSED_MEDIAN(age, 0.5)", "at least 1"),
        ("PROPOSED_MEDIAN(age, TRUE)", "at least 1"),
        ("PROPOSED_MEDIAN(age, cost)", "a constant"),
        ("PROPOSED_QUANTILE(age, 2, 1)", "0 to 1"),
    ],
)
def test_what_they_cannot_take_is_refused(term: str, rule: str) -> None:
    with clinic() as db, pytest.raises(QueryRefused, match=rule):
        db.sql(f"SELECT {term} AS m FROM visits")


def _with_many(patient: int, rows: int, start: int = 0) -> pa.Table:
    """One patient more, with many rows of different ages and costs."""
    more = visits(patients=rows + start, each=1).slice(start)
    more = more.set_column(0, "patient_id", pa.array([patient] * rows, pa.int64()))
    return pa.concat_tables([visits(patients=patient, each=2), more])
