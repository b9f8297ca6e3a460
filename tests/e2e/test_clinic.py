"""The clinic's questions: in SQL and as frames they are the same question, at the same price, with the same law."""

from __future__ import annotations

import pytest

import dalenius as dl
from dalenius.measuring.pricing import priced
from examples.clinic.catalog import clinic
from examples.clinic.questions import QUESTIONS, Question

DB = pytest.fixture(lambda: clinic(patients=300), scope="module", name="db")


def words(question: Question) -> str:
    return question.words


def test_there_are_twenty_two_questions() -> None:
    assert len({question.sql for question in QUESTIONS}) == 22


@pytest.mark.parametrize("question", QUESTIONS, ids=words)
def test_sql_and_frame_have_equal_plans_prices_and_laws(question: Question, db: dl.Database) -> None:
    text, frame = db.sql(question.sql), question.frame(db).asked()
    assert text.question == frame.question
    offered = dl.accounting.PrivacyFilter(dl.Budget(20, "1e-9"), neighbours=dl.AddRemove())
    amount = {"patients": offered.amount(epsilon=1)}
    assert priced(text.question, amounts=amount).steps == priced(frame.question, amounts=amount).steps
    assert str(text.cost(epsilon=1)) == str(frame.cost(epsilon=1))


@pytest.mark.parametrize("question", QUESTIONS, ids=words)
def test_the_answer_has_the_columns_that_were_asked_for(question: Question, db: dl.Database) -> None:
    before = db.spent()["patients"].share
    answer = question.frame(db).run(epsilon="0.5")
    assert [name for name in answer.to_arrow().column_names if not name.endswith("±")] == [
        name for name, _ in db.sql(question.sql).question.output.columns
    ]
    assert db.spent()["patients"].share > before
    assert answer.receipt
