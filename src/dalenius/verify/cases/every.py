"""All cases in one list; a mechanism without one, and without an excuse, is an error.

Streams of questions compared with thresholds, with the exact law of what is answered.

Mechanisms without an exact law on a small case: why, and which tests look at their claims instead.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module

from dalenius import mechanisms
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.verify.cases.case import ADD, REPLACE, Calibrated, Case, Law, neighbouring
from dalenius.verify.cases.grids import grid_cases
from dalenius.verify.cases.keys import key_cases
from dalenius.verify.cases.numeric import YES_NO, numeric_cases, yes_counts
from dalenius.verify.cases.robust import robust_cases
from dalenius.verify.cases.selection import selection_cases
from dalenius.verify.cases.sparse_vectors import SparseVectorVersion


def transcript_law(mechanism: AboveThreshold | Sparse | NumericSparse, value: tuple[int, ...]) -> Law:
    version = SparseVectorVersion.of(mechanism)
    told = version.transcripts(len(value), numbers=range(-1, 3))
    return {transcript: version.probability(value, transcript) for transcript in told}


def sparse_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(yes_counts, relation, YES_NO)
        kinds: list[tuple[str, Calibrated]] = [
            ("above threshold", AboveThreshold.calibrated),
            ("sparse", lambda **parameters: Sparse.calibrated(cutoff=2, **parameters)),
            ("numeric sparse", lambda **parameters: NumericSparse.calibrated(cutoff=1, **parameters)),
        ]
        for name, calibrated in kinds:
            complete = name != "numeric sparse"
            yield Case(name, relation, 1, calibrated, values, pairs, transcript_law, tight=False, complete=complete)


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
        "its exact law is computed beside it", "tests/unit/synth/strategies/test_partitions.py"),
    **dict.fromkeys(("TiltedMinimum", "SphericalNoise"), _TRAINING),
    "BatchGradient": Excuse("a Gaussian on a sampled batch", "tests/unit/learn/test_linear_batches.py"),
}  # fmt: skip
"""By name; a mechanism that is neither here nor among the cases fails the audit."""


CASES = (*numeric_cases(), *selection_cases(), *sparse_cases(), *key_cases(), *grid_cases(), *robust_cases())


_ROOMS = ("dalenius.mechanisms", "dalenius.synth", "dalenius.learn", "dalenius.textbook")


def public_mechanisms() -> frozenset[type]:
    """Every mechanism that the library offers or uses: what states a loss, and releases or starts something."""
    offered = {getattr(mechanisms, name) for name in dir(mechanisms)}
    stating = {kind for kind in offered if isinstance(kind, type) and hasattr(kind, "loss")}
    return frozenset(stating - {mechanisms.Mechanism}) | frozenset(_releasing())


def _releasing() -> Iterator[type]:
    """Every class with a loss and a release in these rooms, listed or not."""
    for room in map(import_module, _ROOMS):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for name, kind in vars(import_module(found.name)).items():
                here = isinstance(kind, type) and kind.__module__ == found.name and not name.startswith("_")
                if here and not getattr(kind, "_is_protocol", False) and {"loss", "release"} <= {*dir(kind)}:
                    yield kind


def left_out() -> frozenset[type]:
    """The mechanisms of which there is no case, and no excuse."""
    listed = {type(case.at(Fraction(1))) for case in CASES}
    return frozenset(kind for kind in public_mechanisms() - listed if kind.__name__ not in EXCUSED)
