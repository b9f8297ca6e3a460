"""What a function on a block may give: a number in a public range, one of public options, or some of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.stability import hashable_options
from dalenius.privacy.numbers import Number, exact, positive

Codes: TypeAlias = tuple[int, ...]
_MOST_STEPS = 1 << 62


@dataclass(frozen=True, slots=True)
class Range:
    """A number, moved to the nearest point of the public grid lower, lower + step, ..., upper.

    What is not a finite number counts as the grid's middle.
    """

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __init__(self, lower: Number, upper: Number, *, step: Number) -> None:
        object.__setattr__(self, "lower", exact(lower=lower))
        object.__setattr__(self, "upper", exact(upper=upper))
        object.__setattr__(self, "step", positive(step=step))
        steps = (self.upper - self.lower) / self.step
        if steps <= 0 or steps.denominator != 1 or steps >= _MOST_STEPS:
            raise InvalidParameter("upper", upper, allowed="above lower, by a multiple of step (and below 2^62 steps)")

    @property
    def width(self) -> int:
        return 1

    @property
    def most(self) -> int:
        return int((self.upper - self.lower) / self.step)

    @property
    def default(self) -> Codes:
        return (self.most // 2,)

    def codes(self, result: Any) -> Codes:
        if not isinstance(result, Real):
            raise TypeError("not a number")
        steps = round((Fraction(float(result)) - self.lower) / self.step)
        return (min(max(steps, 0), self.most),)

    def accepts(self, codes: Codes) -> bool:
        return all(0 <= code <= self.most for code in codes)

    def value(self, code: Number) -> Fraction:
        """The number that a code, or a mean of codes, stands for."""
        return self.lower + self.step * exact(code=code)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of public options; anything else counts as the first."""

    options: tuple[Hashable, ...]

    def __init__(self, options: Iterable[Hashable]) -> None:
        object.__setattr__(self, "options", hashable_options(tuple(options)))

    @property
    def width(self) -> int:
        return 1

    @property
    def most(self) -> int:
        return len(self.options) - 1

    @property
    def default(self) -> Codes:
        return (0,)

    def codes(self, result: Any) -> Codes:
        return (self.options.index(result),)

    def accepts(self, codes: Codes) -> bool:
        return all(0 <= code <= self.most for code in codes)

    def value(self, code: int) -> Hashable:
        return self.options[code]


@dataclass(frozen=True, slots=True)
class Subset:
    """Some of public options, at most `most_chosen` of them: the features that a model keeps.

    A set with others, or with too many, counts as none.
    """

    options: tuple[Hashable, ...]
    most_chosen: int

    def __init__(self, options: Iterable[Hashable], *, most_chosen: int | None = None) -> None:
        found = hashable_options(tuple(options))
        most = len(found) if most_chosen is None else most_chosen
        if not 1 <= most <= len(found):
            raise InvalidParameter("most_chosen", most_chosen, allowed=f"between 1 and {len(found)}")
        object.__setattr__(self, "options", found)
        object.__setattr__(self, "most_chosen", most)

    @property
    def width(self) -> int:
        return len(self.options)

    @property
    def default(self) -> Codes:
        return (0,) * len(self.options)

    def codes(self, result: Any) -> Codes:
        chosen = set(result)
        if not chosen <= set(self.options) or len(chosen) > self.most_chosen:
            raise ValueError("not a set of options")
        return tuple(int(option in chosen) for option in self.options)

    def accepts(self, codes: Codes) -> bool:
        return set(codes) <= {0, 1} and sum(codes) <= self.most_chosen
