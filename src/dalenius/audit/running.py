"""Running a release many times: all at once, or one by one within a time limit."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.forms import Raised
from dalenius.errors import InvalidParameter

Progress: TypeAlias = Callable[[float], object]
"""Called with the percent that is done."""

Runs: TypeAlias = Sequence[Any] | NDArray[Any]
_LEAST_RUNS = 40
_CHUNK = 100
_SINGLE_RUNS = 1_000


def takes_size(release: Callable[..., Any]) -> bool:
    """Whether a release is asked for many outputs at once: it has a parameter `size`, or needs a second one."""
    try:
        parameters = inspect.signature(release).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    return len(needed) == 2 or any(p.name == "size" for p in positional[1:2])


def at_once(
    release: Callable[[Any, int], Any], first: Any, second: Any, size: int, *, seconds: float | None, progress: Progress
) -> tuple[Runs, Runs]:
    """Equally many outputs of both inputs, of a release that gives many in one call.

    Where one call fails and the other does not, or in another way, it is called for one output at a time: one error is
    not the error of all outputs.
    """
    sides = [_many(release, value, size) for value in (first, second)]
    if isinstance(sides[0], Raised) and sides[0] == sides[1]:
        release(first, size)
    if any(isinstance(side, Raised) for side in sides):
        each = min(size, _SINGLE_RUNS)
        return one_by_one(_single(release), first, second, each, seconds=seconds, progress=progress)
    progress(100)
    return sides[0], sides[1]  # type: ignore[return-value]


def _many(release: Callable[[Any, int], Any], value: Any, size: int) -> Runs | Raised:
    """`size` outputs, as copies: the next call may write into the same place."""
    outputs: Any = _called(lambda: _copies(release(value, size)))
    if not isinstance(outputs, Raised) and len(outputs) != size:
        raise InvalidParameter("release", f"{len(outputs)} outputs", allowed=f"a function that gives {size} outputs")
    return outputs  # type: ignore[no-any-return]


def _copies(outputs: Any) -> Runs:
    return outputs.copy() if isinstance(outputs, np.ndarray) else [deepcopy(output) for output in outputs]


def _single(release: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    return lambda value: next(iter(release(value, 1)))


def one_by_one(
    release: Callable[[Any], Any], first: Any, second: Any, size: int, *, seconds: float | None, progress: Progress
) -> tuple[list[Any], list[Any]]:
    """Equally many outputs of both inputs, as many as were asked for or as the time allows.

    How many is decided by a few runs that are thrown away: were it decided by those that count, slow outputs would be
    seen less often than they come.
    """
    if seconds is not None:
        if not 0 < seconds < math.inf:
            raise InvalidParameter("seconds", seconds, allowed="a number above 0")
        size = min(size, _affordable(release, first, second, seconds))
    outputs: tuple[list[Any], list[Any]] = ([], [])
    for start in range(0, size, _CHUNK):
        for value, found in zip((first, second), outputs, strict=True):
            found += [_output(release, value) for _ in range(min(_CHUNK, size - start))]
        progress(100 * min(1, (start + _CHUNK) / size))
    if isinstance(outputs[0][0], Raised) and all(output == outputs[0][0] for found in outputs for output in found):
        release(first)  # an error that comes always, and says the same, is a mistake in the call, and shown as one
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
    """One output, as a copy: the next call may write into the same place."""
    output = _called(release, value)
    if isinstance(output, Iterator):
        raise InvalidParameter("release", "a function that gives an iterator", allowed="one that gives a list")
    return output if isinstance(output, Raised) else deepcopy(output)


def _called(release: Callable[..., Any], *given: Any) -> Any:
    try:
        return release(*given)
    except Exception as error:
        return Raised(type(error).__name__, str(error))
