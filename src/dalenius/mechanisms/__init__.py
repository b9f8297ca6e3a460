"""Mechanisms: frozen public facts that state the loss of one use and release noisy values."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.mechanisms import robust as robust
    from dalenius.mechanisms.door import Mechanism as Mechanism
    from dalenius.mechanisms.door import measure as measure
    from dalenius.mechanisms.keys.key_selection import GeometricKeySelection as GeometricKeySelection
    from dalenius.mechanisms.keys.key_selection import KeyCounts as KeyCounts
    from dalenius.mechanisms.keys.limited_domain import LimitedTopK as LimitedTopK
    from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection as RenyiKeySelection
    from dalenius.mechanisms.keys.thresholding import CountedKeys as CountedKeys
    from dalenius.mechanisms.keys.thresholding import ThresholdedCounts as ThresholdedCounts
    from dalenius.mechanisms.noise.continuous_gaussian import classic_gaussian_deviation as classic_gaussian_deviation
    from dalenius.mechanisms.noise.continuous_gaussian import gaussian_delta as gaussian_delta
    from dalenius.mechanisms.noise.continuous_gaussian import gaussian_epsilon as gaussian_epsilon
    from dalenius.mechanisms.noise.gaussian import DiscreteGaussian as DiscreteGaussian
    from dalenius.mechanisms.noise.histogram import BoundedTotal as BoundedTotal
    from dalenius.mechanisms.noise.histogram import Cumulative as Cumulative
    from dalenius.mechanisms.noise.histogram import Histogram as Histogram
    from dalenius.mechanisms.noise.histogram import OneWayMarginals as OneWayMarginals
    from dalenius.mechanisms.noise.histogram import joint_sensitivity as joint_sensitivity
    from dalenius.mechanisms.noise.laplace import DiscreteLaplace as DiscreteLaplace
    from dalenius.mechanisms.noise.laplace import laplace_accuracy as laplace_accuracy
    from dalenius.mechanisms.noise.randomized_response import CoinResponse as CoinResponse
    from dalenius.mechanisms.noise.randomized_response import RandomizedResponse as RandomizedResponse
    from dalenius.mechanisms.selection.exponential import ExponentialMechanism as ExponentialMechanism
    from dalenius.mechanisms.selection.exponential import best_of_two_bound as best_of_two_bound
    from dalenius.mechanisms.selection.grouped_choice import GroupedChoice as GroupedChoice
    from dalenius.mechanisms.selection.noisy_max import NoisyMax as NoisyMax
    from dalenius.mechanisms.selection.noisy_max import union_error as union_error
    from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dalenius.mechanisms.selection.prefix import PrefixSearch as PrefixSearch
    from dalenius.mechanisms.selection.quantiles import PrivateQuantiles as PrivateQuantiles
    from dalenius.mechanisms.selection.rank_grid import ValueCounts as ValueCounts
    from dalenius.mechanisms.selection.top_k import OneShotTopK as OneShotTopK
    from dalenius.mechanisms.selection.top_k import TopK as TopK
    from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse as NumericSparse
    from dalenius.mechanisms.sparse.numeric_sparse import numeric_sparse_accuracy as numeric_sparse_accuracy
    from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold as AboveThreshold
    from dalenius.mechanisms.sparse.sparse_vector import Sparse as Sparse
    from dalenius.mechanisms.sparse.sparse_vector import above_threshold_accuracy as above_threshold_accuracy
    from dalenius.mechanisms.sparse.sparse_vector import sparse_accuracy as sparse_accuracy

_HOMES = {
    "AboveThreshold": "sparse.sparse_vector",
    "BoundedTotal": "noise.histogram",
    "CoinResponse": "noise.randomized_response",
    "CountedKeys": "keys.thresholding",
    "Cumulative": "noise.histogram",
    "DiscreteGaussian": "noise.gaussian",
    "DiscreteLaplace": "noise.laplace",
    "ExponentialMechanism": "selection.exponential",
    "GeometricKeySelection": "keys.key_selection",
    "GroupedChoice": "selection.grouped_choice",
    "Histogram": "noise.histogram",
    "KeyCounts": "keys.key_selection",
    "LimitedTopK": "keys.limited_domain",
    "Mechanism": "door",
    "NoisyMax": "selection.noisy_max",
    "NumericSparse": "sparse.numeric_sparse",
    "OneShotTopK": "selection.top_k",
    "OneWayMarginals": "noise.histogram",
    "PermuteAndFlip": "selection.permute_and_flip",
    "PrefixSearch": "selection.prefix",
    "PrivateQuantiles": "selection.quantiles",
    "RandomizedResponse": "noise.randomized_response",
    "RenyiKeySelection": "keys.renyi_selection",
    "Sparse": "sparse.sparse_vector",
    "ThresholdedCounts": "keys.thresholding",
    "TopK": "selection.top_k",
    "ValueCounts": "selection.rank_grid",
    "above_threshold_accuracy": "sparse.sparse_vector",
    "best_of_two_bound": "selection.exponential",
    "classic_gaussian_deviation": "noise.continuous_gaussian",
    "gaussian_delta": "noise.continuous_gaussian",
    "gaussian_epsilon": "noise.continuous_gaussian",
    "joint_sensitivity": "noise.histogram",
    "laplace_accuracy": "noise.laplace",
    "measure": "door",
    "numeric_sparse_accuracy": "sparse.numeric_sparse",
    "robust": "robust",
    "sparse_accuracy": "sparse.sparse_vector",
    "union_error": "selection.noisy_max",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
