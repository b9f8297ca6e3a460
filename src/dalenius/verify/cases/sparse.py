"""Streams of questions compared with thresholds, with the exact law of what is answered."""

from __future__ import annotations

from collections.abc import Iterator

from dalenius.mechanisms.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse_vector import AboveThreshold, Sparse
from dalenius.verify.cases.case import ADD, REPLACE, Calibrated, Case, Law, neighbouring
from dalenius.verify.cases.numeric import YES_NO, yes_counts
from dalenius.verify.cases.sparse_vectors import Version


def transcript_law(mechanism: AboveThreshold | Sparse | NumericSparse, value: tuple[int, ...]) -> Law:
    version = Version.of(mechanism)
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
