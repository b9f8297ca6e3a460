"""Objective perturbation: the exact minimum of a summed loss with a ridge and a random tilt.

Guarantee, about the minimum itself: let every row have a Euclidean norm of at most C and a loss whose slope lies
between -L and 0 and grows at a rate of at most c, and let two databases differ in rows of one unit, r of them at most
on either side. J(w) = (sum of losses) + ridge/2 |w|^2 + b . w has one minimum w*, and so it has with a public penalty,
convex and quadratic, on top. Then
  - if b has a density proportional to exp(-|b| / s), w* is (k L C / s + r ln(1 + c C^2 / ridge))-DP, where k counts the
    rows that differ (r if units come and go, 2 r if they change);
  - if b is normal with variance v, the Rényi divergence of order a is at most r ln(1 + c C^2 / ridge) and the lesser of
    ln(1 + the sum over 1 <= j <= k of (k choose j) (M(j t) - 1)) / (a - 1), where t = L C / sqrt(v) and M(t) is the
    mean of the larger of 1 and exp((a - 1) (t N + t^2 / 2)) for a standard normal N, and
    k^2 t^2 / 2 + ln(1/2 + exp(s^2 / 2) P[N <= s]) / (a - 1), where s = (a - 1) k t.
Where the slope of a row's loss lies between -L and L, as for residuals, the first holds as it is, and of the second
r ln(1 + c C^2 / ridge) + k^2 t^2 / 2 + ln(2 exp(s^2 / 2) P[N <= s]) / (a - 1).
Proof: b = -gradient(w*), so w* tells b. The map from w to b is one to one and Lipschitz, and so is its inverse, for
slopes are continuous and rise at most at the rate c, and the ridge is positive; so it is differentiable but for a set
of measure 0, and w* has the density p(b(w)) det H(w), H >= ridge times the identity. Rows that are added raise the
determinant, each by a factor of at most 1 + c C^2 / ridge, and rows that are removed can only lower it, which gives the
first term. For the same w the two tilts differ by a sum u of k vectors, each a row's features, with a sign, times a
number from 0 to L. In the first case |u| <= k L C. In the second the log-ratio of the densities is
(2 b . u + |u|^2) / 2v, convex in the k numbers, so it is largest at a corner, where each of them is 0 or L, whatever w
is. The corner u = 0 gives the ratio 1, and the largest of 1 and other numbers is at most 1 and what each of these has
above 1. A corner with j numbers L has |u| <= j L C, and t = |u| / sqrt(v) gives M(t). M grows with t: exp(-t N - t^2/2)
is a martingale in t^2, and the larger of 1 and a negative power of it is convex in it. That is close for few rows. For
many, 2 b . u is at most twice the sum over the k vectors of what is positive of L b . x, and |u|^2 at most k^2 L^2 C^2;
by Hölder's inequality the mean of a product of k exponentials is at most that of the k-th power of the largest, and the
mean of exp(s max(0, N)) is 1/2 + exp(s^2 / 2) P[N <= s], which grows with s. With slopes of both signs the k numbers
are from -L to L, 2 b . u is at most twice the sum of L |b . x|, and the mean of exp(s |N|) is 2 exp(s^2 / 2) P[N <= s].
A public penalty adds the same to both gradients, and to both second derivatives something that is not negative.

What is released is a point within r of w*, certified, with noise on a grid for points that are 2 r apart: given w*,
what comes out on neighbours differs by no more than that noise hides. So solvers need not be trusted, nor be exact.
Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Theorem 9, for the pure form; Kifer, Smith &
Thakurta 2012 for normal tilts; Redberg, Koskela & Wang 2023 (arXiv:2401.00583) for their Rényi curve.
Textbook: S14.7.

Random vectors with a density, rounded down to whole numbers: drawn exactly.

Uniform real numbers are known by their leading bits. What is made of them is enclosed, and more bits are drawn until
all enclosures agree on the whole part, so each vector of whole numbers comes with exactly the probability that the
density gives to its cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil, comb, isqrt
from typing import Any, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.linear.losses_piecewise import Curve
from dalenius.learn.linear.minimum import FINE_BITS, NEAR_BITS, RIDGE_BITS, TILT_BITS, RowCounts, Tilted
from dalenius.learn.rows import ONE, Integers, SealedRows
from dalenius.mechanisms.budget_parts import Noise
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss, PureDP, valid_order
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import ball, least_multiple, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import whole_point

Wide: TypeAlias = NDArray[Any]
"""An array of Python's whole numbers: no number is too large for it, so no draw is ever left out."""

_FIRST_BITS, _MORE_BITS = 128, 64


def normal_vector(variance: Fraction, size: int, entropy: Entropy) -> Wide:
    """The whole parts of `size` independent normal numbers with this variance.

    Reference: Box & Muller 1958.
    """
    count = whole(1, size=size)
    spread = positive(variance=variance)
    pairs = (count + 1) // 2
    return _whole_parts(
        2 * pairs, lambda uniform: [ball(spread).sqrt() * each for each in _normal(uniform)][:count], entropy
    )


def spherical_vector(scale: Fraction, size: int, entropy: Entropy) -> Wide:
    """The whole parts of a vector z of `size` numbers with a density proportional to exp(-|z| / scale), where |z| is
    the Euclidean norm.

    In polar coordinates the norm has a density proportional to r^(size - 1) exp(-r / scale), a sum of exponential
    numbers, and is independent of the direction, that of a normal vector.
    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), section 3.
    """
    count = whole(1, size=size)
    wide = positive(scale=scale)
    pairs = (count + 1) // 2

    def point(uniform: list[arb]) -> list[arb]:
        direction = _normal(uniform[: 2 * pairs])[:count]
        length = -sum((each.log() for each in uniform[2 * pairs :]), arb(0)) * ball(wide)
        stretch = length / sum((each * each for each in direction), arb(0)).sqrt()
        return [each * stretch for each in direction]

    return _whole_parts(2 * pairs + count, point, entropy)


def _normal(uniform: list[arb]) -> list[arb]:
    """As many independent standard normal numbers as there are uniform ones, an even number."""
    numbers: list[arb] = []
    for first, second in zip(uniform[::2], uniform[1::2], strict=True):
        length = (-2 * first.log()).sqrt()
        numbers += [length * (2 * second).cos_pi(), length * (2 * second).sin_pi()]
    return numbers


def _whole_parts(count: int, formula: Callable[[list[arb]], list[arb]], entropy: Entropy) -> Wide:
    """The whole parts of what a formula makes of uniform numbers, which are revealed until all are certain."""
    bits = _FIRST_BITS
    prefixes = [entropy.bits(bits) for _ in range(count)]
    while True:
        with precise(bits + _MORE_BITS):
            half = arb(0, 1) * ball(Fraction(1, 2 << bits))
            known = formula([ball(Fraction(2 * prefix + 1, 2 << bits)) + half for prefix in prefixes])
            if all(each.is_finite() for each in known):
                ends = [(whole_point(each.lower().floor()), whole_point(each.upper().floor())) for each in known]
                if all(low == high for low, high in ends):
                    return np.array([low for low, _ in ends], dtype=object)
        prefixes = [prefix << _MORE_BITS | entropy.bits(_MORE_BITS) for prefix in prefixes]
        bits += _MORE_BITS


GRID_BITS = 30
"""Released weights are whole numbers of 2^-30."""
TURNING = Fraction(1, 3)
"""The share of a price that goes to the ridge."""
ROUNDING = Fraction(1, 100)
"""The share of a price that hides how the minimum was found."""
_FEW = 16  # rows that differ; the corners of more are too many to be worth it
_FIRMEST = 2.0**22  # times the ridge: what a larger penalty leaves of a weight cannot be told from 0, nor certified
_LARGEST = 2**12  # weights stay well below what can be certified, however the tilt falls


@dataclass(frozen=True, slots=True)
class TiltedNormal(Loss):
    """The minimum with a normal tilt: `rho` is L^2 C^2 / 2v for one row, `differing` the number of rows that differ,
    `bend` the ratio c C^2 / ridge and `rows` how many a unit has; `rounding` is the rho of the noise on the grid, and
    `two_sided` says that slopes have both signs."""

    rho: Fraction
    differing: int
    bend: Fraction
    rows: int
    rounding: Fraction
    two_sided: bool = False

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def renyi(self, alpha: Number) -> Fraction:
        order = valid_order(alpha)
        with precise():
            turned = self.rows * ball(1 + self.bend).log()
            corners = self.differing <= _FEW and not self.two_sided
            tilted = [self._together(order), *([self._by_corners(order)] if corners else [])]
            return min(upper(turned + each) for each in tilted) + order * self.rounding

    def _by_corners(self, order: Fraction) -> arb:
        """The bound that is close for few rows."""
        each = ball(2 * self.rho).sqrt()
        above = [
            comb(self.differing, many) * (_larger(order, each * many) - 1) for many in range(1, self.differing + 1)
        ]
        return sum(above, ball(1)).log() / ball(order - 1)

    def _together(self, order: Fraction) -> arb:
        """The bound that is close for many rows."""
        far = ball(2 * self.rho).sqrt() * self.differing
        steep = far * ball(order - 1)
        above = (steep * steep / 2).exp() * _below(steep)
        moment = 2 * above if self.two_sided else ball(Fraction(1, 2)) + above
        return far * far / 2 + moment.log() / ball(order - 1)

    def __str__(self) -> str:
        return f"a tilted objective with rho = {float(self.rho):.4g} for a row"


def _larger(order: Fraction, t: arb) -> arb:
    """The mean of the larger of 1 and exp((order - 1) (t N + t^2 / 2)), for a standard normal N."""
    grown = (ball(order * (order - 1)) * t * t / 2).exp()
    return _below(-t / 2) + grown * _below(ball(order - Fraction(1, 2)) * t)


def _below(x: arb) -> arb:
    """The probability that a standard normal number is below x."""
    return (-x / ball(2).sqrt()).erfc() / 2


@dataclass(frozen=True)
class TiltedMinimum:
    """Release a point next to the minimum of a randomly tilted objective, in steps of 2^-30.

    `label` is the one against all others, or None where targets are numbers; `penalties` raise the ridge along each
    weight. `width` is the number of weights and `norm_squared` the largest squared norm of a row, in steps of the rows'
    grid. `spread` is the scale of a spherical tilt where `noise` is that of Laplace, and the variance of a normal tilt
    where it is Gaussian; `noise` hides how the point was found.
    Guarantee, proof and references: at the head of this file. The sensitivity is that of the rows, the number of them
    that differ.
    """

    bend: Curve
    label: int | None
    ridge: Fraction
    spread: Fraction
    noise: Noise
    width: int
    norm_squared: int
    neighbours: Neighbours = field(default_factory=partial(stated, None))
    penalties: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        positive(spread=self.spread)
        if positive(ridge=self.ridge) * (1 << RIDGE_BITS) % 1:
            raise InvalidParameter("ridge", self.ridge, allowed=f"a multiple of 2^-{RIDGE_BITS}")

    @property
    def row_squared(self) -> Fraction:
        """L^2 C^2: the square of the longest gradient of a row's loss."""
        return self.bend.steepest**2 * Fraction(self.norm_squared, ONE**2)

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP | TiltedNormal:
        """The loss of one release."""
        differing = ceil(Sensitivity.of(sensitivity).need("l1", mechanism="objective perturbation"))
        rows = -(-differing // self.neighbours.add_remove_steps)
        turn = turned(self.bend, self.norm_squared, self.ridge)
        rounding = self.noise.loss(sensitivity=apart(self.width))
        if isinstance(rounding, PureDP):
            with precise():
                tilt = upper(
                    differing * ball(self.row_squared).sqrt() / ball(self.spread) + rows * ball(1 + turn).log()
                )
            return PureDP(tilt + rounding.epsilon)
        rho = self.row_squared / (2 * self.spread)
        return TiltedNormal(rho, differing, turn, rows, rounding.rho, self.bend.two_sided)

    def release(self, value: RowCounts, entropy: Entropy) -> Integers:
        """Weights in steps of 2^-30."""
        unit = 1 << TILT_BITS
        if isinstance(self.noise, DiscreteLaplace):
            tilt = spherical_vector(self.spread * unit, self.width, entropy)
        else:
            tilt = normal_vector(self.spread * unit**2, self.width, entropy)
        tilted = Tilted(self.bend, self.label, self.ridge, tilt, self.penalties)
        point = tilted.minimum(value.entries, norm_squared=self.norm_squared)
        return self.noise.release(on_grid(point), entropy)


def counted(rows: SealedRows) -> Exact[RowCounts]:
    """Sealed rows, with the number of them that a unit changes."""
    return rows.entries.map(RowCounts, sensitivity=rows.change(l2_squared=1, l1=1))


def calibrated(
    rows: SealedRows,
    bend: Curve,
    label: int | None,
    *,
    price: Fraction,
    order: Fraction | None,
    count: float = 0,
    penalties: Sequence[float] = (),
) -> TiltedMinimum:
    """The least tilt for a price: of epsilon, or of the divergence of an order. The ridge costs a share of the price,
    `TURNING`, and is as small as that allows; `count` is public, about the number of rows. `penalties` are wanted on
    top of the ridge, one for each weight."""
    noise = _hiding(rows, price * ROUNDING, order)
    change = counted(rows).sensitivity
    differing = int(change.need("l1", mechanism="objective perturbation"))
    moved = bend.steepest**2 * Fraction(rows.norm_squared, ONE**2) * differing**2
    left = price * (1 - TURNING - ROUNDING)
    near = Fraction(isqrt(ceil(moved * 2**40)), 2**20) / left if order is None else moved * order / (2 * left)
    ridge = max(
        least_ridge(bend, rows.norm_squared, price=price * TURNING / rows.most),
        certifiable(rows, bend, count),
        _steadying(near, rows.width, pure=order is None),
    )

    def made(ridge: Fraction, spread: Fraction) -> TiltedMinimum:
        more = tuple(int(min(penalty, float(ridge) * _FIRMEST) * (1 << RIDGE_BITS)) for penalty in penalties)
        return TiltedMinimum(bend, label, ridge, spread, noise, rows.width, rows.norm_squared, rows.neighbours, more)

    def least(ridge: Fraction) -> TiltedMinimum:
        def affordable(spread: Fraction) -> bool:
            if spread <= 0:
                return False
            loss = made(ridge, spread).loss(sensitivity=change)
            return (loss.epsilon if isinstance(loss, PureDP) else loss.renyi(order or 0)) <= price

        return made(ridge, least_multiple(affordable, near=near))

    found = least(ridge)
    firm = _steadying(found.spread, rows.width, pure=order is None)
    return found if firm <= ridge else least(firm)  # a firmer ridge is cheaper: no wider tilt


def _hiding(rows: SealedRows, price: Fraction, order: Fraction | None) -> Noise:
    if order is None:
        return DiscreteLaplace.calibrated(sensitivity=apart(rows.width), epsilon=price, neighbours=rows.neighbours)
    return DiscreteGaussian.calibrated(sensitivity=apart(rows.width), rho=price / order, neighbours=rows.neighbours)


def turned(bend: Curve, norm_squared: int, ridge: Fraction) -> Fraction:
    """The ratio c C^2 / ridge: by how much one row can stretch the volume that tilts take."""
    return bend.curvature * Fraction(norm_squared, ONE**2) / ridge


def least_ridge(bend: Curve, norm_squared: int, *, price: Fraction) -> Fraction:
    """The least ridge, a multiple of 2^-12, with ln(1 + c C^2 / ridge) <= price."""
    with precise():
        needed = upper(1 / (ball(positive(price=price)).exp() - 1)) * turned(bend, norm_squared, Fraction(1))
    return ridge_on_grid(needed)


def certifiable(rows: SealedRows, bend: Curve, count: float) -> Fraction:
    """The least ridge for which a minimum over about so many rows can be certified; far too little to be felt.

    Proof: rounding of margins and slopes takes n C 2^-47 from a gradient. On the grid of weights some point lies within
    2^-49 of the minimum in each of d coordinates, and from there the rows' gradient, which changes at a rate of at most
    n c C^2, is at most n c C^2 sqrt(d) 2^-49 long, a part c C sqrt(d) / 4 of what rounding takes. The ridge times 2^-22
    is twice both together; for d below 2^30 the other half is more than what the ridge itself and rounded tilts take.
    """
    longest, root = isqrt(rows.norm_squared // ONE**2) + 1, isqrt(rows.width) + 1
    taken = max(0, ceil(count)) * longest * (1 + bend.curvature * longest * root / 4)
    return ridge_on_grid(max(Fraction(1, 2), taken / (1 << 24)))


def _steadying(spread: Fraction, width: int, *, pure: bool) -> Fraction:
    """A ridge at which no tilt that occurs makes weights too large.

    Proof that weights stay below 2^13, where a search cuts them off and could certify nothing: at the minimum,
    ridge |w|^2 + b . w is the sum over rows of score times slope, each at most k: 9/16 for the hinge, 9/32 for logistic
    losses, 1/4 for residuals. So |w| is at most |b| / ridge, below 2^12 but for tilts that occur less than once in
    10^15 times whatever the rows are, and the root of n k / ridge. The ridge is 1/2 or more, and that of `certifiable`
    at least (1 + c / 2) n 2^-24, where c is 1 for the hinge and for residuals: the root is below 2^12 too, even if
    there are twice as many rows as was said.
    """
    longest = spread * (2 * width + 40) if pure else (isqrt(ceil(spread)) + 1) * (2 * isqrt(width) + 12)
    return ridge_on_grid(Fraction(longest) / _LARGEST)


def ridge_on_grid(ridge: Fraction) -> Fraction:
    """A ridge, rounded up to a multiple of 2^-12."""
    return Fraction(max(1, ceil(ridge * (1 << RIDGE_BITS))), 1 << RIDGE_BITS)


def on_grid(point: Integers) -> Integers:
    """A point in steps of 2^-30, rounded down."""
    return point >> (FINE_BITS - GRID_BITS)


def weights_of(steps: NDArray[Any]) -> NDArray[np.float64]:
    """Weights in steps of 2^-30, of any size, as floats."""
    return np.asarray(steps / (1 << GRID_BITS), dtype=np.float64)


def apart(width: int, *, more: Fraction = Fraction(0)) -> Sensitivity:
    """How far two points lie from each other on the grid, if both are within 2^-22 of a minimum, of the same one or of
    two that are `more` apart; the rounding of the points, of less than one step in each coordinate, is counted in."""
    root = isqrt(whole(1, width=width) - 1) + 1
    steps = (more + Fraction(2, 1 << NEAR_BITS)) * (1 << GRID_BITS)
    return Sensitivity(l1=steps * root + width, l2_squared=(steps + root) ** 2)
