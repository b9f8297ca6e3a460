"""What several fits on the same rows lose together: the total of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import compose
from dalenius.accounting.conversion import to_approximate
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import Guarantee

_IDLE = (None, "passthrough", "drop")


def total(*fitted: Any) -> Guarantee:
    """What all fitted steps of pipelines, or several models, promise together about the rows that all were fitted to.

    Guarantee: steps compose adaptively, each being fitted to what earlier ones made of the same rows, each row by
    itself. Of arrays the deltas of all steps add up, and epsilon is the least that is known for them; of a private
    table the charges add up, as its ledger does. A step that learns from rows and does not pay has no promise, so that
    there is none for all: it is refused.
    """
    found = [step.guarantee_ for each in fitted for step in _paying(each, type(each).__name__)]
    if not found:
        raise InvalidParameter("fitted", "nothing that was paid for", allowed="a fitted pipeline, or fitted models")
    if len({each.neighbours for each in found}) > 1:
        raise InvalidParameter("fitted", "steps that hide different things", allowed="steps with equal neighbours")
    spent = [each for each in found if each.amount is not None]
    note = f"{len(spent)} of {len(found)} steps were paid for"
    return Guarantee(_together(spent), found[0].neighbours, note)


def _together(spent: Sequence[Guarantee]) -> str:
    amounts = [each.amount for each in spent if each.amount is not None]
    if not amounts:
        return "epsilon = 0"
    if any(each.delta is None for each in spent):
        return str(_summed(amounts))
    deltas = [Fraction(each.delta or 0) for each in spent]
    whole = sum(deltas, Fraction(0))
    if not whole:
        return str(_summed(amounts))
    apart = [to_approximate(each.loss, delta=delta).epsilon for each, delta in zip(amounts, deltas, strict=True)]
    composed = to_approximate(compose([each.loss for each in amounts]), delta=whole).epsilon
    return str(Budget(min(composed, sum(apart, Fraction(0))), whole))


def _summed(amounts: Sequence[Charge]) -> Charge:
    whole, *others = amounts
    for each in others:
        whole += each
    return whole


def _paying(step: Any, name: str) -> Iterator[Any]:
    """The models among the steps of a step that say what they promise."""
    if step is None or isinstance(step, str):
        if step not in _IDLE:
            raise InvalidParameter("fitted", name, allowed="a fitted pipeline, or fitted models")
        return
    inside = _inside(step)
    if inside is not None:
        for part, each in inside:
            yield from _paying(each, part)
        return
    if hasattr(step, "guarantee_"):
        check_is_fitted(step)
        yield step
    elif not hasattr(step, "fit") or get_tags(step).requires_fit:
        raise InvalidParameter(
            "fitted", name, allowed="steps that pay for what they learn, and were fitted, or that learn nothing"
        )


def _inside(step: Any) -> list[tuple[str, Any]] | None:
    """The steps of a pipeline, of a union of features or of a transformer of columns."""
    for listed in ("steps", "transformer_list", "transformers_"):
        if hasattr(step, listed):
            return [(each[0], each[1]) for each in getattr(step, listed)]
    return None
