"""What the tests of the textbook's algorithms share: sealed histograms, paid allowances, and how often a promise with
failure probability beta may be broken in some runs before that is an alarm."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from checks import ALARM
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.workloads import Integers

Seal: TypeAlias = Callable[..., Exact[Integers]]
Pay: TypeAlias = Callable[..., Allowance]
Alarm: TypeAlias = Callable[[int, int, Fraction], bool]


@pytest.fixture
def sealed() -> Seal:
    """Seals a histogram of which one row is replaced, or added or removed, in a step."""

    def seal(counts: ArrayLike, neighbours: Neighbours | None = None) -> Exact[Integers]:
        relation = neighbours or Replace()
        bounds = Sensitivity(l1=relation.add_remove_steps, linf=1)
        return Exact(np.asarray(counts, dtype=np.int64), sensitivity=bounds, neighbours=relation)

    return seal


@pytest.fixture
def paid() -> Pay:
    """An allowance of exactly what a loss costs, in a ledger of pure epsilon or of Rényi divergence."""

    def pay(loss: Loss, *, delta: str = "", neighbours: Neighbours | None = None) -> Allowance:
        budget = Budget(10, delta) if delta else Budget(100)
        return PrivacyFilter(budget, neighbours=neighbours or Replace()).allow(loss)

    return pay


@pytest.fixture
def broken_too_often() -> Alarm:
    """Whether a promise that fails with probability beta at most was broken so often that chance explains it with
    probability below the false-alarm rate only."""

    def alarm(failures: int, runs: int, beta: Fraction) -> bool:
        return float(stats.binom.sf(failures - 1, runs, float(beta))) < ALARM

    return alarm
