"""The dear tests of `laws/test_generator.py`."""

from __future__ import annotations

from dalenius.engines.conformance.plans import NODES, nodes
from tests.laws.test_generator import sample


def test_every_node_and_pass_is_generated() -> None:
    assert set.union(*map(nodes, sample())) >= NODES
