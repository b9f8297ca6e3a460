"""The constructions behind approximate privacy: nearby distributions that are private without any delta."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.distributions import Distribution
from dalenius.privacy.numbers import Number, exact

Outcome = TypeVar("Outcome", bound=Hashable)


def substitute(
    first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], *, odds: Number
) -> Distribution[Outcome]:
    """A distribution near the first that is at most `odds` times the second everywhere.

    Guarantee: for odds >= 1 its statistical distance from the first is the hockey stick of the pair at `odds`, the
    least possible, and no outcome is more than `odds` times likelier under it than under the second.
    Reference: Dwork & Roth 2014, Lemma 3.17, part 1.
    Textbook: S7.5.
    """
    p, q, ratio = Distribution.of(first), Distribution.of(second), _ratio(odds)
    lowered = {outcome: min(mass, ratio * q.mass(outcome)) for outcome, mass in p.items()}
    missing = 1 - sum(lowered.values(), Fraction(0))
    room = {outcome: max(Fraction(0), mass - p.mass(outcome)) for outcome, mass in q.items()}
    return Distribution(_raised(lowered, room, missing))


def substitutes(
    first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], *, odds: Number
) -> tuple[Distribution[Outcome], Distribution[Outcome]]:
    """Distributions near the first and near the second whose ratio lies within `odds` in both directions.

    Guarantee: with d the larger of the two hockey sticks at `odds` >= 1, both are within statistical distance
    d / (odds + 1) of the original. Both directions are needed for the converse: two nearby distributions that are
    close in one direction only say nothing about the other.
    Reference: Dwork & Roth 2014, Lemma 3.17, part 2 (where the statement omits the second direction).
    Textbook: S7.5.
    """
    p, q, ratio = Distribution.of(first), Distribution.of(second), _ratio(odds)
    pairs = {outcome: _meet(p.mass(outcome), q.mass(outcome), ratio) for outcome in {**p, **q}}
    left, right = ({outcome: pair[side] for outcome, pair in pairs.items()} for side in (0, 1))
    missing = 1 - sum(left.values(), Fraction(0))
    if missing < 0:
        right, left = _close(right, left, -missing)
    else:
        left, right = _close(left, right, missing)
    return Distribution(left), Distribution(right)


def _meet(p: Fraction, q: Fraction, ratio: Fraction) -> tuple[Fraction, Fraction]:
    # Where one mass is more than `ratio` times the other, both move until they are exactly that far apart.
    if p > ratio * q:
        return ratio * (p + q) / (1 + ratio), (p + q) / (1 + ratio)
    if q > ratio * p:
        return (p + q) / (1 + ratio), ratio * (p + q) / (1 + ratio)
    return p, q


def _close(
    short: dict[Outcome, Fraction], long: dict[Outcome, Fraction], missing: Fraction
) -> tuple[dict[Outcome, Fraction], dict[Outcome, Fraction]]:
    # Moves `missing` into `short` and out of `long` where `long` is larger; the gaps there add up to at least twice it.
    room = {outcome: max(Fraction(0), long[outcome] - short[outcome]) for outcome in short}
    return _raised(short, room, missing), _raised(long, room, -missing)


def _raised(
    masses: Mapping[Outcome, Fraction], room: Mapping[Outcome, Fraction], amount: Fraction
) -> dict[Outcome, Fraction]:
    total = sum(room.values())
    if not amount:
        return dict(masses)
    zero = Fraction(0)
    return {o: masses.get(o, zero) + amount * room.get(o, zero) / total for o in {**masses, **room}}


def _ratio(odds: Number) -> Fraction:
    ratio = exact(odds=odds)
    if ratio < 1:
        raise InvalidParameter("odds", odds, allowed="1 or more: it stands for e^epsilon")
    return ratio
