"""What an answer says about itself: what its bars leave out, which keys may be missing, which groups are small."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from dalenius.curator.answers.answers import BARS_COVER_NOISE, KEYS_LEFT_OUT
from dalenius.mechanisms.limited_domain import LimitedTopK
from dalenius.query.estimates.postprocess import Shaped
from dalenius.query.pricing.measurements import FoundKeys
from dalenius.query.pricing.pricing import Priced

FEWER_THAN_ASKED = "The list may be shorter than asked for: it ends where the next key would be too rare to be shown."


def notes(priced: Priced, shaped: Shaped) -> tuple[str, ...]:
    """Remarks made of public facts and released values."""
    return (BARS_COVER_NOISE, *_missing_keys(priced), *_small_groups(shaped))


def _missing_keys(priced: Priced) -> Iterator[str]:
    if any(isinstance(step.measurement, FoundKeys) for step in priced.steps):
        yield KEYS_LEFT_OUT
    if any(isinstance(step.mechanism, LimitedTopK) for step in priced.steps):
        yield FEWER_THAN_ASKED


def _small_groups(shaped: Shaped) -> Iterator[str]:
    """Which columns are mostly noise: the error shrinks relative to a group only as the group grows.

    Textbook: S18.12.
    """
    for name, values, errors in zip(shaped.names, shaped.columns, shaped.errors, strict=True):
        known = [(value, error) for value, error in zip(values, errors or values, strict=True) if _both(value, error)]
        if errors is None or not known or not all(isinstance(figure, int | float | Decimal) for figure in known[0]):
            continue
        lost = sum(abs(value) < error for value, error in known)
        if lost:
            yield (
                f"{name}: in {lost} of {len(known)} groups the bar is larger than the value. "
                "Offer more, or ask for larger groups."
            )


def _both(value: object, error: object) -> bool:
    return value is not None and error is not None
