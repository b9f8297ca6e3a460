"""What a guarantee for one still promises to several: families, accomplices, or the copies of one record.

What a release promises the people in it, and what it does not, in plain words.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import singledispatch

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.neighbours import Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, inside_unit, of_kind, whole
from dalenius.privacy.odds import bracket
from dalenius.privacy.reals import ball, precise, upper


def group_privacy(loss: Loss, *, size: int) -> Loss:
    """The loss towards a group of `size` neighbours' steps, given the loss towards one.

    Guarantee: what holds between neighbours with `loss` holds with the result between databases that are `size` steps
    apart. Epsilon grows in proportion to the size, and not with its square root as under composition: a whole group
    may move the output together. Replicating every record k times is the same as asking for groups of k.
    Reference: Dwork & Roth 2014, Theorem 2.2 and its footnote; Bun & Steinke 2016 (arXiv:1605.02065), Proposition
    1.9; Mironov 2017 (arXiv:1702.07476), Proposition 2.
    Textbook: S1.8.
    """
    steps = whole(1, size=size)
    return of_kind(Loss, loss=loss) if steps == 1 else _group(loss, steps)  # type: ignore[type-abstract]


@singledispatch
def _group(loss: Loss, size: int) -> Loss:
    raise TheoremDoesNotApply(
        "group privacy",
        needs="a pure, approximate, zero-concentrated or Rényi loss",
        given=f"a {type(loss).__name__}",
        instead="a loss for the larger sensitivity, stated by the mechanism itself",
    )


@_group.register
def _(loss: PureDP, size: int) -> PureDP:
    return PureDP(size * loss.epsilon)


@_group.register
def _(loss: LaplaceDP, size: int) -> LaplaceDP:
    return LaplaceDP(size * loss.epsilon, steps=size * loss.steps)


@_group.register
def _(loss: BoundedRange, size: int) -> BoundedRange:
    return BoundedRange(size * loss.epsilon)


@_group.register
def _(loss: ApproximateDP, size: int) -> ApproximateDP:
    return ApproximateDP(size * loss.epsilon, group_delta(loss, size=size))


@_group.register
def _(loss: ZCDP, size: int) -> ZCDP:
    return ZCDP(size * size * loss.rho)


@_group.register
def _(loss: RenyiCurve, size: int) -> RenyiCurve:
    # Doubling the group divides the order by two and multiplies the divergence by three, for orders of at least 4.
    doublings = (size - 1).bit_length()
    shrink = 2**doublings
    points = tuple((alpha / shrink, 3**doublings * value) for alpha, value in loss.points if alpha >= 2 * shrink)
    if loss.event or not points:
        raise TheoremDoesNotApply(
            f"group privacy of a Rényi curve for {size}",
            needs=f"a curve without an event, known at an order of at least {2 * shrink}",
            given=str(loss),
            instead="a loss for the larger sensitivity, stated by the mechanism itself",
        )
    return RenyiCurve(points)


def group_delta(loss: ApproximateDP, *, size: int) -> Fraction:
    """The delta towards a group at epsilon times its size: delta (1 + e^epsilon + ... + e^{(size-1) epsilon}).

    Guarantee: certified upwards, at most 1, and never above the textbook's size * e^{(size-1) epsilon} * delta. The sum
    is attained by some releases, so no smaller figure holds for all.
    Reference: Dwork & Roth 2014, footnote to Theorem 2.2; the sum is the induction step without its last rounding.
    Textbook: S1.8.
    """
    steps, epsilon = whole(1, size=size), loss.epsilon
    with precise():
        series = ball(steps * epsilon).expm1() / ball(epsilon).expm1() if epsilon else ball(steps)
        total = ball(loss.delta) * series
        return Fraction(1) if total >= 1 else min(Fraction(1), upper(total))


EXPOSED = Fraction(1, 1000)
"""A delta that lets more than this many whole records be published, on average, draws a warning."""

_THINGS = {
    "row": "a row",
    "unit": "a person",
    "event": "an event",
    "user": "a user",
    "edge": "an edge",
    "vertex": "a vertex",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """The promises of one release, and the harms that it does not prevent.

    Textbook: S1.13.
    """

    promised: tuple[str, ...]
    not_promised: tuple[str, ...]

    def __str__(self) -> str:
        lists = (("What is promised", self.promised), ("What is not promised", self.not_promised))
        return "\n".join(line for title, items in lists for line in (f"{title}:", *(f"- {item}" for item in items)))


def statement(loss: Loss, neighbours: Neighbours | None, *, thing: str = "") -> Statement:
    """The statement to publish beside a release with this loss; `thing` says what is protected, in other words.

    Reference: Dwork & Roth 2014, Sections 2.3.1, 2.3.2 and 3.5.4 (weak quantification).
    Textbook: S1.13.
    """
    relation = stated(neighbours)
    named = thing or _THINGS[relation.protects]
    change = f"what {named} says" if isinstance(relation, Replace) else f"whether {named} is in the data"
    return Statement(
        promised=(
            f"{_bound(loss, change)} ({loss}, neighbours by {relation}).",
            "This holds for every harm, not only for being recognised, and whatever else anybody knows or will know: "
            "other databases, other releases, gossip.",
            "Nothing that is done with the release afterwards, by anybody, weakens it.",
            "Groups are protected too, but less: the loss grows with their size, and every further release about the "
            "same data adds to it.",
        ),
        not_promised=(
            "That nothing is learnt. What holds for a whole population can be learnt and can be true of somebody in "
            "or outside the data: that smoking causes cancer harms a smoker whether or not they took part.",
            "That secrets stay secret which are public already or follow from what is seen.",
            f"The same protection for many at once: what is hidden this well is {change}, for one at a time.",
            *_weaker(loss),
        ),
    )


def _bound(loss: Loss, change: str) -> str:
    if isinstance(loss, PureDP):
        return f"No outcome becomes more than {_factor(loss.epsilon)} times likelier, or less likely, by {change}"
    return f"How much better anybody can tell {change} after the release than before is bounded by the stated loss"


def _factor(epsilon: Fraction) -> str:
    odds = bracket(epsilon)[1]
    return str(Context(prec=4, rounding=ROUND_CEILING).divide(Decimal(odds.numerator), Decimal(odds.denominator)))


def _weaker(loss: Loss) -> tuple[str, ...]:
    if isinstance(loss, PureDP):
        return ()
    return (
        "Certainty: with a small probability a result may tell much more about somebody than usual.",
        "The same for all alternatives at once: the promise compares the data with any one alternative that is fixed "
        "beforehand. After the fact an alternative may be found that the result speaks against.",
    )


def default_delta(*, size: int, security: int = 20) -> Fraction:
    """A delta for about `size` people: 2^-security / size, far below 1 / size and negligible in the security parameter.

    `size` must be public, such as a planned number; a delta computed from a private count would leak it.
    Reference: Dwork & Roth 2014, Section 2.3 (delta of the order 1/n is very dangerous).
    Textbook: S1.3.
    """
    return Fraction(1, whole(1, size=size) * 2 ** whole(1, security=security))


def delta_warning(*, delta: Number, size: int) -> str:
    """A warning to show for a delta that is not far below 1 / size; empty for a sensible one.

    Publishing each record whole with probability delta satisfies (0, delta)-DP and exposes delta * size people.
    Reference: Dwork & Roth 2014, Section 2.3.
    Textbook: S1.3.
    """
    event, people = inside_unit(delta=delta), whole(1, size=size)
    if event * people <= EXPOSED:
        return ""
    return (
        f"delta = {float(event):g} is dangerous for {people} people: it would allow publishing the complete records of "
        f"{float(event * people):g} of them on average. Use at most {float(EXPOSED / people):g}, or "
        f"default_delta(size={people}), which is {float(default_delta(size=people)):.3g}."
    )
