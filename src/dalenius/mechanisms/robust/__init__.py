"""Robust statistics: noise that depends on the data, in the forms that are private."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.mechanisms.robust.aggregates import FeaturesOfBlocks as FeaturesOfBlocks
    from dalenius.mechanisms.robust.aggregates import MedianOfBlocks as MedianOfBlocks
    from dalenius.mechanisms.robust.aggregates import SmoothMedianOfBlocks as SmoothMedianOfBlocks
    from dalenius.mechanisms.robust.aggregates import StableVoteOfBlocks as StableVoteOfBlocks
    from dalenius.mechanisms.robust.aggregates import TrimmedMeanOfBlocks as TrimmedMeanOfBlocks
    from dalenius.mechanisms.robust.aggregates import VoteOfBlocks as VoteOfBlocks
    from dalenius.mechanisms.robust.aggregates import WinsorizedMeanOfBlocks as WinsorizedMeanOfBlocks
    from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs as SmoothEqualPairs
    from dalenius.mechanisms.robust.order_statistics import SmoothQuantile as SmoothQuantile
    from dalenius.mechanisms.robust.order_statistics import SmoothTrimmedMean as SmoothTrimmedMean
    from dalenius.mechanisms.robust.outputs import OneOf as OneOf
    from dalenius.mechanisms.robust.outputs import Range as Range
    from dalenius.mechanisms.robust.outputs import Subset as Subset
    from dalenius.mechanisms.robust.predicates import distance_to_instability as distance_to_instability
    from dalenius.mechanisms.robust.predicates import is_stable as is_stable
    from dalenius.mechanisms.robust.predicates import is_subsampling_stable as is_subsampling_stable
    from dalenius.mechanisms.robust.predicates import subsampling_chance as subsampling_chance
    from dalenius.mechanisms.robust.propose_test_release import Proposed as Proposed
    from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile as ProposedQuantile
    from dalenius.mechanisms.robust.propose_test_release import ProposeTestRelease as ProposeTestRelease
    from dalenius.mechanisms.robust.propose_test_release import textbook_delta as textbook_delta
    from dalenius.mechanisms.robust.scale import InterquartileScale as InterquartileScale
    from dalenius.mechanisms.robust.scale import edits_out_of_bin as edits_out_of_bin
    from dalenius.mechanisms.robust.scale import moves_out_of_bin as moves_out_of_bin
    from dalenius.mechanisms.robust.smooth import SmoothCauchy as SmoothCauchy
    from dalenius.mechanisms.robust.smooth import SmoothLaplace as SmoothLaplace
    from dalenius.mechanisms.robust.smooth import smooth_bound as smooth_bound
    from dalenius.mechanisms.robust.stability import DistanceToInstability as DistanceToInstability
    from dalenius.mechanisms.robust.stability import Stable as Stable
    from dalenius.mechanisms.robust.stability import stability_needed as stability_needed
    from dalenius.mechanisms.robust.stability import stable_mode as stable_mode
    from dalenius.mechanisms.robust.stability import stable_quantile as stable_quantile
    from dalenius.mechanisms.robust.stable_answers import StableMode as StableMode
    from dalenius.mechanisms.robust.stable_answers import StableQuantile as StableQuantile
    from dalenius.mechanisms.robust.subsample import RawDataProtocol as RawDataProtocol
    from dalenius.mechanisms.robust.subsample import SubsampleAggregate as SubsampleAggregate
    from dalenius.mechanisms.robust.subsampled_stability import SubsampledStability as SubsampledStability
    from dalenius.mechanisms.robust.subsampled_stability import subsampling_parameters as subsampling_parameters

_HOMES = {
    "DistanceToInstability": "stability",
    "FeaturesOfBlocks": "aggregates",
    "InterquartileScale": "scale",
    "MedianOfBlocks": "aggregates",
    "OneOf": "outputs",
    "ProposeTestRelease": "propose_test_release",
    "Proposed": "propose_test_release",
    "ProposedQuantile": "propose_test_release",
    "Range": "outputs",
    "RawDataProtocol": "subsample",
    "SmoothCauchy": "smooth",
    "SmoothEqualPairs": "order_statistics",
    "SmoothLaplace": "smooth",
    "SmoothMedianOfBlocks": "aggregates",
    "SmoothQuantile": "order_statistics",
    "SmoothTrimmedMean": "order_statistics",
    "Stable": "stability",
    "StableMode": "stable_answers",
    "StableQuantile": "stable_answers",
    "StableVoteOfBlocks": "aggregates",
    "SubsampleAggregate": "subsample",
    "SubsampledStability": "subsampled_stability",
    "Subset": "outputs",
    "TrimmedMeanOfBlocks": "aggregates",
    "VoteOfBlocks": "aggregates",
    "WinsorizedMeanOfBlocks": "aggregates",
    "distance_to_instability": "predicates",
    "edits_out_of_bin": "scale",
    "is_stable": "predicates",
    "is_subsampling_stable": "predicates",
    "moves_out_of_bin": "scale",
    "smooth_bound": "smooth",
    "stability_needed": "stability",
    "stable_mode": "stability",
    "stable_quantile": "stability",
    "subsampling_chance": "predicates",
    "subsampling_parameters": "subsampled_stability",
    "textbook_delta": "propose_test_release",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
