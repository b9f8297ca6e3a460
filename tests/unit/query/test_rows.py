"""Rows of a private table, bound once: which columns they have, how many of a unit count, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from binding import CLINIC, WITHOUT_KEYS
from clinics import clinic
from dalenius.checks.escapes.listening import CITIES
from dalenius.errors import DaleniusError, InvalidParameter, QueryRefused, UnknownName
from dalenius.learn import LogisticRegression
from dalenius.learn.tables import chosen
from dalenius.privacy.neighbours import Replace
from dalenius.query.expressions import Column
from dalenius.query.frames.aggregates import count
from dalenius.query.frames.formulas import col
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Bound, LimitPerUnit, Project
from dalenius.query.rows import BoundRows, bind_rows
from dalenius.query.sql.reader import read
from dalenius.query.syntax import Name, Select
from dalenius.query.tables import ContributionBounds
from dalenius.query.types import Int
from dalenius.session import sessions
from dalenius.session.databases import Database
from dalenius.synth.tables.synthesizer import Synthesizer
from dalenius.tabular.binned_rows import BinnedRows, PrivateRows

VISITS = Frame("visits")


def bound(frame: Frame, **most: int) -> BoundRows:
    return bind_rows(frame.rows(), CLINIC, most=ContributionBounds(**most) if most else None)


def from_sql(text: str) -> Select:
    """The FROM and WHERE of a text."""
    query = read(text)
    assert isinstance(query, Select)
    return replace(query, items=())


def test_rows_have_the_columns_that_are_asked_for_in_their_order() -> None:
    source = bound(VISITS.where(col("age") >= 18)).source([Name("city"), Name("age"), Name("city")])
    assert source.columns == ("x.0", "x.1", "x.2"), "each has a name of its own: not every engine takes two of one"
    assert [str(domain) for domain in source.domains] == [str(CITIES), str(Int(18, 120)), str(CITIES)]
    assert list(source.kept.schema) == ["x.0", "x.1", "x.2"]


@pytest.mark.parametrize("most", [{}, {"rows": 2, "groups": 1}])
def test_of_one_unit_as_many_rows_count_as_were_declared_or_stated(most: dict[str, int]) -> None:
    source = bound(VISITS, **most).source([Name("age")])
    rows = most.get("rows", 20)
    assert source.most == ContributionBounds(rows=rows, groups=1)
    kept = LimitPerUnit(Project(source.relation, (("x.0", Column(source.domains[0], "x.0")),)), rows)
    assert source.kept == kept
    assert source.counting == Aggregate(Bound(kept, ("x.0",), rows, None), (Total("rows"),))


def test_no_more_rows_of_a_unit_count_than_it_can_have() -> None:
    assert bound(Frame("events"), rows=7, groups=7).source([Name("loss")]).most.rows == 1


def test_declared_columns_are_those_with_finitely_many_values() -> None:
    assert "icd" not in bound(VISITS).declared
    assert {"age", "city", "day"} <= {*bound(VISITS).declared}
    assert bound(VISITS).table == CLINIC["visits"]


UNIT = "whose row this is"


@pytest.mark.parametrize(
    "look", [lambda rows, name: rows.domain(Name(name)), lambda rows, name: rows.source([Name(name)])]
)
def test_the_unit_and_keys_of_paths_are_no_columns(look: Callable[[BoundRows, str], object]) -> None:
    for frame in (VISITS, VISITS.select("patient_id", "age"), VISITS.select("patient_id").called("v")):
        with pytest.raises(QueryRefused, match=UNIT):
            look(bound(frame), "patient_id")
    with pytest.raises(QueryRefused, match=UNIT):
        look(bind_rows(Frame("labs").rows(), WITHOUT_KEYS), "visit_id")
    with pytest.raises(UnknownName, match="weight"):
        look(bound(VISITS), "weight")


def test_nothing_is_computed_of_the_unit() -> None:
    for term in (col("patient_id") + 1, col("patient_id") == 5, col("patient_id").is_null()):
        with pytest.raises(QueryRefused):
            bound(VISITS).source([term.term])


def test_an_aggregate_is_no_column() -> None:
    with pytest.raises(QueryRefused, match="aggregate"):
        bound(VISITS).source([count().term])


BOTH = "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT wage AS age FROM doctors) AS b"


def test_rows_of_two_populations_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="one, whose rows these are"):
        bind_rows(from_sql(BOTH), CLINIC)
    protection = CLINIC["doctors"].protection
    assert protection is not None
    doctors = replace(CLINIC["doctors"], protection=replace(protection, neighbours=Replace()))
    with pytest.raises(QueryRefused, match="different neighbours"):
        bind_rows(from_sql(BOTH), {**CLINIC, "doctors": doctors})


def test_public_tables_need_no_budget() -> None:
    with pytest.raises(QueryRefused, match="public tables alone"):
        bound(Frame("cities"))
    assert bound(VISITS.join(Frame("cities"), on=["city"])).source([Name("region")]).most.rows == 20


@pytest.mark.parametrize(
    "frame",
    [
        VISITS.group_by("city").agg(count()),
        VISITS.agg(count()),
        VISITS.select("city").distinct(),
        VISITS.limit(3),
        VISITS.order_by("city"),
    ],
)
def test_what_is_counted_or_cut_for_all_units_together_is_no_rows(frame: Frame) -> None:
    with pytest.raises(QueryRefused):
        bound(frame)


def test_what_is_counted_for_each_unit_is_rows() -> None:
    rows = bound(VISITS.group_by("patient_id").agg(visits=count()))
    assert rows.source([Name("visits")]).most.rows == 1


def test_endless_nesting_is_refused() -> None:
    frame = VISITS
    for _ in range(2000):
        frame = frame.select("age").called("v")
    with pytest.raises(QueryRefused):
        bound(frame)


# ---- rows of a session


def test_rows_of_nobody_or_of_a_server_are_refused() -> None:
    class Remote:
        def bind(self, query: Any, most: Any = None) -> Any:
            raise AssertionError("it was asked")

    with pytest.raises(QueryRefused, match="no session"):
        PrivateRows.of(VISITS)
    with pytest.raises(InvalidParameter, match="open in this process"):
        PrivateRows.of(Frame("visits", session=Remote()))
    with clinic() as db:
        for rows in ("visits", None, db.table("visits").group_by("city"), db.sql("SELECT COUNT(*) FROM visits")):
            with pytest.raises(InvalidParameter, match="rows of a private table"):
                PrivateRows.of(rows)  # type: ignore[arg-type]
        for most in (0, -1, True, 1.5, "3"):
            with pytest.raises(InvalidParameter):
                PrivateRows.of(db.table("visits"), most=most)  # type: ignore[arg-type]
        with pytest.raises(UnknownName):
            PrivateRows.of(db.table("visits").select("weight"))


def test_columns_are_named_as_in_formulas() -> None:
    with clinic() as db:
        visits = PrivateRows.of(db.table("visits").called("v"))
        names = [axis.name for axis in visits.binned(["v.age", "CITY"], {"v.age": 4}).axes]
        assert names == ["v.age", "CITY"]
        for unfit in ([5], [None], [""], ["*"], ["age", "AGE"], ["w.age"]):
            with pytest.raises(DaleniusError):
                visits.binned(unfit, {})  # type: ignore[arg-type]


def test_what_is_learnt_is_no_feature_however_it_is_written() -> None:
    with clinic() as db:
        binned, target = chosen(db.table("visits"), "AGE", None, {})
        assert target is not None
        assert [axis.name.lower() for axis in binned.axes].count("age") == 1


def test_equal_columns_are_counted_beside_each_other() -> None:
    with clinic() as db:
        twice = db.table("visits").with_columns(copy=col("city"))
        model = Synthesizer(columns=["city", "copy"], order=2).fit(twice, epsilon=1)
        assert {part.columns for part in model.measured} >= {("city",), ("copy",)}


def test_rows_carry_the_bound_that_was_asked_for_last() -> None:
    with clinic() as db:
        frame = db.table("visits").contributing(max_rows=2)
        assert PrivateRows.of(frame).plain(["age"]).most.rows == 2
        assert PrivateRows.of(frame, most=1).plain(["age"]).most.rows == 1
        assert BinnedRows.of(frame, columns=["age"], bins={}, most=None).uncut().source.most.rows == 2


@pytest.mark.parametrize(
    "use",
    [
        lambda db: LogisticRegression(epsilon=1).cost(db.table("visits"), "city", columns=["age", "cost"]),
        lambda db: LogisticRegression(epsilon=1).fit(db.table("visits"), "city"),
        lambda db: Synthesizer(columns=["age", "city"], order=1).fit(db.table("visits"), epsilon=1),
        lambda db: BinnedRows.of(db.table("visits"), columns=None, bins={"age": "20"}, most=1).uncut(),
    ],
    ids=["a price", "a fit", "a synthetic table", "bins"],
)
def test_rows_are_bound_once(use: Callable[[Database], object], monkeypatch: pytest.MonkeyPatch) -> None:
    bound = list[Select]()
    right = sessions.bind_rows

    def counted(select: Select, *given: Any, **named: Any) -> BoundRows:
        bound.append(select)
        return right(select, *given, **named)

    monkeypatch.setattr(sessions, "bind_rows", counted)
    monkeypatch.setattr(sessions, "bind", lambda *_, **__: pytest.fail("a question was bound"))
    with clinic() as db:
        use(db)
    assert len(bound) == 1
