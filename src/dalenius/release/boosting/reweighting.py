"""How boosting weighs questions: up where synopses were wrong, down where they were right, and never abruptly."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, lower, precise, upper

_FINENESS = 2**32


def attenuated(apart: NDArray[Any], *, tolerance: int, gap: int) -> NDArray[Any]:
    """gap times the quality a of answers that are `apart` from the exact ones: a is 1 up to the tolerance, -1 from
    tolerance + gap on, and falls evenly in between.

    Guarantee: whole numbers in, whole numbers out; a change of `apart` by s changes the result by at most 2 s.
    Reference: Dwork & Roth 2014, Section 6.1.
    Textbook: S10.1.
    """
    width = whole(1, gap=gap)
    found: NDArray[Any] = np.clip(width - 2 * (apart - whole(0, tolerance=tolerance)), -width, width)
    return found


def step_size(eta: Number) -> Fraction:
    """alpha = ln((1 + 2 eta) / (1 - 2 eta)) / 2, rounded to a multiple of 2^-32: the rate of the weights.

    Reference: Dwork & Roth 2014, Claim 6.3; Section 6.2.3 lost the division.
    Textbook: S10.1.
    """
    half = _edge(eta)
    with precise():
        exact = (ball((1 + 2 * half) / (1 - 2 * half))).log() / 2
        return Fraction(floor(lower(exact) * _FINENESS + Fraction(1, 2)), _FINENESS)


def decay(eta: Number) -> Fraction:
    """What the sum of all weights is at most multiplied by in a round of a base generator that is right on a share of
    1/2 + eta: sqrt(1 - 4 eta^2) up to the rounding of the step, and so at most e^(-2 eta^2). Rounded up.

    Reference: the proof of Dwork & Roth 2014, Claim 6.3; the claim itself states e^(-eta^2).
    Textbook: S10.1.
    """
    half, step = _edge(eta), step_size(eta)
    with precise():
        rise, fall = ball(step).exp(), (-ball(step)).exp()
        return upper((rise + fall - 2 * ball(half) * (rise - fall)) / 2)


def rounds_needed(*, questions: int, eta: Number) -> int:
    """The least number of rounds after which fewer than one question can be answered wrongly: #Q decay^T < 1.

    Textbook: S10.1.
    """
    with precise():
        return floor(upper(ball(whole(1, questions=questions)).log() / -ball(decay(eta)).log())) + 1


def textbook_rounds(*, questions: int, eta: Number) -> int:
    """ln(#Q) / eta^2 rounds, rounded up: the textbook's figure, more than twice `rounds_needed`.

    Reference: Dwork & Roth 2014, Theorem 6.1.
    Textbook: S10.1.
    """
    half = _edge(eta)
    with precise():
        return ceil(upper(ball(whole(1, questions=questions)).log() / ball(half**2)))


def draw_epsilon(*, eta: Number, rounds: int, gap: Number, sensitivity: Number) -> Fraction:
    """epsilon* = 4 alpha T rho / mu: what one draw of a question costs at most, where one person changes every exact
    answer by at most rho.

    Reference: Dwork & Roth 2014, Lemma 6.4; the text's root covers too much in equation 6.2.
    Textbook: S10.1.
    """
    return 4 * step_size(eta) * whole(1, rounds=rounds) * positive(sensitivity=sensitivity) / positive(gap=gap)


def unattenuated_ratio(share: Number = Fraction(1, 10)) -> Fraction:
    """By how much one person can change the weight of a question if weights change by a fixed factor e instead: at
    least 1 / (share + (1 - share) / e^2), where a share of all questions goes from just right to just wrong.

    That is 4.5085 for a tenth, a loss of 1.506 for a single draw however large the table is: this is why boosting does
    not weigh so, and nothing here does. Rounded down.
    Reference: Dwork & Roth 2014, Section 6.1.
    Textbook: S10.2.
    """
    part = inside_unit(share=share)
    with precise():
        return lower(1 / (ball(part) + ball(1 - part) * (-ball(2)).exp()))


def unattenuated_loss(share: Number = Fraction(1, 10)) -> Fraction:
    """The logarithm of `unattenuated_ratio`: what a draw would cost at least. Rounded down.

    Textbook: S10.2.
    """
    with precise():
        return lower(ball(unattenuated_ratio(share)).log())


def _edge(eta: Number) -> Fraction:
    half = positive(eta=eta)
    if half >= Fraction(1, 2):
        raise InvalidParameter("eta", eta, allowed="between 0 and 1/2")
    return half
