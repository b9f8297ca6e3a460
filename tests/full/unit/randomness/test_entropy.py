"""The dear tests of `unit/randomness/test_entropy.py`."""

from __future__ import annotations

from multiprocessing import get_context

from dalenius.randomness.entropy import system_entropy
from tests.unit.randomness.test_entropy import many_words, repeats


def spawned_words(_: int) -> list[int]:
    return many_words(system_entropy())


def test_spawned_workers_never_share_a_block() -> None:
    with get_context("spawn").Pool(2) as pool:
        parts = pool.map(spawned_words, range(8), chunksize=1)
    assert repeats([word for part in parts for word in part] + many_words(system_entropy())) == 0
