"""What a release promises the people in it, and what it does not, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.neighbours import Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.privacy.odds import bracket

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
