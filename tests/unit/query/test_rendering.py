"""The text of a question reads back to the same question, and stays fit to be read by people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.checks.escapes.mutations import mutations, statements
from dalenius.engines.conformance.plans import random_query
from dalenius.engines.conformance.terms import rarer
from dalenius.engines.conformance.worlds import Draws, world
from dalenius.errors import NotUnderstood, QueryRefused
from dalenius.query import rendering
from dalenius.query.frames.aggregates import count, mean
from dalenius.query.frames.formulas import Formula, apply, col, lit, when
from dalenius.query.frames.frames import Frame
from dalenius.query.rendering import RESERVED, query_text, text
from dalenius.query.sql.reader import read
from dalenius.query.syntax import Apply, Constant, Item, Name, QueryTree, Select, TableName

visits, patients, cities = Frame("visits"), Frame("patients"), Frame("cities")
a, b, c = col("a"), col("b"), col("c")


def reads_back(query: QueryTree) -> bool:
    return read(query_text(query)) == query


@pytest.mark.parametrize("written", statements("accepted.sql"))
def test_an_accepted_text_reads_back_from_its_rendering(written: str) -> None:
    assert reads_back(read(written))


def test_generated_questions_read_back() -> None:
    for seed in range(300):
        query = rarer(random_query(world(seed % 8), Draws(f"rendering {seed}")), seed)
        assert reads_back(query) or _signed_constants(query), query_text(query)


def _signed_constants(part: object) -> bool:
    """Whether a number has a sign of its own in front of it, which neither SQL nor a frame gives."""
    if isinstance(part, Apply) and part.function == "negate" and isinstance(part.arguments[0], Constant):
        return True
    parts = part if isinstance(part, tuple) else vars(part).values() if hasattr(part, "__dict__") else ()
    return any(_signed_constants(each) for each in parts)


def test_whatever_a_mutated_text_still_asks_reads_back() -> None:
    for written in mutations(800, seed=11):
        try:
            query = read(written)
        except QueryRefused:
            continue
        assert reads_back(query), written


FORMULAS: list[Formula] = [
    a - (b - c), (a - b) - c, a * (b + c), (a + b) * c, a // (b % c), a / b / c, -(a + b), -lit(5),
    -apply("negate", a), a - lit(-5),
    ~(a == b), ~~a, ~(a & b), ~a & b, ~(a.is_null()), ~(~a.is_null()), (a == b) == c, (a < b) & (b < c) | c,
    a & (b & c), a & (b | c), (a | b) & (a & b), (a == 1).is_null(), (a & b).is_in([True]), a.is_in([b == c, True]),
    (a == b).between(b & c, ~c), a.concat(b.concat(c)), a.concat(b).concat(c), (a + b).concat(c), a.concat(b) == c,
    when(a & b).then(a == b).otherwise(~c), when(a).then(when(b).then(1)).otherwise(-1),
    a.like("100%'s"), a.replace("'", '"'), lit("it's -- no comment /* at all */"), lit("\\"), lit("línea\nnueva"),
    lit(dt.date(2024, 1, 31)), lit(dt.datetime(2024, 1, 31, 12, 0, 0, 1)), lit(dt.datetime(1, 1, 1)),
    lit(True), lit(None), lit(0), lit(10**30), lit("1e-20"), lit(Fraction(1, 2**20)), lit(-0.5), lit(1e25),
    a.null_if(0), a.round(-1), a.to_real("0.001"), a.date_trunc("month"), a.add_days(-3), a.days_until(b),
    apply("is_null", apply("not", a)), apply("negate", apply("abs", a)), (a % -3) - -b,
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=[text(each.term) for each in FORMULAS])
def test_every_nesting_of_operators_reads_back(formula: Formula) -> None:
    query = Frame("t").where(formula).select(formula, x=formula).syntax()
    assert reads_back(query)


FRAMES: list[Frame] = [
    visits.join(patients.join(cities, on="city"), on=col("visits.patient_id") == col("patients.patient_id")).count(),
    visits.join(patients.join(cities, how="cross"), how="cross").count(),
    visits.called("left").join(cities.called("select"), on=col("left.city") == col("select.city")).count(),
    visits.select("city").union(patients.select("city"), visits.select("icd")).group_by("city").agg(count()),
    visits.select("city").union(patients.select("city")).select("city").union(visits.select("city")).count(),
    visits.group_by("city").agg(n=count()).order_by("n").limit(3).union(visits.select("city", "age")).count(),
    visits.where(col("patient_id").is_in(patients.where(col("age") > 3).select("patient_id"))).count(),
    visits.agg(**{"home city": count(), 'a "quoted" name': mean("cost"), "from": count("from")}),
    visits.with_columns(x=col("age") + 1).where(col("x") > 3).group_by("x").agg(count()).where(count() > 2),
]


@pytest.mark.parametrize("frame", FRAMES, ids=repr)
def test_frames_read_back(frame: Frame) -> None:
    assert reads_back(frame.syntax())


def test_names_for_parts_of_a_question_read_back() -> None:
    for written in (
        "WITH x AS (SELECT a FROM t), y AS (SELECT a FROM x) SELECT COUNT(*) FROM y",
        "WITH x AS (SELECT a FROM t) SELECT a FROM x UNION ALL SELECT a FROM t",
        "SELECT COUNT(*) FROM (WITH x AS (SELECT a FROM t) SELECT a FROM x) z",
        "(WITH x AS (SELECT a FROM t) SELECT a FROM x) UNION ALL (SELECT a FROM t LIMIT 3)",
        "(SELECT a FROM t UNION ALL SELECT b FROM t) UNION ALL SELECT c FROM t",
    ):
        assert reads_back(read(written)), written


PLAIN = st.characters(exclude_categories=["Cs", "Cc"])


@given(st.text(PLAIN, min_size=1, max_size=12).filter(lambda name: name != "*"), st.text(PLAIN, max_size=30))
def test_every_name_and_text_reads_back(name: str, value: str) -> None:
    item = Item(Apply("equal", (Name(name, name), Constant(value))), name)
    assert reads_back(Select((item,), TableName(name, name), Name(name), (Name(name),)))


def _places(word: str) -> Iterator[QueryTree]:
    """Questions with a name wherever a name may stand."""
    here, table = col(word), Frame(word)
    yield Frame("t").where(here, here.is_null(), -here > here * here, here.between(here, here)).select(here).syntax()
    yield table.called(word).group_by(here).agg(n=count(here)).where(here).order_by(here, here).limit(3).syntax()
    yield table.join(Frame("t").called(word), on=here, how="left").join(table, how="cross").select(here).syntax()
    arms = when(here).then(here).otherwise(here).alias(word)
    yield table.select(here, arms).union(table.select(here)).count().syntax()
    yield table.select(Formula(Name(word, word)), here.concat(here), here.is_in([here])).distinct().syntax()


def test_a_reserved_word_left_bare_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "RESERVED", RESERVED - {"left"})
    with pytest.raises(NotUnderstood):
        all(map(reads_back, _places("left")))


def test_brackets_left_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_operand", lambda term, level: text(term))
    assert not reads_back(Frame("t").select(a - (b - c)).syntax())


@pytest.mark.parametrize(
    "formula", [lit(Fraction(1, 3)), lit("bell \a"), lit(10**60), lit(dt.datetime(1, 1, 1, tzinfo=dt.UTC))]
)
def test_what_sql_cannot_say_does_not_read_back_as_something_else(formula: Formula) -> None:
    query = Frame("t").select(x=formula).syntax()
    try:
        same = reads_back(query)
    except QueryRefused:
        return
    assert not same


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ((a + b) * 2 >= 7, "(a + b) * 2 >= 7"),
        (100 * a / b, "100 * a / b"),
        ((a > 1) & ~b.is_null() & c.is_in(["x"]), "a > 1 AND b IS NOT NULL AND c IN ('x')"),
        (~(a == 1), "NOT (a = 1)"),
        (col("home city"), '"home city"'),
        (col("v.Tromsø"), "v.Tromsø"),
        (count(), "COUNT(*)"),
    ],
)
def test_texts_have_no_more_brackets_and_quotes_than_people_write(formula: Formula, shown: str) -> None:
    assert repr(formula) == shown
