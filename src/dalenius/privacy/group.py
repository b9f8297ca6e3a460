"""What a guarantee for one still promises to several: families, accomplices, or the copies of one record."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.numbers import of_kind, whole
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
