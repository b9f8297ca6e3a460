"""Every mechanism in a case small enough that its exact law can be computed: what the laws in tests/laws run over.

A case has all values that a tiny database can give and all neighbours of them, found by enumerating databases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from typing import Any

from flint import arb

import key_laws
import sparse_vectors
from choices import one_shot_law
from dalenius.mechanisms.counted_keys import CountedKeys
from dalenius.mechanisms.exponential import ExponentialMechanism
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.mechanisms.grouped_choice import GroupedChoice
from dalenius.mechanisms.histogram import Histogram, Marginals
from dalenius.mechanisms.key_selection import GeometricKeySelection
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.limited_domain import LimitedTopK
from dalenius.mechanisms.noisy_max import NoisyMax
from dalenius.mechanisms.numeric_sparse import NumericSparse
from dalenius.mechanisms.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.prefix import PrefixSearch
from dalenius.mechanisms.quantiles import PrivateQuantiles
from dalenius.mechanisms.randomized_response import CoinResponse, RandomizedResponse
from dalenius.mechanisms.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.sparse_vector import AboveThreshold, Sparse
from dalenius.mechanisms.thresholding import ThresholdedCounts
from dalenius.mechanisms.top_k import OneShotTopK, TopK
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import precise
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike

Law = dict[Any, arb]
ADD, REPLACE = AddRemove("row"), Replace("row")
YES_NO = tuple(product((0, 1), repeat=2))
"""The rows of a table with two yes-or-no columns."""


@dataclass(frozen=True)
class Case:
    """One mechanism on one kind of value, with its exact law."""

    name: str
    neighbours: Neighbours
    sensitivity: SensitivityLike
    calibrated: Callable[..., Any]
    values: tuple[Any, ...]
    pairs: tuple[tuple[Any, Any], ...]
    law: Callable[[Any, Any], Law]
    tight: bool = True
    """Whether some outcome of these pairs attains the bound: for pure cases the epsilon, else the divergence."""
    complete: bool = True
    """Whether the law lists every outcome, and not only those near the value."""
    pure: bool = True
    """Whether the loss of every single outcome is bounded."""
    targeted: bool = True
    """Whether the loss that it states is the `epsilon` that it was calibrated for."""
    event: bool = False
    """Whether the loss has an event in which nothing is promised."""

    def at(self, epsilon: Fraction) -> Any:
        return self.calibrated(sensitivity=self.sensitivity, epsilon=epsilon, neighbours=self.neighbours)

    def __str__(self) -> str:
        return f"{self.name}, {type(self.neighbours).__name__}"


def databases(universe: Iterable[Any], most: int) -> Iterator[tuple[Any, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(tuple(universe), size)


def neighbouring(
    query: Callable[[Iterable[Any]], Any], relation: Neighbours, universe: tuple[Any, ...], most: int = 2
) -> tuple[tuple[Any, ...], tuple[tuple[Any, Any], ...]]:
    """All values of a query on small databases, and all pairs of values on neighbours."""
    pairs: dict[tuple[Any, Any], None] = {}
    for rows in databases(universe, most):
        here = {row: rows.count(row) for row in set(rows)}
        for there in relation.around(here, universe):
            pairs[query(rows), query(tuple(there.elements()))] = None
    return tuple(dict.fromkeys(value for pair in pairs for value in pair)), tuple(pairs)


def noise_law(mechanism: DiscreteLaplace | DiscreteGaussian, value: int, reach: int = 60) -> Law:
    with precise():
        return {value_out: mechanism.law.pmf(value_out - value) for value_out in range(-reach, reach + 1)}


def vector_law(mechanism: DiscreteLaplace | DiscreteGaussian, value: tuple[int, ...], reach: int = 8) -> Law:
    coordinates = [noise_law(mechanism, entry, reach) for entry in value]
    with precise():
        laws: Law = {(): arb(1)}
        for law in coordinates:
            laws = {(*outcome, z): chance * p for outcome, chance in laws.items() for z, p in law.items()}
        return laws


def response_law(mechanism: RandomizedResponse | CoinResponse, value: int) -> Law:
    return {report: mechanism.chance(answer=value, report=report) for report in range(mechanism.choices)}


def index_law(mechanism: Any, value: tuple[int, ...]) -> Law:
    law = mechanism.probabilities(value)
    return law if isinstance(law, dict) else dict(enumerate(law))


class Names(Counter[str]):
    """How often each name occurs, as a key of the table of laws."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def prefix_law(mechanism: PrefixSearch, value: Names, found: str = "") -> Law:
    """By following every path: a letter leads on, no letter ends the name."""
    if len(found) == mechanism.length:
        return {found: arb(1)}
    level = ExponentialMechanism(rate=mechanism.rate, neighbours=mechanism.neighbours)
    law: Law = {}
    with precise():
        for letter, chance in zip(
            (*mechanism.alphabet, ""), level.probabilities(mechanism.scores(value, found)), strict=True
        ):
            after = prefix_law(mechanism, value, found + letter) if letter else {found: arb(1)}
            law.update({name: chance * part for name, part in after.items()})
    return law


def transcript_law(mechanism: AboveThreshold | Sparse | NumericSparse, value: tuple[int, ...]) -> Law:
    version = sparse_vectors.Version.of(mechanism)
    told = version.transcripts(len(value), numbers=range(-1, 3))
    return {transcript: version.probability(value, transcript) for transcript in told}


def _counts(cells: int) -> Callable[[Iterable[Any]], tuple[int, ...]]:
    histogram = Histogram(tuple(range(cells)))
    return lambda rows: tuple(histogram.counts(rows))


def _answers(rows: Iterable[Any]) -> tuple[int, ...]:
    return tuple(Marginals(2).counts(rows))


def _three_answers(rows: Iterable[Any]) -> tuple[int, ...]:
    return tuple(Marginals(3).counts(rows))


def _wide_vector_law(mechanism: DiscreteGaussian, value: tuple[int, ...]) -> Law:
    """Far enough out for the orders of which the divergence is compared."""
    return vector_law(mechanism, value, reach=14)


def numeric_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(len, ADD, (0,)) if relation == ADD else neighbouring(sum, REPLACE, (0, 1, 2))
        step = 1 if relation == ADD else 2
        noisy = {"law": noise_law, "complete": False}
        yield Case("Laplace", relation, step, DiscreteLaplace.calibrated, values, pairs, **noisy)
        yield Case("Gaussian", relation, step, gaussian, values, pairs, **noisy, pure=False)
        yield Case("Gaussian by delta", relation, step, by_delta, values, pairs, **noisy, pure=False, targeted=False)
        cells, pairs = neighbouring(_counts(2), relation, (0, 1))
        each = Histogram((0, 1)).sensitivity(relation)
        noisy = {"law": vector_law, "complete": False}
        yield Case("Laplace histogram", relation, each, DiscreteLaplace.calibrated, cells, pairs, **noisy)
        noisy = {"law": _wide_vector_law, "complete": False, "pure": False}
        yield Case("Gaussian histogram", relation, each, gaussian, cells, pairs, **noisy)
        yield Case("Gaussian histogram by delta", relation, each, by_delta, cells, pairs, **noisy, targeted=False)
    both = ((0, 1), (1, 0))
    yield Case("randomized response", REPLACE, 1, RandomizedResponse.calibrated, (0, 1), both, response_law)
    yield Case("coin response", REPLACE, 1, coin, (0, 1), both, response_law, targeted=False)
    triple = tuple((a, b) for a in range(3) for b in range(3) if a != b)
    yield Case("randomized response of three", REPLACE, 1, of_three, (0, 1, 2), triple, response_law)


def gaussian(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> DiscreteGaussian:
    return DiscreteGaussian.calibrated(sensitivity=sensitivity, rho=epsilon, neighbours=neighbours)


DELTA = Fraction(1, 1000)


def by_delta(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> DiscreteGaussian:
    return DiscreteGaussian.calibrated(sensitivity=sensitivity, epsilon=epsilon, delta=DELTA, neighbours=neighbours)


def of_three(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> RandomizedResponse:
    return RandomizedResponse.calibrated(sensitivity=sensitivity, epsilon=epsilon, choices=3, neighbours=neighbours)


def coin(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> CoinResponse:
    """Its probability is rational, so it stands for the epsilon that it has, not for one that is asked."""
    return CoinResponse(1 - 1 / (4 * (1 + epsilon)), neighbours)  # type: ignore[arg-type]


def top_two(**parameters: Any) -> TopK:
    return TopK.calibrated(k=2, **parameters)


def one_shot(**parameters: Any) -> OneShotTopK:
    return OneShotTopK.calibrated(k=1, **parameters)


def two_of_three(**parameters: Any) -> OneShotTopK:
    return OneShotTopK.calibrated(k=2, **parameters)


def uneven(**parameters: Any) -> ExponentialMechanism:
    return ExponentialMechanism.calibrated(base=(1, 3), **parameters)


def two_letters(**parameters: Any) -> PrefixSearch:
    return PrefixSearch.calibrated(alphabet="ab", length=2, **parameters)


def selection_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(_answers, relation, YES_NO)
        sensitivity = Marginals(2).sensitivity(relation)
        for name, calibrated, law in [
            ("exponential", ExponentialMechanism.calibrated, index_law),
            ("exponential with a base", uneven, index_law),
            ("permute and flip", PermuteAndFlip.calibrated, index_law),
            ("noisy max", NoisyMax.calibrated, index_law),
            ("top two", top_two, index_law),
            ("one shot", one_shot, one_shot_law),
        ]:
            # Few candidates, so most of these bounds are approached and not attained.
            yield Case(name, relation, sensitivity, calibrated, values, pairs, law, tight=name == "permute and flip")
        values, pairs = neighbouring(_three_answers, relation, ((0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1)), most=1)
        sensitivity = Marginals(3).sensitivity(relation)
        yield Case("two in one shot", relation, sensitivity, two_of_three, values, pairs, one_shot_law, tight=False)
        values, pairs = neighbouring(Names, relation, ("", "a", "ab", "b"))
        moves = 1 if relation == ADD else 2
        yield Case("prefix search", relation, moves, two_letters, values, pairs, prefix_law, tight=False)


def sparse_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(_answers, relation, YES_NO)
        for name, calibrated in [
            ("above threshold", AboveThreshold.calibrated),
            ("sparse", lambda **parameters: Sparse.calibrated(cutoff=2, **parameters)),
            ("numeric sparse", lambda **parameters: NumericSparse.calibrated(cutoff=1, **parameters)),
        ]:
            complete = name != "numeric sparse"
            yield Case(name, relation, 1, calibrated, values, pairs, transcript_law, tight=False, complete=complete)


KEYS_OF_A_UNIT = (("a",), ("b",), ("a", "b"))
"""What one unit may have, at most two keys."""
EVENT = Fraction(1, 100)


def geometric_keys(**parameters: Any) -> GeometricKeySelection:
    return GeometricKeySelection.calibrated(delta=EVENT, **parameters)


def renyi_keys(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> RenyiKeySelection:
    curve = ((Fraction(4), epsilon / 2), (Fraction(32), epsilon))
    return RenyiKeySelection(curve=curve, delta=EVENT, groups=2, neighbours=neighbours)  # type: ignore[arg-type]


def laplace_above(**parameters: Any) -> ThresholdedCounts:
    noise = DiscreteLaplace.calibrated(**parameters)
    return ThresholdedCounts.calibrated(noise=noise, delta=EVENT, sensitivity=parameters["sensitivity"])


def gaussian_above(**parameters: Any) -> ThresholdedCounts:
    return ThresholdedCounts.calibrated(
        noise=gaussian(**parameters), delta=EVENT, sensitivity=parameters["sensitivity"]
    )


def counted_keys(**parameters: Any) -> CountedKeys:
    return CountedKeys(selection=renyi_keys(**parameters), noise=DiscreteLaplace.calibrated(**parameters))


def limited(**parameters: Any) -> LimitedTopK:
    return LimitedTopK.calibrated(k=2, delta=EVENT, reach=2, **parameters)


def key_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(key_laws.key_counts, relation, KEYS_OF_A_UNIT, most=3)
        steps = relation.add_remove_steps
        change = Sensitivity.sparse(coordinates=2 * steps, each=1, monotone=relation == ADD)
        marks = {"tight": False, "event": True, "targeted": False, "pure": False}
        yield Case("geometric keys", relation, change, geometric_keys, values, pairs, key_laws.kept_law, **marks)
        yield Case("Rényi keys", relation, change, renyi_keys, values, pairs, key_laws.kept_law, **marks)
        for name, calibrated in [("Laplace above", laplace_above), ("Gaussian above", gaussian_above)]:
            law = key_laws.shown_law
            yield Case(name, relation, change, calibrated, values, pairs, law, **marks, complete=False)
        law = key_laws.counted_law
        yield Case("counted keys", relation, change, counted_keys, values, pairs, law, **marks, complete=False)
        units = (("a",), ("b", "c"), ("c",), ("a", "b", "c"))
        values, pairs = neighbouring(key_laws.key_counts, relation, units, most=3)
        anywhere = Sensitivity(linf=1, monotone=relation == ADD)
        yield Case("limited top two", relation, anywhere, limited, values, pairs, key_laws.listed_law, **marks)


def of_grid(targets: tuple[Any, ...], upper: int = 3, **more: Any) -> Callable[..., PrivateQuantiles]:
    return lambda **parameters: PrivateQuantiles.calibrated(targets=targets, lower=0, upper=upper, **more, **parameters)


def grid_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        steps = relation.add_remove_steps
        values, pairs = neighbouring(key_laws.one_group, relation, ((0,), (1, 1), (1, 3), (3,), (2, 3)))
        for name, calibrated in [
            ("median", of_grid(("1/2",))),
            ("first decile", of_grid(("1/10",))),
            ("least value", of_grid((0,))),
            ("three quartiles", of_grid(("1/4", "1/2", "3/4"))),
            ("least and largest value", of_grid((0, 1))),
            ("median with an interval", of_grid(("1/2",), beta="1/10")),
            ("least value and median with intervals", of_grid((0, "1/2"), beta="1/2")),
        ]:
            change = Sensitivity(l1=2 * steps)
            yield Case(name, relation, change, calibrated, values, pairs, key_laws.quantile_law, tight=False)
        units = (((0, 0),), ((0, 1), (1, 1)), ((1, 0), (2, 1)), ((2, 1),))
        values, pairs = neighbouring(key_laws.votes, relation, units)
        change = Sensitivity(linf=1, monotone=relation == ADD)
        yield Case("choices", relation, change, in_two_groups, values, pairs, key_laws.votes_law, tight=False)


def in_two_groups(**parameters: Any) -> GroupedChoice:
    return GroupedChoice.calibrated(groups=2, **parameters)


CASES = [*numeric_cases(), *selection_cases(), *sparse_cases(), *key_cases(), *grid_cases()]


def planted_cases() -> Iterator[Case]:
    """Bugs that have happened, each with the claim that it would make."""
    values, pairs = neighbouring(_counts(2), REPLACE, (0, 1))
    one = Sensitivity(l1=1)
    yield Case("replace priced as add/remove", REPLACE, one, DiscreteLaplace.calibrated, values, pairs, vector_law)
    values, pairs = neighbouring(_answers, ADD, YES_NO)
    yield Case("two counts priced as one", ADD, one, DiscreteLaplace.calibrated, values, pairs, vector_law)
    values, pairs = neighbouring(_answers, REPLACE, YES_NO)
    alone = Sensitivity(linf=Fraction(1, 2))
    for name, calibrated in [
        ("exponential without the half", ExponentialMechanism.calibrated),
        ("permute and flip without the half", PermuteAndFlip.calibrated),
        ("noisy max without the half", NoisyMax.calibrated),
    ]:
        yield Case(name, REPLACE, alone, calibrated, values, pairs, index_law)
    values, pairs = neighbouring(key_laws.one_group, ADD, ((0, 0, 0), (3, 3, 3)), most=3)
    yield Case("three rows priced as one", ADD, one, of_grid(("1/2",)), values, pairs, key_laws.quantile_law)
    with_ends = of_grid(("1/2",), beta="9/10")
    values, pairs = neighbouring(key_laws.one_group, ADD, ((1, 1, 1), (3, 3, 3)), most=3)
    yield Case("three rows and an interval priced as one", ADD, one, with_ends, values, pairs, key_laws.quantile_law)
    values, pairs = neighbouring(key_laws.one_group, ADD, ((2,), (6,)), most=4)
    steep = partial(key_laws.quantile_law, steepness=Fraction(2))
    wider = of_grid(("1/2",), beta="9/10", upper=6)
    yield Case("ends without the halves", ADD, one, wider, values, pairs, steep)
    units = (((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 1), (2, 1)))
    values, pairs = neighbouring(key_laws.votes, ADD, units, most=6)
    alike = Sensitivity(linf=1, monotone=True)
    yield Case("three groups priced as one", ADD, alike, in_one_group, values, pairs, key_laws.votes_law)


def in_one_group(**parameters: Any) -> GroupedChoice:
    return GroupedChoice.calibrated(groups=1, **parameters)


PLANTED = list(planted_cases())


def planted_events() -> Iterator[Case]:
    """Bugs in the choice of keys, with the event that each would claim."""
    cases = {case.name: case for case in CASES if case.event and case.neighbours == ADD}
    for name, kind in [
        ("Laplace above", key_laws.ThresholdOneTooLow),
        ("Gaussian above", key_laws.ThresholdOneTooLow),
        ("limited top two", key_laws.WithoutHandicap),
    ]:
        yield replace(cases[name], name=f"{name}, broken", calibrated=_broken(kind, cases[name].calibrated))
    single = Sensitivity.sparse(coordinates=1, each=1, monotone=True)
    yield replace(cases["geometric keys"], name="two keys priced as one", sensitivity=single)


def _broken(kind: type, calibrated: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **parameters: key_laws.planted(kind, calibrated(**parameters))


PLANTED_EVENTS = list(planted_events())
