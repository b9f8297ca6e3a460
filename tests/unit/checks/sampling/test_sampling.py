"""The sampling audit's bound is the Clopper-Pearson bound of an event that was chosen on other samples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dalenius.checks.sampling.sampling import sampling_audit
from dalenius.errors import InvalidParameter


def scripted(parts: dict[str, list[tuple[int, int]]]) -> object:
    """A run that gives, for each input, so many times each output; every quarter of the samples has the same mix."""

    def run(name: str, size: int) -> NDArray[np.int64]:
        quarter = np.repeat([output for output, _ in parts[name]], [count for _, count in parts[name]])
        return np.tile(quarter, size // len(quarter))

    return run


@pytest.mark.textbook("S7.7")
@pytest.mark.parametrize("delta", ["0", "0.1"])
def test_the_bound_is_the_ratio_of_clopper_pearson_limits(delta: str) -> None:
    run = scripted({"x": [(0, 900), (1, 100)], "y": [(0, 300), (1, 700)]})
    finding = sampling_audit(run, "x", "y", samples=4000, delta=delta, confidence="0.99")
    assert (finding.counts, finding.samples) == ((200, 1400), 2000)
    assert (finding.likelier, finding.event) == ("second", "the output 1")
    least = stats.beta.ppf(0.005, 1400, 601) - float(delta)
    most = stats.beta.ppf(0.995, 201, 1800)
    assert float(finding.epsilon) == pytest.approx(math.log(least / most), rel=1e-9)


@pytest.mark.textbook("S7.7")
def test_a_claim_is_refuted_exactly_when_it_is_below_the_bound() -> None:
    run = scripted({"x": [(0, 900), (1, 100)], "y": [(0, 300), (1, 700)]})
    finding = sampling_audit(run, "x", "y", samples=4000)
    assert finding.refutes(epsilon=finding.epsilon - Fraction(1, 10**9))
    assert not finding.refutes(epsilon=finding.epsilon)


@pytest.mark.textbook("S7.7")
def test_what_the_choosing_samples_show_is_not_believed_before_it_is_tested() -> None:
    """The first half of the samples tells the inputs apart, the second does not."""

    def run(name: int, size: int) -> NDArray[np.int64]:
        return np.concatenate([np.full(size // 2, name), np.zeros(size - size // 2, dtype=np.int64)])

    assert sampling_audit(run, 0, 1, samples=4000).epsilon == 0


@pytest.mark.parametrize("flip", [False, True])
def test_outputs_that_occur_on_one_input_only_give_a_bound_that_grows_with_the_samples(flip: bool) -> None:
    run = scripted({"x": [(7, 10)], "y": [(8, 10)]})
    pair = ("y", "x") if flip else ("x", "y")
    bounds = [sampling_audit(run, *pair, samples=samples).epsilon for samples in (400, 4000, 40_000)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > 7


def test_equal_inputs_give_no_bound() -> None:
    finding = sampling_audit(scripted({"x": [(0, 5), (1, 5)]}), "x", "x", samples=4000)
    assert finding.epsilon == 0
    assert not finding.refutes(epsilon=0)


def test_tails_of_numbers_that_never_repeat_are_events_too() -> None:
    def run(shift: float, size: int) -> NDArray[np.float64]:
        return shift + np.random.default_rng(int(shift * 8)).laplace(size=size)

    finding = sampling_audit(run, 0.0, 1.0, samples=40_000)
    assert finding.event.startswith("an output of at")
    assert Fraction(85, 100) < finding.epsilon < 1


def test_vectors_are_compared_as_a_whole() -> None:
    """Neither coordinate tells anything by itself."""

    def run(same: bool, size: int) -> NDArray[np.int64]:
        first = np.random.default_rng(same).integers(0, 2, size)
        return np.stack([first, first if same else 1 - first], axis=1)

    finding = sampling_audit(run, True, False, samples=4000)
    assert finding.epsilon > 5
    assert finding.event in {"the output [0, 0] or [1, 1]", "the output [0, 1] or [1, 0]"}


def test_a_finding_says_what_was_found() -> None:
    run = scripted({"x": [(0, 900), (1, 100)], "y": [(0, 300), (1, 700)]})
    text = str(sampling_audit(run, "x", "y", samples=4000))
    assert "epsilon is at least 1.6" in text
    assert "the output 1, seen 200 and 1400 times in 2000 outputs" in text


@pytest.mark.parametrize(
    "wrong",
    [{"samples": 3}, {"samples": 10.5}, {"delta": -1}, {"delta": 2}, {"confidence": 1}, {"confidence": 0}],
)
def test_bad_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        sampling_audit(scripted({"x": [(0, 1)]}), "x", "x", **({"samples": 8} | wrong))


@pytest.mark.parametrize("outputs", [np.zeros(7), np.zeros((8, 2, 2)), np.zeros(())])
def test_outputs_of_the_wrong_shape_are_refused(outputs: NDArray[np.float64]) -> None:
    with pytest.raises(InvalidParameter):
        sampling_audit(lambda _, size: outputs, 0, 1, samples=8)
