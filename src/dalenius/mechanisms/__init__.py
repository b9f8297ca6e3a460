"""Mechanisms: frozen public facts that state the loss of one use and release noisy values."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.mechanisms.counted_keys import CountedKeys as CountedKeys
    from dalenius.mechanisms.door import Mechanism as Mechanism
    from dalenius.mechanisms.door import measure as measure
    from dalenius.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
    from dalenius.mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
    from dalenius.mechanisms.grouped_choice import GroupedChoice as GroupedChoice
    from dalenius.mechanisms.histogram import Cumulative as Cumulative
    from dalenius.mechanisms.histogram import Histogram as Histogram
    from dalenius.mechanisms.histogram import Marginals as Marginals
    from dalenius.mechanisms.histogram import Total as Total
    from dalenius.mechanisms.histogram import joint_sensitivity as joint_sensitivity
    from dalenius.mechanisms.key_selection import GeometricKeySelection as GeometricKeySelection
    from dalenius.mechanisms.key_selection import KeyCounts as KeyCounts
    from dalenius.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from dalenius.mechanisms.limited_domain import LimitedTopK as LimitedTopK
    from dalenius.mechanisms.noisy_max import NoisyMax as NoisyMax
    from dalenius.mechanisms.numeric_sparse import NumericSparse as NumericSparse
    from dalenius.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dalenius.mechanisms.prefix import PrefixSearch as PrefixSearch
    from dalenius.mechanisms.quantiles import PrivateQuantiles as PrivateQuantiles
    from dalenius.mechanisms.randomized_response import CoinResponse as CoinResponse
    from dalenius.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dalenius.mechanisms.rank_grid import ValueCounts as ValueCounts
    from dalenius.mechanisms.renyi_selection import RenyiKeySelection as RenyiKeySelection
    from dalenius.mechanisms.sparse_vector import AboveThreshold as AboveThreshold
    from dalenius.mechanisms.sparse_vector import Sparse as Sparse
    from dalenius.mechanisms.thresholding import ThresholdedCounts as ThresholdedCounts
    from dalenius.mechanisms.top_k import OneShotTopK as OneShotTopK
    from dalenius.mechanisms.top_k import TopK as TopK

__getattr__, __dir__ = names(
    __name__,
    {
        "AboveThreshold": "sparse_vector",
        "CoinResponse": "randomized_response",
        "CountedKeys": "counted_keys",
        "Cumulative": "histogram",
        "DiscreteGaussian": "gaussian",
        "DiscreteLaplace": "laplace",
        "ExponentialMechanism": "exponential",
        "GeometricKeySelection": "key_selection",
        "GroupedChoice": "grouped_choice",
        "Histogram": "histogram",
        "KeyCounts": "key_selection",
        "LimitedTopK": "limited_domain",
        "Marginals": "histogram",
        "Mechanism": "door",
        "NoisyMax": "noisy_max",
        "NumericSparse": "numeric_sparse",
        "OneShotTopK": "top_k",
        "PermuteAndFlip": "permute_and_flip",
        "PrefixSearch": "prefix",
        "PrivateQuantiles": "quantiles",
        "RandomizedResponse": "randomized_response",
        "RenyiKeySelection": "renyi_selection",
        "Sparse": "sparse_vector",
        "ThresholdedCounts": "thresholding",
        "TopK": "top_k",
        "Total": "histogram",
        "ValueCounts": "rank_grid",
        "joint_sensitivity": "histogram",
        "measure": "door",
    },
)
