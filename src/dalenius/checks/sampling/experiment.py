"""The composition experiment: an adversary asks round after round, and its view must not tell two worlds apart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import lcm
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import Distribution
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, whole
from dalenius.randomness.entropy import Entropy

Database: TypeAlias = Mapping[Hashable, int]
View: TypeAlias = tuple[Hashable, ...]
World: TypeAlias = Literal[0, 1]
Mechanism = TypeVar("Mechanism")

FiniteMechanism: TypeAlias = Callable[[Any, Database], Mapping[Hashable, Number]]
"""M(w, x) as the exact law of its output."""

SampledMechanism: TypeAlias = Callable[[Any, Database, Entropy], Hashable]
"""M(w, x) as one run of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(Generic[Mechanism]):
    """What the adversary picks in one round: two adjacent databases, a mechanism and its public parameters.

    The databases may be other ones in every round: a person's data can lie in many of them.
    """

    databases: tuple[Database, Database]
    mechanism: Mechanism
    parameters: Any = None


Adversary: TypeAlias = Callable[[View], Round[Mechanism]]
"""Picks the next round from all outputs so far.

It has no coins of its own: a randomized adversary is a mixture of such ones, and since its coins are a part of the
view and do not depend on the world, one of the mixed adversaries tells the worlds apart at least as well.
"""


def exact_views(
    adversary: Adversary[FiniteMechanism], *, rounds: int, world: World, neighbours: Neighbours
) -> Distribution[View]:
    """The law of the adversary's view V^b in the given world, over all runs of the experiment.

    A family is (epsilon, delta)-DP under k-fold adaptive composition when the views in worlds 0 and 1 are
    (epsilon, delta)-close for every adversary: `divergences.is_private` decides it for this one.
    Reference: Dwork & Roth 2014, Experiment b and Definition 3.7; Dwork, Rothblum & Vadhan 2010.
    Textbook: S6.7.
    """

    def play(view: View) -> Mapping[View, Number]:
        move = _checked(adversary(view), neighbours)
        outputs = move.mechanism(move.parameters, move.databases[world])
        return {(*view, output): mass for output, mass in outputs.items()}

    views: Distribution[View] = Distribution({(): 1})
    for _ in range(whole(1, rounds=rounds)):
        views = views.through(play)
    return views


def sampled_view(
    adversary: Adversary[SampledMechanism], *, rounds: int, world: World, neighbours: Neighbours, entropy: Entropy
) -> View:
    """One run of the experiment in the given world, with mechanisms of any kind.

    Textbook: S6.7.
    """
    view: View = ()
    for _ in range(whole(1, rounds=rounds)):
        move = _checked(adversary(view), neighbours)
        view = (*view, move.mechanism(move.parameters, move.databases[world], entropy))
    return view


def drawn(mechanism: FiniteMechanism) -> SampledMechanism:
    """The finite mechanism as one that is run, exactly by its law."""

    def run(parameters: Any, database: Database, entropy: Entropy) -> Hashable:
        law = Distribution.of(mechanism(parameters, database))
        total = lcm(*(mass.denominator for mass in law.values()))
        ends = accumulate(int(mass * total) for mass in law.values())
        place = entropy.below(total)
        return next(output for output, end in zip(law, ends, strict=True) if place < end)

    return run


def _checked(move: Round[Mechanism], neighbours: Neighbours) -> Round[Mechanism]:
    first, second = move.databases
    if not stated(neighbours).related(first, second):
        raise InvalidParameter("databases", "a pair", allowed=f"two that differ by {neighbours}")
    return move
