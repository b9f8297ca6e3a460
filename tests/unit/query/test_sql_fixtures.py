"""The questions of audit/escapes: 200 that are read and bound, and as many that are refused for a stated reason."""

from __future__ import annotations

import pytest

from dalenius.checks.escapes.listening import TABLES
from dalenius.checks.escapes.mutations import refused, statements
from dalenius.errors import QueryRefused
from dalenius.query.binding.binder import bind
from dalenius.query.questions import Question
from dalenius.query.sql.reader import read

ACCEPTED, REFUSED = statements("accepted.sql"), refused()


def test_there_are_200_texts_of_each_kind() -> None:
    assert len(set(ACCEPTED)) >= 200
    assert len(dict(REFUSED)) >= 200


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_accepted_text_becomes_a_question(text: str) -> None:
    assert isinstance(bind(read(text), TABLES), Question)


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_accepted_text_means_the_same_each_time(text: str) -> None:
    assert bind(read(text), TABLES) == bind(read(text), TABLES)


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_a_refused_text_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        bind(read(text), TABLES)
    assert words, "a refusal must state its reason"
    assert words in str(caught.value)
    assert "nothing was read or spent" in str(caught.value)
    assert caught.value.instead
