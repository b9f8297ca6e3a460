"""Bars with error bars, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def bar_chart(labels: Sequence[str], values: Sequence[int], *, error: int, width: int = 44) -> list[str]:
    """One line a bar: a solid part up to value - error, a light part up to value + error, and the figures.

    >>> print(*bar_chart(["a", "b"], [30, 10], error=5, width=7), sep="\\n")
    a  █████▒▒  30 ± 5
    b  █▒▒      10 ± 5
    """
    most = max([value + error for value in values] + [1])
    name, figure = max(map(len, labels)), max(len(f"{value:,}") for value in values)
    return [
        f"{label:<{name}}  {_bar(value, error, most, width):<{width}}  {value:>{figure},} ± {error:,}"
        for label, value in zip(labels, values, strict=True)
    ]


def _bar(value: int, error: int, most: int, width: int) -> str:
    solid, end = (max(0, round(width * edge / most)) for edge in (value - error, value + error))
    return "█" * solid + "▒" * (end - solid)
