"""Bars end where their error ends, and carry the figures of the table."""

from __future__ import annotations

import pytest

from dalenius.cli.bars import answer_bars, bar_chart
from dalenius.errors import InvalidParameter
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn


def test_bars_end_where_their_error_ends() -> None:
    assert bar_chart(["a", "bb"], [(30, 5), (10, 5)], figures=["30 ± 5", "10 ± 5"], most=7) == [
        "a   █████▒▒  30 ± 5",
        "bb  █▒▒      10 ± 5",
    ]
    assert bar_chart(["a"], [(-40, 3)], figures=["-40 ± 3"], most=5) == ["a         -40 ± 3"]


def test_an_answer_is_drawn_by_its_keys_column_after_column() -> None:
    city = AnswerColumn("city", ("Oslo", "Tromsø", None), is_key=True)
    count = AnswerColumn("visits", (1200, 300, -4), (20, 20, 20))
    mean = AnswerColumn("cost", (3.5, None, 0.0), (0.5, None, None))
    lines = answer_bars(Answer((city, count, mean)), most=10)
    assert lines[0] == "visits:"
    assert lines[1] == "Oslo    ██████████  1,200 ± 20"
    assert lines[3].startswith("NULL ")
    assert lines[4] == "cost:"
    assert lines[6].split() == ["Tromsø", "NULL", "±", "?"]


def test_one_number_without_keys_is_one_bar() -> None:
    assert len(answer_bars(Answer((AnswerColumn("n", (5,), (1,)),)))) == 1


def test_a_table_without_numbers_has_no_bars() -> None:
    with pytest.raises(InvalidParameter):
        answer_bars(Answer((AnswerColumn("city", ("Oslo",), is_key=True),)))
    with pytest.raises(InvalidParameter):
        answer_bars(Answer((AnswerColumn("n", (), ()),)))
