"""The delta of a finite mechanism as a function of e^epsilon: the largest of straight lines, kept exactly.

For one pair of inputs and one event S the gap P[S] - e^epsilon Q[S] is a line in e^epsilon. For every e^epsilon the
worst event holds the outcomes with a likelihood ratio above it, so a pair has as many lines as it has ratios; delta is
the largest line over all pairs, and a claim is compared with rational numbers.

The exact finite checker: from the law of every input, what a mechanism with finitely many outcomes costs.

Nothing is sampled: with exact masses every figure is exact, with enclosures every figure is a proved bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import combinations, groupby
from typing import Any, TypeAlias

from flint import arb

from dalenius.accounting.conversion import to_delta
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import ZCDP, ApproximateDP, Loss, PureDP, valid_order
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, exact, format_number, not_negative, probability
from dalenius.privacy.odds import Extended, decided, log_above, safe_odds
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.textbook.privacy.databases import multiset

Masses: TypeAlias = Mapping[Any, Fraction]


@dataclass(frozen=True, slots=True)
class DeltaLine:
    """The event of the `size` outcomes that `first` makes likeliest compared with `second`: its two probabilities."""

    mass: Fraction
    other: Fraction
    first: Hashable
    second: Hashable
    size: int

    def at(self, odds: Fraction) -> Fraction:
        return self.mass - odds * self.other


@dataclass(frozen=True, slots=True)
class Piece:
    """For e^epsilon from `start` to `end`, delta is mass - e^epsilon other; `line` says for which pair and event."""

    start: Fraction
    end: Extended
    line: DeltaLine

    @property
    def mass(self) -> Fraction:
        return self.line.mass

    @property
    def other(self) -> Fraction:
        return self.line.other


@dataclass(frozen=True, slots=True)
class DeltaCurve:
    """All lines that matter for e^epsilon >= 1, steepest first; where none is above 0, delta is 0."""

    lines: tuple[DeltaLine, ...]

    def worst(self, odds: Fraction) -> DeltaLine | None:
        """The line that is largest at e^epsilon = odds, if one is above 0 there."""
        best = max(self.lines, key=lambda line: line.at(odds), default=None)
        return best if best is not None and best.at(odds) > 0 else None

    def delta(self, odds: Fraction) -> Fraction:
        worst = self.worst(odds)
        return worst.at(odds) if worst else Fraction(0)

    def odds(self, delta: Fraction) -> Extended:
        """The least e^epsilon, not below 1, at which the curve is at most delta; infinite if there is none."""
        above = [line for line in self.lines if line.mass > delta]
        if any(not line.other for line in above):
            return math.inf
        return max([Fraction(1), *((line.mass - delta) / line.other for line in above)])

    def pieces(self) -> tuple[Piece, ...]:
        """The stretches of e^epsilon, from 1 on, on which one line is the largest and above 0."""
        found: list[Piece] = []
        for line, after in zip(self.lines, (*self.lines[1:], None), strict=False):
            start = found[-1].end if found else Fraction(1)
            end = _meeting(line, after) if after else line.mass / line.other if line.other else math.inf
            if isinstance(start, Fraction) and end > start:
                found.append(Piece(start, end, line))
        return tuple(found)


def curve(lines: Iterable[DeltaLine]) -> DeltaCurve:
    """The upper envelope of lines, for e^epsilon >= 1 and above 0."""
    steepest: dict[Fraction, DeltaLine] = {}
    for line in lines:
        known = steepest.get(line.other)
        if line.mass > line.other and (known is None or line.mass > known.mass):
            steepest[line.other] = line
    kept: list[DeltaLine] = []
    for line in sorted(steepest.values(), key=lambda line: -line.other):
        while kept and (line.at(Fraction(1)) >= kept[-1].at(Fraction(1)) or _hidden(kept, line)):
            kept.pop()
        kept.append(line)
    while len(kept) > 1 and kept[-1].other and _meeting(kept[-2], kept[-1]) >= _zero(kept[-1]):
        kept.pop()
    return DeltaCurve(tuple(kept))


def lines(first: Masses, second: Masses, names: tuple[Hashable, Hashable], missing: Fraction) -> Iterator[DeltaLine]:
    """One line for each likelihood ratio above 1; `missing` is added to every event, as the mass that is not listed."""
    mass, other, size = missing, Fraction(0), 0
    if missing:
        yield DeltaLine(mass, other, *names, size)
    likelier = (outcome for outcome in ranked(first, second) if ratio_of(first, second, outcome) > 1)
    for _, alike in groupby(likelier, key=lambda outcome: ratio_of(first, second, outcome)):
        for outcome in alike:
            mass, other, size = mass + first[outcome], other + second.get(outcome, Fraction(0)), size + 1
        yield DeltaLine(mass, other, *names, size)


def ranked(first: Masses, second: Masses) -> Sequence[Any]:
    """The outcomes of the first distribution, those first that it makes likelier by the largest factor."""
    return sorted(
        (outcome for outcome, mass in first.items() if mass),
        key=lambda outcome: ratio_of(first, second, outcome),
        reverse=True,
    )


def ratio_of(first: Masses, second: Masses, outcome: Any) -> Extended:
    other = second.get(outcome)
    return first[outcome] / other if other else math.inf


def _hidden(kept: Sequence[DeltaLine], line: DeltaLine) -> bool:
    """Whether the last line is nowhere above both the line before it and the new one."""
    return len(kept) > 1 and _meeting(kept[-2], line) <= _meeting(kept[-2], kept[-1])


def _meeting(steep: DeltaLine, flat: DeltaLine) -> Fraction:
    """Where the flatter line begins to be above the steeper one."""
    return (steep.mass - flat.mass) / (steep.other - flat.other)


def _zero(line: DeltaLine) -> Fraction:
    return line.mass / line.other


Input: TypeAlias = Hashable
Mass: TypeAlias = Number | arb
Table: TypeAlias = Mapping[Any, Mass]
Related: TypeAlias = Iterable[tuple[Any, Any]] | Callable[[Any, Any], bool] | Neighbours
Claim: TypeAlias = Loss | Number | tuple[Number, Number]

_POINTS = tuple(Fraction(n, 4) for n in range(1, 49))
_ORDERS = tuple(map(Fraction, ("1.1", "1.5", "2", "3", "4", "8", "16", "32", "64")))
_FEW = 4


@dataclass(frozen=True)
class CheckedPairs:
    """What the tables of a mechanism say about all pairs of neighbours, in both directions.

    `most` bounds delta from above and `least` from below; for exact masses they are the same. `listed` leaves out the
    mass that truncated tables do not list, so that what it says holds for the listed outcomes only.
    """

    low: Mapping[Input, Masses]
    high: Mapping[Input, Masses]
    pairs: tuple[tuple[Input, Input], ...]
    truncated: bool
    most: DeltaCurve
    least: DeltaCurve
    listed: DeltaCurve

    @property
    def ratio(self) -> Extended:
        """The largest likelihood ratio of a listed outcome: exact for exact masses, otherwise rounded up."""
        return self.listed.odds(Fraction(0))

    @property
    def epsilon(self) -> Extended:
        """The worst loss, rounded up; infinite where an outcome of one input is none of its neighbour's."""
        return max(Fraction(0), log_above(self.ratio))

    @cached_property
    def _worst(self) -> DeltaLine | None:
        return max(self.listed.lines, key=_last_zero, default=None)

    @property
    def pair(self) -> tuple[Input, Input] | None:
        """The neighbours with the worst loss, the one first that makes the event likelier; None if all are alike."""
        return (self._worst.first, self._worst.second) if self._worst else None

    @property
    def event(self) -> tuple[Any, ...]:
        """The outcomes with the worst loss."""
        return self.outcomes(self._worst) if self._worst else ()

    def outcomes(self, line: DeltaLine) -> tuple[Any, ...]:
        """The event of a line or of a piece's line."""
        return tuple(ranked(self.high[line.first], self.low[line.second])[: line.size])

    def pieces(self) -> tuple[Piece, ...]:
        """The curve of delta: between two rational values of e^epsilon it is mass - e^epsilon other."""
        return self.most.pieces()

    def delta_at(self, *, epsilon: Number | None = None, odds: Number | None = None) -> Fraction:
        """The least delta at e^epsilon, at least 1: exact for exact masses and `odds`, otherwise rounded up."""
        if odds is not None and exact(odds=odds) < 1:
            raise InvalidParameter("odds", odds, allowed="at least 1, which is e^0")
        return min(Fraction(1), self.most.delta(safe_odds(odds=odds, epsilon=epsilon)))

    def epsilon_at(self, *, delta: Number) -> Extended:
        """The least epsilon for which all pairs are (epsilon, delta)-close, rounded up; infinite if there is none."""
        return max(Fraction(0), log_above(self.most.odds(probability(delta=delta))))

    def renyi(self, alpha: Number) -> Extended:
        """The largest Rényi divergence of order alpha, rounded up; infinite outside of a common support."""
        order = valid_order(alpha)
        if self.truncated or math.isinf(self.ratio):
            return math.inf
        return max((_renyi(self.high[x], self.low[y], order) for x, y in self._both()), default=Fraction(0))

    def holds(self, claim: Claim, *, tolerance: Number = 0) -> bool | None:
        """Whether a claim is true: True and False are proved, None means that it is not decided here.

        Pure and (epsilon, delta) claims are decided for exact masses. Enclosures cannot decide a bound that is met
        exactly, and truncated tables cannot prove a pure one; `tolerance` is by how much epsilon and delta may be
        exceeded. Losses that state smaller divergences than their epsilon implies are refuted by these too. Of other
        losses, a bounded worst loss can prove zCDP; the rest can only be refuted.
        """
        slack, loss = not_negative(tolerance=tolerance), stated_claim(claim)
        if isinstance(loss, PureDP | ApproximateDP):
            close = self._close(loss.epsilon + slack, loss.delta + slack)
            plain = type(loss) in (PureDP, ApproximateDP)
            return close if plain or close is False or not self._further(loss, slack) else False
        if any(self._close(epsilon + slack, to_delta(loss, epsilon=epsilon) + slack) is False for epsilon in _POINTS):
            return False
        if self._further(loss, slack):
            return False
        proved = isinstance(loss, ZCDP) and not self.truncated and self.epsilon**2 / 2 <= loss.rho + slack
        return True if proved else None

    def _close(self, epsilon: Fraction, delta: Fraction) -> bool | None:
        if decided(lambda odds: self.most.delta(odds) <= delta, epsilon):
            return True
        return False if decided(lambda odds: self.least.delta(odds) > delta, epsilon) else None

    def _further(self, loss: Loss, slack: Fraction) -> bool:
        """Whether some divergence is surely larger than a loss states, where it states any."""
        orders = [] if loss.delta else list(_known(loss))
        if orders and math.isinf(self.least.odds(Fraction(0))):
            return True  # what a neighbour never gives makes every divergence infinite
        return any(self._renyi_below(alpha) > loss.renyi(alpha) + slack for alpha in orders)

    def _renyi_below(self, order: Fraction) -> Fraction:
        pairs = ((self.low[x], self.high[y]) for x, y in self._both())
        return max((_renyi(p, q, order, round_to=lower) for p, q in pairs), default=Fraction(0))

    def _both(self) -> Iterator[tuple[Input, Input]]:
        for x, y in self.pairs:
            yield from ((x, y), (y, x))

    def __str__(self) -> str:
        return "\n".join(self._said())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _said(self) -> Iterator[str]:
        yield f"{len(self.low)} inputs, {len(self.pairs)} pairs of neighbours, both directions"
        if self._worst is None:
            yield "no listed outcome tells any of the pairs apart" + ("" if self.truncated else ": epsilon = 0")
        else:
            bound = "exactly" if self.most == self.least else "at most"
            ratio = f"ln {_ratio(self.ratio)} = {_shown(self.epsilon)}" if self.ratio != math.inf else "infinite"
            yield f"worst loss, {bound}: {ratio}"
            first, second = self._worst.first, self._worst.second
            yield f"worst pair: {first!r} makes {_few(self.event)} likelier than {second!r} does"
        if self.truncated:
            yield "not all outcomes are listed: the worst loss is that of those that are, delta covers the rest"
        for epsilon in ("0", "0.5", "1", "2"):
            yield f"delta at epsilon = {epsilon}: {_shown(self.delta_at(epsilon=epsilon))}"


def finite(tables: Mapping[Any, Table], neighbours: Related, *, truncated: bool = False) -> CheckedPairs:
    """Compute the worst loss, the curve of delta, the worst pair and the worst event of a finite mechanism.

    `tables` gives for each input the probability of each output, as an exact number or as an enclosure (an Arb ball).
    `neighbours` is the relation between inputs: pairs, a predicate, or `AddRemove` or `Replace` for inputs that are
    tuples of rows; it is taken in both directions. The masses of an input must add up to 1; where `truncated` is said,
    to less, and what is missing counts as lost in every delta.

    Guarantee: delta(epsilon) = max over pairs of the sum of (P - e^epsilon Q)+ is a maximum of lines in e^epsilon with
    the tables' own masses as coefficients, so a claim holds or fails as computed, not up to rounding.
    Reference: Dwork & Roth 2014, Definition 2.4 and Lemma 3.17; Neyman & Pearson 1933 for the worst event.
    """
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        allowed = "for each input, the probability of each output: {0: {'yes': Fraction(1, 4), ...}, ...}"
        raise InvalidParameter("tables", f"a {type(tables).__name__}", allowed=allowed)
    low = {value: {o: _bound(mass, lower) for o, mass in table.items()} for value, table in tables.items()}
    high = {value: {o: _bound(mass, upper) for o, mass in table.items()} for value, table in tables.items()}
    missing = {value: _missing(low[value], high[value], truncated=truncated) for value in tables}
    pairs = tuple(_pairs(tuple(tables), neighbours))
    if all(x == y for x, y in pairs):
        raise InvalidParameter(
            "neighbours", "no two inputs", allowed="at least one pair: without one, any claim is true"
        )
    both = [*pairs, *((y, x) for x, y in pairs)]
    none = Fraction(0)
    most = curve(line for x, y in both for line in lines(high[x], low[y], (x, y), missing[x]))
    listed = curve(line for x, y in both for line in lines(high[x], low[y], (x, y), none)) if truncated else most
    least = most if low == high and not truncated else _least(low, high, both, missing)
    return CheckedPairs(low, high, pairs, truncated, most, least, listed)


def stated_claim(claim: Claim) -> Loss:
    """A claim as a loss: a number is a pure epsilon, two numbers are epsilon and delta."""
    if isinstance(claim, Loss):
        return claim
    if isinstance(claim, tuple):
        if len(claim) != 2:
            raise InvalidParameter("claim", claim, allowed="an epsilon, a pair (epsilon, delta) or a loss")
        return ApproximateDP(*claim)
    return PureDP(not_negative(claim=claim))


def _least(
    low: Mapping[Input, Masses], high: Mapping[Input, Masses], both: list[tuple[Any, Any]], missing: Mapping[Any, Any]
) -> DeltaCurve:
    """Of listed outcomes; one that the other input does not list may be among what its table leaves out."""
    found = []
    for x, y in both:
        other = dict(high[y])
        if missing[y]:
            other |= {outcome: missing[y] for outcome in low[x] if outcome not in other}
        found += list(lines(low[x], other, (x, y), Fraction(0)))
    return curve(found)


def _bound(mass: Mass, end: Callable[[arb], Fraction]) -> Fraction:
    if isinstance(mass, arb):
        if not mass.is_finite():
            raise InvalidParameter("mass", str(mass), allowed="a number from 0 to 1, or a ball around one")
        with precise():
            return max(Fraction(0), end(mass))
    return not_negative(mass=mass)


def _missing(low: Masses, high: Masses, *, truncated: bool) -> Fraction:
    least, most = sum(low.values(), Fraction(0)), sum(high.values(), Fraction(0))
    off = least - 1 if least > 1 else 1 - most
    if least > 1 or (off > 0 and not truncated):
        raise InvalidParameter(
            "tables",
            f"masses whose total is {float(off):.3g} {'above' if least > 1 else 'below'} 1",
            allowed="masses that add up to exactly 1",
            hint="Write fractions, such as Fraction(1, 3), and say truncated=True if the tables leave outcomes out.",
        )
    return 1 - least if truncated else Fraction(0)


def _pairs(inputs: tuple[Any, ...], neighbours: Related) -> Iterator[tuple[Any, Any]]:
    if isinstance(neighbours, Neighbours):
        relation = neighbours
        if not all(isinstance(value, tuple) for value in inputs):
            raise InvalidParameter(
                "neighbours", relation, allowed="pairs, or a function of two inputs, unless inputs are tuples of rows"
            )
        yield from _pairs(inputs, lambda x, y: relation.related(multiset(x), multiset(y)))
    elif callable(neighbours):
        yield from (pair for pair in combinations(inputs, 2) if neighbours(*pair) or neighbours(*reversed(pair)))
    else:
        known, found = set(inputs), [tuple(pair) if isinstance(pair, tuple | list) else () for pair in neighbours]
        if any(len(pair) != 2 or not known.issuperset(pair) for pair in found):
            raise InvalidParameter("neighbours", "a pair", allowed="a list of pairs of inputs that have a table")
        yield from dict.fromkeys((x, y) for x, y in found)


def _renyi(p: Masses, q: Masses, order: Fraction, round_to: Callable[[arb], Fraction] = upper) -> Fraction:
    with precise():
        terms = (
            ball(mass) * ball(mass / q[outcome]) ** ball(order - 1)
            for outcome, mass in p.items()
            if mass and q.get(outcome)
        )
        total = sum(terms, arb(0))
        return max(Fraction(0), round_to(total.log() / ball(order - 1))) if total > 0 else Fraction(0)


def _known(loss: Loss) -> Iterator[Fraction]:
    for order in _ORDERS:
        try:
            loss.renyi(order)
        except InvalidParameter:
            return
        yield order


def _last_zero(line: DeltaLine) -> Extended:
    return line.mass / line.other if line.other else math.inf


def _shown(value: Extended) -> str:
    return format_number(value) if isinstance(value, Fraction) else "infinite"


def _ratio(value: Extended) -> str:
    text = str(value)
    return text if len(text) < 30 else f"{float(value):.6g}"


def _few(outcomes: tuple[Any, ...]) -> str:
    named = ", ".join(map(repr, outcomes[:_FEW]))
    return named if len(outcomes) <= _FEW else f"{named} and {len(outcomes) - _FEW} more"
