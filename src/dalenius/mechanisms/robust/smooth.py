"""Noise whose scale is a smooth bound on the local sensitivity: two laws for which that is private."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from math import ceil
from typing import Self, TypeAlias

from flint import arb

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.robust.profiles import Profile
from dalenius.privacy.losses import ApproximateDP, PureDP
from dalenius.privacy.numbers import Number, inside_unit, positive
from dalenius.privacy.reals import ball, certainly_positive, precise, upper
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.rounded import cauchy_share, laplace_share, rounded_cauchy, rounded_laplace

_LEAST_BITS = 64  # no bound is below 2^-64: a constant is smooth, and so is the larger of two smooth bounds
_ROUNDING_BITS = 100  # a bound is rounded up, by a factor of at most 1 + 2^-100
_SLACK = Fraction(1, 1 << (_ROUNDING_BITS - 1))  # that the rounding takes from beta: more than ln(1 + 2^-100)
_STEP_BITS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothCauchy:
    """Add `multiple` times a beta-smooth bound times standard Cauchy noise, rounded to the nearest integer.

    Guarantee: if the bound is beta-smooth and at least the local sensitivity, the release is (beta + 1 / multiple)-DP.
    Proof: let h(z) be proportional to 1 / (1 + z^2). The slope of ln h is at most 1 in size, so shifting the noise by
    1 / multiple of its scale costs at most that much. And e^l h(e^l z) / h(z) lies between e^-|l| and e^|l|, because (1
    + z^2) / (1 + e^(2l) z^2) lies between 1 and e^(-2l); so another scale, within a factor of e^beta, costs at most
    beta. First rescale, then shift. Rounding comes after.
    The general theorem for tails like z^-g, with its factor g + 1 = 3 in both places, takes beta = epsilon / 6 and
    multiple = 6 / epsilon; that costs epsilon / 3 here. Halves of epsilon, as `calibrated` takes, give less noise.
    Reference: Nissim, Raskhodnikova & Smith 2007, Lemmas 2.5 and 2.6; Bun & Steinke 2019 (arXiv:1906.02830), Theorem 31
    for Student's law, of which this is the case of one degree of freedom.
    Textbook: S11.1, S2.4.
    """

    beta: Fraction
    multiple: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _steep_enough(self.beta))
        object.__setattr__(self, "multiple", positive(multiple=self.multiple))

    @classmethod
    def calibrated(cls, *, epsilon: Number) -> Self:
        """Half of epsilon for the scale, half for the shift."""
        half = positive(epsilon=epsilon) / 2
        return cls(beta=half, multiple=1 / half)

    @property
    def loss(self) -> PureDP:
        return PureDP(self.beta + 1 / self.multiple)

    def noise(self, bound: Fraction, entropy: Entropy) -> int:
        """Noise for a bound from `smooth_bound`."""
        return rounded_cauchy(self.multiple * bound, entropy)

    def share(self, bound: Fraction, z: int) -> arb:
        """P[noise = z], as an enclosure."""
        return cauchy_share(self.multiple * bound, z)

    def spread(self, beta: Number) -> Fraction:
        """The noise exceeds this many times the bound with probability at most beta, but for its rounding."""
        risk = inside_unit(beta=beta)
        with precise():
            return upper(ball(self.multiple) * (ball(1 - risk) / 2).tan_pi())


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothLaplace:
    """Add `multiple` times a beta-smooth bound times Laplace noise, rounded to the nearest integer.

    Guarantee: if the bound is beta-smooth and at least the local sensitivity, the release is (epsilon, delta)-DP,
    where, with c = epsilon - 1 / multiple >= beta, delta is at least (1 - e^-beta) exp(-(c + beta) / (e^beta - 1)).
    Proof: shifting the noise by 1 / multiple of its scale costs that much. Rescaling from b to b e^-l, l > 0, is
    bounded only in the middle: the log-ratio of the densities at z b is (e^l - 1) |z| - l, which passes c at |z| = (c +
    l) / (e^l - 1); the mass beyond, less e^c times that of the narrower law, is (1 - e^-l) exp(-(c + l) / (e^l - 1)).
    It grows with l, so l = beta is the worst case. From narrow to wide the log-ratio is at most l <= c everywhere.
    First rescale, which costs c and that delta, then shift. Rounding comes after. The slides' scale bound / epsilon
    with nothing for delta is not private: for every epsilon, far enough out, the narrower law is too thin.
    Reference: Nissim, Raskhodnikova & Smith 2007, Lemmas 2.5 and 2.9 (beta = epsilon / (2 ln (2 / delta))); the mass is
    computed here instead of bounded, which holds for every epsilon and gives a larger beta.
    Textbook: S11.1.
    """

    beta: Fraction
    multiple: Fraction
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _steep_enough(self.beta))
        for name in ("multiple", "epsilon"):
            object.__setattr__(self, name, positive(**{name: getattr(self, name)}))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        if not _private(self.beta, self.epsilon - 1 / self.multiple, self.delta):
            raise TheoremDoesNotApply(
                "Laplace noise at a smooth scale",
                needs="beta and 1 / multiple that epsilon and delta pay for",
                given=f"beta = {float(self.beta):.3g}, multiple = {float(self.multiple):.3g}",
                instead="SmoothLaplace.calibrated(epsilon=..., delta=...)",
            )

    @classmethod
    def calibrated(cls, *, epsilon: Number, delta: Number) -> Self:
        """Half of epsilon for the shift, and the largest beta that the other half pays for, up to a part in 2^24."""
        half, risk = positive(epsilon=epsilon) / 2, inside_unit(delta=delta)
        low, high = 0, 1 << _STEP_BITS
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _private(half * middle / (1 << _STEP_BITS), half, risk) else (low, middle)
        if not low:
            raise InvalidParameter("delta", delta, allowed="far larger, for this noise to be usable")
        return cls(beta=half * low / (1 << _STEP_BITS), multiple=1 / half, epsilon=2 * half, delta=risk)

    @property
    def loss(self) -> ApproximateDP:
        return ApproximateDP(self.epsilon, self.delta)

    def noise(self, bound: Fraction, entropy: Entropy) -> int:
        """Noise for a bound from `smooth_bound`."""
        return rounded_laplace(self.multiple * bound, entropy)

    def share(self, bound: Fraction, z: int) -> arb:
        """P[noise = z], as an enclosure."""
        return laplace_share(self.multiple * bound, z)

    def spread(self, beta: Number) -> Fraction:
        """The noise exceeds this many times the bound with probability at most beta, but for its rounding."""
        risk = inside_unit(beta=beta)
        with precise():
            return upper(-ball(self.multiple) * ball(risk).log())


SmoothNoise: TypeAlias = SmoothCauchy | SmoothLaplace


def smooth_bound(profile: Profile, *, beta: Fraction, most: int, last: int | None = None) -> Fraction:
    """A beta-smooth bound on the local sensitivity: max over k of e^(-b k) A(k), rounded up, and at least 2^-64.

    Here b is beta less 2^-99, and the rounding changes a bound by a factor between 1 and 1 + 2^-100, so the bound is
    beta-smooth as it stands. `most` bounds all A(k): terms with e^(-b k) most below 2^-64 are left out. Or `last` is
    the last k that matters. Since A does not fall, no term with k in (i, j] is above e^(-b (i + 1)) A(j), and
    intervals of which that is below a term already seen are not looked into.
    Reference: Nissim, Raskhodnikova & Smith 2007, Definition 2.2.
    Textbook: S3.6, S11.1.
    """
    rate = _steep_enough(beta) - _SLACK
    bits = _LEAST_BITS + _ROUNDING_BITS + max(1, most).bit_length() + 4
    end = _last(rate, max(1, most)) if last is None else last
    best = max(1 << (bits - _LEAST_BITS), profile(0) << bits)
    waiting: list[tuple[int, int, int, int]] = []

    def look(low: int, high: int) -> None:
        nonlocal best
        if low < high:
            reach = profile(high)
            best = max(best, _weight(rate, high, bits) * reach)
            heappush(waiting, (-_weight(rate, low + 1, bits) * reach, low, high, reach))

    look(0, end)
    while waiting and -waiting[0][0] > best:
        _, low, high, _ = heappop(waiting)
        if high - low > 1:
            middle = (low + high) // 2
            look(low, middle)
            look(middle, high)
    return Fraction(best, 1 << bits)


@lru_cache(maxsize=1 << 16)
def _weight(rate: Fraction, k: int, bits: int) -> int:
    """2^bits e^(-rate k), rounded up by at most a part in 2^100 where it is at least 2^-64 over the range."""
    with precise(bits + 64):
        return ceil(upper((-ball(rate * k)).exp() * (1 << bits)))


@lru_cache(maxsize=1024)
def _last(rate: Fraction, most: int) -> int:
    """A k from which on e^(-rate k) most is below 2^-64."""
    with precise():
        return ceil(upper(ball(most << _LEAST_BITS).log() / ball(rate)))


def _private(beta: Fraction, rest: Fraction, delta: Fraction) -> bool:
    if not 0 < beta <= rest:
        return False
    return certainly_positive(lambda: ball(delta) - _escaped(ball(beta), ball(rest)))


def _escaped(beta: arb, rest: arb) -> arb:
    return -(-beta).expm1() * (-(rest + beta) / beta.expm1()).exp()


def _steep_enough(beta: Fraction) -> Fraction:
    value = positive(beta=beta)
    if value < 2 * _SLACK:
        raise InvalidParameter("beta", beta, allowed="not that small: no profile falls so slowly")
    return value
