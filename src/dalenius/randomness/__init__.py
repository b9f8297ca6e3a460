"""Random bits from the operating system, and exact draws made of them: no float noise, no seed.

    from dalenius import randomness
    randomness.discrete_laplace("2.5")               one draw, a Python integer
    randomness.discrete_gaussian(100, size=10**6)    an array of draws; a variance, because sigma may be irrational

Parameters are rational: an int, Fraction, Decimal or decimal string, or a float, read as the decimal that prints it.
"""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.randomness.binomial_counts import binomial as binomial
    from dalenius.randomness.entropy import Entropy as Entropy
    from dalenius.randomness.entropy import system_entropy as system_entropy
    from dalenius.randomness.exact import bernoulli as bernoulli
    from dalenius.randomness.exact import bernoulli_exp as bernoulli_exp
    from dalenius.randomness.exact import uniform_below as uniform_below
    from dalenius.randomness.gaussian import discrete_gaussian as discrete_gaussian
    from dalenius.randomness.heavy_tail import discrete_cauchy as discrete_cauchy
    from dalenius.randomness.laplace import discrete_laplace as discrete_laplace
    from dalenius.randomness.laplace import geometric as geometric
    from dalenius.randomness.laws import DiscreteGaussianLaw as DiscreteGaussianLaw
    from dalenius.randomness.laws import DiscreteLaplaceLaw as DiscreteLaplaceLaw
    from dalenius.randomness.laws import LaplaceLaw as LaplaceLaw
    from dalenius.randomness.selection import exponential_weights as exponential_weights

_HOMES = {
    "DiscreteGaussianLaw": "laws",
    "DiscreteLaplaceLaw": "laws",
    "Entropy": "entropy",
    "LaplaceLaw": "laws",
    "bernoulli": "exact",
    "bernoulli_exp": "exact",
    "binomial": "binomial_counts",
    "discrete_cauchy": "heavy_tail",
    "discrete_gaussian": "gaussian",
    "discrete_laplace": "laplace",
    "exponential_weights": "selection",
    "geometric": "laplace",
    "system_entropy": "entropy",
    "uniform_below": "exact",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
