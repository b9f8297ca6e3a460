"""Answers as text: what is read back looks, prints, plots and exports like what was written; damage is refused."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clinics import clinic, visits
from costs import cases
from dalenius.errors import DamagedAnswer, InvalidParameter
from dalenius.measuring.postprocess import COUNT, DATE, MOMENT, NULL, REAL, SPAN, TEXT, TRUTH, Kind
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.encoding import card_in, decoded, encoded, read, written
from dalenius.session.cards.cards import Card

STEPS = st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 3), Fraction(25)])
EXACT = STEPS.map(lambda unit: Kind("exact", unit, Fraction(10**6)))
FRACTIONS = st.fractions(-(10**6), 10**6, max_denominator=10**6)
DECIMALS = st.decimals(-(10**9), 10**9, allow_nan=False, allow_infinity=False, places=4)
SPANS = st.timedeltas(dt.timedelta(days=-(10**5)), dt.timedelta(days=10**5))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
REALS = st.floats(allow_nan=False)
NUMBERS = st.one_of(st.integers(-(2**80), 2**80), DECIMALS, FRACTIONS)

OF_KIND: list[tuple[st.SearchStrategy[Kind | None], st.SearchStrategy[Any], st.SearchStrategy[Any]]] = [
    (EXACT, NUMBERS, NUMBERS),
    (st.just(COUNT), st.integers(-(2**70), 2**70), st.integers(0, 2**40)),
    (st.just(REAL), REALS, REALS),
    (st.just(DATE), st.dates(), SPANS),
    (st.just(MOMENT), st.datetimes(allow_imaginary=False).map(lambda moment: moment.replace(fold=0)), SPANS),
    (st.just(SPAN), SPANS, REALS),
    (st.just(TRUTH), st.booleans(), REALS),
    (st.just(TEXT), TEXTS, REALS),
    (st.just(NULL), st.none(), st.none()),
    (st.just(Kind("histogram", of=TEXT)), st.dictionaries(TEXTS, st.integers(-9, 9**9), max_size=3), st.integers(0, 9)),
    (st.just(Kind("histogram", of=DATE)), st.dictionaries(st.dates(), st.integers(-9, 9**9), max_size=3), REALS),
    (st.none(), st.one_of(REALS, st.integers(-(2**60), 2**60)), REALS),
]


@st.composite
def columns(draw: st.DrawFn, rows: int) -> AnswerColumn:
    kinds, values, errors = draw(st.sampled_from(OF_KIND))
    listed = st.lists(st.none() | values, min_size=rows, max_size=rows).map(tuple)
    bars = st.none() | st.lists(st.none() | errors, min_size=rows, max_size=rows).map(tuple)
    return AnswerColumn(draw(TEXTS), draw(listed), draw(bars), draw(kinds), draw(st.booleans()))


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    rows = draw(st.integers(0, 4))
    made = draw(st.lists(columns(rows), min_size=1, max_size=3, unique_by=lambda column: column.name))
    level = draw(st.fractions(Fraction(1, 2), Fraction(999, 1000)))
    return Answer(tuple(made), level, *draw(st.tuples(TEXTS, st.just(""), TEXTS, TEXTS)), notes=(draw(TEXTS),))


def shown(answer: Answer) -> list[Any]:
    """Every form that an answer has, or what it raises."""
    forms: list[Callable[[], Any]] = [
        lambda: str(answer),
        answer._repr_html_,
        answer.to_csv,
        lambda: answer.to_arrow().schema,
        lambda: answer.to_arrow().to_pylist(),
        lambda: list(answer),
        lambda: repr(answer.columns),
        lambda: answer.derivation,
    ]
    return [_tried(form) for form in forms]


def _drawn(answer: Answer) -> str:
    """The chart, without the names of its parts, which are drawn at random."""
    return re.sub(r'(#|id=")\w+', r"\1", answer.plot().svg)


def _tried(form: Callable[[], Any]) -> Any:
    try:
        return form()
    except Exception as error:
        return type(error)


@given(answers())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_an_answer_that_is_read_back_looks_and_exports_like_the_one_that_was_written(answer: Answer) -> None:
    again = decoded(encoded(answer))
    assert again == answer
    assert shown(again) == shown(answer)
    assert encoded(again) == encoded(answer)


def test_the_test_above_notices_a_kind_that_is_lost() -> None:
    """Planted bug: without its kind, a column of NULLs forgets that it was one of days."""
    answer = Answer((AnswerColumn("day", (None,), None, DATE),))
    forgetful = replace(answer, columns=(AnswerColumn("day", (None,)),))
    assert shown(forgetful) != shown(answer)


REAL_QUESTIONS = [
    "SELECT city, COUNT(*) AS n, AVG(cost) AS c, SUM(cost), MEDIAN(cost) AS m, MODE(city) FROM visits GROUP BY city",
    "SELECT icd, COUNT(DISTINCT patient_id) AS n, MAX(day) AS d, HISTOGRAM(city) AS h FROM visits GROUP BY icd",
    "SELECT DATE_TRUNC('year', day) AS y, COUNT(*) / 3 AS third, COUNT(*) > 5 AS many, 'a' AS a FROM visits GROUP BY 1",
]  # fmt: skip


@cases("text", REAL_QUESTIONS, fast=1)
def test_what_is_stored_of_real_answers_is_all_that_they_show(text: str) -> None:
    db = clinic(data=visits(patients=300))
    answer = replace(db.sql(text).run(epsilon="2"), left="")
    again = decoded(encoded(answer))
    assert again == answer
    assert shown(again) == shown(answer)
    assert _drawn(again) == _drawn(answer)
    assert again.card == card_in(encoded(answer)) == answer.card is not None


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 2**70, -0.0, Decimal("0.10"), "\0", "\u2028", 1e-320])
def test_values_at_the_edge_keep_their_type_and_look(value: Any) -> None:
    again = decoded(encoded(Answer((AnswerColumn("x", (value,)),))))["x"][0]
    assert (type(again), repr(again)) == (type(value), repr(value))


def test_what_is_no_value_of_an_answer_is_not_written() -> None:
    with pytest.raises(TypeError):
        written(object())


def test_a_card_is_read_alone_wherever_it_stands() -> None:
    assert card_in(GOOD) is None
    assert card_in(GOOD.replace('"card":null,', "")) is None
    for text in ("", '{"card":', '{"card":{}}', '{"card":5}'):
        with pytest.raises(DamagedAnswer):
            card_in(text)


# ---- damage

GOOD = encoded(
    Answer((AnswerColumn("n", (1, None), (2.5, None), COUNT), AnswerColumn("d", (dt.date(2024, 1, 31),) * 2)))
)
DAMAGED = {
    "nothing": "",
    "no JSON": GOOD[:-2],
    "no object": "[]",
    "null": "null",
    "more after it": GOOD + "1",
    "too deep": "[" * 100_000,
    "a name twice": GOOD.replace('"level"', '"level":"1/2","level"'),
    "a name more": GOOD[:-1] + ',"x":1}',
    "a name less": GOOD.replace('"charge":"",', ""),
    "a constant": GOOD.replace("2.5", "NaN"),
    "no level": GOOD.replace("19/20", "2"),
    "a level with an exponent": GOOD.replace("19/20", "1e-9"),
    "a level divided by nothing": GOOD.replace("19/20", "1/0"),
    "a number as text": GOOD.replace('"receipt":""', '"receipt":5'),
    "columns of different lengths": GOOD.replace("[1,null]", "[1]").replace("[2.5,null]", "[2.5]"),
    "a bar too few": GOOD.replace("[2.5,null]", "[2.5]"),
    "an unknown kind": GOOD.replace('"exact"', '"precise"'),
    "a unit of nothing": GOOD.replace('"unit":"1"', '"unit":"0"'),
    "a list as value": GOOD.replace("[1,null]", "[[1],null]"),
    "an unknown type": GOOD.replace('"date"', '"day"'),
    "two types": GOOD.replace('{"date":', '{"moment":"2024-01-31T00:00:00","date":'),
    "a day that is none": GOOD.replace("2024-01-31", "2024-01-32"),
    "a day in another form": GOOD.replace("2024-01-31", "20240131"),
    "a key that is no truth": GOOD.replace('"key":false', '"key":0'),
    "a card that is none": GOOD.replace('"card":null', '"card":{"receipt":"r"}'),
    "notes that are none": GOOD.replace('"notes":[', '"notes":[1,'),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_text_is_refused_in_words_that_do_not_quote_it(text: str) -> None:
    assert text != GOOD
    with pytest.raises(DamagedAnswer, match="stays paid") as refusal:
        decoded(text)
    assert isinstance(refusal.value, InvalidParameter)
    assert "2024" not in str(refusal.value)


@pytest.mark.parametrize(
    "value",
    [{"decimal": "1e999999"}, {"decimal": "NaN"}, {"decimal": 5}, {"decimal": " 1"}, {"fraction": "2/4"}, {"span": 1.5},
     {"span": 10**30}, {"histogram": [[1]]}, {"histogram": {}}, {"float": "1.5"}, {"float": "Infinity"}, {"moment": 5},
     {}, {"histogram": [["a", 1], ["a", 2]]}, {"histogram": [[{"histogram": []}, 1]]}],
    ids=str,
)  # fmt: skip
def test_a_value_in_another_form_than_the_one_that_is_written_is_refused(value: Any) -> None:
    with pytest.raises(DamagedAnswer):
        decoded(GOOD.replace("[1,null]", json.dumps([value, None])))


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
WORDS = st.sampled_from(["columns", "card", "name", "date", "of"])
NESTED = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=8
)


@given(NESTED)
def test_no_json_makes_reading_fail_in_another_way(facts: Any) -> None:
    for text in (json.dumps(facts), GOOD.replace("[1,null]", json.dumps([facts, None]))):
        try:
            decoded(text)
        except DamagedAnswer:
            continue
    for reading in (read, Card.from_facts):
        try:
            reading(facts)
        except (DamagedAnswer, TypeError, ValueError):
            continue
