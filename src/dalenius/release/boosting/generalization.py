"""The generalization lemma: a short synopsis that fits enough random questions fits most questions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive, whole
from dalenius.privacy.reals import ball, precise, upper


def sample_factor(*, bits: Number, eta: Number, gamma: Number) -> Fraction:
    """a = 2 (ln(1 / gamma) + m) / (m (1 - 2 eta)): how many random questions are needed for each of the m bits of a
    synopsis. Rounded up.

    Guarantee: with probability 1 - gamma over a m questions drawn from any distribution D, every synopsis of at most m
    bits that fits all of them fits at least a share of 1/2 + eta of D.
    Proof: a synopsis that is wrong on a share above p = (1/2 - eta) of D fits k questions with probability at most
    (1 - p)^k <= e^(-p k) <= gamma e^-m <= gamma 2^-m for k = a m, and there are 2^m synopses.
    Reference: Dwork & Roth 2014, Lemma 6.5.
    Textbook: S10.3.
    """
    size, half = positive(bits=bits), not_negative(eta=eta)
    if half >= Fraction(1, 2):
        raise InvalidParameter("eta", eta, allowed="at least 0 and below 1/2")
    with precise():
        return upper(2 * (ball(size) - ball(inside_unit(gamma=gamma)).log()) / ball(size * (1 - 2 * half)))


def samples_needed(*, bits: Number, eta: Number, gamma: Number) -> int:
    """a m random questions, rounded up.

    Textbook: S10.3.
    """
    return ceil(sample_factor(bits=bits, eta=eta, gamma=gamma) * positive(bits=bits))


def database_bits(*, rows: int, cells: int) -> Fraction:
    """The bits of a synthetic database: lg(#X) for each row. Rounded up.

    Textbook: S10.3.
    """
    with precise():
        each = upper(ball(whole(1, cells=cells)).log() / ball(2).log())
    return whole(1, rows=rows) * max(each, Fraction(1))
