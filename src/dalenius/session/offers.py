"""What somebody offers for an answer: an epsilon, a share of the budget, or the error that it may have.

All of it is decided from the question, the catalog and the ledger; no data is read.

From the error that an answer may have to the cheapest share that buys it. No data is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, partial
from inspect import signature

from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.shares import cheapest_within
from dalenius.catalog.catalog import Population
from dalenius.catalog.declarations import share as written_share
from dalenius.errors import InvalidParameter
from dalenius.ledger.names import as_share, fraction, percent
from dalenius.measuring.estimates import COUNTS, LEVEL, ROBUST
from dalenius.measuring.expectations import ExpectedError
from dalenius.measuring.robust import rounded_up
from dalenius.privacy.numbers import Number, exact, format_number, positive
from dalenius.query.questions import Compute, Question, ValueOf

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
    """What somebody said about an answer: exactly one of `epsilon`, `share` and `error`, how to count it, and the form.

    `error` is one target for all columns, or one for each by name; `size` is the number of rows of a group; `weights`
    says how much of the price goes to a column, relative to 1 for the others. `nonnegative` shows negative counts as 0,
    and `digits` rounds.
    """

    epsilon: Number | None = None
    share: Number | None = None
    error: Number | Mapping[str, Number] | None = None
    size: int | None = None
    level: Number | None = None
    weights: Mapping[str, Number] | None = None
    nonnegative: bool = False
    digits: int | None = None

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

    @property
    def request(self) -> tuple[object, ...] | None:
        """What names an answer at a share or for an error; None where an epsilon buys it."""
        if self.epsilon is not None:
            return None
        wanted = None if self.share is None else as_share(self.share)
        weights = tuple(sorted((name, exact(weight=each)) for name, each in (self.weights or {}).items()))
        targets = tuple(sorted(self.targets().items(), key=lambda each: each[0] or ""))
        return wanted, targets, self.size, self.agreed_level(), weights

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


def terms_of(method: Callable[..., object]) -> tuple[str, ...]:
    """What of an offer a method of a question takes, by the names of its parameters."""
    known = {field.name for field in fields(Offer)}
    return tuple(name for name in signature(method).parameters if name in known)


def as_level(level: Number) -> Fraction:
    """How often error bars hold the truth: '95%', 0.95 or Fraction(19, 20)."""
    share = fraction(level=level)
    if not Fraction(1, 2) <= share < 1:
        raise InvalidParameter("level", level, allowed="at least 50% and below 100%")
    return share


def offers(
    people: Collection[Population],
    *,
    epsilon: Number | None,
    share: Number | None,
    spent: Mapping[str, Sequence[Charge]],
) -> list[dict[str, Charge]]:
    """What an answer may cost each population, at an epsilon, or at a share of the budgets as they stand: by addition,
    and by Rényi divergence. Refused where that is less than the least share that a question takes."""
    found = {}
    for each in people:
        _require_least(each, epsilon=epsilon, share=share)
        if epsilon is not None:
            found[each.name] = each.renyi_filter.alone(epsilon=epsilon)
        else:
            found[each.name] = each.renyi_filter.room(share=as_share(share or 0), spent=spent[each.name])
    branches = max(map(len, found.values()))
    return [{name: each[min(place, len(each) - 1)] for name, each in found.items()} for place in range(branches)]


def promised(people: Collection[Population], *, epsilon: Number | None, share: Number | None) -> Budget | None:
    """What an answer keeps by itself: at an epsilon, or at the whole of budgets that are alike."""
    delta, alike = min(each.budget.delta for each in people), len({each.budget for each in people}) == 1
    if epsilon is not None:
        return Budget(epsilon, delta)
    return next(iter(people)).budget if as_share(share or 0) == 1 and alike else None


def billed(
    people: Collection[Population], drawn: Mapping[str, Charge], *, epsilon: Number | None, share: Number | None
) -> dict[str, Charge]:
    """What is charged for what is drawn: of either sum no less than the least share, and for the whole epsilon or share
    of a budget all that there is of it."""
    bill = {}
    for each in people:
        everything = exact(epsilon=epsilon) == each.budget.epsilon if epsilon is not None else as_share(share or 0) == 1
        if everything and each.renyi_filter.order is not None:
            bill[each.name] = each.renyi_filter.cap
        else:
            bill[each.name] = drawn[each.name].at_least(each.renyi_filter.part(share=each.least_share))
    return bill


def bought(people: Collection[Population], *, epsilon: Number | None, share: Number | None) -> dict[str, Charge]:
    """What an epsilon or a share buys for something that is made of rows: Rényi divergence, where a budget has it."""
    amounts = {}
    for each in people:
        _require_least(each, epsilon=epsilon, share=share)
        least = each.renyi_filter.part(share=each.least_share)
        if epsilon is not None:
            amounts[each.name] = each.renyi_filter.amount(epsilon=epsilon).at_least(least)
        else:
            amounts[each.name] = each.renyi_filter.part(share=as_share(share or 0)).rectangle
    return amounts


def _require_least(people: Population, *, epsilon: Number | None, share: Number | None) -> None:
    """Refuse less: whoever could ask without end would learn from how questions are answered."""
    least = people.least_share
    enough = least if epsilon is None else least * people.budget.epsilon
    if (as_share(share or 0) if epsilon is None else positive(epsilon=epsilon)) < enough:
        name = "share" if epsilon is None else "epsilon"
        written = str(written_share(least) if epsilon is None else format_number(rounded_up(enough)))
        raise InvalidParameter(
            name,
            share if epsilon is None else epsilon,
            allowed=f"worth at least {percent(least)} of the budget of {people.name}, the least that a question takes",
            hint=f"{name}={written!r} is enough.",
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


Errors = Mapping[str, ExpectedError]


def least_share(
    question: Question, offer: Offer, size: int | None, errors_at: Callable[[Fraction], Errors]
) -> Fraction:
    """The least share at which the expected error of every column is within its target, and at least a billionth:
    a target as wide as the column's range is met at any price.
    """
    limits, errors = _limits(question, offer, size), cache(errors_at)
    _require_size(limits, errors(Fraction(1)), size)

    def excess(share: Fraction, name: str) -> Fraction:
        """How many times larger than its target the error of a column is."""
        return _error(errors(share)[name], size) / limits[name]

    share = _least_for_all(excess, list(limits))
    if share is None:
        raise InvalidParameter(
            "error",
            offer.error,
            allowed="no smaller than what the whole budget buys",
            hint="See expected_error(share=1); lower max_rows or max_groups, or ask for fewer columns or groups.",
        )
    return share


def _least_for_all(excess: Callable[[Fraction, str], Fraction], names: Sequence[str]) -> Fraction | None:
    """The least share at which no column has an excess above 1; None where there is none.

    It is looked for with the worst column alone, and those for which that is too little are added: working out errors
    takes long, and mostly all become smaller alike.
    """
    share: Fraction | None = Fraction(1)
    chosen: list[str] = []
    while share is not None:
        others = {name: excess(share, name) for name in names if name not in chosen}
        missed = [name for name, found in others.items() if found > 1]
        if chosen and not missed:
            break
        chosen += missed or [max(others, key=lambda name: others[name])]
        share = cheapest_within(partial(_worst, excess, tuple(chosen)), halvings=WORTH_ASKING)
    return share


def _worst(excess: Callable[[Fraction, str], Fraction], names: Sequence[str], share: Fraction) -> Fraction | None:
    try:
        return max(excess(share, name) for name in names)
    except InvalidParameter:  # too little for any noise at all
        return None


def _limits(question: Question, offer: Offer, size: int | None) -> dict[str, Fraction]:
    """The largest error of each column, in its own units."""
    targets, kinds = offer.targets(), _kinds(question)
    computed = [name for name, post in question.output.columns if isinstance(post, Compute)]
    unknown = [name for name in targets if name is not None and name not in kinds]
    if unknown or not kinds or not targets or (computed and None in targets):
        raise InvalidParameter(
            "error",
            offer.error,
            allowed="for columns that show a statistic as it is: " + (", ".join(kinds) or "there is none"),
            hint="Name them, as in error={'n': '± 50'}." if kinds else "Give epsilon= or share= instead.",
        )
    stated = {name: targets.get(name, targets.get(None)) for name in kinds}
    return {name: _limit(name, kinds[name], target, size) for name, target in stated.items() if target}


def _kinds(question: Question) -> dict[str, str]:
    """The columns that show a statistic with an error, and which."""
    shown = {name: post.index for name, post in question.output.columns if isinstance(post, ValueOf)}
    kinds = {name: question.statistics[index].kind for name, index in shown.items()}
    return {name: kind for name, kind in kinds.items() if kind not in ("mode", *ROBUST)}


def _limit(name: str, kind: str, target: Target, size: int | None) -> Fraction:
    if kind == "quantile" and not target.relative:
        raise InvalidParameter("error", target.size, allowed=f"in percent of the rows of a group for {name}")
    if not target.relative or kind == "quantile":
        return target.size
    if kind not in (*COUNTS, "histogram"):
        raise InvalidParameter(
            "error", f"{100 * target.size}%", allowed=f"in the units of {name}, such as '± 5': percents are for counts"
        )
    if size is None:
        raise InvalidParameter("size", None, allowed="stated with an error in percent: the rows of a group")
    return target.size * size


def _require_size(limits: Mapping[str, Fraction], errors: Errors, size: int | None) -> None:
    """Refuse where the error depends on how many rows a group has and nobody said so."""
    open_ended = [name for name in limits if errors[name].fixed is None]
    if size is None and open_ended:
        raise InvalidParameter("size", None, allowed=f"stated: the error of {open_ended[0]} depends on it")


def _error(error: ExpectedError, size: int | None) -> Fraction:
    if error.fixed is not None:
        return Fraction(error.fixed)
    assert size is not None
    return Fraction(error.at(size))
