"""What somebody offers for an answer: an epsilon, a share of the budget, or the error that it may have.

All of it is decided from the question, the catalog and the ledger; no data is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dalenius.accounting.amounts import Amount
from dalenius.accounting.shares import epsilon_of
from dalenius.curator.catalog import Population
from dalenius.curator.folder.declarations import share as written_share
from dalenius.curator.names import as_share, fraction, percent
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact, positive, shown
from dalenius.query.estimates.estimates import LEVEL

DEFAULT_SHARE = Fraction(1, 100)
"""The share that an explanation or a rehearsal is shown for, unless told otherwise."""

LARGE_EPSILON = 10
_ERROR = re.compile(r"\s*(?:±|\+/-|\+-)?\s*([^\s%]+)\s*(%?)\s*(?:at\s+(\S+)\s*)?")
WORTH_ASKING = 30
"""Halvings of the whole budget to the least share that an error is turned into: a billionth."""


@dataclass(frozen=True)
class Target:
    """The largest error that an answer may be expected to have; relative to the size of a group where `relative`."""

    size: Fraction
    relative: bool
    level: Fraction | None

    @classmethod
    def read(cls, error: Number) -> Target:
        """Read '± 50 at 95%', '+/- 50', 50 or '2%'."""
        parts = _ERROR.fullmatch(error) if isinstance(error, str) else None
        if not isinstance(error, str):
            return cls(positive(error=error), False, None)
        if parts is None or not _is_figure(parts[1]):
            raise InvalidParameter("error", error, allowed="such as '± 50 at 95%', '± 50' or '2%'")
        size, percent, level = parts.groups()
        figure = positive(error=size)
        return cls(figure / 100 if percent else figure, bool(percent), as_level(level) if level else None)


def _is_figure(text: str) -> bool:
    try:
        exact(error=text)
    except InvalidParameter:
        return False
    return True


@dataclass(frozen=True)
class Offer:
    """What somebody said about the price: exactly one of `epsilon`, `share` and `error`, and how to count it.

    `error` is one target for all columns, or one for each by name; `size` is the number of rows of a group.
    """

    epsilon: Number | None = None
    share: Number | None = None
    error: Number | Mapping[str, Number] | None = None
    size: int | None = None
    level: Number | None = None

    @property
    def stated(self) -> bool:
        """Whether there is any offer at all."""
        return any(part is not None for part in (self.epsilon, self.share, self.error))

    def or_default(self) -> Offer:
        """The offer, or one percent of the budget where there is none."""
        return self if self.stated else replace(self, share=DEFAULT_SHARE)

    def targets(self) -> dict[str | None, Target]:
        """The largest error for each named column, or under None for all."""
        if self.error is None:
            return {}
        if isinstance(self.error, Mapping):
            return {name: Target.read(error) for name, error in self.error.items()}
        return {None: Target.read(self.error)}

    def agreed_level(self) -> Fraction:
        """The level of error bars that was stated, once or often but alike, or 95%."""
        said = [target.level for target in self.targets().values() if target.level is not None]
        said += [as_level(self.level)] if self.level is not None else []
        if len(set(said)) > 1:
            raise InvalidParameter("level", self.level, allowed="the same wherever it is stated")
        return said[0] if said else LEVEL

    def require_one(self) -> None:
        """Refuse none, and more than one."""
        offers = {"epsilon": self.epsilon, "share": self.share, "error": self.error}
        given = [name for name, value in offers.items() if value is not None]
        if len(given) != 1:
            listed = ", ".join(f"{name}=" for name in offers)
            raise InvalidParameter("price", " and ".join(given) or None, allowed=f"given by exactly one of {listed}")


def as_level(level: Number) -> Fraction:
    """How often error bars hold the truth: '95%', 0.95 or Fraction(19, 20)."""
    share = fraction(level=level)
    if not Fraction(1, 2) <= share < 1:
        raise InvalidParameter("level", level, allowed="at least 50% and below 100%")
    return share


def bought(people: Collection[Population], *, epsilon: Number | None, share: Number | None) -> dict[str, Amount]:
    """What an epsilon or a share buys of each population's budget; refused where that is less than the least share that
    a question takes."""
    if epsilon is not None:
        amounts = {each.name: each.rectangle.amount(epsilon=epsilon) for each in people}
    else:
        assert share is not None
        size = as_share(share)
        amounts = {each.name: each.rectangle.part(share=size) for each in people}
    for each in people:
        if amounts[each.name].divergence < each.rectangle.part(share=each.least_share).divergence:
            raise _too_little(each, "share" if epsilon is None else "epsilon", share if epsilon is None else epsilon)
    return amounts


def _too_little(people: Population, name: str, offer: Number | None) -> InvalidParameter:
    """Why less is not sold: whoever could ask without end would learn from how questions are answered."""
    least = people.least_share
    words = {"share": written_share(least), "epsilon": str(shown(epsilon_of(people.rectangle, least)))}
    return InvalidParameter(
        name,
        offer,
        allowed=f"worth at least {percent(least)} of the budget of {people.name}, the least that a question takes",
        hint=f"{name}={words[name]!r} is enough.",
    )


def warning(people: Mapping[str, Population], epsilons: Mapping[str, Fraction]) -> str | None:
    """A word about an epsilon that promises little.

    Textbook: S18.10.
    """
    large = [name for name, epsilon in epsilons.items() if epsilon > LARGE_EPSILON]
    if large:
        return f"epsilon is above {LARGE_EPSILON} for {', '.join(large)}: the guarantee is weak, choose a smaller one"
    large = [name for name, each in people.items() if each.budget.epsilon > LARGE_EPSILON]
    if large:
        return f"the budget of {', '.join(large)} is above {LARGE_EPSILON} in all: once spent, it promises little"
    return None
