"""From the error that an answer may have to the cheapest share that buys it. No data is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial

from dalenius.accounting.shares import cheapest_within
from dalenius.curator.asking.prices import WORTH_ASKING, Offer, Target
from dalenius.errors import InvalidParameter
from dalenius.query.estimates.estimates import COUNTS, ROBUST
from dalenius.query.estimates.expectations import ExpectedError
from dalenius.query.questions import Compute, Question, ValueOf

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
            hint="See expected_error(share=1); lower `most`, or ask for fewer columns or coarser groups.",
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
