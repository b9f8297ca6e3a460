"""Running a release many times: all at once, or one by one within a time limit."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.checks.sampling.forms import Raised, form, unseen
from dalenius.errors import InvalidParameter, UnfitRelease

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
    sides = [unchanged(lambda given: _many(release, given, size), value) for value in (first, second)]
    if isinstance(sides[0], Raised) and sides[0] == sides[1]:
        release(first, size)
    if any(isinstance(side, Raised) for side in sides):
        each = min(size, _SINGLE_RUNS)
        return one_by_one(_single(release), first, second, each, seconds=seconds, progress=progress)
    progress(100)
    return sides[0], sides[1]


def _many(release: Callable[[Any, int], Any], value: Any, size: int) -> Runs | Raised:
    """`size` outputs, as copies: the next call may write into the same place."""
    outputs: Any = _called(lambda: _listed(release(value, size)))
    if isinstance(outputs, Raised):
        return outputs
    if not isinstance(outputs, list) and not (isinstance(outputs, np.ndarray) and outputs.ndim):
        raise _not_many(f"a {type(outputs).__name__}", size)
    if len(outputs) != size:
        raise _not_many(f"{len(outputs)} outputs", size)
    return outputs.copy() if isinstance(outputs, np.ndarray) else [_copy(output) for output in outputs]


def _listed(outputs: Any) -> Any:
    """What can be gone through once as a list; arrays, and what is one thing, as they are."""
    one = isinstance(outputs, np.ndarray | str | bytes | Mapping) or not isinstance(outputs, Iterable)
    return outputs if one else list(outputs)


def _not_many(given: str, size: int) -> UnfitRelease:
    return UnfitRelease(
        "release",
        f"a function that gives {given} for size={size}",
        allowed=f"one that gives {size} outputs, one after the other",
        hint="Say vectorised=False if it gives one output; bind other arguments with functools.partial.",
    )


def _single(release: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    return lambda value: next(iter(release(value, 1)))


def unchanged(call: Callable[[Any], Any], value: Any) -> Any:
    """What a call gives; refused where it changes the input, or uses it up: the next run would see another one."""
    if isinstance(value, Iterator):
        allowed = "data that can be read again, such as a list"
        raise InvalidParameter("input", f"a {type(value).__name__}", allowed=allowed)
    before = _looked_at(value)
    found = call(value)
    if before is not None and before != _looked_at(value):
        raise UnfitRelease(
            "release", "a function that changes its input", allowed="one that leaves it as it is, or copies it first"
        )
    return found


def _looked_at(value: Any) -> Hashable:
    """An input in its form; None where it has none."""
    try:
        return form(value)
    except Exception:  # whatever an input is, whether it stays as it is can only be asked of some
        return None


def one_by_one(
    release: Callable[[Any], Any], first: Any, second: Any, size: int, *, seconds: float | None, progress: Progress
) -> tuple[list[Any], list[Any]]:
    """Equally many outputs of both inputs, as many as were asked for or as the time allows.

    How many is decided by a few runs that are thrown away: were it decided by those that count, slow outputs would be
    seen less often than they come.
    """
    for value in (first, second):
        form(unchanged(lambda given: _output(release, given), value))
    if seconds is not None:
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
    while runs < 2 or (time.monotonic() - start < seconds / 20 and runs < _CHUNK):
        _output(release, first)
        _output(release, second)
        runs += 1
    each = (time.monotonic() - start) / runs
    affordable = int(seconds * 0.9 / max(each, 1e-9))
    if affordable < _LEAST_RUNS:
        needed = f"at least {ceil(each * _LEAST_RUNS / 0.9)}: fewer than {_LEAST_RUNS} runs of each input show nothing"
        raise UnfitRelease("seconds", seconds, allowed=needed)
    return affordable


def _output(release: Callable[[Any], Any], value: Any) -> Any:
    """One output, as a copy: the next call may write into the same place."""
    output = _called(release, value)
    if isinstance(output, Iterator | Awaitable):
        raise unseen(type(output).__name__)
    return output if isinstance(output, Raised) else _copy(output)


def _copy(output: Any) -> Any:
    try:
        return deepcopy(output)
    except Exception:
        raise unseen(f"{type(output).__name__} that cannot be copied") from None


def _called(release: Callable[..., Any], *given: Any) -> Any:
    try:
        return release(*given)
    except Exception as error:
        return Raised(type(error).__name__, str(error))
