"""Robust medians in SQL: a smooth quantile in each group, priced for all groups of a unit, and alike for neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dalenius as dl
from clinics import CITIES, clinic, visits
from dalenius.accounting.composition import repeated
from dalenius.audit.replay.queries import replayed
from dalenius.errors import InvalidParameter, QueryRefused, TheoremDoesNotApply
from dalenius.mechanisms.rank_grid import ValueCounts
from dalenius.mechanisms.robust.grouped import GroupedQuantile
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.pricing.pricing import priced
from dalenius.randomness.entropy import fresh_entropy

MEDIANS = "SELECT city, ROBUST_MEDIAN(age) AS m FROM visits GROUP BY city"


def grouped(neighbours: Neighbours, *, groups: int = 2, rows: int = 3) -> GroupedQuantile:
    noise = SmoothCauchy.calibrated(epsilon=Fraction(1, 2))
    one = SmoothQuantile(lower=0, upper=100, noise=noise, neighbours=AddRemove(), rows=rows)
    return GroupedQuantile(quantile=one, groups=groups, neighbours=neighbours)


@pytest.mark.textbook("S11.1")
@pytest.mark.parametrize(("neighbours", "steps"), [(AddRemove(), 1), (Replace(), 2)])
def test_all_groups_of_a_unit_are_paid_for(neighbours: Neighbours, steps: int) -> None:
    most = 2 * 3 * steps
    assert grouped(neighbours).loss(sensitivity=Sensitivity(l1=most)) == repeated(PureDP(Fraction(1, 2)), 2 * steps)
    with pytest.raises(TheoremDoesNotApply):
        grouped(neighbours).loss(sensitivity=Sensitivity(l1=most + 1))


def test_each_group_has_its_own_median() -> None:
    mechanism = GroupedQuantile(
        quantile=SmoothQuantile(lower=0, upper=100, noise=SmoothCauchy.calibrated(epsilon=50), neighbours=AddRemove()),
        groups=1,
        neighbours=AddRemove(),
    )
    groups = [ValueCounts(np.array([value]), np.array([500])) for value in (7, 93)]
    assert mechanism.release(groups, fresh_entropy()) == (7, 93)


def test_sql_and_frames_ask_for_it() -> None:
    with clinic(dl.Budget(epsilon=60, delta="1e-9"), data=visits(patients=3000, each=1)) as db:
        answer = db.sql(MEDIANS).run(epsilon=50)
        found = dict(zip(answer["city"], answer["m"], strict=True))
        assert all(abs(found[city] - 49) <= 10 for city in CITIES)
        assert set(answer["m ±"]) == {None}, "how large the noise was depends on the values"
    with clinic() as db:
        assert db.table("visits").agg(m=dl.robust_median("cost")).run(epsilon=1).names == ("m",)
        assert db.sql("SELECT ROBUST_MEDIAN(day) AS d FROM visits").run(epsilon=1).names == ("d",)
        assert db.table("visits").agg(m=dl.robust_quantile("cost", "0.9")).run(epsilon=1).names == ("m",)


def test_each_quantile_of_a_column_is_its_own_and_they_share_the_price() -> None:
    text = "SELECT ROBUST_QUANTILE(age, 0.1) AS low, ROBUST_QUANTILE(age, 0.9) AS high, MEDIAN(age) AS m FROM visits"
    with clinic(dl.Budget(epsilon=600, delta="1e-9"), data=visits(patients=3000, each=1)) as db:
        answer = db.sql(text).run(epsilon=500)
        assert answer["low"][0] < answer["m"][0] < answer["high"][0]
        kinds = [step.mechanism.split()[0] for step in answer.card.steps]
        assert kinds == ["GroupedQuantile", "GroupedQuantile", "PrivateQuantiles"]


def test_what_has_no_order_or_no_figure_is_refused_before_it_is_paid_for() -> None:
    with clinic() as db:
        with pytest.raises(QueryRefused, match="numbers, dates or moments"):
            db.sql("SELECT ROBUST_MEDIAN(city) AS m FROM visits")
        with pytest.raises(QueryRefused, match="from 0 to 1"):
            db.sql("SELECT ROBUST_QUANTILE(age, 2) AS m FROM visits")
        with pytest.raises(InvalidParameter):
            db.sql("SELECT ROBUST_MEDIAN(age) AS m FROM visits").run(error="± 5")
        assert db.spent()["patients"].share == 0


def test_neighbours_are_treated_alike() -> None:
    """A patient with 500 visits more, and a twin that says it had one only."""
    few, many = visits(patients=40, each=2), _with_many(40, 500)
    with clinic(data=few) as before, clinic(data=many) as after:
        question = before.sql(MEDIANS).question
        price = priced(question, amounts=before.sql(MEDIANS).bought(epsilon=1))
        engines = [db._asker.curator.engine for db in (before, after)]
        found = replayed(price, *engines)
        assert found.passed, found.findings


def test_more_values_of_a_group_than_stated_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = visits(patients=40, each=2), _with_many(40, 500)
    with clinic(data=few) as before, clinic(data=many) as after:
        price = priced(before.sql(MEDIANS).question, amounts=before.sql(MEDIANS).bought(epsilon=1))
        monkeypatch.setattr(GroupedQuantile, "rows", property(lambda self: 1))
        monkeypatch.setattr(GroupedQuantile, "loss", lambda self, sensitivity: PureDP("0.001"))
        engines = [db._asker.curator.engine for db in (before, after)]
        assert {each.kind for each in replayed(price, *engines).findings} == {"sensitivity"}


def _with_many(patient: int, rows: int) -> object:
    import pyarrow as pa

    more = visits(patients=patient + 1, each=rows).slice(patient * rows)
    return pa.concat_tables([visits(patients=patient, each=2), more])
