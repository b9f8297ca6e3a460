"""The dear tests of `laws/test_http_pairs.py`."""

from __future__ import annotations

import pytest

from http_pairs import (
    canaries_in,
)
from poisons import POISONS
from tests.laws import test_http_pairs
from tests.laws.test_http_pairs import Way, told_apart

_same_noise = test_http_pairs._same_noise


@pytest.mark.parametrize("seed", range(2, 15))
def test_500_pairs_of_tables_are_not_told_apart_through_any_route(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    ways = {
        name: Way((number + seed) % 6, "0" if number % 3 else "1e-6", rehearse=number % 10 == 0)
        for number, name in enumerate(POISONS)
    }
    found = {name: told_apart(seed, name, terms) for name, terms in ways.items()}
    assert {name: each for name, each in found.items() if each} == {}
    assert canaries_in("".join(capfd.readouterr())) == []
