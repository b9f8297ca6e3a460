"""Frames give the same syntax as SQL, or the same question after binding; and Python's own logic is kept out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from dalenius.checks.escapes.listening import TABLES
from dalenius.errors import DaleniusError, InvalidParameter, QueryRefused, UnknownName
from dalenius.query.binding.binder import bind
from dalenius.query.frames.aggregates import (
    correlation,
    count,
    count_distinct,
    covariance,
    histogram,
    maximum,
    mean,
    median,
    minimum,
    mode,
    proposed_median,
    proposed_quantile,
    quantile,
    robust_median,
    robust_quantile,
    robust_scale,
    robust_trimmed_mean,
    stable_median,
    stable_mode,
    stable_quantile,
    stddev,
    total,
    variance,
)
from dalenius.query.frames.formulas import Formula, coalesce, col, greatest, least, lit, when
from dalenius.query.frames.frames import Frame
from dalenius.query.sql.reader import read
from dalenius.query.syntax import Constant, QueryTree
from dalenius.query.tables import ContributionBounds

visits, patients, cities = Frame("visits"), Frame("patients"), Frame("cities")

SAME_SYNTAX: list[tuple[Frame, str]] = [
    (visits.agg(count()), "SELECT COUNT(*) FROM visits"),
    (visits.agg(n=count()), "SELECT COUNT(*) AS n FROM visits"),
    (
        visits.agg(n=count("age"), d=count_distinct("patient_id")),
        "SELECT COUNT(age) AS n, COUNT(DISTINCT patient_id) AS d FROM visits",
    ),
    (
        visits.where(col("age") >= 65).group_by("city").agg(visits=count(), cost=mean("cost")),
        "SELECT city, COUNT(*) AS visits, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY city",
    ),
    (
        visits.where(col("age") > 3).where(~col("urgent")).agg(count()),
        "SELECT COUNT(*) FROM visits WHERE age > 3 AND NOT urgent",
    ),
    (
        visits.where(col("age") > 3, ~col("urgent")).agg(count()),
        "SELECT COUNT(*) FROM visits WHERE age > 3 AND NOT urgent",
    ),
    (
        visits.group_by(decade=col("age").bin(10)).agg(count()),
        "SELECT BIN(age, 10) AS decade, COUNT(*) FROM visits GROUP BY BIN(age, 10)",
    ),
    (
        visits.group_by(col("day").year().alias("y")).agg(count()),
        "SELECT YEAR(day) AS y, COUNT(*) FROM visits GROUP BY YEAR(day)",
    ),
    (
        visits.with_columns(decade=col("age").bin(10)).group_by("decade").agg(n=count()),
        "SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY BIN(age, 10)",
    ),
    (
        visits.select("city", decade=col("age").bin(10)).where(col("decade") > 20).group_by("decade").agg(n=count()),
        "SELECT decade, COUNT(*) AS n FROM (SELECT city, BIN(age, 10) AS decade FROM visits WHERE BIN(age, 10) > 20) "
        "AS visits GROUP BY decade",
    ),
    (
        visits.select(decade=col("age").bin(10)).where(col("decade") > 20).group_by("decade").agg(n=count()),
        "SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits WHERE BIN(age, 10) > 20 GROUP BY BIN(age, 10)",
    ),
    (
        visits.select("city", "age").select("city").count(),
        "SELECT COUNT(*) AS count FROM (SELECT city FROM (SELECT city, age FROM visits) AS visits) AS visits",
    ),
    (
        visits.group_by("city").agg(n=count()).where(col("n") > 5).order_by("n", descending=True).limit(2),
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 5 ORDER BY COUNT(*) DESC LIMIT 2",
    ),
    (
        visits.group_by("city").agg(n=count()).sort("n", "city", descending=[True, False]).head(2),
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY COUNT(*) DESC, city LIMIT 2",
    ),
    (
        visits.group_by("city").agg(n=count(), s=total("cost")).select("city", ratio=col("s") / col("n")),
        "SELECT city, SUM(cost) / COUNT(*) AS ratio FROM visits GROUP BY city",
    ),
    (
        visits.group_by("patient_id").agg(total=total("cost")).agg(mean("total")),
        "SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id)",
    ),
    (
        visits.group_by("patient_id").agg(n=count()).where(col("n") > 3).agg(count()),
        "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id HAVING COUNT(*) > 3)",
    ),
    (
        visits.select("patient_id", "city").distinct().count(),
        "SELECT COUNT(*) AS count FROM (SELECT DISTINCT patient_id, city FROM visits)",
    ),
    (visits.histogram("city"), "SELECT HISTOGRAM(city) AS histogram FROM visits"),
    (
        visits.join(cities, on="city").group_by("region").agg(count()),
        "SELECT region, COUNT(*) FROM visits JOIN cities USING (city) GROUP BY region",
    ),
    (
        visits.called("v")
        .join(cities.called("c"), on=col("v.city") == col("c.city"), how="left")
        .group_by("c.region")
        .agg(count()),
        "SELECT c.region, COUNT(*) FROM visits v LEFT JOIN cities c ON v.city = c.city GROUP BY c.region",
    ),
    (
        visits.join(patients, on="patient_id")
        .join(cities, on=col("cities.city") == col("visits.city"))
        .group_by("region", "sex")
        .agg(count()),
        "SELECT region, sex, COUNT(*) FROM visits JOIN patients USING (patient_id) "
        "JOIN cities ON cities.city = visits.city GROUP BY region, sex",
    ),
    (
        visits.where(col("urgent")).join(cities, on=["city"]).agg(count()),
        "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE urgent) AS visits JOIN cities USING (city)",
    ),
    (visits.join(cities, how="cross").agg(count()), "SELECT COUNT(*) FROM visits CROSS JOIN cities"),
    (
        visits.select("city").union(patients.select("city")).group_by("city").agg(count()),
        "SELECT city, COUNT(*) FROM (SELECT city FROM visits UNION ALL SELECT city FROM patients) GROUP BY city",
    ),
    (
        visits.where(col("patient_id").is_in(patients.where(col("smoker")).select("patient_id"))).agg(count()),
        "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE smoker)",
    ),
    (
        visits.where(~col("patient_id").is_in(patients.select("patient_id"))).agg(count()),
        "SELECT COUNT(*) FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM patients)",
    ),
]

SAME_FORMULAS: list[tuple[Formula, str]] = [
    (col("a") + 1 - col("b") * 2, "a + 1 - b * 2"),
    (1 + col("a"), "1 + a"),
    (10 - col("a"), "10 - a"),
    (2 * col("a"), "2 * a"),
    (col("a") / 3, "a / 3"),
    (1 / col("a"), "1 / a"),
    (col("a") // 10, "a // 10"),
    (col("a") % 7, "a % 7"),
    (-col("a"), "-a"),
    (abs(col("a")), "ABS(a)"),
    (col("a") == "x", "a = 'x'"),
    (col("a") != 1.5, "a <> 1.5"),
    (col("a") < col("b"), "a < b"),
    ((col("a") > 1) & (col("b") <= 2) | ~col("c"), "a > 1 AND b <= 2 OR NOT c"),
    (col("a").between(1, 2), "a BETWEEN 1 AND 2"),
    (col("a").is_in(["x", "y"]), "a IN ('x', 'y')"),
    (col("a").is_null(), "a IS NULL"),
    (col("a").is_not_null(), "a IS NOT NULL"),
    (col("a").like("x%"), "a LIKE 'x%'"),
    (col("a").lower(), "LOWER(a)"),
    (col("a").upper().trim(), "TRIM(UPPER(a))"),
    (col("a").length(), "LENGTH(a)"),
    (col("a").substring(1, 3), "SUBSTRING(a, 1, 3)"),
    (col("a").replace("x", "y"), "REPLACE(a, 'x', 'y')"),
    (col("a").starts_with("x"), "STARTS_WITH(a, 'x')"),
    (col("a").ends_with("x"), "ENDS_WITH(a, 'x')"),
    (col("a").contains("x"), "CONTAINS(a, 'x')"),
    (col("a").concat("x"), "a || 'x'"),
    (col("a").year(), "YEAR(a)"),
    (col("a").month(), "EXTRACT(month FROM a)"),
    (col("a").weekday(), "ISODOW(a)"),
    (col("a").quarter(), "QUARTER(a)"),
    (col("a").day(), "DAY(a)"),
    (col("a").day_of_year(), "DAYOFYEAR(a)"),
    (col("a").hour(), "HOUR(a)"),
    (col("a").minute(), "MINUTE(a)"),
    (col("a").second(), "SECOND(a)"),
    (col("a").date_trunc("month"), "DATE_TRUNC('month', a)"),
    (col("a").add_days(7), "a + INTERVAL 7 DAY"),
    (col("a").days_until(dt.date(2025, 1, 1)), "DATE_DIFF('day', a, DATE '2025-01-01')"),
    (col("a").to_int(), "a::INTEGER"),
    (col("a").to_real("0.01"), "a::DECIMAL(10, 2)"),
    (col("a").to_text(), "a::TEXT"),
    (col("a").to_bool(), "a::BOOLEAN"),
    (col("a").to_date(), "a::DATE"),
    (col("a").to_timestamp(), "a::TIMESTAMP"),
    (col("a").floor(), "FLOOR(a)"),
    (col("a").ceil(), "CEIL(a)"),
    (col("a").round(2), "ROUND(a, 2)"),
    (col("a").sign(), "SIGN(a)"),
    (col("a").clamp(0, 9), "CLAMP(a, 0, 9)"),
    (col("a").bin("0.5"), "BIN(a, 0.5)"),
    (col("a").fill_null(0), "COALESCE(a, 0)"),
    (col("a").null_if(0), "NULLIF(a, 0)"),
    (when(col("a") > 1).then("x").otherwise("y"), "CASE WHEN a > 1 THEN 'x' ELSE 'y' END"),
    (when(col("a")).then(1).when(col("b")).then(2), "CASE WHEN a THEN 1 WHEN b THEN 2 END"),
    (least("a", col("b")), "LEAST('a', b)"),
    (greatest(col("a"), 1), "GREATEST(a, 1)"),
    (coalesce(col("a"), col("b"), 0), "COALESCE(a, b, 0)"),
    (lit(None), "NULL"),
    (lit(True), "TRUE"),
    (variance("a"), "VARIANCE(a)"),
    (stddev("a"), "STDDEV(a)"),
    (covariance("a", "b"), "COVAR(a, b)"),
    (correlation("a", "b"), "CORR(a, b)"),
    (minimum("a"), "MIN(a)"),
    (maximum("a"), "MAX(a)"),
    (median("a"), "MEDIAN(a)"),
    (quantile("a", 0.9), "QUANTILE(a, 0.9)"),
    (mode("a"), "MODE(a)"),
    (robust_median("a"), "ROBUST_MEDIAN(a)"),
    (robust_quantile("a", "0.9"), "ROBUST_QUANTILE(a, 0.9)"),
    (robust_trimmed_mean("a", "0.1"), "ROBUST_TRIMMED_MEAN(a, 0.1)"),
    (robust_scale("a"), "ROBUST_SCALE(a)"),
    (stable_mode("a"), "STABLE_MODE(a)"),
    (stable_median("a"), "STABLE_MEDIAN(a)"),
    (stable_quantile("a", "0.9"), "STABLE_QUANTILE(a, 0.9)"),
    (proposed_median("a", 2), "PROPOSED_MEDIAN(a, 2)"),
    (proposed_quantile("a", "0.9", 2), "PROPOSED_QUANTILE(a, 0.9, 2)"),
    (histogram("a"), "HISTOGRAM(a)"),
    (total(col("a") * 2), "SUM(a * 2)"),
    (col("t.a"), "t.a"),
    (col("a", table="t"), "t.a"),
]


@pytest.mark.parametrize(("frame", "text"), SAME_SYNTAX, ids=[text for _, text in SAME_SYNTAX])
def test_frame_and_sql_give_the_same_syntax(frame: Frame, text: str) -> None:
    assert frame.syntax() == read(text)


@pytest.mark.parametrize(("formula", "text"), SAME_FORMULAS, ids=[text for _, text in SAME_FORMULAS])
def test_formula_and_sql_give_the_same_term(formula: Formula, text: str) -> None:
    assert Frame("t").select(formula).syntax() == read(f"SELECT {text} FROM t")


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (
            visits.group_by(decade=col("age").bin(10)).agg(n=count()),
            "SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY decade",
        ),
        (
            visits.group_by("city").agg(n=count()).order_by("n"),
            "SELECT v.city, COUNT(*) AS n FROM visits v GROUP BY 1 ORDER BY n",
        ),
        (
            visits.group_by("patient_id").agg(total=total("cost")).agg(m=mean("total")),
            "WITH t AS (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) "
            "SELECT AVG(t.total) AS m FROM t",
        ),
        (
            visits.group_by("patient_id").agg(n=count()).where(col("n") > 3).agg(m=count()),
            "SELECT COUNT(*) AS m FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) WHERE n > 3",
        ),
    ],
)
def test_frame_and_sql_give_the_same_question_in_other_words_too(frame: Frame, text: str) -> None:
    assert bind(frame.syntax(), TABLES) == bind(read(text), TABLES)


# ---- Python is kept out


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: bool(col("a") > 1),
        lambda: col("a") > 1 and col("b") > 2,
        lambda: 1 < col("a") < 3,
        lambda: not col("a"),
        lambda: "x" in col("a"),
        lambda: list(col("a")),
        lambda: [1] if col("a") == 1 else [],
    ],
)
def test_a_formula_has_no_truth_value(misuse: Callable[[], Any]) -> None:
    with pytest.raises(QueryRefused):
        misuse()


def test_a_formula_cannot_be_a_key_of_a_set() -> None:
    with pytest.raises(TypeError):
        hash(col("a"))


def test_numbers_are_read_exactly() -> None:
    assert lit(0.1).term == Constant(Fraction(1, 10))
    assert lit(Decimal("2.50")).term == Constant(Fraction(5, 2))
    with pytest.raises(InvalidParameter):
        lit(float("nan"))
    with pytest.raises(QueryRefused):
        lit([1])  # type: ignore[arg-type]


def test_frames_never_change() -> None:
    rows = visits.where(col("age") > 3)
    before = repr(rows)
    rows.where(col("urgent")).group_by("city").agg(count()).order_by("city").limit(3)
    assert repr(rows) == before


@pytest.mark.parametrize(
    "build",
    [
        lambda: visits.syntax(),
        lambda: visits.distinct(),
        lambda: visits.where(),
        lambda: visits.agg(),
        lambda: visits.union(patients),
        lambda: visits.join(cities),
        lambda: visits.join(cities, on=[]),
        lambda: visits.join(cities, on="city", how="sideways"),  # type: ignore[arg-type]
        lambda: visits.join(cities, on="city").join(patients, on="age"),
        lambda: visits.select("city").where(col("age") > 3),
        lambda: visits.select("city").group_by("age"),
        lambda: visits.agg(n=count()).limit(-1),
        lambda: visits.order_by("a", descending=[True, False]),
        lambda: col("a").is_in([]),
        lambda: (col("a") + 1).is_in(patients.select("patient_id")),
        lambda: col("*"),
        lambda: visits.agg(count()).run(epsilon=1),
    ],
)
def test_what_makes_no_question_is_refused_at_once(build: Callable[[], Any]) -> None:
    with pytest.raises(DaleniusError):
        build()


def test_a_column_that_was_not_selected_is_unknown_afterwards() -> None:
    with pytest.raises(UnknownName):
        visits.select("city").agg(mean("cost"))


LEFT_OUT: list[Frame] = [
    visits.select("nope").count(),
    visits.select("city", "nope").group_by("city").agg(n=count()),
    visits.select("city", x=col("nope") + 1).agg(n=count("city")),
    visits.select("city", "nope").select("city").count(),
    visits.select("city", x=col("age") + "text").count(),
    visits.with_columns(x=col("nope")).count(),
    visits.with_columns(x=col("nope")).group_by("visits.city").agg(n=count()),
    visits.with_columns(x=col("nope")).where(col("age") > 3).select("city").group_by("city").agg(n=count()),
    visits.called("v").select("nope").count(),
    visits.join(cities, on="city").select("nope").count(),
]


@pytest.mark.parametrize("frame", LEFT_OUT, ids=repr)
def test_a_column_that_a_later_step_leaves_out_is_checked_all_the_same(frame: Frame) -> None:
    with pytest.raises((UnknownName, QueryRefused), match=r"nope|text"):
        bind(frame.syntax(), TABLES)


def test_columns_that_a_later_step_leaves_out_change_nothing_else() -> None:
    frames = [visits, visits.select("city", "age"), visits.select("city", "age", "cost").where(col("cost") >= 0)]
    asked = [bind(frame.group_by("city").agg(n=count()).syntax(), TABLES) for frame in frames[:2]]
    assert asked[0] == asked[1]
    assert bind(frames[2].agg(a=mean("age")).syntax(), TABLES)


def test_an_aggregate_that_nothing_uses_is_refused_at_once() -> None:
    grouped = visits.group_by("city").agg(n=count(), s=total("nope"))
    with pytest.raises(QueryRefused, match=r"Leave it out of agg"):
        grouped.select("city", "n")
    kept = visits.group_by("city").agg(n=count()).where(col("n") > 5).select("city")
    assert bind(kept.syntax(), TABLES)


def test_a_constant_too_long_to_print_is_refused() -> None:
    for long in (10**5000, Decimal("1e-4300")):
        with pytest.raises(DaleniusError, match="at most 4200 digits"):
            bind(visits.where(col("age") > long).agg(count()).syntax(), TABLES)


def test_endless_chains_are_refused() -> None:
    chain = col("age") == 0
    for age in range(1, 3000):
        chain = chain | (col("age") == age)
    with pytest.raises(QueryRefused):
        visits.where(chain).agg(count()).syntax()


def test_a_frame_hands_its_syntax_to_the_session_it_came_from() -> None:
    asked: list[tuple[QueryTree, ContributionBounds | None]] = []

    class Answering:
        def run(self, **offer: Any) -> Any:
            return offer

        explain = cost = expected_error = rehearse = run

    class Asking:
        def bind(self, query: QueryTree, most: ContributionBounds | None = None) -> Answering:
            asked.append((query, most))
            return Answering()

    frame = Frame("visits", session=Asking()).contributing(max_rows=2, max_groups=1).agg(count())
    for method in (frame.run, frame.explain, frame.cost, frame.expected_error, frame.rehearse):
        assert method(epsilon="0.2") == {"epsilon": "0.2"}
    assert asked == [(read("SELECT COUNT(*) FROM visits"), ContributionBounds(rows=2, groups=1))] * 5
