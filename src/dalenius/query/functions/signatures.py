"""All that is said of a function: what it takes, gives and means, how it is written, and what happens at the edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalenius.query.expressions import Expression

REFUSED = "refused"
"""The result of an example that does not compile."""


class Unfit(Exception):
    """The arguments do not fit; `functions.call` adds the clause and raises QueryRefused."""

    def __init__(self, rule: str, instead: str) -> None:
        self.rule, self.instead = rule, instead
        super().__init__(rule)


@dataclass(frozen=True)
class Cell:
    """One cell of the table of functions: what happens, and an example that a test runs."""

    text: str
    arguments: tuple[Any, ...] | None = None
    result: Any = None


NEVER = Cell("cannot happen")


@dataclass(frozen=True)
class Function:
    """A scalar function: total, and with the same meaning on every engine, before the noise and after it.

    `build` makes of arguments with domains an expression with a domain, of parts whose meaning on codes stands in
    `evaluation`; released values have domains too, so this is their meaning as well. `floats` is the meaning where an
    argument is a float, as a mean is, which has no codes; None where no float fits.
    """

    name: str
    takes: str
    gives: str
    meaning: Cell
    null: Cell
    overflow: Cell
    outside: Cell
    build: Callable[..., Expression]
    least: int
    most: int | None
    floats: Callable[..., Any] | None = None
    sql: str = ""
    """The operator or name in SQL; without one, its own name in capitals."""


def arity(function: Function) -> str:
    """How many arguments it takes, in words."""
    if function.most == function.least:
        return f"{function.least} argument" + ("" if function.least == 1 else "s")
    if function.most is None:
        return f"at least {function.least} arguments"
    return f"{function.least} to {function.most} arguments"
