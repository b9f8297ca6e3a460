"""Dalenius: a private database. It answers questions about everyone and about no one.

The names below load on first use. The rooms are `privacy` (neighbours, sensitivities, losses, divergences),
`randomness` (exact noise), `accounting` (composition, budgets), `mechanisms`, `audit` and `attacks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius import accounting as accounting
    from dalenius import attacks as attacks
    from dalenius import audit as audit
    from dalenius import errors as errors
    from dalenius import mechanisms as mechanisms
    from dalenius import privacy as privacy
    from dalenius import randomness as randomness
    from dalenius.accounting.allowance import Allowance as Allowance
    from dalenius.accounting.budget import Budget as Budget
    from dalenius.accounting.filters import Filter as Filter
    from dalenius.errors import DaleniusError as DaleniusError
    from dalenius.mechanisms.door import measure as measure
    from dalenius.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
    from dalenius.mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
    from dalenius.mechanisms.histogram import Histogram as Histogram
    from dalenius.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from dalenius.mechanisms.noisy_max import NoisyMax as NoisyMax
    from dalenius.mechanisms.numeric_sparse import NumericSparse as NumericSparse
    from dalenius.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dalenius.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dalenius.mechanisms.sparse_vector import AboveThreshold as AboveThreshold
    from dalenius.mechanisms.sparse_vector import Sparse as Sparse
    from dalenius.mechanisms.top_k import OneShotTopK as OneShotTopK
    from dalenius.mechanisms.top_k import TopK as TopK
    from dalenius.privacy.exact import Exact as Exact
    from dalenius.privacy.neighbours import AddRemove as AddRemove
    from dalenius.privacy.neighbours import Replace as Replace
    from dalenius.privacy.sensitivity import Sensitivity as Sensitivity
    from dalenius.randomness.entropy import system_entropy as system_entropy

__version__ = "0.1.0"

__getattr__, __dir__ = names(
    __name__,
    {
        "AboveThreshold": "mechanisms.sparse_vector",
        "AddRemove": "privacy.neighbours",
        "Allowance": "accounting.allowance",
        "Budget": "accounting.budget",
        "DaleniusError": "errors",
        "DiscreteGaussian": "mechanisms.gaussian",
        "DiscreteLaplace": "mechanisms.laplace",
        "Exact": "privacy.exact",
        "ExponentialMechanism": "mechanisms.exponential",
        "Filter": "accounting.filters",
        "Histogram": "mechanisms.histogram",
        "NoisyMax": "mechanisms.noisy_max",
        "NumericSparse": "mechanisms.numeric_sparse",
        "OneShotTopK": "mechanisms.top_k",
        "PermuteAndFlip": "mechanisms.permute_and_flip",
        "RandomizedResponse": "mechanisms.randomized_response",
        "Replace": "privacy.neighbours",
        "Sensitivity": "privacy.sensitivity",
        "Sparse": "mechanisms.sparse_vector",
        "TopK": "mechanisms.top_k",
        "accounting": "accounting",
        "attacks": "attacks",
        "audit": "audit",
        "errors": "errors",
        "measure": "mechanisms.door",
        "mechanisms": "mechanisms",
        "privacy": "privacy",
        "randomness": "randomness",
        "system_entropy": "randomness.entropy",
    },
)
