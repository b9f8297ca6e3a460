"""Bars with error bars, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import inf

from dalenius.errors import InvalidParameter
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.displays import MOST_ROWS, cells, width


def answer_bars(answer: Answer, *, most: int = 44) -> list[str]:
    """A bar for each row and numeric column of an answer, at most `most` letters long."""
    keys = [cells(column)[0][1] for column in answer.columns if column.is_key]
    labels = [" · ".join(texts) for texts in zip(*keys, strict=True)] or [""] * len(answer)
    drawn = [column for column in answer.columns if not column.is_key and column.is_numeric]
    if not drawn or not len(answer):
        raise InvalidParameter("chart", "without numbers", allowed="asked for a table with a numeric column and a row")
    several = len(drawn) > 1
    return [
        line for column in drawn for line in [*([f"{column.name}:"] if several else []), *_chart(labels, column, most)]
    ]


def _chart(labels: Sequence[str], column: AnswerColumn, most: int) -> list[str]:
    parts = cells(column)
    errors = column.errors or (None,) * len(column.values)
    figures = (
        [f"{value} ± {bar}" for value, bar in zip(parts[0][1], parts[1][1], strict=True)]
        if len(parts) > 1
        else parts[0][1]
    )
    sizes = [(_size(value), _size(error)) for value, error in zip(column.values, errors, strict=True)]
    return bar_chart(labels, sizes[:MOST_ROWS], figures=figures, most=most)


def bar_chart(
    labels: Sequence[str], sizes: Sequence[tuple[float, float]], *, figures: Sequence[str], most: int = 44
) -> list[str]:
    """One line a bar: a solid part up to value - error, a light part up to value + error, and the figures.

    >>> print(*bar_chart(["a", "b"], [(30, 5), (10, 5)], figures=["30 ± 5", "10 ± 5"], most=7), sep="\\n")
    a  █████▒▒  30 ± 5
    b  █▒▒      10 ± 5
    """
    longest = max([value + error for value, error in sizes if value + error < inf] + [0])
    name, figure = max(map(width, labels)), max(map(width, figures))
    bars = [_bar(value, error, longest, most) for value, error in sizes]
    rows = zip(labels, bars, figures, strict=False)
    return [f"{_padded(label, name)}  {bar:<{most}}  {text.rjust(figure)}" for label, bar, text in rows]


def _bar(value: float, error: float, longest: float, most: int) -> str:
    if not longest:
        return ""
    solid, end = (max(0, min(most, round(most * edge / longest))) for edge in (value - error, value + error))
    return "█" * solid + "▒" * (end - solid)


def _padded(text: str, size: int) -> str:
    return text + " " * (size - width(text))


def _size(value: object) -> float:
    return float(value) if isinstance(value, int | float | Decimal) else 0.0
