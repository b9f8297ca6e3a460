"""Many samples of mechanisms that choose: by the functions that their release calls, for all samples at once.

Where one choice depends on those before it, the samples that chose alike so far choose together.

Many outputs of one mechanism on one value: all at once where its own code can do so, otherwise one by one.

Numbers are released as one array. Keys are released as one long list, in which every sample has keys of its own: keys
are decided one by one from their own counts, so the samples are independent. Selections draw the noise, the coins or
the choices of all samples at once, by the function that their release calls; where one choice depends on those before
it, the samples that chose alike so far choose together. Sparse vectors are drawn as their exact law describes them,
and answers that come where they are stable with the noise of all tests at once. Quantiles, and statistics whose noise
fits the data, look at the data once and then choose or draw for each sample.
That single releases of these follow the same law is shown beside (`audit.singles`).

Single releases beside the exact law: the very call that answers a question, where many samples are drawn at once.

What draws many samples at once (`audit.draws`) is not always a mechanism's own release, and few numbers are drawn by
other code than many are; this shows that both follow one law. Keys that are shown are also looked at in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import chain, permutations
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import price
from dalenius.checks.sampling.answers import answers
from dalenius.checks.sampling.forms import form
from dalenius.lazy import optional
from dalenius.mechanisms.keys.key_selection import GeometricKeySelection, Key, KeyCounts
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.noise.randomized_response import CoinResponse, RandomizedResponse
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.noisy_max import NoisyMax, noisy_scores
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.selection.prefix import PrefixSearch
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, Quantile
from dalenius.mechanisms.selection.top_k import OneShotTopK, TopK
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.exact import uniform_below
from dalenius.randomness.laplace import discrete_laplace
from dalenius.randomness.selection import exponential_coins, exponential_weights
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.sparse_vectors import SparseVectorVersion, sampled

special = optional("scipy.special", function="An audit by sampling", extra="checks")

Places = NDArray[np.int64]
Options = Callable[[tuple[int, ...]], tuple[Sequence[int], Sequence[int]]]
"""After the choices so far: the candidates that are left, and their scores. None are left at the end."""

_ENDED = -1


def choices(mechanism: Any, names: Sequence[Key]) -> Callable[[Any, int, Entropy], Places] | None:
    """How a value's choices are drawn many times in one call, a row for each sample; None for other mechanisms."""
    match mechanism:
        case ExponentialMechanism():
            return partial(_chosen_at_once, mechanism)
        case PermuteAndFlip():
            return partial(_flipped, mechanism)
        case TopK():
            return partial(_walks, mechanism, mechanism.k, _peeled)
        case GroupedChoice():
            return partial(_walks, mechanism, None, _grouped)
        case PrefixSearch():
            return partial(_walks, mechanism, mechanism.length, partial(_spelt, mechanism))
        case LimitedTopK():
            return partial(_walks, mechanism, mechanism.k, partial(_limited, mechanism, names))
    return None


def chosen(mechanism: Any, row: Sequence[int], names: Sequence[Key]) -> Any:
    """A row as the mechanism's own output."""
    if isinstance(mechanism, PrefixSearch):
        return "".join((*mechanism.alphabet, "")[place] for place in row if place != _ENDED)
    if isinstance(mechanism, LimitedTopK):
        return tuple(names[place] for place in row if place not in (_ENDED, len(names)))
    return tuple(row)


def _chosen_at_once(mechanism: ExponentialMechanism, value: Sequence[int], size: int, entropy: Entropy) -> Places:
    return exponential_weights(value, mechanism.rate, entropy, mechanism.base, size=size)


def _flipped(mechanism: PermuteAndFlip, value: Sequence[int], size: int, entropy: Entropy) -> Places:
    heads = exponential_coins(np.tile(value, size), mechanism.rate, entropy).reshape(size, len(value))
    counts = heads.sum(axis=1)
    turns = np.empty(size, dtype=np.int64)
    for count in np.unique(counts).tolist():
        here = counts == count
        turns[here] = uniform_below(count, int(here.sum()), entropy=entropy)
    return np.asarray((np.cumsum(heads, axis=1) > turns[:, None]).argmax(axis=1))


def _walks(
    mechanism: Any, steps: int | None, options_of: Callable[[Any], Options], value: Any, size: int, entropy: Entropy
) -> Places:
    """A column for each choice; after the end, no candidate."""
    options = options_of(value)
    found = np.full((size, len(value) if steps is None else steps), _ENDED, dtype=np.int64)
    for step in range(found.shape[1]):
        ways, way = np.unique(found[:, :step], axis=0, return_inverse=True)
        for number, so_far in enumerate(ways.tolist()):
            candidates, scores = options(tuple(so_far))
            here = np.flatnonzero(way.ravel() == number)
            if len(candidates):
                places = exponential_weights(scores, mechanism.rate, entropy, size=len(here))
                found[here, step] = np.asarray(candidates)[places]
    return found


def _peeled(value: Sequence[int]) -> Options:
    def options(so_far: tuple[int, ...]) -> tuple[list[int], list[int]]:
        left = [place for place in range(len(value)) if place not in so_far]
        return left, [int(value[place]) for place in left]

    return options


def _grouped(value: Sequence[Sequence[int]]) -> Options:
    return lambda so_far: (range(len(value[len(so_far)])), value[len(so_far)])


def _spelt(mechanism: PrefixSearch, value: Mapping[str, int]) -> Options:
    end = len(mechanism.alphabet)

    def options(so_far: tuple[int, ...]) -> tuple[Sequence[int], list[int]]:
        if {end, _ENDED} & set(so_far):
            return (), []
        return range(end + 1), mechanism.scores(value, "".join(mechanism.alphabet[place] for place in so_far))

    return options


def _limited(mechanism: LimitedTopK, names: Sequence[Key], value: KeyCounts) -> Options:
    keys, scores = mechanism.candidates(value)
    numbers = [*(names.index(key) for key in keys), len(names)]

    def options(so_far: tuple[int, ...]) -> tuple[list[int], list[int]]:
        if {len(names), _ENDED} & set(so_far):
            return [], []
        left = [place for place, number in enumerate(numbers) if number not in so_far]
        return [numbers[place] for place in left], [int(scores[place]) for place in left]

    return options


Numbers = NDArray[Any]
_ABSENT = -(10**9)
KEYS = (GeometricKeySelection, RenyiKeySelection, ThresholdedCounts, CountedKeys)
NOISE = (DiscreteLaplace, DiscreteGaussian, RandomizedResponse, CoinResponse)
SPARSE = (AboveThreshold, Sparse, NumericSparse)
SINGLY = (PrivateQuantiles, SmoothQuantile, SmoothTrimmedMean, SmoothEqualPairs)
_LEAST_CHUNK = 2_000


def at_once(case: Case, mechanism: Any) -> Callable[[Any, int, Entropy], Numbers] | None:
    """How many samples are drawn in one call, None where it is done one by one."""
    if isinstance(mechanism, NOISE):
        return partial(_numbers, mechanism)
    if isinstance(mechanism, SPARSE):
        return partial(_transcripts, mechanism)
    if isinstance(mechanism, NoisyMax):
        return partial(_winners, mechanism)
    if isinstance(mechanism, OneShotTopK):
        return partial(_lists, mechanism)
    if isinstance(mechanism, KEYS):
        return partial(_keys, mechanism, key_names(case))
    return answers(mechanism) or choices(mechanism, key_names(case))


def key_names(case: Case) -> list[Key]:
    """Every key that a value of the case may have; none where its values are no keys."""
    return sorted({key for value in case.values if isinstance(value, KeyCounts) for key in value.keys})


def as_listed(mechanism: Any, row: Any, names: Sequence[Key]) -> Any:
    """An output that was drawn with many others, as the exact law names it."""
    if isinstance(mechanism, KEYS):
        shown = [(name, number) for name, number in zip(names, row, strict=True) if number != _ABSENT]
        counted = isinstance(mechanism, ThresholdedCounts | CountedKeys)
        return tuple(shown) if counted else tuple(name for name, _ in shown)
    if isinstance(mechanism, PrivateQuantiles):
        return ((Quantile(row),),)
    return chosen(mechanism, row, names) if isinstance(row, list) else row


def is_slow(case: Case) -> bool:
    """Whether samples are drawn one by one, from the data or from what was computed of them."""
    mechanism = case.at(Fraction(1))
    return at_once(case, mechanism) is None or isinstance(mechanism, SINGLY)


def drawn(case: Case, epsilon: Fraction, value: Any, size: int, workers: int = 1) -> Sequence[Any] | Numbers:
    """`size` independent outputs of a case's mechanism; a listed case that is slow is spread over processes."""
    if workers == 1 or case not in CASES or not is_slow(case):
        return _outputs(case, epsilon, value, size)
    chunk = max(_LEAST_CHUNK, -(-size // (4 * workers)))
    sizes = [min(chunk, size - start) for start in range(0, size, chunk)]
    job = partial(_part, CASES.index(case), epsilon, case.values.index(value))
    with ProcessPoolExecutor(max_workers=workers) as pool:
        return list(chain.from_iterable(pool.map(job, sizes)))


def _part(place: int, epsilon: Fraction, value: int, size: int) -> list[Any]:
    """A worker's share, with outputs that travel between processes."""
    case = CASES[place]
    outputs = _outputs(case, epsilon, case.values[value], size)
    return outputs.tolist() if isinstance(outputs, np.ndarray) else list(map(form, outputs))


def _outputs(case: Case, epsilon: Fraction, value: Any, size: int) -> Sequence[Any] | Numbers:
    mechanism, entropy = case.at(epsilon), system_entropy()
    together = at_once(case, mechanism)
    return together(value, size, entropy) if together else [mechanism.release(value, entropy) for _ in range(size)]


def _numbers(mechanism: Any, value: Any, size: int, entropy: Entropy) -> Numbers:
    return np.asarray(mechanism.release(np.tile(np.asarray(value), (size, *[1] * np.ndim(value))), entropy))


def _winners(mechanism: NoisyMax, value: Sequence[int], size: int, entropy: Entropy) -> Numbers:
    noisy = noisy_scores(np.tile(value, size), scale=mechanism.scale, entropy=entropy)
    return np.asarray(noisy.reshape(size, len(value)).argmax(axis=1))


def _lists(mechanism: OneShotTopK, value: Sequence[int], size: int, entropy: Entropy) -> Numbers:
    noisy = noisy_scores(np.tile(value, size), scale=mechanism.scale, entropy=entropy).reshape(size, len(value))
    return np.argsort(-noisy, axis=1, kind="stable")[:, : mechanism.k]


def _transcripts(mechanism: Any, value: Sequence[int], size: int, entropy: Entropy) -> Numbers:
    def noise(scale: Fraction, count: int) -> NDArray[np.int64]:
        return np.asarray(discrete_laplace(scale, count, entropy=entropy))

    return sampled(SparseVectorVersion.of(mechanism), tuple(value), size, noise)


def _keys(mechanism: Any, names: Sequence[Key], value: KeyCounts, size: int, entropy: Entropy) -> Numbers:
    """A column for each key that there can be: its noisy count, 1 where it is only named, or absent."""
    found = np.full((size, len(names)), _ABSENT, dtype=np.int64)
    counts = dict(zip(value.keys, value.counts.tolist(), strict=True))
    here = [place for place, name in enumerate(names) if name in counts]
    many = [(sample, place) for sample in range(size) for place in here]
    shown: Any = mechanism.release(
        KeyCounts(many, np.array([counts[names[place]] for place in here] * size, dtype=np.int64)), entropy
    )
    if len(shown):
        places = np.array(list(shown))
        found[places[:, 0], places[:, 1]] = list(shown.values()) if isinstance(shown, dict) else 1
    return found


RUNS = 2_000
"""How many single releases show noise that is missing; a tenth too little noise takes far more."""


def has_singles(case: Case) -> bool:
    """Whether samples of a case are drawn in another way than by one release after the other."""
    return at_once(case, case.at(Fraction(1))) is not None


def unlike_its_law(case: Case, epsilon: Fraction, value: Any, *, risk: Fraction, runs: int = RUNS) -> Iterator[str]:
    """Outcomes that come more or less often than the exact law of a value says, and keys that are out of order.

    Guarantee: if the release follows its law, there are any with probability at most `risk`: each count is binomial,
    and each of its two tails has an equal part of the risk.
    """
    mechanism = case.at(epsilon)
    yield from _out_of_order(case, mechanism)
    chances = _chances(case.law(mechanism, value))
    seen = Counter(_named(_single(case, mechanism, value), chances) for _ in range(runs))
    least = float(risk / (2 * len(chances)))
    for outcome, chance in chances.items():
        count = seen[outcome]
        if min(special.bdtr(count, runs, chance), special.bdtrc(count - 1, runs, chance) if count else 1) < least:
            yield f"{case}: {outcome} came {count} times in {runs} releases of {value}, by its law {runs * chance:.0f}"


_ORDERED: tuple[Key, ...] = (("a",), ("b",), ("é",), (None,))
_MANY = 100_000
"""So many units that a key is as good as always shown."""


def _out_of_order(case: Case, mechanism: Any) -> Iterator[str]:
    """Keys that are shown in another order than their own, which their counts would tell."""
    if not isinstance(mechanism, KEYS):
        return
    for order in permutations(range(len(_ORDERED))):
        counts = np.array([_MANY * (1 + place) for place in order], dtype=np.int64)
        for step in (1, -1):
            shown: Any = mechanism.release(KeyCounts(_ORDERED[::step], counts[::step]), system_entropy())
            if list(shown) != [key for key in _ORDERED if key in shown]:
                yield f"{case}: with counts of {counts.tolist()} the keys are shown in the order {list(shown)}"
                return


_OTHER = "anything else"


def _chances(law: Mapping[Hashable, arb]) -> dict[Hashable, float]:
    listed = {outcome: min(1.0, max(0.0, float(mass.mid()))) for outcome, mass in law.items()}
    rest = 1 - sum(listed.values())
    return listed | {_OTHER: rest if rest > 1e-12 else 0.0}


def _named(output: Hashable, chances: Mapping[Hashable, float]) -> Hashable:
    return output if output in chances else _OTHER


def _single(case: Case, mechanism: Any, value: Any) -> Any:
    if isinstance(mechanism, NOISE):
        told = np.asarray(mechanism.release(np.asarray(value), system_entropy())).tolist()
        return tuple(told) if isinstance(told, list) else told
    if isinstance(mechanism, KEYS):
        shown: Any = mechanism.release(value, system_entropy())
        return tuple(shown.items() if isinstance(shown, dict) else shown)
    if not isinstance(mechanism, SPARSE):
        return mechanism.release(value, system_entropy())
    paid = Allowance(price(mechanism.loss(sensitivity=case.sensitivity), order=None), neighbours=case.neighbours)
    session, answers = mechanism.start(paid, system_entropy()), list[int | None]()
    for number in value:
        if session.finished:
            break
        answer = session.ask(Exact(number, sensitivity=case.sensitivity, neighbours=case.neighbours), threshold=0)
        answers.append(int(answer) if answer is not None and answer is not False else None)
    return tuple(answers)
