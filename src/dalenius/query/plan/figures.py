"""Public figures of relations: domains put together, numbers of keys, and bounds that may be unknown."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.query.types import Bool, Choice, Dated, Days, Domain, Moments, Number, Ranged, choice


def hull(domains: list[Domain]) -> Domain:
    """The least domain that holds all of these, which must be of one kind."""
    first, nullable = domains[0], any(domain.nullable for domain in domains)
    kind = next((kind for kind in (Number, Days, Moments) if isinstance(first, kind)), None)
    if kind is not None and isinstance(first, Ranged) and all(isinstance(domain, kind) for domain in domains):
        ranged = [domain for domain in domains if isinstance(domain, Ranged)]
        lower, upper = min(domain.lower for domain in ranged), max(domain.upper for domain in ranged)
        if isinstance(first, Number):
            assert {domain.step for domain in domains if isinstance(domain, Number)} == {first.step}
        if len({domain.grain for domain in domains if isinstance(domain, Dated)}) > 1:
            return kind(nullable, lower, upper)  # every day or moment of the range
        return first.within(lower, upper).or_null(nullable)
    if all(isinstance(domain, Choice) for domain in domains):
        return choice([value for domain in domains for value in domain.values], nullable=nullable)  # type: ignore[attr-defined]
    if isinstance(first, Bool):
        return Bool(nullable)
    wider = next((domain for domain in domains if not isinstance(domain, Choice)), first)
    return wider.or_null(nullable)


def combinations(domains: list[Domain]) -> int | None:
    """How many combinations of keys there are, where all of them are public."""
    total = 1
    for domain in domains:
        if domain.size is None:
            return None
        total *= domain.size
    return total


def product(one: int | None, other: int | None) -> int | None:
    """The product of two bounds, if both are known."""
    return None if one is None or other is None else one * other


def total_known(bounds: Sequence[int | None]) -> int | None:
    """The sum of bounds, if all of them are known."""
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None


def least_known(*bounds: int | None) -> int | None:
    """The smallest of the bounds that are known."""
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else None
