"""The time of a reply tells neither what somebody's rows hold nor what the noise was.

Guesses about people with many rows are asked of a real server, right ones and wrong ones in turn. Replies leave when
their plan says, or a doubling later; how often they are late depends on how busy the machine is, for both alike.
Without due times, or where one person's rows can become tens of thousands, times tell nearly everything. A sampler that
takes longer for larger noise would tell the true value: the reply minus the noise.
"""

from __future__ import annotations

import math

import pytest

ONE_SIDED = 1.645  # standard deviations of a bound that holds with 95 %


def separation(ones: list[float], others: list[float]) -> tuple[float, float]:
    """The area under the curve of telling `others` by their longer times, and its upper bound (Hanley and McNeil)."""
    ranked = sorted([(each, 0) for each in ones] + [(each, 1) for each in others])
    ranks = sum(place for place, (_, kind) in enumerate(ranked) if kind)
    n, m = len(ones), len(others)
    area = (ranks - m * (m - 1) / 2) / (n * m)
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (area * (1 - area) + (m - 1) * (first - area**2) + (n - 1) * (second - area**2)) / (n * m)
    return area, area + ONE_SIDED * math.sqrt(spread)


def test_the_measure_tells_apart_what_differs_and_nothing_else() -> None:
    assert separation([1, 2, 3], [4, 5, 6])[0] == 1
    assert separation(list(range(0, 100, 2)), list(range(1, 101, 2)))[0] == pytest.approx(0.51)
    assert separation(list(range(500)), list(range(500)))[1] < 0.56
