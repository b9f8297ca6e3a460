"""Mechanisms: frozen public facts that state the loss of one use and release noisy values."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.mechanisms.door import Mechanism as Mechanism
    from dalenius.mechanisms.door import measure as measure
    from dalenius.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
    from dalenius.mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
    from dalenius.mechanisms.histogram import Cumulative as Cumulative
    from dalenius.mechanisms.histogram import Histogram as Histogram
    from dalenius.mechanisms.histogram import Marginals as Marginals
    from dalenius.mechanisms.histogram import Total as Total
    from dalenius.mechanisms.histogram import joint_sensitivity as joint_sensitivity
    from dalenius.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from dalenius.mechanisms.noisy_max import NoisyMax as NoisyMax
    from dalenius.mechanisms.numeric_sparse import NumericSparse as NumericSparse
    from dalenius.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dalenius.mechanisms.prefix import PrefixSearch as PrefixSearch
    from dalenius.mechanisms.randomized_response import CoinResponse as CoinResponse
    from dalenius.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dalenius.mechanisms.sparse_vector import AboveThreshold as AboveThreshold
    from dalenius.mechanisms.sparse_vector import Sparse as Sparse
    from dalenius.mechanisms.top_k import OneShotTopK as OneShotTopK
    from dalenius.mechanisms.top_k import TopK as TopK

__getattr__, __dir__ = names(
    __name__,
    {
        "AboveThreshold": "sparse_vector",
        "CoinResponse": "randomized_response",
        "Cumulative": "histogram",
        "DiscreteGaussian": "gaussian",
        "DiscreteLaplace": "laplace",
        "ExponentialMechanism": "exponential",
        "Histogram": "histogram",
        "Marginals": "histogram",
        "Mechanism": "door",
        "NoisyMax": "noisy_max",
        "NumericSparse": "numeric_sparse",
        "OneShotTopK": "top_k",
        "PermuteAndFlip": "permute_and_flip",
        "PrefixSearch": "prefix",
        "RandomizedResponse": "randomized_response",
        "Sparse": "sparse_vector",
        "TopK": "top_k",
        "Total": "histogram",
        "joint_sensitivity": "histogram",
        "measure": "door",
    },
)
