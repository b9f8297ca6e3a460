"""Published sparse vectors that are not private.

Those that Lyu, Su & Li 2017 (arXiv:1603.01699) number 3 to 6, and others, each with noise for a claim of `epsilon` at
cutoff c and sensitivity 1.
"""

from __future__ import annotations

from fractions import Fraction

from dalenius.verify.cases.sparse_vectors import Version


def compared_value_told(epsilon: Fraction, c: int) -> Version:
    """Algorithm 3: the number that is told is the one that was compared."""
    return Version(2 / epsilon, 2 * c / epsilon, c, "compared value", redraw=False)


def noise_without_c(epsilon: Fraction, c: int) -> Version:
    """Algorithm 4: the noise of a question does not grow with the cutoff."""
    return Version(4 / epsilon, 4 / (3 * epsilon), c, redraw=False)


def no_query_noise(epsilon: Fraction, c: int) -> Version:
    """Algorithm 5: questions are compared exactly, and there is no cutoff."""
    return Version(2 / epsilon, None, None, redraw=False)


def no_cutoff(epsilon: Fraction, c: int) -> Version:
    """Algorithm 6: it never stops."""
    return Version(2 / epsilon, 2 / epsilon, None, redraw=False)


def gap_told(epsilon: Fraction, c: int) -> Version:
    """The distance from the noisy threshold is told, with noise that pays for one bit only."""
    return Version(2 / epsilon, 2 * c / epsilon, c, "gap", redraw=False)


def exact_branch(epsilon: Fraction, c: int) -> Version:
    """The slides' first attempt: branch on the exact value, then tell it with noise for c numbers."""
    return Version(None, None, c, "fresh value", answer_scale=c / epsilon)


def slide(scale: Fraction) -> Version:
    """The slides' algorithm: fresh noise for each comparison but no noisy threshold and no cutoff."""
    return Version(None, scale, None, "fresh value", answer_scale=scale)
