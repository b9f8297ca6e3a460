"""Integers in, integers out: every kind and shape comes back, nothing wraps, nothing else is let in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.randomness.integers import add_noise

BIG = 2**63


def ones(count: int) -> NDArray[Any]:
    return np.ones(count, dtype=np.int64)


@pytest.mark.parametrize("value", [7, np.int8(7), np.int64(7)])
def test_one_integer_gives_one_python_integer(value: Any) -> None:
    noisy = add_noise(value, ones)
    assert type(noisy) is int
    assert noisy == 8


@pytest.mark.parametrize("value", [[1, 2], (1, 2), [], ()])
def test_a_list_gives_a_list_and_a_tuple_a_tuple(value: Any) -> None:
    noisy = add_noise(value, ones)
    assert type(noisy) is type(value)
    assert list(noisy) == [x + 1 for x in value]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64, object])
def test_an_array_keeps_its_shape(shape: tuple[int, ...], kind: Any) -> None:
    noisy = add_noise(np.full(shape, 100, dtype=kind), ones)
    assert noisy.shape == shape
    assert noisy.dtype == np.int64
    assert np.all(noisy == 101)


@example(values=[2**63 - 1], noise=1)
@example(values=[2**62], noise=2**62)
@example(values=[-(2**63)], noise=-1)
@given(
    values=st.lists(st.integers(-2 * BIG, 2 * BIG), min_size=1, max_size=5),
    noise=st.integers(-2 * BIG, 2 * BIG),
)
def test_sums_never_wrap(values: list[int], noise: int) -> None:
    def draw(count: int) -> NDArray[Any]:
        drawn = np.array([noise] * count, dtype=object)
        return drawn.astype(np.int64) if -BIG <= noise < BIG else drawn

    exact = [value + noise for value in values]
    array = add_noise(np.array(values, dtype=object), draw)
    assert add_noise(values, draw) == array.tolist() == exact
    assert (array.dtype == np.int64) == all(-BIG <= x < BIG for x in exact)


def test_numpy_integers_among_large_ones_do_not_wrap_either() -> None:
    value = [np.int64(BIG - 1), 2**70]
    assert add_noise(value, ones) == [BIG, 2**70 + 1]
    assert add_noise(np.array(value, dtype=object), ones).tolist() == [BIG, 2**70 + 1]


def test_the_type_of_the_result_depends_on_the_result_only() -> None:
    # The same noisy number from two values, one of which does not fit into 64 bits.
    fits = add_noise(np.array([BIG - 1]), lambda count: np.array([0]))
    does_not = add_noise(np.array([BIG], dtype=np.uint64), lambda count: np.array([-1]))
    assert fits.dtype == does_not.dtype
    assert fits.tolist() == does_not.tolist()


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), True, "1", None, {1}, [1, 2.5], [True], [[1]], np.array([1.0]), np.array([True])],
    ids=repr,
)
def test_anything_but_integers_is_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter):
        add_noise(value, ones)


def test_the_refusal_names_the_type_and_not_the_value() -> None:
    for value in (41.5, [3, 41.5], np.array([41.5])):
        with pytest.raises(InvalidParameter) as refusal:
            add_noise(value, ones)  # type: ignore[type-var]
        assert "41" not in str(refusal.value)
        assert "float" in str(refusal.value)
