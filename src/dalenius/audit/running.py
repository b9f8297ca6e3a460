"""Running a release many times: all at once, or one by one within a time limit."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter

Progress: TypeAlias = Callable[[float], object]
"""Called with the percent that is done."""

Runs: TypeAlias = Sequence[Any] | NDArray[Any]
_LEAST_RUNS = 40
_CHUNK = 100


class Raised(str):
    """An output that is an error: all that a caller sees of it is its kind."""

    __slots__ = ()


def takes_size(release: Callable[..., Any]) -> bool:
    """Whether a release is asked for many outputs at once: it has a parameter `size`, or needs a second one."""
    try:
        parameters = inspect.signature(release).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    return len(needed) == 2 or any(p.name == "size" for p in positional[1:2])


def many(release: Callable[[Any, int], Any], value: Any, size: int) -> Runs:
    """`size` outputs of a release that gives many at once."""
    outputs: Any = release(value, size)
    if not isinstance(outputs, np.ndarray):
        outputs = list(outputs)
    if len(outputs) != size:
        raise InvalidParameter("release", f"{len(outputs)} outputs", allowed=f"a function that gives {size} outputs")
    return outputs  # type: ignore[no-any-return]


def one_by_one(
    release: Callable[[Any], Any], first: Any, second: Any, size: int, *, seconds: float | None, progress: Progress
) -> tuple[list[Any], list[Any]]:
    """Equally many outputs of both inputs, as many as were asked for or as the time allows.

    How many is decided by a few runs that are thrown away: were it decided by those that count, slow outputs would be
    seen less often than they come.
    """
    size = size if seconds is None else min(size, _affordable(release, first, second, seconds))
    outputs: tuple[list[Any], list[Any]] = ([], [])
    for start in range(0, size, _CHUNK):
        for value, found in zip((first, second), outputs, strict=True):
            found += [_output(release, value) for _ in range(min(_CHUNK, size - start))]
        progress(100 * min(1, (start + _CHUNK) / size))
    if all(isinstance(output, Raised) for found in outputs for output in found):
        release(first)  # an error that comes always is a mistake in the call, and shown as one
    return outputs


def _affordable(release: Callable[[Any], Any], first: Any, second: Any, seconds: float) -> int:
    start, runs = time.monotonic(), 0
    while runs < _LEAST_RUNS // 2 or (time.monotonic() - start < seconds / 20 and runs < _CHUNK):
        _output(release, first)
        _output(release, second)
        runs += 1
    each = (time.monotonic() - start) / runs
    return max(_LEAST_RUNS, int(seconds * 0.9 / max(each, 1e-9)))


def _output(release: Callable[[Any], Any], value: Any) -> Any:
    try:
        return release(value)
    except Exception as error:
        return Raised(f"raised {type(error).__name__}")
