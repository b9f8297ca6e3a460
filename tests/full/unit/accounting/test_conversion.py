"""The dear tests of `unit/accounting/test_conversion.py`."""

from __future__ import annotations

import mpmath as mp

from dalenius.accounting.conversion import (
    LEAST_DELTA,
    epsilon_to_renyi,
    renyi_to_delta,
    renyi_to_epsilon,
    to_zcdp,
)
from dalenius.privacy.losses import PureDP
from oracle import (
    DIGITS,
    bit_renyi,
    parameters,
    real,
    renyi_delta,
    renyi_epsilon,
    sound_and_tight,
    sound_and_tight_below,
)


def check_closed_forms(cases: int, seed: int) -> None:
    ranges = {"divergence": (1e-6, 50.0), "excess": (1e-3, 1e5), "delta": (1e-60, 0.9), "epsilon": (1e-6, 50.0)}
    with mp.workdps(DIGITS):
        for case, _ in zip(parameters(seed, **ranges), range(cases), strict=False):
            divergence, alpha, delta, epsilon = case["divergence"], 1 + case["excess"], case["delta"], case["epsilon"]
            figure = renyi_to_epsilon(divergence=divergence, alpha=alpha, delta=delta)
            assert sound_and_tight(figure, renyi_epsilon(real(divergence), real(alpha), real(delta))), case
            figure = renyi_to_delta(divergence=divergence, alpha=alpha, epsilon=epsilon)
            truth = renyi_delta(real(divergence), real(alpha), real(epsilon))
            assert sound_and_tight(figure, max(truth, real(LEAST_DELTA))), case
            assert sound_and_tight(PureDP(epsilon).renyi(alpha), bit_renyi(real(epsilon), real(alpha))), case
            drift = real(epsilon) * mp.tanh(real(epsilon) / 2)
            assert sound_and_tight(to_zcdp(PureDP(epsilon)).rho, drift), case
            cap = epsilon_to_renyi(epsilon=epsilon, alpha=alpha, delta=delta)
            truth = real(epsilon) - (renyi_epsilon(mp.mpf(1000), real(alpha), real(delta)) - 1000)
            assert truth <= 0 or sound_and_tight_below(cap, truth), case


def test_closed_forms_against_the_oracle() -> None:
    check_closed_forms(600, seed=11)
