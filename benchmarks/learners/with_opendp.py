"""The median, by OpenDP: the noisy best of as many candidates as there are whole amounts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp

VERSION = version("opendp")
dp.enable_features("contrib")


def median(data: dict[str, np.ndarray], epsilon: float, _: object) -> Callable[[], Any]:
    place = int(data["run"]) % len(data["amounts"])
    lower, upper = data["amount_bounds"].tolist()
    candidates = np.arange(lower, upper + 1, dtype=np.float64)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    scores = space >> dp.t.then_quantile_score_candidates(candidates, alpha=0.5)

    def chosen(scale: float) -> Any:
        return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

    scale = dp.binary_search_param(chosen, d_in=1, d_out=float(epsilon), T=float)
    found = candidates[chosen(scale)(data["amounts"][place])]
    return lambda: [place, found]


TASKS = {"median": median}
