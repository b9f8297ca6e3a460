"""Replaying finds every way in which one unit shows past the noise, and nothing in what is private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.composition import repeated
from dalenius.checks.observer import first_difference
from dalenius.checks.replay.recording import NotedEntropy
from dalenius.checks.replay.replaying import Finding, Replayed, others_charged, replay
from dalenius.mechanisms.door import Mechanism, measure
from dalenius.mechanisms.keys.key_selection import GeometricKeySelection, KeyCounts
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise import laplace
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.histogram import Histogram
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.noise.randomized_response import RandomizedResponse
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.selection.prefix import PrefixSearch
from dalenius.mechanisms.selection.top_k import TopK
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy, fresh_entropy

PEOPLE = AddRemove()
FIRST, SECOND = [3, 1, 4, 1, 5, 9, 2, 6], [3, 1, 4, 1, 5, 9, 2, 6, 5]
LAPLACE = DiscreteLaplace.calibrated(sensitivity=1, epsilon=1, neighbours=PEOPLE)
COUNTS = Histogram(tuple(range(10)))


def plenty(neighbours: Neighbours = PEOPLE) -> Allowance:
    return Allowance(Charge(divergence=10**18, delta=10**18, order=Fraction(8)), neighbours=neighbours)


def sealed(value: Any, sensitivity: Any = 1, neighbours: Neighbours = PEOPLE) -> Exact[Any]:
    return Exact(value, sensitivity=sensitivity, neighbours=neighbours)


def released(mechanism: Mechanism[Any, Any], value: Any, sensitivity: Any = 1, entropy: Entropy | None = None) -> Any:
    exact = sealed(value, sensitivity, mechanism.neighbours)
    return measure(mechanism, exact, plenty(mechanism.neighbours), entropy or fresh_entropy())


def counts(rows: list[int]) -> list[int]:
    return COUNTS.counts(rows)


def on_counts(mechanism: Mechanism[Any, Any]) -> Callable[[list[int]], Any]:
    return lambda rows: released(mechanism, counts(rows), COUNTS.sensitivity(PEOPLE))


def of(run: Callable[[list[int]], Any], **how: Any) -> Replayed:
    return replay(run, FIRST, SECOND, **how)


def kinds(found: Replayed) -> list[str]:
    return [finding.kind for finding in found.findings]


def test_bits_are_known_again_however_they_are_drawn_and_few_are_not_compared() -> None:
    def drawn(seed: object, times: int, most: int) -> bytes:
        noted = NotedEntropy(SeededEntropy(seed))
        for _ in range(times):
            noted.below(most)
        return noted.known

    assert drawn(7, 40, 4) == drawn(7, 40, 4) != b""
    assert drawn(7, 40, 4) != drawn(8, 40, 4)
    assert drawn(7, 40, 2) == b""


# ---- what is private passes


def stream(mechanism: Any) -> Callable[[list[int]], Any]:
    """Questions to a running sparse vector, which go on by its answers."""

    def run(rows: list[int]) -> list[Any]:
        session, answers = mechanism.start(plenty(), fresh_entropy()), []
        for place in range(40):
            if session.finished:
                break
            size = sum(row > place % 10 + len(answers) % 3 for row in rows)
            answers.append(session.ask(sealed(size), threshold=4))
        return answers

    return run


def adaptive(rows: list[int]) -> list[int]:
    """As many measurements as the noisy answers ask for."""
    answers = [released(LAPLACE, len(rows))]
    while len(answers) < 30 and answers[-1] % 3:
        answers.append(released(LAPLACE, sum(row > answers[-1] for row in rows)))
    return answers


@pytest.mark.parametrize(
    "run",
    [
        lambda rows: released(LAPLACE, len(rows)),
        on_counts(DiscreteGaussian.calibrated(sensitivity=1, rho=1, neighbours=PEOPLE)),
        on_counts(NoisyMax.calibrated(sensitivity=COUNTS.sensitivity(PEOPLE), epsilon=1, neighbours=PEOPLE)),
        on_counts(TopK.calibrated(k=3, sensitivity=COUNTS.sensitivity(PEOPLE), epsilon=1, neighbours=PEOPLE)),
        stream(AboveThreshold.calibrated(sensitivity=1, epsilon=1, neighbours=PEOPLE)),
        stream(Sparse.calibrated(sensitivity=1, epsilon=1, cutoff=4, neighbours=PEOPLE)),
        stream(NumericSparse.calibrated(sensitivity=1, epsilon=1, cutoff=4, neighbours=PEOPLE)),
        adaptive,
    ],
    ids=["count", "counts", "noisy max", "top-k", "above threshold", "sparse", "numeric sparse", "adaptive"],
)
def test_what_is_private_passes_however_it_goes_by_its_answers(run: Callable[[list[int]], Any]) -> None:
    for _ in range(10):
        found = of(run)
        assert found.findings == ()
        assert found.error is None


def test_a_session_is_paid_once_however_many_questions_it_gets() -> None:
    mechanism = Sparse.calibrated(sensitivity=1, epsilon=1, cutoff=4, neighbours=PEOPLE)
    found = of(stream(mechanism), charged=mechanism.loss(sensitivity=1))
    assert len(found.calls) > 1
    assert found.passed


def test_two_sessions_are_paid_twice() -> None:
    mechanism = AboveThreshold.calibrated(sensitivity=1, epsilon=1, neighbours=PEOPLE)
    twice = lambda rows: [stream(mechanism)(rows), stream(mechanism)(rows)]  # noqa: E731
    assert kinds(of(twice, charged=PureDP(Fraction(1)))) == ["charge"]
    assert of(twice, charged=PureDP(Fraction(2))).passed


# ---- what is not is found


def leaky(rows: list[int]) -> tuple[int, bool]:
    return released(LAPLACE, len(rows)), len(rows) > 8


def counted_calls(rows: list[int]) -> list[int]:
    return [released(LAPLACE, 1) for _ in rows]


def scaled_by_data(rows: list[int]) -> int:
    return released(DiscreteLaplace(Fraction(len(rows)), PEOPLE), len(rows))


def bounded_by_data(rows: list[int]) -> int:
    """A sum whose declared sensitivity is the largest value in the data."""
    return released(LAPLACE, sum(rows), max(*rows, len(rows)) + len(rows))


def chosen_by_data(rows: list[int]) -> int:
    gaussian = DiscreteGaussian.calibrated(sensitivity=1, rho=1, neighbours=PEOPLE)
    return released(LAPLACE if len(rows) % 2 else gaussian, len(rows))


def unbounded(rows: list[int]) -> int:
    return released(LAPLACE, sum(rows))


def failing(rows: list[int]) -> int:
    if len(rows) > 8:
        raise ValueError("too many")
    return released(LAPLACE, len(rows))


def failing_late(rows: list[int]) -> int:
    noisy = released(LAPLACE, len(rows))
    return noisy // (9 - len(rows))


def talkative(rows: list[int]) -> int:
    raise ValueError(f"the largest of {len(rows)} rows is too large")


def reusing(rows: list[int]) -> list[int]:
    return [released(LAPLACE, counts(rows)[place], entropy=SeededEntropy(7)) for place in range(2)]


def seeded(rows: list[int]) -> int:
    return released(LAPLACE, len(rows), entropy=SeededEntropy(7))


def cached(rows: list[int]) -> int:
    with patch.object(laplace, "discrete_laplace", lambda *given, **named: np.array([3])):
        return released(LAPLACE, len(rows))


def without_a_draw(rows: list[int]) -> int:
    mechanism = NoisyMax.calibrated(sensitivity=COUNTS.sensitivity(PEOPLE), epsilon=1, neighbours=PEOPLE)
    with patch.object(NoisyMax, "release", lambda self, scores, entropy: int(np.argmax(scores))):
        return released(mechanism, counts(rows), COUNTS.sensitivity(PEOPLE))


class Echo:
    """A mechanism that nobody has heard of, and that tells the truth."""

    neighbours = PEOPLE

    def loss(self, *, sensitivity: Any) -> PureDP:
        return PureDP(Fraction(1))

    def release(self, value: Any, entropy: Entropy) -> Any:
        return value


def honest(rows: list[int]) -> int:
    return released(Echo(), len(rows))


class Carrying(Exception):
    """Says the same whatever it carries."""

    def __init__(self, rows: object) -> None:
        self.rows = rows
        super().__init__("something is wrong")


def carried(rows: list[int]) -> int:
    raise Carrying(rows)


def caused(rows: list[int]) -> int:
    try:
        return carried(rows)
    except Carrying:
        raise ValueError("something else is wrong")  # noqa: B904 - as happens by mistake


def not_a_number(rows: list[int]) -> int:
    return released(LAPLACE, float("nan") if len(rows) > 8 else 8)


def reshaped(rows: list[int]) -> list[int]:
    """The list of keys comes from the data."""
    found = [rows.count(value) for value in {*rows, len(rows)}]
    return released(LAPLACE, found, Sensitivity(l1=1))


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (leaky, "leak"),
        (counted_calls, "calls"),
        (chosen_by_data, "calls"),
        (scaled_by_data, "parameters"),
        (bounded_by_data, "parameters"),
        (unbounded, "sensitivity"),
        (not_a_number, "sensitivity"),
        (reshaped, "sensitivity"),
        (failing, "error"),
        (failing_late, "error"),
        (talkative, "error"),
        (reusing, "noise"),
        (seeded, "noise"),
        (cached, "noise"),
        (without_a_draw, "noise"),
        (honest, "noise"),
        (carried, "error"),
        (caused, "error"),
    ],
)
def test_what_shows_past_the_noise_is_found(run: Callable[[list[int]], Any], kind: str) -> None:
    assert kind in kinds(of(run))


def test_a_sensitivity_that_is_too_small_is_told_with_how_far_the_value_moved() -> None:
    (finding,) = [finding for finding in of(unbounded).findings if finding.norm == "l1"]
    assert finding == Finding("sensitivity", finding.said, 0, "l1", 5, 1)
    assert finding.said == "call 0 (DiscreteLaplace) moved by 5 in l1, declared 1"


@pytest.mark.parametrize(
    "charged",
    [PureDP(Fraction(19, 10)), ApproximateDP(Fraction(19, 10), 0), ZCDP(Fraction(1, 10)), price(PureDP(1), order=None)],
)
def test_calls_that_cost_more_than_was_charged_are_found(charged: Any) -> None:
    assert kinds(of(lambda rows: [released(LAPLACE, len(rows)) for _ in range(2)], charged=charged)) == ["charge"]


@pytest.mark.parametrize(
    "charged",
    [
        PureDP(Fraction(2)),
        ApproximateDP(Fraction(2), 0),
        ApproximateDP(Fraction(2), Fraction(1, 10**6)),
        repeated(LAPLACE.loss(sensitivity=1), 2),
        price(PureDP(2), order=None),
        [price(repeated(LAPLACE.loss(sensitivity=1), 2), order=Fraction(order)) for order in (2, 16)],
    ],
)
def test_calls_that_cost_what_was_charged_pass(charged: Any) -> None:
    assert of(lambda rows: [released(LAPLACE, len(rows)) for _ in range(2)], charged=charged).passed


@pytest.mark.parametrize("charged", [["people"], ["people", "people"], ["people", "pets"], ["people", "pets", "staff"]])
def test_others_charged_than_those_who_are_asked_about_are_found(charged: list[str]) -> None:
    (finding,) = others_charged(charged, ["staff", "people"])
    assert finding.kind == "charge"
    assert not list(others_charged(["people", "staff"], ["staff", "people"]))


def test_gaussian_noise_is_not_covered_by_a_pure_charge() -> None:
    gaussian = DiscreteGaussian.calibrated(sensitivity=1, rho=1, neighbours=PEOPLE)
    assert kinds(of(lambda rows: released(gaussian, len(rows)), charged=PureDP(100))) == ["charge"]


def test_an_interrupt_stays_one() -> None:
    def interrupted(rows: list[int]) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        of(interrupted)


@pytest.mark.parametrize("counts", [[], [0]])
def test_where_no_key_occurs_nothing_need_be_drawn(counts: list[int]) -> None:
    mechanism = GeometricKeySelection(epsilon=Fraction(1), delta=Fraction(1, 100), groups=1, neighbours=PEOPLE)
    keys = KeyCounts([("a",)] * len(counts), np.array(counts, dtype=np.int64))
    found = of(lambda rows: released(mechanism, keys, Sensitivity.sparse(coordinates=1, each=1)))
    assert not found.calls[0].drew
    assert found.passed


def test_where_there_is_one_candidate_something_is_drawn_all_the_same() -> None:
    for kind in (NoisyMax, ExponentialMechanism, PermuteAndFlip):
        mechanism = kind.calibrated(sensitivity=1, epsilon=1, neighbours=PEOPLE)
        assert replay(lambda rows: released(mechanism, [len(rows)]), FIRST, SECOND).passed  # noqa: B023


def test_an_error_that_carries_the_same_on_both_sides_tells_nothing() -> None:
    found = of(lambda rows: carried([1]))
    assert found.passed
    assert found.error == "Carrying: something is wrong"


# ---- values of mechanisms


def test_answers_to_randomized_response_count_one_each() -> None:
    mechanism = RandomizedResponse(Fraction(1), Replace(), choices=9)
    one = Sensitivity(l1=1)
    run = lambda answers: released(mechanism, answers, one)  # noqa: E731
    assert replay(run, [1, 2, 3], [1, 8, 3]).passed
    assert kinds(replay(run, [1, 2, 3], [2, 8, 3])) == ["sensitivity"] * 2  # in l1 and l2
    assert "sensitivity" in kinds(replay(run, [1, 2, 3], [1, 2, 3, 4]))


def test_keys_are_compared_as_keys() -> None:
    noise = DiscreteLaplace.calibrated(sensitivity=1, epsilon=1, neighbours=PEOPLE)
    one = Sensitivity.sparse(coordinates=1, each=1, monotone=True)
    mechanism = ThresholdedCounts.calibrated(noise=noise, delta=Fraction(1, 100), sensitivity=one)
    run = lambda keys: released(mechanism, KeyCounts([(key,) for key in keys], np.array([*keys.values()])), one)  # noqa: E731
    assert replay(run, {"a": 5, "b": 1}, {"b": 1, "a": 5, "c": 1}).passed
    assert "sensitivity" in kinds(replay(run, {"a": 5, "b": 1}, {"a": 4, "c": 1}))


def test_a_choice_in_each_group_may_change_in_few_groups_only() -> None:
    narrow = Sensitivity(l1=10, linf=1, monotone=True)
    mechanism = GroupedChoice(groups=1, rate=Fraction(1), neighbours=PEOPLE)
    run = lambda table: released(mechanism, np.array(table), narrow)  # noqa: E731
    assert replay(run, [[1, 2], [3, 4]], [[2, 3], [3, 4]]).passed
    assert [finding.norm for finding in replay(run, [[1, 2], [3, 4]], [[2, 2], [3, 5]]).findings] == ["groups"]


def test_names_are_compared_by_their_counts() -> None:
    mechanism = PrefixSearch(alphabet="ab", length=2, rate=Fraction(1), neighbours=PEOPLE)
    run = lambda names: released(mechanism, names, Sensitivity(l1=1))  # noqa: E731
    assert replay(run, {"a": 5}, {"a": 5, "b": 1}).passed
    assert "sensitivity" in kinds(replay(run, {"a": 5}, {"a": 4, "b": 1}))


@pytest.mark.parametrize(
    ("first", "second"),
    [([1, 2], [1, True]), ([("a", 1)], [("a", None)]), ([(1,)], [[1]]), ([1, 2], [1, 2, 3]), ([1.0], [1]),
     (np.array([0, 1]), np.array([0, 2])), (np.array([0, 1]), np.array([0.0, 1.0]))],
    ids=str,
)  # fmt: skip
def test_results_differ_where_a_part_does_or_its_kind(first: Any, second: Any) -> None:
    assert first_difference(first, second) is not None
    assert first_difference({"x": [first]}, {"x": [second]}) is not None


def test_of_long_texts_that_part_is_told_in_which_they_differ() -> None:
    told = first_difference("x" * 500 + " 7 rows", "x" * 500 + " 8 rows")
    assert told is not None
    assert len(told) < 120
    assert "7 rows' or ... " in told
    assert told.endswith("8 rows'")


class Named:
    """Equal to all of its name."""

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named)

    __hash__ = object.__hash__


class Base:
    """Has a dictionary, which is empty."""


class Slotted(Base):
    """Keeps what it has in a slot."""

    __slots__ = ("rows",)

    def __init__(self, rows: object) -> None:
        self.rows = rows


@dataclass(frozen=True)
class Noted:
    """Keeps more than its fields say."""

    name: str

    def with_note(self, rows: object) -> Noted:
        object.__setattr__(self, "note", rows)
        return self


class Labelled(list[int]):
    """A list with something beside it."""

    def __init__(self, rows: object) -> None:
        super().__init__([1])
        self.rows = rows


def zero(rows: list[int]) -> float:
    return 0.0 if len(rows) % 2 else -0.0


def counted(rows: list[int]) -> pa.Table:
    return pa.table({"a": [1]}).replace_schema_metadata({"rows": "x" * 999 + str(len(rows))})


def categories(rows: list[int]) -> pd.Series:
    return pd.Series(pd.Categorical([1], categories=[*range(len(rows))]))


HIDDEN: dict[str, Callable[[list[int]], Any]] = {
    "a lambda": lambda rows: lambda: rows,
    "a partial": lambda rows: partial(print, rows),
    "a method": lambda rows: rows.count,
    "a generator": lambda rows: (row for row in rows),
    "an iterator": iter,
    "an object with a closure": lambda rows: SimpleNamespace(ask=lambda: rows),
    "a slot": Slotted,
    "an attribute that equality leaves out": Named,
    "an attribute of a list": Labelled,
    "no field of a dataclass": lambda rows: Noted("a").with_note(rows),
    "the state of a generator": lambda rows: np.random.default_rng(len(rows)),
    "an error": Carrying,
    "the sign of zero": zero,
    "the sign of a NumPy zero": lambda rows: np.float64(zero(rows)),
    "the sign of zero in an array": lambda rows: np.array([1.0, zero(rows)]),
    "the sign of zero in a table": lambda rows: pa.table({"a": [zero(rows)]}),
    "the sign of zero in a frame": lambda rows: pd.DataFrame({"a": [zero(rows)]}),
    "the sign of zero in a set": lambda rows: {zero(rows)},
    "the digits of a decimal": lambda rows: Decimal("1.000" if len(rows) % 2 else "1.0000"),
    "the metadata of a table": counted,
    "the metadata of a schema": lambda rows: counted(rows).schema,
    "the pieces of a column": lambda rows: pa.chunked_array([[1, 2], [3]] if len(rows) % 2 else [[1], [2, 3]]),
    "the dictionary of a column": lambda rows: pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(rows)),
    "the categories of a series": categories,
}


@pytest.mark.parametrize("run", HIDDEN.values(), ids=HIDDEN)
def test_rows_are_found_wherever_a_result_keeps_them(run: Callable[[list[int]], Any]) -> None:
    assert kinds(of(run)) == ["leak"]
    assert kinds(of(lambda rows: {"inside": [run(rows)]})) == ["leak"]
    if run not in (HIDDEN["a lambda"], HIDDEN["a generator"], HIDDEN["an object with a closure"]):
        assert of(lambda rows: run([1, 2])).passed


@pytest.mark.parametrize("name", ["a lambda", "a generator", "an object with a closure"])
def test_what_cannot_be_looked_into_counts_as_a_difference_and_is_told(name: str) -> None:
    (finding,) = of(lambda rows: HIDDEN[name]([1, 2])).findings
    assert "cannot be compared" in finding.said


class Knot:
    """Holds itself, and keeps no more."""

    def __init__(self, rows: object = ()) -> None:
        self.rows, self.again = rows, [self]


@pytest.mark.parametrize(
    "made",
    [
        Base, object, Knot, lambda: of, lambda: (int, np, print), lambda: partial(print, [3]), lambda: iter([1, 2]),
        lambda: {"a": Decimal("nan"), "b": np.float64("nan")}, lambda: pa.table({"a": [1.0, float("nan"), None]}),
        lambda: pd.DataFrame({"a": [0.5, np.nan], "b": ["x", None]}), lambda: pd.Index([1, 2]), lambda: ValueError(3),
        lambda: [Path("a/b"), date(2024, 2, 29), range(3), {3, "a"}, {3: 4}.values(), np.dtype("f8"), 1j],
    ],
)  # fmt: skip
def test_things_that_are_made_anew_of_the_same_parts_are_alike(made: Callable[[], Any]) -> None:
    assert first_difference(made(), made()) is None


def test_things_that_hold_themselves_are_compared_to_the_end() -> None:
    assert first_difference(Knot([1]), Knot([2])) == "the result.rows[0]: 1 or 2"


def test_results_of_the_same_parts_are_alike() -> None:
    for made in (lambda: [("a", 1, None), ("b", True, b"")], lambda: np.array([0.5, np.nan]), lambda: [float("nan")]):
        assert first_difference(made(), made()) is None
