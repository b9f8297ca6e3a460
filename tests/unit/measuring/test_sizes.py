"""How large a question may be: told to everybody who asks, priced or paid, before anything is charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from asked_price import priced
from clinics import clinic, visits
from costs import cases
from dalenius.errors import InvalidParameter, QueryRefused, TooManyKeys
from dalenius.measuring import choosing, explain, measurements
from dalenius.measuring import pricing as sizes
from dalenius.measuring.expectations import ExpectedError
from dalenius.measuring.measurements import lower
from dalenius.measuring.pricing import MOST_COLUMNS, MOST_PASSES
from dalenius.query.frames.aggregates import mean
from dalenius.query.frames.formulas import col
from dalenius.query.plan.passes import DistinctValues
from dalenius.query.plan.relations import Project
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.encoding import decoded, encoded, fitting
from dalenius.session.databases import Database
from dalenius.session.offers import Offer

CALLS: dict[str, Callable[[Any], Any]] = {
    "cost": lambda asked: asked.cost(epsilon="0.1"),
    "expected_error": lambda asked: asked.expected_error(epsilon="0.1"),
    "explain": lambda asked: asked.explain(epsilon="0.1"),
    "rehearse": lambda asked: asked.rehearse(epsilon="0.1"),
    "run": lambda asked: asked.run(epsilon="0.1"),
}


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with clinic(data=visits(patients=20)) as made:
        yield made


def different(columns: int) -> str:
    """A question for whose every column the data is read once more."""
    return f"SELECT {', '.join(f'COUNT(DISTINCT age + {n}) AS c{n}' for n in range(columns))} FROM visits"


def means(columns: int) -> str:
    """A question of many columns for which the data is read once."""
    return f"SELECT {', '.join(f'AVG(age + {n}) AS c{n}' for n in range(columns))} FROM visits"


def correlations(columns: int) -> str:
    """A question each column of which takes four measurements of its own."""
    return f"SELECT {', '.join(f'CORR(age + {n}, cost) AS c{n}' for n in range(columns))} FROM visits"


def sums(number: int) -> str:
    """A term made of 70 statistics."""
    return " + ".join(f"SUM(age + {n})" for n in range(70 * number, 70 * number + 70))


REFUSED = {
    "400 columns": (different(400), "400 columns, and at most 200"),
    "a column too many": (means(MOST_COLUMNS + 1), "201 columns, and at most 200"),
    "few columns of many statistics": (
        f"SELECT {', '.join(f'{sums(n)} AS c{n}' for n in range(3))} FROM visits",
        "columns made of 210 statistics, and at most 200",
    ),
    "144 correlations": (correlations(144), "made of 578 measurements, and at most 300"),
    "a pass too many": (different(MOST_PASSES + 1), "read 101 times for it, and at most 100"),
}


@cases("call", CALLS.values(), ids=CALLS, fast=1)
@pytest.mark.parametrize("what", REFUSED)
def test_a_question_that_is_too_large_is_refused_before_it_is_charged(
    db: Database, what: str, call: Callable[[Any], Any]
) -> None:
    text, told = REFUSED[what]
    entries = db.ledger.last()
    with pytest.raises(QueryRefused, match=f"{told}.*nothing was read or spent"):
        call(db.sql(text))
    assert db.ledger.last() == entries


def test_frames_meet_the_same_limits(db: Database) -> None:
    wide = {f"c{n}": mean(col("age") + n) for n in range(MOST_COLUMNS + 1)}
    with pytest.raises(QueryRefused, match="201 columns, and at most 200"):
        db.table("visits").agg(**wide).cost(epsilon="0.1")


@pytest.mark.parametrize("text", [means(MOST_COLUMNS), different(MOST_PASSES)], ids=["columns", "passes"])
def test_the_largest_questions_are_priced(db: Database, text: str) -> None:
    assert db.sql(text).cost(epsilon="0.1").affordable


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_derivation_that_is_too_long_is_refused(
    db: Database, call: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_DERIVATION", 1_000)
    entries = db.ledger.last()
    with pytest.raises(QueryRefused, match=r"derivation.*is longer than 1,000 bytes.*nothing was read or spent"):
        call(db.sql(means(9)))
    assert db.ledger.last() == entries


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_more_rows_than_can_be_kept_are_refused(
    db: Database, call: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_ANSWER", 10_000)
    grouped = "SELECT age, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY age"
    with pytest.raises(TooManyKeys, match=r"121 rows of 3 columns, and at most 83 such rows .* nothing was read"):
        call(db.sql(grouped))
    assert db.sql(f"{grouped} LIMIT 83").cost(epsilon="0.1")


def test_an_answer_of_more_found_keys_than_can_be_kept_is_shortened_and_says_so() -> None:
    found = tuple(f"key {n}" for n in range(1000))
    whole = Answer(
        (AnswerColumn("key", found, is_key=True), AnswerColumn("n", (7,) * 1000, (2,) * 1000)), derivation="because"
    )
    short = fitting(whole, 10_000)
    assert 300 < len(short) < 1000
    assert len(encoded(short).encode()) <= 10_000
    assert short.columns[0].values == found[: len(short)]
    assert short.notes[-1].startswith(f"Only the first {len(short)} of 1,000 rows")
    assert decoded(encoded(short)) == short
    assert fitting(whole, 100_000) is whole


# ---- what is worked out for a price


def test_of_most_columns_the_error_is_worked_out_twice_for_a_price(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, it was 18 times, and 200 sums took ten seconds of a worker, for nothing."""
    looked, at = Counter[int](), ExpectedError.at

    def counted(self: ExpectedError, size: int) -> float:
        looked[size] += 1
        return at(self, size)

    monkeypatch.setattr(ExpectedError, "at", counted)
    assert db.sql(means(40)).cost(error="5", size=10_000).affordable
    assert 80 <= looked[10_000] <= 80 + 20


def test_every_column_is_within_the_error_that_was_asked_for(db: Database) -> None:
    mixed = db.sql("SELECT COUNT(*) AS n, AVG(cost) AS a, STDDEV(cost) AS s, SUM(age) AS t FROM visits")
    targets = {"n": Fraction(400), "a": Fraction(30), "s": Fraction(40), "t": Fraction(50_000)}
    for name, loose in product(targets, (1, 7)):
        wanted = {each: most if each == name else loose * most for each, most in targets.items()}
        found = priced(mixed, Offer(error=wanted, size=10_000)).expected_error(10_000)
        assert all(found[each].at(10_000) <= float(most) for each, most in wanted.items())
        assert any(found[each].at(10_000) >= 0.98 * float(most) for each, most in wanted.items())


def test_an_error_for_no_column_is_refused(db: Database) -> None:
    with pytest.raises(InvalidParameter, match="Name them"):
        db.sql(means(2)).cost(error={})


def test_equal_noise_is_worked_out_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, right = Counter[object](), choosing.additive_noise
    monkeypatch.setattr(choosing, "additive_noise", lambda *given: (tried.update(["once"]), right(*given))[1])
    counts = ", ".join(f"COUNT(*) FILTER (WHERE age > {n}) AS c{n}" for n in range(50))
    question = db.sql(f"SELECT {counts}, SUM(age) AS s FROM visits")
    found = priced(question, Offer(share=Fraction(1, 100), weights={"c7": 2, "s": 2}))
    assert tried["once"] == 2 * 3  # once by addition, once by divergence
    assert len({str(step.mechanism) for step in found.steps}) == 3
    assert [step.measurement for step in found.steps] == list(found.program.measurements)


# ---- growth


def growth(db: Database, text: Callable[[int], str] = different) -> float:
    """How much longer a derivation becomes when the columns are doubled."""
    one, two = (len(db.sql(text(columns)).explain()) for columns in (30, 60))
    return two / one


def filtered(columns: int) -> str:
    return f"{different(columns)} WHERE {' OR '.join(f'(age + {n}) % 7 = 3' for n in range(80))}"


@pytest.mark.parametrize("text", [different, means, filtered])
def test_a_derivation_grows_with_the_columns_and_not_with_their_square(
    db: Database, text: Callable[[int], str]
) -> None:
    assert growth(db, text) < 2.3


def test_the_test_above_notices_passes_that_tell_of_columns_that_others_read(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "_with_columns", lambda relation, read: relation)
    monkeypatch.setattr(explain, "_LONG", 10**9)
    assert growth(db) > 2.8


def test_a_pass_computes_what_it_reads_and_nothing_else(db: Database) -> None:
    for step in lower(db.sql(different(3)).question).passes:
        assert isinstance(step, DistinctValues)
        computed = step.child.child.children[0].children[0]
        assert isinstance(computed, Project)
        assert [name for name, _ in computed.columns] == [step.column]


def test_a_long_condition_is_told_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    once = len(db.sql(filtered(1)).explain())
    assert len(db.sql(filtered(30)).explain()) < 4 * once
    monkeypatch.setattr(explain, "_LONG", 10**9)  # the twin repeats it
    assert len(db.sql(filtered(30)).explain()) > 20 * once


def test_each_pass_tells_what_it_computes_and_where_the_rest_stands(db: Database) -> None:
    lines = str(db.sql(filtered(3)).explain()).split("\n")
    for number in range(3):
        assert sum(f"compute x.{number} = (visits.age + {number})" in line for line in lines) == 1
    assert "  -- as lines 1 to 2 of pass 1" in lines
    assert sum(line.startswith("SQL of pass") for line in lines) == 3
