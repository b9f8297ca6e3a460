"""From the error that an answer may have to the cheapest share that buys it. No data is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from dalenius.accounting.shares import cheapest
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
    limits = _limits(question, offer, size)
    _require_size(limits, errors_at(Fraction(1)), size)

    def suffices(share: Fraction) -> bool:
        try:
            errors = errors_at(share)
        except InvalidParameter:  # too little for any noise at all
            return False
        return all(_reached(errors[name], most, size) for name, most in limits.items())

    share = cheapest(suffices, halvings=WORTH_ASKING)
    if share is None:
        raise InvalidParameter(
            "error",
            offer.error,
            allowed="no smaller than what the whole budget buys",
            hint="See expected_error(share=1); lower `most`, or ask for fewer columns or coarser groups.",
        )
    return share


def _limits(question: Question, offer: Offer, size: int | None) -> dict[str, Fraction]:
    """The largest error of each column, in its own units."""
    targets, kinds = offer.targets(), _kinds(question)
    computed = [name for name, post in question.output.columns if isinstance(post, Compute)]
    unknown = [name for name in targets if name is not None and name not in kinds]
    if unknown or not kinds or (computed and None in targets):
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


def _reached(error: ExpectedError, most: Fraction, size: int | None) -> bool:
    if error.fixed is not None:
        return Fraction(error.fixed) <= most
    assert size is not None
    return Fraction(error.at(size)) <= most
