"""Who is told how far a fit has come: how often depends on public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dalenius.curator.asking.progress import bar_of
from dalenius.errors import InvalidParameter


@contextmanager
def watched(progress: Callable[[float], object] | bool | None, what: str) -> Iterator[Callable[[float], object] | None]:
    """What a fit tells its percent to: a function that somebody gave, a bar, or nobody."""
    if isinstance(progress, bool):
        if not progress:
            yield None
            return
        with bar_of(what) as show:
            yield show
        return
    if progress is not None and not callable(progress):
        raise InvalidParameter(
            "progress", progress, allowed="True for a bar, or a function that takes the percent of the work done"
        )
    yield progress
