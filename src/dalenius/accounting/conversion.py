"""From one kind of loss to another, by the tightest rule that is known; every figure is rounded up.

Not every loss can be every other: a Gaussian release is not pure at any epsilon, and an event of positive probability
cannot be hidden in a Rényi divergence. Such questions are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from flint import arb

from dalenius.accounting.composition import Composition, ParallelLoss, optimal_composition, optimal_delta, parts
from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.loss_distribution import LossDistribution, RandomizedBits
from dalenius.privacy.losses import ZCDP, ApproximateDP, Loss, PureDP, RenyiCurve, valid_order
from dalenius.privacy.numbers import Number, inside_unit, not_negative, probability
from dalenius.privacy.reals import ball, precise, upper

LEAST_DELTA = Fraction(1, 10**1000)
"""Smaller deltas are rounded up to this one, so that no figure fills the memory with digits."""

_LEAST_EXPONENT = -2303  # e^-2303 < LEAST_DELTA


def renyi_to_epsilon(*, divergence: Number, alpha: Number, delta: Number) -> Fraction:
    """The epsilon at `delta` that a Rényi divergence of order alpha implies, rounded up.

    Guarantee: D_alpha(P || Q) <= divergence implies P[S] <= e^epsilon Q[S] + delta for all events S, with
    epsilon = divergence + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1), or 0 where that is negative.
    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Proposition 12; Balle et al. 2020
    (arXiv:1905.09982), Theorem 21.
    """
    order, size, event = valid_order(alpha), not_negative(divergence=divergence), inside_unit(delta=delta)
    return max(Fraction(0), size + _overhead(order, event))


def renyi_to_delta(*, divergence: Number, alpha: Number, epsilon: Number) -> Fraction:
    """The delta at `epsilon` that a Rényi divergence of order alpha implies, rounded up.

    Guarantee: as `renyi_to_epsilon`, solved for delta:
    delta = e^((alpha - 1) (divergence - epsilon)) (1 - 1/alpha)^(alpha - 1) / alpha.
    Reference: as `renyi_to_epsilon`.
    """
    order, size, loss = valid_order(alpha), not_negative(divergence=divergence), not_negative(epsilon=epsilon)
    with precise():
        return _bounded(upper(_log_delta(order, size - loss)))


def epsilon_to_renyi(*, epsilon: Number, alpha: Number, delta: Number) -> Fraction:
    """The largest Rényi divergence of order alpha that still implies (epsilon, delta), rounded down; may be negative.

    Reference: as `renyi_to_epsilon`.
    """
    return not_negative(epsilon=epsilon) - _overhead(valid_order(alpha), inside_unit(delta=delta))


def to_approximate(loss: Loss, *, delta: Number) -> ApproximateDP:
    """The least epsilon at `delta` that the loss is known to imply.

    Pure and approximate losses, alone or repeated, are converted by their exact worst case; loss distributions exactly;
    all others, and mixtures, by the best Rényi order or by adding up. The smallest figure found is given.
    """
    event = probability(delta=delta)
    figures = (_exact_epsilon(loss, event), _renyi_epsilon(loss, event), _stated_epsilon(loss, event))
    bounds = [figure for figure in figures if figure is not None]
    if not bounds:
        raise TheoremDoesNotApply(
            "Conversion to approximate privacy",
            needs=f"a delta above {float(loss.delta):.6g}, the probability of the loss's own events",
            given=f"delta = {float(event):.6g} for {loss}",
            instead="a larger delta",
        )
    return ApproximateDP(min(bounds), event)


def to_delta(loss: Loss, *, epsilon: Number) -> Fraction:
    """The least delta at `epsilon` that the loss is known to imply; found as in `to_approximate`."""
    size = not_negative(epsilon=epsilon)
    figures = (_exact_delta(loss, size), _renyi_delta(loss, size), _stated_delta(loss, size))
    return min(figure for figure in figures if figure is not None)


def max_divergence(loss: Loss) -> Fraction | None:
    """The divergence of order infinity that holds outside of the loss's events; None where it has no bound.

    It belongs to the same decomposition as `loss.renyi` and `loss.delta`: one event, and beside it both bounds.
    """
    if isinstance(loss, Composition):
        each = [(max_divergence(part), count) for part, count in loss.parts]
        known = [count * size for size, count in each if size is not None]
        return sum(known, Fraction(0)) if len(known) == len(each) else None
    if isinstance(loss, ParallelLoss):
        sizes = [size for size in map(max_divergence, loss.losses) if size is not None]
        return loss.dearest(sizes) if len(sizes) == len(loss.losses) else None
    if isinstance(loss, LossDistribution) and loss.delta:
        return None  # its Rényi divergence is that of the conditioned sides, whose odds may be higher
    stated = _stated(loss)
    return None if stated is None else stated.epsilon


def to_pure(loss: Loss) -> PureDP:
    """The least epsilon that holds with certainty; refused where there is none, as for Gaussian noise."""
    stated = _stated(loss)
    if stated is None or stated.delta:
        raise TheoremDoesNotApply(
            "Conversion to pure privacy",
            needs="a loss that is bounded with certainty",
            given=str(loss),
            instead="Laplace noise, or a budget with delta > 0",
        )
    return PureDP(stated.epsilon)


def to_zcdp(loss: Loss) -> ZCDP:
    """The least rho for which the loss is rho-zCDP.

    Guarantee: an epsilon-DP release is (epsilon tanh(epsilon / 2))-zCDP. This is never above the usual epsilon^2 / 2,
    and randomized response attains it: its divergence of order alpha, divided by alpha, is largest as alpha falls to 1,
    because ln cosh of a square root is concave.
    Reference: Bun & Steinke 2016 (arXiv:1605.02065), Proposition 1.4, for epsilon^2 / 2; the proof is above.
    """
    return ZCDP(sum((count * _rho(part) for part, count in parts(loss)), Fraction(0)))


def to_renyi(loss: Loss, *, orders: Iterable[Number]) -> RenyiCurve:
    """The loss's Rényi curve at some orders, with its event probability."""
    return RenyiCurve(tuple((valid_order(alpha), loss.renyi(alpha)) for alpha in orders), event=loss.delta)


def best_order(objective: Callable[[Fraction], Fraction]) -> Fraction:
    """An order alpha > 1 at which an objective is least, to nine digits of alpha - 1.

    The objective may have several valleys (pure losses have one more, towards infinity): each power of two is looked
    at, and the search goes on around the best. Whatever order comes out, figures computed from it are valid; the
    search only makes them small.
    """
    power = min(range(-40, 65), key=lambda exponent: objective(1 + Fraction(2) ** exponent))
    step = Fraction(2) ** (power - 32)
    return 1 + step * valley(lambda steps: objective(1 + step * steps), 2**31, 2**33)


def valley(objective: Callable[[int], Fraction], low: int, high: int) -> int:
    """The integer in [low, high] where a quasi-convex objective is least."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if objective(middle) <= objective(middle + 1) else (middle + 1, high)
    return low


def _overhead(order: Fraction, delta: Fraction) -> Fraction:
    """What epsilon has above the Rényi divergence, rounded up."""
    with precise():
        alpha = ball(order)
        return upper((1 - 1 / alpha).log() - (ball(delta).log() + alpha.log()) / (alpha - 1))


def _log_delta(order: Fraction, surplus: Fraction) -> arb:
    """The logarithm of delta where the divergence is `surplus` above epsilon; convex in the order."""
    alpha = ball(order)
    return (alpha - 1) * (ball(surplus) + (1 - 1 / alpha).log()) - alpha.log()


def _bounded(exponent: Fraction) -> Fraction:
    """e^exponent, rounded up into [LEAST_DELTA, 1]."""
    if exponent >= 0:
        return Fraction(1)
    if exponent <= _LEAST_EXPONENT:
        return LEAST_DELTA
    with precise():
        return max(LEAST_DELTA, min(Fraction(1), upper(ball(exponent).exp())))


def _renyi_epsilon(loss: Loss, delta: Fraction) -> Fraction | None:
    room = delta - loss.delta
    if not 0 < room < 1:
        return None
    return max(Fraction(0), _over_orders(loss, lambda order: loss.renyi(order) + _overhead(order, room)))


def _renyi_delta(loss: Loss, epsilon: Fraction) -> Fraction:
    def exponent(order: Fraction) -> Fraction:
        with precise():
            return upper(_log_delta(order, loss.renyi(order) - epsilon))

    return min(Fraction(1), loss.delta + _bounded(_over_orders(loss, exponent)))


def _over_orders(loss: Loss, figure: Callable[[Fraction], Fraction]) -> Fraction:
    """The least figure over all orders, or over those at which the loss is known."""
    known = known_orders(loss)
    return figure(best_order(figure)) if known is None else min(figure(order) for order in known)


def known_orders(loss: Loss) -> list[Fraction] | None:
    """The orders at which a loss is known, where these are finitely many."""
    if isinstance(loss, RenyiCurve):
        return [alpha for alpha, _ in loss.points]
    inner = [part for part, _ in loss.parts] if isinstance(loss, Composition) else []
    inner += loss.losses if isinstance(loss, ParallelLoss) else []
    curves = [known for known in map(known_orders, inner) if known]
    if not curves:
        return None
    highest = min(max(known) for known in curves)
    return sorted({alpha for known in curves for alpha in known if alpha <= highest})


def _exact_epsilon(loss: Loss, delta: Fraction) -> Fraction | None:
    if isinstance(loss, LossDistribution | RandomizedBits):
        epsilon = loss.epsilon_at(delta=delta)
        return epsilon if isinstance(epsilon, Fraction) else None
    worst = _uniform(loss)
    if worst is None or delta < loss.delta:
        return None
    each, count = worst
    return optimal_composition(epsilon=each.epsilon, count=count, target_delta=delta, delta=each.delta).epsilon


def _exact_delta(loss: Loss, epsilon: Fraction) -> Fraction | None:
    if isinstance(loss, LossDistribution | RandomizedBits):
        return loss.delta_at(epsilon=epsilon)
    worst = _uniform(loss)
    if worst is None:
        return None
    each, count = worst
    return optimal_delta(epsilon=each.epsilon, count=count, target_epsilon=epsilon, delta=each.delta)


def _stated(loss: Loss) -> ApproximateDP | None:
    """What adding up gives, where every part states an epsilon."""
    if isinstance(loss, PureDP | ApproximateDP):
        return ApproximateDP(loss.epsilon, loss.delta)
    if isinstance(loss, LossDistribution | RandomizedBits):
        epsilon = loss.epsilon_at(delta=loss.delta)
        return ApproximateDP(epsilon, loss.delta) if isinstance(epsilon, Fraction) else None
    if isinstance(loss, RenyiCurve):
        return None if loss.epsilon is None else ApproximateDP(loss.epsilon, loss.event)
    if isinstance(loss, Composition):
        each = [(_stated(part), count) for part, count in loss.parts]
        epsilons = [count * part.epsilon for part, count in each if part]
        return ApproximateDP(sum(epsilons, Fraction(0)), loss.delta) if len(epsilons) == len(each) else None
    if isinstance(loss, ParallelLoss):
        dearest = [part.epsilon for part in map(_stated, loss.losses) if part]
        return ApproximateDP(loss.dearest(dearest), loss.delta) if len(dearest) == len(loss.losses) else None
    return None


def _stated_epsilon(loss: Loss, delta: Fraction) -> Fraction | None:
    stated = _stated(loss)
    return stated.epsilon if stated and stated.delta <= delta else None


def _stated_delta(loss: Loss, epsilon: Fraction) -> Fraction | None:
    stated = _stated(loss)
    return stated.delta if stated and stated.epsilon <= epsilon else None


def _uniform(loss: Loss) -> tuple[PureDP | ApproximateDP, int] | None:
    """A pure or approximate loss with the number of its uses, if the loss is nothing else."""
    (each, count), *others = parts(loss) or ((loss, 1),)
    return (each, count) if isinstance(each, PureDP | ApproximateDP) and not others else None


def _rho(loss: Loss) -> Fraction:
    if isinstance(loss, ZCDP):
        return loss.rho
    pure = to_pure(loss).epsilon
    with precise():
        epsilon = ball(pure)
        return upper(epsilon * (epsilon / 2).tanh())
