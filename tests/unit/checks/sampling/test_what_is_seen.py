"""Wherever in an output a row shows, an audit looks there: far back, in a hidden field, in a text beside noise.

Each of these releases gives a row away and claims an epsilon of 1; each has a twin that does not and is not refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dalenius as dl
from costs import cases

draws = np.random.default_rng(1)
SURE = "0.999999"


@dataclass
class Hidden:
    shown: int
    value: int = field(repr=False)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Slotted()"


def noise(count: int, telling: int, value: int) -> Any:
    found = draws.laplace(size=count)
    found[telling] += 1000 * value
    return found


def grouped(value: int) -> dict[str, float]:
    """A noisy count for each city that somebody lives in; one has a single inhabitant."""
    cities = [f"city {number}" for number in range(10)] + ["Longyearbyen"] * value
    return {city: float(draws.laplace()) for city in cities}


def named(value: int) -> tuple[float, str]:
    names = [f"name {number}" for number in range(8)] + ["Zoe"] * value
    return float(draws.random()), names[int(draws.integers(len(names)))]


RELEASES: dict[str, Callable[[int], Any]] = {
    "an entry far back": lambda value: noise(40, 33, value),
    "a cell of a frame": lambda value: pd.DataFrame({"city": [f"c{n}" for n in range(12)], "n": noise(12, 0, value)}),
    "a cell of an Arrow table": lambda value: pa.table(
        {"city": [f"c{n}" for n in range(20)], "n": noise(20, 18, value)}
    ),
    "a key that exists": grouped,
    "a name beside noise": named,
    "a field that is not printed": lambda value: Hidden(1, value),
    "a slot that is not printed": Slotted,
    "an imaginary part": lambda value: complex(draws.laplace(), 1000 * value + draws.laplace()),
}


@cases("name", RELEASES, fast=(3, 4, 5, 6, 7))
def test_whatever_shows_a_row_is_refuted(name: str) -> None:
    report = dl.audit(RELEASES[name], 0, 1, claim=1, samples=2000, confidence=SURE)  # type: ignore[operator]
    assert report.refuted, str(report)


@cases("name", RELEASES, fast=1)
def test_the_same_without_the_row_is_not(name: str) -> None:
    report = dl.audit(RELEASES[name], 0, 0, claim=1, samples=400, confidence=SURE)  # type: ignore[operator]
    assert not report.refuted


def test_masks_are_seen() -> None:
    def release(value: int, size: int) -> Any:
        return np.ma.MaskedArray(np.zeros(size), mask=np.full(size, bool(value)))

    assert dl.audit(release, 0, 1, claim=1, samples=400, confidence=SURE).refuted  # type: ignore[operator]


@pytest.mark.parametrize(
    "release",
    [
        lambda value, size: np.log(np.maximum(0, 3 + draws.integers(-3, 30, size))),
        lambda value, size: draws.uniform(-1, 1, size) * 1.7e308,
        lambda value, size: np.where(draws.random(size) < 0.3, np.inf, draws.random(size)),
        lambda value, size: [10**400 + int(number) for number in draws.integers(0, 100, size)],
        lambda value, size: [np.longdouble(1.5), *[1] * (size - 1)],
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_numbers_of_any_size_have_a_picture(release: Any) -> None:
    report = dl.audit(release, 0, 1, claim=1, samples=1000)  # type: ignore[operator]
    assert abs(sum(report.picture.first) - 1) < 1e-9
    assert "inf" not in report.picture.labels[1]


def test_an_epsilon_beyond_all_floats_is_a_claim_like_any_other() -> None:
    report = dl.audit(lambda value, size: draws.integers(0, 9, size), 0, 1, claim=(1000, 0.01), samples=400)  # type: ignore[operator]
    assert not report.refuted
