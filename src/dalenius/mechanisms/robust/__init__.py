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
    from dalenius.mechanisms.robust.carried import Carried as Carried
    from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs as SmoothEqualPairs
    from dalenius.mechanisms.robust.order_statistics import SmoothQuantile as SmoothQuantile
    from dalenius.mechanisms.robust.order_statistics import SmoothTrimmedMean as SmoothTrimmedMean
    from dalenius.mechanisms.robust.outputs import Choice as Choice
    from dalenius.mechanisms.robust.outputs import Range as Range
    from dalenius.mechanisms.robust.outputs import Subset as Subset
    from dalenius.mechanisms.robust.program import Program as Program
    from dalenius.mechanisms.robust.propose_test_release import Proposed as Proposed
    from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile as ProposedQuantile
    from dalenius.mechanisms.robust.propose_test_release import ProposeTestRelease as ProposeTestRelease
    from dalenius.mechanisms.robust.raw_data import RawDataProtocol as RawDataProtocol
    from dalenius.mechanisms.robust.sandbox import Sandbox as Sandbox
    from dalenius.mechanisms.robust.scale import InterquartileScale as InterquartileScale
    from dalenius.mechanisms.robust.smooth import SmoothCauchy as SmoothCauchy
    from dalenius.mechanisms.robust.smooth import SmoothLaplace as SmoothLaplace
    from dalenius.mechanisms.robust.stability import DistanceToInstability as DistanceToInstability
    from dalenius.mechanisms.robust.stability import Stable as Stable
    from dalenius.mechanisms.robust.stability import stable_mode as stable_mode
    from dalenius.mechanisms.robust.stability import stable_quantile as stable_quantile
    from dalenius.mechanisms.robust.stable_answers import StableMode as StableMode
    from dalenius.mechanisms.robust.stable_answers import StableQuantile as StableQuantile
    from dalenius.mechanisms.robust.subsample import SubsampleAggregate as SubsampleAggregate
    from dalenius.mechanisms.robust.subsampled_stability import SubsampledStability as SubsampledStability

__getattr__, __dir__ = names(
    __name__,
    {
        "Carried": "carried",
        "Choice": "outputs",
        "DistanceToInstability": "stability",
        "FeaturesOfBlocks": "aggregates",
        "InterquartileScale": "scale",
        "MedianOfBlocks": "aggregates",
        "Program": "program",
        "ProposeTestRelease": "propose_test_release",
        "Proposed": "propose_test_release",
        "ProposedQuantile": "propose_test_release",
        "Range": "outputs",
        "RawDataProtocol": "raw_data",
        "Sandbox": "sandbox",
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
        "stable_mode": "stability",
        "stable_quantile": "stability",
    },
)
