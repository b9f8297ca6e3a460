"""How much noise a target needs: the inverse of composition and conversion, rounded to the safe side.

Searches end within `TOLERANCE` of the least noise; every result has been checked against the target by the certified
forward formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, TypeAlias

from dalenius.accounting.amounts import DIVERGENCE_UNIT, UNBOUNDED, Charge, price
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import advanced_composition, optimal_delta, tight_advanced_composition
from dalenius.accounting.conversion import best_order, epsilon_to_renyi
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.losses import Loss
from dalenius.privacy.numbers import Number, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, lower, precise
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike

TOLERANCE = Fraction(1, 10**6)
"""A search stops when the best parameter is known this well, relative to its size."""
_STEPS, _FAR = 5, 20.0

Theorem: TypeAlias = Literal["basic", "advanced", "tight", "optimal"]


def textbook_epsilon(*, epsilon: Number, count: int, slack: Number) -> Fraction:
    """The textbook's rule of thumb for one of `count` uses: epsilon / (2 sqrt(2 count ln(1/slack))), rounded down.

    Guarantee: for epsilon < 1, `count` adaptive uses of (result, delta)-DP are (epsilon, count delta + slack)-DP. The
    text forgets that the slack must not be near 1; both conditions are checked. `per_use_epsilon` gives more.
    Reference: Dwork & Roth 2014, Corollary 3.21.
    Textbook: S6.5.
    """
    target, uses, extra = positive(epsilon=epsilon), whole(1, count=count), inside_unit(slack=slack)
    with precise():
        each = lower(ball(target) / (2 * (-2 * uses * ball(extra).log()).sqrt()))
    if target >= 1 or advanced_composition(epsilon=each, count=uses, slack=extra).epsilon > target:
        raise TheoremDoesNotApply(
            "Corollary 3.21",
            needs="epsilon < 1 and a slack that is not near 1",
            given=f"epsilon = {epsilon}, slack = {slack}, count = {uses}",
            instead="per_use_epsilon",
        )
    return each


def per_use_epsilon(
    *, epsilon: Number, delta: Number, count: int, per_use_delta: Number = 0, theorem: Theorem = "optimal"
) -> Fraction:
    """The largest epsilon for each of `count` adaptive uses that keeps all together (epsilon, delta)-DP.

    Guarantee: `count` uses of (result, per_use_delta)-DP meet the target by the named composition theorem, and at
    (1 + TOLERANCE) times the result that theorem no longer says so.
    Reference: the theorem's own function; the source's sqrt(epsilon / k) holds only up to a constant and sets nothing.
    Textbook: S6.5.
    """
    target, uses, event = positive(epsilon=epsilon), whole(1, count=count), probability(per_use_delta=per_use_delta)
    total = Budget(target, delta).delta
    if uses * event > total:
        raise InvalidParameter(
            "per_use_delta", per_use_delta, allowed=f"at most delta / count = {float(total / uses):.6g}"
        )
    if theorem == "basic" or not total:
        return target / uses
    return _largest(_meets(theorem, target, total, uses, event), target / uses)


def _meets(
    theorem: Theorem, target: Fraction, total: Fraction, uses: int, event: Fraction
) -> Callable[[Fraction], bool]:
    """Whether an epsilon for each use meets the target, by a theorem."""
    if theorem == "optimal":
        return lambda each: optimal_delta(epsilon=each, count=uses, target_epsilon=target, delta=event) <= total
    compose = {"advanced": advanced_composition, "tight": tight_advanced_composition}.get(theorem)
    if compose is None:
        raise InvalidParameter("theorem", theorem, allowed="one of basic, advanced, tight, optimal")
    slack = total - uses * event
    return lambda each: compose(epsilon=each, count=uses, slack=slack).epsilon <= target


def laplace_scale(*, sensitivity: SensitivityLike, epsilon: Number, delta: Number = 0, count: int = 1) -> Fraction:
    """The Laplace scale for each of `count` adaptive releases that are (epsilon, delta)-DP together."""
    size = Sensitivity.of(sensitivity).need("l1", mechanism="the Laplace mechanism")
    return size / per_use_epsilon(epsilon=epsilon, delta=delta, count=count)


def gaussian_variance(*, sensitivity: SensitivityLike, epsilon: Number, delta: Number, count: int = 1) -> Fraction:
    """The variance of Gaussian noise for each of `count` adaptive releases that are (epsilon, delta)-DP together.

    By zCDP, so it holds for vectors, for integer noise and for any mixture of sensitivities; the exact law of a single
    release needs less (see the Gaussian mechanism): 14 % at (1, 1e-5), 9 % at (1, 1e-9).
    """
    size = Sensitivity.of(sensitivity).need("l2_squared", mechanism="the Gaussian mechanism")
    return whole(1, count=count) * size / (2 * largest_rho(epsilon=epsilon, delta=delta))


def largest_rho(*, epsilon: Number, delta: Number) -> Fraction:
    """The largest rho for which rho-zCDP implies (epsilon, delta)-DP, rounded down.

    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Proposition 12, solved for rho.
    """
    target, event = positive(epsilon=epsilon), inside_unit(delta=delta)

    def rho(order: Fraction) -> Fraction:
        return epsilon_to_renyi(epsilon=target, alpha=order, delta=event) / order

    best = rho(best_order(lambda order: -rho(order)))
    if best <= 0:
        raise InvalidParameter("epsilon", epsilon, allowed="larger, or delta larger: no order up to 2^65 can meet both")
    return best


def affordable(amount: Charge, loss: Callable[[Fraction], Loss]) -> Fraction:
    """The largest parameter whose loss costs no more than `amount`: `affordable(amount, PureDP)` is an epsilon.

    `loss` must grow with its parameter: more epsilon or rho for larger parameters.
    """
    if not amount:
        raise InvalidParameter("amount", amount, allowed="greater than 0")

    def holds(size: Fraction) -> bool:
        return price(loss(size), order=amount.order) <= amount

    pure = amount.epsilon * DIVERGENCE_UNIT
    if amount.is_pure and pure and holds(pure) and not holds(pure * (1 + TOLERANCE)):
        return pure  # the parameter is an epsilon, and may be all of it
    return _largest(holds, _near(amount, loss), TOLERANCE)


def _near(amount: Charge, loss: Callable[[Fraction], Loss]) -> Fraction:
    """A parameter whose loss costs about `amount`: a few steps that take cost for a power of it."""
    guess, power, before = 1.0, 1.0, None
    for _ in range(_STEPS):
        cost = price(loss(Fraction(guess)), order=amount.order)
        sizes = [(cost.divergence, amount.divergence), (cost.delta, amount.delta)]
        sizes += [(cost.epsilon, amount.epsilon)] if amount.epsilon < UNBOUNDED else []
        over = math.log(max(size / max(1, most) for size, most in sizes))
        if before is not None and over != before[1]:
            power = min(4.0, max(0.25, (over - before[1]) / math.log(guess / before[0])))
        before = guess, over
        guess *= math.exp(-max(-_FAR, min(_FAR, over / power)))
        if guess == before[0]:
            break
    return Fraction(guess)


def _largest(holds: Callable[[Fraction], bool], guess: Fraction, step: Fraction = Fraction(1)) -> Fraction:
    """The largest parameter for which a condition holds that fails for all larger ones, within the tolerance.

    Looked for around the guess, at relative distances that double from `step` on.
    """
    _within_reach(guess)
    low = high = guess
    while not holds(low):
        high, low, step = low, low / (1 + step), 2 * step
        _within_reach(low)
    while holds(high):
        low, high, step = high, high * (1 + step), 2 * step
        _within_reach(high)
    while high - low > TOLERANCE * low:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _within_reach(parameter: Fraction) -> None:
    if not Fraction(1, 10**40) < parameter < 10**40:
        raise InvalidParameter("target", "out of reach", allowed="a target that a parameter of ordinary size meets")
