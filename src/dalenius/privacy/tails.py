"""Tail bounds: how unlikely large deviations are. Every probability and every bound is rounded up.

They serve accuracy statements: a bound that is too large is merely less sharp.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.numbers import Number, exact, inside_unit, not_negative, positive, whole
from dalenius.privacy.reals import ball, lower, precise, upper

__all__ = [
    "azuma_drift",
    "azuma_effects",
    "azuma_martingale",
    "chernoff_above",
    "chernoff_additive",
    "chernoff_below",
    "laplace_sum_bound",
    "laplace_sum_tail",
    "stirling",
]


def laplace_sum_tail(*, scales: Sequence[Number], threshold: Number) -> Fraction:
    """A bound on P[Y > threshold] for a sum Y of independent Laplace variables with these scales.

    It is exp(-t^2 / 8 v^2) with v^2 the sum of the squared scales. The theorem needs t <= 2 sqrt(2) v^2 / (largest
    scale) and allows any larger v, so beyond that t the least v that satisfies it is taken. Holds for the Laplace law
    on the integers too, whose moment generating function is nowhere above that of the continuous law.
    Reference: Dwork & Roth 2014, Lemma 12.2. Corollary 12.4, read with sqrt(k) b for sqrt(kb) and P[Y > a sqrt(k) b] <=
    exp(-a^2 / 8) for a <= 2 sqrt(2) sqrt(k), is the case of k equal scales b.
    Textbook: S2.3.
    """
    sizes, level = _scales(scales), not_negative(threshold=threshold)
    with precise():
        spread, least = ball(_squares(sizes)), ball(level * max(sizes)) / ball(8).sqrt()
        return upper((-ball(level * level) / (8 * spread.max(least))).exp())


def laplace_sum_bound(*, scales: Sequence[Number], beta: Number) -> Fraction:
    """A bound that the absolute sum of independent Laplace variables exceeds with probability at most beta.

    It is v sqrt(8 ln(2/beta)) with v the larger of the root of the sum of squares and (largest scale) sqrt(ln(2/beta)).
    Reference: Dwork & Roth 2014, Corollary 12.3; equality in its condition on v is allowed by continuity.
    Textbook: S2.3.
    """
    sizes, failure = _scales(scales), inside_unit(beta=beta)
    with precise():
        depth = ball(2 / failure).log()
        variance = ball(_squares(sizes)).max(ball(max(sizes) ** 2) * depth)
        return upper((variance * 8 * depth).sqrt())


def chernoff_additive(*, count: int, deviation: Number) -> Fraction:
    """A bound on the chance that the mean of `count` variables in [0, 1] is above its expectation by a deviation.

    The same bound, exp(-2 m t^2), holds below the expectation. The variables must be independent.
    Reference: Dwork & Roth 2014, Theorem 3.1.
    Textbook: S7.6.
    """
    return _exp_minus(2 * whole(1, count=count) * not_negative(deviation=deviation) ** 2)


def chernoff_above(*, count: int, mean: Number, deviation: Number) -> Fraction:
    """A bound on P[S > (1 + t) mean] for the mean S of `count` independent variables in [0, 1]: exp(-m mean t^2 / 3).

    Reference: Dwork & Roth 2014, Theorem 3.2, which omits that the deviation t must be at most 1.
    Textbook: S7.6.
    """
    return _exp_minus(_relative(count, mean, deviation) / 3)


def chernoff_below(*, count: int, mean: Number, deviation: Number) -> Fraction:
    """A bound on P[S < (1 - t) mean] for the mean S of `count` independent variables in [0, 1]: exp(-m mean t^2 / 2).

    Reference: Dwork & Roth 2014, Theorem 3.2.
    Textbook: S7.6.
    """
    return _exp_minus(_relative(count, mean, deviation) / 2)


def azuma_effects(*, effects: Sequence[Number], deviation: Number) -> Fraction:
    """A bound on P[f >= E f + t] when exchanging any variable's value moves the expected f by a known amount at most.

    With c_i the most that exchanging the i-th value for any other one moves it, given the earlier variables, the bound
    is exp(-2 t^2 / sum c_i^2).
    Reference: Dwork & Roth 2014, Theorem 3.3.
    Textbook: S7.6.
    """
    squares = _squares([not_negative(effect=effect) for effect in effects])
    level = not_negative(deviation=deviation)
    if not squares:
        return Fraction(int(level == 0))
    return _exp_minus(2 * level**2 / squares)


def azuma_martingale(*, multiple: Number) -> Fraction:
    """A bound on P[X_m >= L sqrt(m)] for a martingale X_0 = 0, ..., X_m with |X_{i+1} - X_i| <= 1: exp(-L^2 / 2).

    Every step must be bounded, for i = 0, ..., m - 1, the last one too.
    Reference: Azuma 1967.
    Textbook: S7.6.
    """
    return _exp_minus(not_negative(multiple=multiple) ** 2 / 2)


def azuma_drift(*, count: int, bound: Number, drift: Number, multiple: Number) -> tuple[Fraction, Fraction]:
    """A threshold for a sum of `count` variables within +-bound and with conditional means at most `drift`.

    Gives (threshold, probability): the sum exceeds count * drift + z sqrt(count) bound with probability at most
    exp(-z^2 / 2), where z is `multiple`.
    Reference: Dwork & Roth 2014, Lemma 3.19.
    Textbook: S7.6.
    """
    steps, size, mean = whole(1, count=count), not_negative(bound=bound), exact(drift=drift)
    z = positive(multiple=multiple)
    with precise():
        threshold = upper(ball(steps * mean) + ball(z * size) * ball(steps).sqrt())
    return threshold, azuma_martingale(multiple=z)


def stirling(n: int) -> tuple[Fraction, Fraction]:
    """A lower and an upper bound on n!: sqrt(2 pi n) (n/e)^n times e^{1/(12n+1)} and e^{1/(12n)}, rounded outwards.

    Reference: Robbins 1955; Dwork & Roth 2014, Theorem 3.4.
    Textbook: S7.6.
    """
    size = whole(1, n=n)
    with precise():
        middle = (2 * arb.pi() * size).sqrt() * (ball(size) / ball(1).exp()) ** size
        least, most = (middle * ball(Fraction(1, 12 * size + extra)).exp() for extra in (1, 0))
        return lower(least), upper(most)


def _relative(count: int, mean: Number, deviation: Number) -> Fraction:
    size, level, part = whole(1, count=count), exact(mean=mean), not_negative(deviation=deviation)
    if not 0 <= level <= 1:
        raise InvalidParameter("mean", mean, allowed="between 0 and 1")
    if part > 1:
        raise TheoremDoesNotApply(
            "the multiplicative Chernoff bound",
            needs="a deviation of at most 1",
            given=f"{float(part):g}",
            instead="the additive form chernoff_additive",
        )
    return size * level * part**2


def _scales(scales: Sequence[Number]) -> list[Fraction]:
    if not scales:
        raise InvalidParameter("scales", scales, allowed="a list of at least one scale")
    return [positive(scale=scale) for scale in scales]


def _squares(sizes: Sequence[Fraction]) -> Fraction:
    return sum((size * size for size in sizes), Fraction(0))


def _exp_minus(exponent: Fraction) -> Fraction:
    with precise():
        return min(Fraction(1), upper((-ball(exponent)).exp()))
