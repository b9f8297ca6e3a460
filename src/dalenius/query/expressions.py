"""Scalar expressions of a plan: typed, total, and made of public facts only.

An expression is a column, a literal, or a call of a function from the list in `functions`. Each knows its domain, so
that ranges, public keys and NULLs are known before any data is read. Make calls with `functions.call`, which checks
the arguments and works out the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from dalenius.query.types import Code, Domain

REPEATED = {
    "divide": 5, "floor_divide": 5, "modulo": 6, "round": 2, "clamp": 3, "least": 2, "greatest": 2, "null_if": 2,
    "concat": 2, "replace": 4, "read_decimal": 2,
}  # fmt: skip
"""How often an engine may have to write the arguments of a function down; once for all others."""
DIVISIONS = {"divide", "floor_divide", "modulo"}
"""Functions whose arguments are written once where the second is a constant."""


@dataclass(frozen=True)
class Expression:
    """A scalar that every row has."""

    domain: Domain

    @property
    def depth(self) -> int:
        """How many calls lie inside each other."""
        return 0

    @property
    def weight(self) -> int:
        """How many columns an engine reads, at most, when it writes an argument down as often as it needs it."""
        return 0

    def columns(self) -> Iterator[str]:
        """The columns that it reads."""
        yield from ()


@dataclass(frozen=True)
class Column(Expression):
    """The value of a column of the relation below."""

    name: str

    @property
    def weight(self) -> int:
        return 1

    def columns(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True)
class Literal(Expression):
    """A constant from the question, as a code of its domain."""

    value: Code


@dataclass(frozen=True)
class Call(Expression):
    """A function from the list, applied."""

    function: str
    arguments: tuple[Expression, ...]

    @cached_property
    def depth(self) -> int:
        return 1 + max((argument.depth for argument in self.arguments), default=0)

    @cached_property
    def weight(self) -> int:
        by_constant = self.function in DIVISIONS and isinstance(self.arguments[1], Literal)
        times = 1 if by_constant else REPEATED.get(self.function, 1)
        return times * sum(argument.weight for argument in self.arguments)

    def columns(self) -> Iterator[str]:
        for argument in self.arguments:
            yield from argument.columns()


Schema = Mapping[str, Domain]
