"""What a test costs: its folder says it, and a mark on a case of a law that is fast otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def runs(marks: set[str], folder: str, chosen: str) -> bool:
    """Whether a test with these marks runs that stands in this folder of `tests`."""
    if chosen == "deep":
        return True
    if chosen == "full":
        return "deep" not in (marks | {folder}) and "full" in (marks | {folder})
    return not marks & {"full", "deep"}


def cases(
    names: str | tuple[str, ...], values: Iterable[Any], *, fast: int | tuple[int, ...] = 1, **options: Any
) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize`, in which so many cases from all over the list are fast, or those at these places."""
    every = [_param(value, one=isinstance(names, str)) for value in values]
    kept = fast if isinstance(fast, tuple) else {i * len(every) // fast for i in range(fast)}
    marked = [each if i in kept else _full(each) for i, each in enumerate(every)]
    return pytest.mark.parametrize(names, marked, **options)


def _param(value: Any, *, one: bool) -> Any:
    if hasattr(value, "marks"):  # is one of pytest's already
        return value
    return pytest.param(value) if one else pytest.param(*value)


def _full(case: Any) -> Any:
    return pytest.param(*case.values, marks=(*case.marks, pytest.mark.full), id=case.id)
