"""How far one unit moves the exact result of a pass, and whether that is within what was declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dalenius.engines.conformance.comparing import Key, Totals
from dalenius.query.plan.passes import Values
from dalenius.query.pricing.measurements import Measurement, Numbers, Program, TopKeys
from dalenius.query.types import Choice, Code, Domain, Ranged


@dataclass(frozen=True)
class Excess:
    """A declared bound that one unit broke."""

    measurement: str
    norm: str
    moved: object
    declared: object


def excesses(program: Program, before: Sequence[Totals], after: Sequence[Totals]) -> list[Excess]:
    """The declared bounds that a step from one database to another broke."""
    return [
        excess
        for part in program.measurements
        for excess in _broken(program, part, difference(before[part.source], after[part.source], part.total))
    ]


def difference(before: Totals, after: Totals, total: int) -> dict[Key, int]:
    """What changed, key by key."""
    keys = {**before, **after}
    moved = {
        key: (after[key][total] if key in after else 0) - (before[key][total] if key in before else 0) for key in keys
    }
    return {key: change for key, change in moved.items() if change}


def _broken(program: Program, part: Measurement, moved: dict[Key, int]) -> Iterator[Excess]:
    """Every norm that is larger than declared, more keys than declared, and changes of both signs if monotone."""
    step = program.passes[part.source]
    if _of_chosen_keys(program, part):
        moved = dict(sorted(moved.items(), key=lambda item: -abs(item[1]))[: part.groups])
    sizes = [abs(change) for change in moved.values()]
    declared = part.sensitivity
    norms = {"l1": sum(sizes), "l2_squared": sum(size * size for size in sizes), "linf": max(sizes, default=0)}
    for norm, size in norms.items():
        bound = getattr(declared, norm)
        if bound is not None and size > bound:
            yield Excess(part.title, norm, size, bound)
    keys = {key[:-1] for key in moved} if isinstance(step, Values) else set(moved)
    allowed = None if part.groups is None else part.groups * program.neighbours.add_remove_steps
    if allowed is not None and len(keys) > allowed:
        yield Excess(part.title, "l0", len(keys), allowed)
    signs = {change > 0 for change in moved.values()}
    if declared.monotone and len(signs) > 1:
        yield Excess(part.title, "monotone", "both up and down", "one way")


def _of_chosen_keys(program: Program, part: Measurement) -> bool:
    """Whether only so many keys, chosen by a private selection over the same pass, are measured."""
    chosen = [other.source for other in program.measurements if isinstance(other, TopKeys)]
    return isinstance(part, Numbers) and part.source in chosen


def stray_keys(program: Program, results: Sequence[Totals]) -> list[Key]:
    """Keys outside the domains that the plan states for them."""
    domains = program.question.key_domains
    return [
        key
        for result in results
        for key in result
        if not all(holds(domain, code) for domain, code in zip(domains, key, strict=False))
    ]


def holds(domain: Domain, code: Code) -> bool:
    """Whether a code belongs to a domain."""
    if code is None:
        return domain.nullable
    if isinstance(domain, Ranged):
        return isinstance(code, int) and domain.lower <= code <= domain.upper
    return code in domain.values if isinstance(domain, Choice) else True
