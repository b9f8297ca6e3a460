"""Mechanisms without an exact law on a small case: why, and which tests look at their claims instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Excuse:
    """Why there is no table of all outcomes, and the file of tests that stands in for it."""

    reason: str
    test: str


_BLOCKS = Excuse(
    "one of the listed mechanisms on the outputs of blocks", "tests/unit/mechanisms/robust/test_subsample.py"
)
_WHOLE = Excuse("a composition of listed mechanisms, which replay sees", "tests/laws/test_release_replay.py")
_TRAINING = Excuse("a density over vectors has no finite table", "tests/unit/learn/test_linear_objective.py")

EXCUSED = {
    "SubsampledStability": Excuse("runs a function on random subsets", "tests/statistical/test_robust.py"),
    **dict.fromkeys(
        ("MedianOfBlocks", "SmoothMedianOfBlocks", "TrimmedMeanOfBlocks", "WinsorizedMeanOfBlocks", "VoteOfBlocks",
         "StableVoteOfBlocks", "FeaturesOfBlocks", "SubsampleAggregate", "AggregatedBlocks"), _BLOCKS),
    **dict.fromkeys(
        ("IterativeConstruction", "NetMechanism", "PerQuery", "ProjectedLaplace", "LaplaceEach", "QueryBoosting"),
        _WHOLE),
    "RawDataProtocol": Excuse(
        "runs a function of somebody else", "tests/unit/mechanisms/robust/test_subsampled_stability.py"),
    "PrivatePartition": Excuse(
        "its exact law is computed beside it", "tests/unit/release/strategies/test_partitions.py"),
    **dict.fromkeys(("TiltedMinimum", "SphericalNoise"), _TRAINING),
    "BatchGradient": Excuse("a Gaussian on a sampled batch", "tests/unit/learn/test_linear_batches.py"),
}  # fmt: skip
"""By name; a mechanism that is neither here nor among the cases fails the audit."""
