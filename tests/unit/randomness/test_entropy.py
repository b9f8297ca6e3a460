"""Random bits: from the operating system only, and never the same ones twice."""

from __future__ import annotations

import ast
import copy
import inspect
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius import randomness
from dalenius.errors import InvalidParameter, NotCopyable
from dalenius.randomness import entropy as module
from dalenius.randomness.entropy import Entropy, _StreamCipher, system_entropy
from tests.planted.mechanisms import ForgetsForks, ForgetsThreads

DRAWS = 1000
SOURCE = Path(module.__file__).parent
FORK = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads of the test runner, not ours


def many_words(source: Entropy) -> list[int]:
    return [source.word() for _ in range(DRAWS)] + source.words(DRAWS).tolist()


def forked_words(source: Entropy) -> list[int]:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(send, "wb") as pipe:
            pipe.write(np.array(many_words(source), dtype=np.uint64).tobytes())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        words = np.frombuffer(pipe.read(), dtype=np.uint64).tolist()
    os.waitpid(child, 0)
    assert len(words) == 2 * DRAWS
    return words


def repeats(words: list[int]) -> int:
    """Words that came twice. Among 10^5 honest ones, any with probability below 3e-10."""
    return len(words) - len(set(words))


def words_around_forks(source: Entropy, workers: int) -> list[int]:
    source.word()  # so that there is a pool to inherit
    return [word for _ in range(workers) for word in forked_words(source)] + many_words(source)


@FORK
def test_forked_workers_and_their_parent_never_share_a_block() -> None:
    assert repeats(words_around_forks(system_entropy(), workers=8)) == 0


@FORK
def test_comparing_process_numbers_alone_is_enough() -> None:
    assert repeats(words_around_forks(_StreamCipher(), workers=2)) == 0  # this one has no fork hook


@FORK
def test_the_fork_hook_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert repeats(words_around_forks(system_entropy(), workers=2)) == 0


@FORK
def test_the_checks_above_notice_an_inherited_pool() -> None:
    assert repeats(words_around_forks(ForgetsForks(), workers=2)) > 0


def words_of_threads(source: Entropy) -> list[int]:
    words: list[int] = []
    workers = [threading.Thread(target=lambda: words.extend(many_words(source))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return words


def test_threads_never_share_a_block() -> None:
    assert repeats(words_of_threads(system_entropy())) == 0


def test_the_check_above_notices_a_careless_pool() -> None:
    assert repeats(words_of_threads(ForgetsThreads())) > 0


@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
def test_the_source_cannot_be_copied_or_pickled(attempt: Callable[[object], object]) -> None:
    with pytest.raises(NotCopyable, match="repeat its noise"):
        attempt(system_entropy())


def test_every_bit_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fixed answer of the system the output is fixed, and without an answer there is none."""

    def outcome() -> tuple[object, ...]:
        source = _StreamCipher()
        return source.word(), source.bits(200), source.read(20), source.read(2000), source.words(5).tolist()

    monkeypatch.setattr(os, "urandom", bytes)
    assert outcome() == outcome()
    monkeypatch.setattr(os, "urandom", None)
    for ask in (Entropy.word, lambda source: source.words(1), lambda source: source.read(3)):
        with pytest.raises(TypeError):
            ask(_StreamCipher())


def test_every_refill_takes_a_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    urandom = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: sizes.append(size) or urandom(size))
    source = _StreamCipher()
    for _ in range(256 * 3):
        source.word()
    source.words(10**5)
    assert sizes == [32] * 4


def test_nothing_is_kept_but_words_not_yet_given() -> None:
    source = _StreamCipher()
    given = {source.word() for _ in range(100)}
    assert set(_StreamCipher.__slots__) == {"_pool", "_owner"}
    assert given.isdisjoint(source._pool)


def test_no_function_takes_a_seed() -> None:
    seeds = {"seed", "random_state", "rng", "generator", "key", "nonce"}
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.arg):
                assert node.arg not in seeds, f"{path.name}:{node.lineno}"


def test_every_sampler_uses_the_system_by_default() -> None:
    for name in ("bernoulli", "bernoulli_exp", "binomial", "discrete_cauchy", "discrete_gaussian", "discrete_laplace",
                 "geometric", "uniform_below"):  # fmt: skip
        assert inspect.signature(getattr(randomness, name)).parameters["entropy"].default is None


@pytest.mark.parametrize("source", [system_entropy(), SeededEntropy("shape")], ids=["system", "seeded"])
def test_requests_get_what_they_ask_for(source: Entropy) -> None:
    assert [len(source.read(count)) for count in (0, 1, 9, 1000)] == [0, 1, 9, 1000]
    assert source.bits(0) == 0
    for count in (1, 8, 63, 64, 65, 300):
        assert max(source.bits(count).bit_length() for _ in range(200)) == count  # or else 200 leading bits were zero
    words = source.words(10**5)
    assert words.dtype == np.uint64
    assert words.shape == (10**5,)
    assert source.words(0).size == 0
    assert source.below(1) == 0
    with pytest.raises(InvalidParameter, match="1 or more"):
        source.below(0)


def byte_p_value(sample: np.ndarray) -> float:
    return float(stats.chisquare(np.bincount(sample, minlength=256)).pvalue)


def test_bytes_are_uniform() -> None:
    source = system_entropy()
    words = np.array([source.word() for _ in range(4000)], dtype=np.uint64)
    assert byte_p_value(words.view(np.uint8)) > ALARM
    assert byte_p_value(source.words(4000).view(np.uint8)) > ALARM


def test_the_test_above_notices_a_slight_bias() -> None:
    sample = system_entropy().words(4000).view(np.uint8).copy()
    sample[::10] |= 1
    assert byte_p_value(sample) < ALARM


def test_long_numbers_are_made_of_different_words() -> None:
    """A repeat among these words has probability below 2^-45."""
    numbers = [system_entropy().bits(192) for _ in range(300)]
    words = [number >> place & ((1 << 64) - 1) for number in numbers for place in (0, 64, 128)]
    assert len(set(words)) == len(words)
