"""Bugs in noise, selection and randomness."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from dalenius.checks.commands.planted import Planted
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.aggregates import VoteOfBlocks, Winner, votes
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.robust.stability import DistanceToInstability, StabilityTest
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.selection.prefix import PrefixSearch
from dalenius.mechanisms.selection.top_k import OneShotTopK, TopK
from dalenius.mechanisms.sparse import sparse_vector as sparse_session
from dalenius.mechanisms.sparse.sparse_vector import SparseVectorSession
from dalenius.privacy.losses import BoundedRange
from dalenius.randomness import entropy, gaussian
from dalenius.randomness.entropy import _StreamCipher
from dalenius.randomness.tables import LawTable

release, bell = DiscreteLaplace.release, DiscreteGaussian.release
threshold = ThresholdedCounts.threshold.fget  # type: ignore[attr-defined]


def replaced(kind: type, name: str, wrong: Any) -> Callable[[], Any]:
    return lambda: patch.object(kind, name, wrong)


def rounded_down(self: DiscreteLaplace, value: Any, source: Any) -> Any:
    return release(DiscreteLaplace(self.scale * 3 / 4, neighbours=self.neighbours), value, source)


def half_the_scale(self: DiscreteLaplace, value: Any, source: Any) -> Any:
    return release(DiscreteLaplace(self.scale / 2, neighbours=self.neighbours), value, source)


def half_the_deviation(self: DiscreteGaussian, value: Any, source: Any) -> Any:
    return bell(DiscreteGaussian(variance=self.variance / 4, neighbours=self.neighbours), value, source)


def one_draw_for_empty_groups(self: DiscreteLaplace, value: Any, source: Any) -> Any:
    noisy = np.asarray(release(self, value, source))
    exact = np.asarray(value)
    if exact.ndim != 2:
        return noisy if exact.ndim else int(noisy)
    shared = np.asarray(release(self, np.zeros(len(exact), dtype=np.int64), source))
    return np.where(exact == 0, shared[:, None], noisy)


def in_floats(self: DiscreteLaplace, value: Any, source: Any) -> Any:
    words = (source.words(np.size(value)) >> np.uint64(11)).astype(np.float64)
    u = (words + 0.5) / 2.0**53
    noise = np.where(u >= 0.5, -np.log(2 - 2 * u), np.log(2 * u)) * float(self.scale)
    return np.asarray(value) + noise.reshape(np.shape(value))


def half(kind: type) -> Any:
    right = kind.loss  # type: ignore[attr-defined]

    def loss(self: Any, *, sensitivity: Any) -> Any:
        stated = right(self, sensitivity=sensitivity)
        return type(stated)(stated.epsilon / 2) if hasattr(stated, "epsilon") else stated

    return loss


@contextmanager
def threshold_without_noise() -> Iterator[None]:
    with patch.object(SparseVectorSession, "_threshold_noise", lambda self, source: 0):
        yield


@contextmanager
def questions_without_noise() -> Iterator[None]:
    with patch.object(sparse_session, "discrete_laplace", lambda scale, *given, **named: 0):
        yield


def largest(self: Any, scores: Any, source: Any) -> int:
    return int(np.argmax(np.asarray(scores)))


def largest_few(self: Any, scores: Any, source: Any) -> tuple[int, ...]:
    return tuple(np.argsort(-np.asarray(scores), kind="stable")[: self.k].tolist())


def largest_keys(self: LimitedTopK, value: Any, source: Any) -> tuple[Any, ...]:
    return tuple(value.keys[place] for place in np.argsort(-value.counts, kind="stable")[: self.k])


def largest_of_each(self: GroupedChoice, counts: Any, source: Any) -> tuple[int, ...]:
    return tuple(int(np.argmax(each)) for each in counts)


def likeliest_name(self: PrefixSearch, counts: Any, source: Any) -> str:
    return str(max(counts, key=lambda name: counts[name], default=""))


@contextmanager
def no_noise_in_sessions() -> Iterator[None]:
    with threshold_without_noise(), questions_without_noise():
        yield


def without_noise() -> Iterator[Planted]:
    """A release that is exact, of each kind whose samples are drawn in another way."""
    kinds: tuple[tuple[str, type, Any], ...] = (
        ("noisy max", NoisyMax, largest),
        ("permute and flip", PermuteAndFlip, largest),
        ("exponential", ExponentialMechanism, largest),
        ("top two", TopK, largest_few),
        ("two in one shot", OneShotTopK, largest_few),
        ("limited top two", LimitedTopK, largest_keys),
        ("choices", GroupedChoice, largest_of_each),
        ("prefix search", PrefixSearch, likeliest_name),
    )
    for part, kind, exact in kinds:
        plant = replaced(kind, "release", exact)
        yield Planted(f"release without noise: {part}", ("F2", "C2"), "audit", plant, part=part, count=1_000)
    for part in ("above threshold", "sparse", "numeric sparse"):
        name = f"session without noise: {part}"
        yield Planted(name, ("F1",), "audit", no_noise_in_sessions, part=part, count=1_000)


def of_bounded_range(kind: Any) -> Any:
    """The loss of another mechanism with the same epsilon, whose divergences are a quarter."""
    right = kind.loss

    def loss(self: Any, *, sensitivity: Any) -> BoundedRange:
        return BoundedRange(right(self, sensitivity=sensitivity).epsilon)

    return loss


profile_of_rows = SmoothQuantile.profile
handicap_of_rows: Any = LimitedTopK.handicap


def for_one_row(self: SmoothQuantile, ordered: Any) -> Any:
    return profile_of_rows(replace(self, rows=1), ordered)


def ahead_of_one_row(self: LimitedTopK) -> int:
    return int(handicap_of_rows.fget(replace(self, each=Fraction(1))))


def exact_vote(self: VoteOfBlocks, outputs: Any, source: Any) -> Winner:
    counts = votes(outputs, len(self.output.options))
    return Winner(self.output.value(int(np.argmax(counts))), None)


def always(self: Any, distance: int, source: Any) -> bool:
    return True


def no_noise(self: Any, bound: Any, source: Any) -> int:
    return 0


def whatever_the_test_says(self: Any, value: Any, source: Any) -> Any:
    return value.answer


@contextmanager
def single_gaussians_of_zero() -> Iterator[None]:
    with patch.object(gaussian, "gaussian_noise", lambda *given: 0):
        yield


@contextmanager
def without_low_bits() -> Iterator[None]:
    right = LawTable.fill

    def fill(self: LawTable, result: Any, source: Any) -> None:
        right(self, result, source)
        shift = self._cells.shift
        result[...] = np.where(result < 0, ~(~result >> shift << shift), result >> shift << shift)

    with patch.object(LawTable, "fill", fill):
        yield


class ForgetsForks(_StreamCipher):
    """The words that were drawn ahead survive a fork."""

    def word(self) -> int:
        return self._pool.pop() if self._pool else self._refill()


class ForgetsThreads(_StreamCipher):
    """Reads a word and removes it in two steps."""

    def word(self) -> int:
        word = self._pool[-1] if self._pool else self._refill()
        threading.Event().wait(1e-6)
        del self._pool[-1:]
        return word


class Seeded(_StreamCipher):
    """Draws from a generator with a seed."""

    chance = np.random.default_rng(7)

    def words(self, count: int) -> Any:
        return self.chance.integers(0, 2**64 - 1, count, dtype=np.uint64)


BUGS = (
    Planted("float noise", ("A1", "A2"), "float", replaced(DiscreteLaplace, "release", in_floats), count=5_000),
    Planted("scale rounded down", ("A4", "F4"), "audit", replaced(DiscreteLaplace, "release", rounded_down),
            part="Laplace", count=60_000),
    Planted("half the deviation of Gaussian noise", ("F4", "A5"), "audit",
            replaced(DiscreteGaussian, "release", half_the_deviation), part="Gaussian", count=10_000),
    Planted("single draws of Gaussian noise are 0", ("A1", "F4"), "audit", single_gaussians_of_zero,
            part="Gaussian", count=1_000),
    Planted("noise without its low bits", ("A2",), "float", without_low_bits, count=5_000),
    Planted("smooth noise left out", ("F4",), "audit", replaced(SmoothCauchy, "noise", no_noise),
            part="robust median", count=2_000),
    Planted("answers whether stable or not", ("D1", "F4"), "audit",
            replaced(DistanceToInstability, "release", whatever_the_test_says), part="stable mode", count=1_000),
    Planted("half the noise in every group", ("F4", "C2"), "e2e",
            replaced(DiscreteLaplace, "release", half_the_scale), part="COUNT(*) AS s", count=4_000),
    Planted("one noise draw for all empty groups", ("D1",), "audit",
            replaced(DiscreteLaplace, "release", one_draw_for_empty_groups), part="empty groups", count=20_000),
    Planted("at least for more than in key selection", ("D1",), "exact",
            replaced(ThresholdedCounts, "threshold", property(lambda self: threshold(self) - 1)), part="Laplace above"),
    Planted("a coin below the threshold that always shows", ("D1",), "exact",
            replaced(ThresholdedCounts, "chance", Fraction(1)), part="Laplace above"),
    Planted("permute-and-flip priced too low", ("F2", "F5"), "exact",
            replaced(PermuteAndFlip, "loss", half(PermuteAndFlip)), part="permute and flip"),
    Planted("permute-and-flip priced as the exponential mechanism", ("F2", "F5"), "exact",
            replaced(PermuteAndFlip, "loss", of_bounded_range(PermuteAndFlip)), part="permute and flip"),
    Planted("noisy maximum priced as the exponential mechanism", ("F2", "F5"), "exact",
            replaced(NoisyMax, "loss", of_bounded_range(NoisyMax)), part="noisy max"),
    Planted("smooth noise for one row of a person with many", ("C3", "F4"), "exact",
            replaced(SmoothQuantile, "profile", for_one_row), part="robust median of many rows"),
    Planted("a ranked list for one row of a person with many", ("C3", "D1"), "exact",
            replaced(LimitedTopK, "handicap", property(ahead_of_one_row)), part="limited top one of many rows"),
    Planted("a vote of blocks without noise", ("F2", "C2"), "audit",
            replaced(VoteOfBlocks, "release", exact_vote), part="VoteOfBlocks", count=1_000),
    Planted("random parts that agree, whether stable or not", ("D1", "F4"), "audit",
            replaced(StabilityTest, "passes", always), part="SubsampledStability", count=1_000),
    Planted("noisy maximum priced too low", ("F2",), "exact",
            replaced(NoisyMax, "loss", half(NoisyMax)), part="noisy max"),
    Planted("threshold noise missing", ("F1",), "exact", threshold_without_noise, part="sparse", count=4_000),
    Planted("noise of questions missing", ("F1",), "exact", questions_without_noise, part="sparse", count=4_000),
    *without_noise(),
    Planted("choices that draw nothing", ("F2", "C2"), "replay",
            replaced(GroupedChoice, "release", largest_of_each), part="Values", count=80, where=(1, 5)),
    Planted("seeded noise", ("I1",), "rng", lambda: patch.object(entropy, "_SYSTEM", Seeded()), count=60_000),
    Planted("noise repeated after a fork", ("I2",), "rng",
            lambda: patch.object(entropy, "_SYSTEM", ForgetsForks()), count=60_000),
    Planted("noise shared by threads", ("I2",), "rng",
            lambda: patch.object(entropy, "_SYSTEM", ForgetsThreads()), count=60_000),
)  # fmt: skip
