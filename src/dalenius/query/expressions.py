"""Scalar expressions of a plan: typed, total, and made of public facts only.

An expression is a column, a literal, or a call of a function from the list in `functions`. Each knows its domain, so
that ranges, public keys and NULLs are known before any data is read. Make calls with `functions.call`, which checks
the arguments and works out the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dalenius.query.types import Code, Domain


@dataclass(frozen=True)
class Expression:
    """A scalar that every row has."""

    domain: Domain

    def columns(self) -> Iterator[str]:
        """The columns that it reads."""
        yield from ()


@dataclass(frozen=True)
class Column(Expression):
    """The value of a column of the relation below."""

    name: str

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

    def columns(self) -> Iterator[str]:
        for argument in self.arguments:
            yield from argument.columns()


Schema = Mapping[str, Domain]
