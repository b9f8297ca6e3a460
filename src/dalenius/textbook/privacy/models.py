"""The settings in which private data are analysed, one interface each, and what a release may be.

They differ in who is trusted and in what an adversary sees. A privacy statement names its setting; these types let
code name it too. `RandomBits` is what a source of randomness must offer (see `dalenius.randomness`).

The constructions behind approximate privacy: nearby distributions that are private without any delta.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import Distribution
from dalenius.privacy.numbers import Number, exact, not_negative, whole
from dalenius.textbook.privacy.queries import LinearQuery

Data_contra = TypeVar("Data_contra", contravariant=True)
Query_contra = TypeVar("Query_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)
Share = TypeVar("Share")


class RandomBits(Protocol):
    """A source of uniform random bits."""

    def bits(self, count: int) -> int:
        """An integer of `count` uniform bits."""

    def below(self, n: int) -> int:
        """A uniform integer in 0, ..., n - 1."""


@runtime_checkable
class NonInteractive(Protocol[Data_contra, Output_co]):
    """A trusted curator releases one object, once; afterwards the data may be destroyed.

    Textbook: S1.4.
    """

    def publish(self, database: Data_contra, entropy: RandomBits, /) -> Output_co:
        """The released object."""


@runtime_checkable
class Interactive(Protocol[Query_contra, Output_co]):
    """A trusted curator keeps the data and answers one question after another; each may depend on earlier answers.

    Textbook: S1.4.
    """

    def answer(self, query: Query_contra, /) -> Output_co:
        """The noisy answer to the next question."""


@runtime_checkable
class Local(Protocol[Data_contra, Output_co]):
    """Nobody is trusted: each person randomizes their own record before it leaves them.

    Textbook: S1.4.
    """

    def report(self, record: Data_contra, entropy: RandomBits, /) -> Output_co:
        """What a person sends in place of their record."""


@runtime_checkable
class Continual(Protocol[Data_contra, Output_co]):
    """A trusted curator reads a stream and publishes after every item.

    Textbook: S1.4.
    """

    def step(self, item: Data_contra, /) -> Output_co:
        """What is published after this item."""


@runtime_checkable
class PanPrivate(Protocol[Data_contra, Output_co]):
    """Like a stream's curator, but its memory may be seized once: state and outputs together stay private.

    Textbook: S1.4.
    """

    def update(self, item: Data_contra, /) -> None:
        """Read one item."""

    def output(self) -> Output_co:
        """What is published on request."""

    def state(self) -> bytes:
        """All that an intruder would find in memory."""


@runtime_checkable
class SecureEvaluation(Protocol[Data_contra, Share, Output_co]):
    """The people play the curator themselves, by a cryptographic protocol that withstands `collusion` dishonest ones.

    Textbook: S1.4.
    """

    @property
    def collusion(self) -> int:
        """How many parties may put their heads together."""

    def shares(self, record: Data_contra, entropy: RandomBits, /) -> Sequence[Share]:
        """What a person sends to each party."""

    def combine(self, shares: Sequence[Sequence[Share]], /) -> Output_co:
        """The noisy result from everybody's shares."""


@runtime_checkable
class Synopsis(Protocol):
    """A released object that answers a whole class of queries without the data: the reconstruction R(A, v).

    Reference: Dwork & Roth 2014, Section 2.3.3 and Definition 5.1.
    Textbook: S1.5.
    """

    def estimate(self, query: LinearQuery, /) -> Fraction:
        """The synopsis' answer to the sum query."""


@dataclass(frozen=True, slots=True)
class SyntheticDatabase:
    """The synopsis that is itself a database: made-up rows that stand for `represents` real ones.

    Its m rows answer a sum query by their own sum, scaled by n/m; an average needs no scaling.
    Textbook: S1.5.
    """

    rows: Mapping[Any, int]
    represents: Fraction

    def __post_init__(self) -> None:
        rows = {row: whole(count=count) for row, count in self.rows.items()}
        if not sum(rows.values()):
            raise InvalidParameter("rows", "empty", allowed="at least one synthetic row")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "represents", not_negative(represents=self.represents))

    def estimate(self, query: LinearQuery, /) -> Fraction:
        return self.represents * query.average(self.rows)


def synopsis_error(synopsis: Synopsis, queries: Sequence[LinearQuery], database: Mapping[Any, int]) -> Fraction:
    """The largest error of a synopsis over sum queries. It looks at the data, so it may not be released.

    Textbook: S1.5.
    """
    return max(abs(synopsis.estimate(query) - query.sum(database)) for query in queries)


@dataclass(frozen=True, slots=True)
class ComputationalDP:
    """A label: epsilon-DP against adversaries whose running time is polynomial in a security parameter.

    No test can establish it, since it rests on a hardness assumption and has no concrete delta; so it is not a loss,
    it adds up with nothing, and no budget accepts it.
    Reference: Dwork & Roth 2014, Definition 9.4.
    Textbook: S1.10.
    """

    epsilon: Fraction
    assumption: str

    def __init__(self, *, epsilon: Number, assumption: str) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon=epsilon))
        if not assumption:
            raise InvalidParameter("assumption", assumption, allowed="the name of a hardness assumption")
        object.__setattr__(self, "assumption", assumption)

    def __str__(self) -> str:
        return f"computational epsilon = {float(self.epsilon):g}, if {self.assumption} holds; not testable"


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
