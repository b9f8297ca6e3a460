"""AboveThreshold, Sparse and NumericSparse cost what they say, by exact enumeration; the broken versions do not."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import optimal_delta, parts
from dalenius.accounting.conversion import to_delta, to_pure
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import DaleniusError, InvalidParameter, MissingNeighbours, NeighbourMismatch, TheoremDoesNotApply
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse, numeric_sparse_accuracy
from dalenius.mechanisms.sparse.sparse_vector import (
    AboveThreshold,
    Sparse,
    above_threshold_accuracy,
    sparse_accuracy,
)
from dalenius.privacy.losses import LaplaceDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.laws import DiscreteLaplaceLaw, LaplaceLaw
from dalenius.verify.cases.sparse_vectors import (
    SparseVectorVersion,
    compared_value_told,
    exact_branch,
    gap_told,
    neighbours,
    no_cutoff,
    no_query_noise,
    noise_without_c,
    slide,
    worst,
)

PEOPLE = AddRemove()
ONE = Fraction(1)
MECHANISMS = (AboveThreshold, Sparse, NumericSparse)
epsilons = st.fractions(Fraction(1, 20), 4, max_denominator=50)


def above(epsilon: Fraction | str | int = 1, sensitivity: int = 1) -> AboveThreshold:
    return AboveThreshold.calibrated(sensitivity=sensitivity, epsilon=epsilon, neighbours=PEOPLE)


def sparse(cutoff: int, epsilon: Fraction | str | int = 1, delta: Fraction | str | int = 0) -> Sparse:
    return Sparse.calibrated(sensitivity=1, epsilon=epsilon, cutoff=cutoff, delta=delta, neighbours=PEOPLE)


def numeric(cutoff: int, epsilon: Fraction | str | int = 1, delta: Fraction | str | int = 0) -> NumericSparse:
    return NumericSparse.calibrated(sensitivity=1, epsilon=epsilon, cutoff=cutoff, delta=delta, neighbours=PEOPLE)


def just_above(scale: Fraction, least: Fraction) -> bool:
    """Whether a scale is the least one up to rounding to a ledger's units, and never below it."""
    return 0 <= scale / least - 1 < Fraction(1, 10**10)


def fits(loss: Loss, epsilon: Fraction) -> bool:
    """Whether a ledger of this epsilon can pay it, with next to nothing left."""
    ledger = PrivacyFilter(Budget(epsilon), neighbours=PEOPLE)
    ledger.charge(loss)
    return ledger.left.divergence < 1000


# Noise and price


@pytest.mark.textbook("S8.1")
@given(epsilon=epsilons, sensitivity=st.integers(1, 9))
def test_above_threshold_has_the_textbooks_noise_and_costs_epsilon(epsilon: Fraction, sensitivity: int) -> None:
    mechanism = above(epsilon, sensitivity)
    assert (mechanism.threshold_scale, mechanism.query_scale) == (2 * sensitivity / epsilon, 4 * sensitivity / epsilon)
    assert mechanism.loss(sensitivity=sensitivity) == PureDP(epsilon)


def test_questions_that_move_less_cost_less() -> None:
    assert above(sensitivity=4).loss(sensitivity=1) == PureDP(Fraction(1, 4))


@pytest.mark.textbook("S8.2")
@given(epsilon=epsilons, cutoff=st.integers(1, 50))
def test_sparse_has_the_textbooks_noise_and_costs_epsilon(epsilon: Fraction, cutoff: int) -> None:
    mechanism = sparse(cutoff, epsilon)
    assert just_above(mechanism.rounds.threshold_scale, 2 * cutoff / epsilon)
    assert mechanism.rounds.query_scale == 2 * mechanism.rounds.threshold_scale
    assert fits(mechanism.loss(sensitivity=1), epsilon)


@pytest.mark.textbook("S8.2")
def test_sparse_is_charged_as_the_list_of_its_rounds() -> None:
    assert parts(sparse(8).loss(sensitivity=1)) == ((PureDP(Fraction(1, 8)), 8),)


@pytest.mark.textbook("S8.2")
@pytest.mark.parametrize("cutoff", [1, 10, 100])
def test_the_textbooks_noise_with_delta_is_sqrt_32_c_ln_of_delta(cutoff: int) -> None:
    claim = {"sensitivity": 3, "epsilon": "0.9", "delta": "1e-6", "cutoff": cutoff, "neighbours": PEOPLE}
    mechanism = Sparse.textbook(**claim)
    scale = 3 * math.sqrt(32 * cutoff * math.log(1e6)) / 0.9
    assert float(mechanism.rounds.threshold_scale) == pytest.approx(scale, rel=1e-9)
    assert float(mechanism.rounds.query_scale) == pytest.approx(2 * scale, rel=1e-9)
    assert to_delta(mechanism.loss(sensitivity=3), epsilon="0.9") <= Fraction(1, 10**6)


@pytest.mark.textbook("S8.3")
@given(epsilon=epsilons, cutoff=st.integers(1, 50))
def test_numeric_sparse_spends_eight_ninths_on_the_search_and_one_on_the_numbers(
    epsilon: Fraction, cutoff: int
) -> None:
    mechanism = numeric(cutoff, epsilon)
    first, second = Fraction(8, 9) * epsilon, Fraction(2, 9) * epsilon
    assert just_above(mechanism.search.rounds.threshold_scale, 2 * cutoff / first)
    assert mechanism.search.rounds.query_scale == 2 * mechanism.search.rounds.threshold_scale
    assert just_above(mechanism.answers.scale, 2 * cutoff / second)
    assert fits(mechanism.loss(sensitivity=1), epsilon)


@pytest.mark.textbook("S8.3")
def test_numbers_are_charged_as_laplace_releases() -> None:
    losses = dict(parts(numeric(5, 9).loss(sensitivity=1)))
    assert losses == {PureDP(Fraction(8, 5)): 5, LaplaceDP(Fraction(1, 5), 1): 5}


@pytest.mark.textbook("S8.3")
def test_the_textbooks_numeric_noise_with_delta() -> None:
    claim = {"sensitivity": 1, "epsilon": "0.5", "delta": "1e-5", "cutoff": 4, "neighbours": PEOPLE}
    mechanism = NumericSparse.textbook(**claim)
    root, spread = math.sqrt(512), math.sqrt(32 * 4 * math.log(2e5))
    first, second = root / (root + 1) * 0.5, 2 / (root + 1) * 0.5
    assert float(mechanism.search.rounds.threshold_scale) == pytest.approx(spread / first, rel=1e-9)
    assert float(mechanism.answers.scale) == pytest.approx(spread / second, rel=1e-9)
    assert to_delta(mechanism.loss(sensitivity=1), epsilon="0.5") <= Fraction(1, 10**5)


@pytest.mark.textbook("S8.2", "S8.3")
@pytest.mark.parametrize(("make", "epsilon"), [(Sparse, 1), (NumericSparse, "1.05")])
def test_the_textbooks_noise_with_delta_is_refused_where_its_corollary_does_not_hold(
    make: type[Sparse], epsilon: str
) -> None:
    """The search takes part of epsilon in NumericSparse: sqrt(512) / (sqrt(512) + 1) = 0.958 of it must be below 1."""
    claim = {"sensitivity": 1, "delta": "1e-6", "cutoff": 3, "neighbours": PEOPLE}
    make.textbook(epsilon="0.99", **claim)
    with pytest.raises(TheoremDoesNotApply):
        make.textbook(epsilon=epsilon, **claim)


@pytest.mark.textbook("S8.2", "S8.3")
@cases(("cutoff", "epsilon"), [(2, "0.5"), (30, 3)], fast=1)
def test_calibrated_with_delta_is_the_least_noise_that_the_accounting_allows(cutoff: int, epsilon: str | int) -> None:
    target = Fraction(1, 10**5)
    for make in (sparse, numeric):
        mechanism, less = (make(cutoff, Fraction(epsilon) * more, target) for more in (1, Fraction(1001, 1000)))
        assert to_delta(mechanism.loss(sensitivity=1), epsilon=epsilon) <= target
        assert to_delta(less.loss(sensitivity=1), epsilon=epsilon) > target


@pytest.mark.parametrize("cutoff", [1, 30])
def test_calibrated_needs_less_noise_than_the_textbook(cutoff: int) -> None:
    claim = {"sensitivity": 1, "epsilon": "0.9", "delta": "1e-6", "cutoff": cutoff, "neighbours": PEOPLE}
    ours, theirs = Sparse.calibrated(**claim), Sparse.textbook(**claim)
    assert 2 * ours.rounds.threshold_scale < theirs.rounds.threshold_scale
    numbers, textbook = NumericSparse.calibrated(**claim), NumericSparse.textbook(**claim)
    assert 2 * numbers.search.rounds.threshold_scale < textbook.search.rounds.threshold_scale
    assert 2 * numbers.answers.scale < textbook.answers.scale


# The exact worst loss


@pytest.mark.textbook("S8.1")
@pytest.mark.parametrize("relation", [AddRemove(), Replace()])
def test_no_stream_of_above_threshold_loses_more_than_epsilon(relation: AddRemove | Replace) -> None:
    version = SparseVectorVersion.of(AboveThreshold.calibrated(sensitivity=1, epsilon=1, neighbours=relation))
    for length in (1, 2, 3):
        assert worst(version, neighbours(length), version.transcripts(length), upper).loss <= 1


@pytest.mark.textbook("S8.1")
def test_the_loss_of_above_threshold_is_tight() -> None:
    """Many questions rise, then one falls: the loss tends to epsilon, and a tenth less noise is too little."""
    length = 40
    pair, stream = ((1,) * length + (0,), (2,) * length + (-1,)), (None,) * length + (1,)
    ours, less = SparseVectorVersion.of(above()), SparseVectorVersion.of(above("1.1"))
    assert 1 - Fraction(1, 10**9) < worst(ours, [pair], [stream], lower).loss
    assert worst(ours, [pair], [stream], upper).loss <= 1
    assert worst(less, [pair], [stream], lower).loss > Fraction(109, 100)


@pytest.mark.textbook("S8.1")
def test_the_loss_is_split_between_threshold_and_questions_as_stated() -> None:
    uneven = AboveThreshold(threshold_scale=ONE, query_scale=Fraction(5), sensitivity=ONE, neighbours=PEOPLE)
    version, claim = SparseVectorVersion.of(uneven), uneven.loss(sensitivity=1).epsilon
    pair, stream = ((1,) * 30 + (0,), (2,) * 30 + (-1,)), (None,) * 30 + (1,)
    assert claim == Fraction(7, 5)
    assert claim - Fraction(1, 100) < worst(version, [pair], [stream]).loss <= claim
    assert worst(version, neighbours(3), version.transcripts(3), upper).loss <= claim


@pytest.mark.textbook("S8.1")
def test_questions_of_larger_sensitivity_are_covered() -> None:
    version = SparseVectorVersion.of(above(sensitivity=3))
    assert worst(version, neighbours(2, moves=(-3, 3)), version.transcripts(2), upper).loss <= 1


@pytest.mark.textbook("S8.1", "S8.6")
def test_each_question_may_have_its_own_threshold() -> None:
    """A threshold of its own is the same as a shifted question."""
    version = SparseVectorVersion.of(above())
    pairs = neighbours(2, values=(-7, 0, 4))
    assert worst(version, pairs, version.transcripts(2), upper).loss <= 1


@pytest.mark.textbook("S8.2")
@pytest.mark.parametrize("cutoff", [1, 2, 3])
def test_no_stream_of_sparse_loses_more_than_epsilon(cutoff: int) -> None:
    version = SparseVectorVersion.of(sparse(cutoff, epsilon=cutoff))
    assert worst(version, neighbours(3), version.transcripts(3), upper).loss <= cutoff


@pytest.mark.textbook("S8.2")
def test_the_loss_of_sparse_grows_with_the_cutoff_as_stated() -> None:
    """Each round can reach the epsilon of a round."""
    version = SparseVectorVersion.of(Sparse(rounds=above(), cutoff=2))
    one = ((1,) * 20 + (0,), (2,) * 20 + (-1,))
    pair = (2 * one[0], 2 * one[1])
    assert Fraction(199, 100) < worst(version, [pair], [2 * ((None,) * 20 + (1,))]).loss <= 2


@pytest.mark.textbook("S8.3")
@pytest.mark.parametrize("cutoff", [1, 2])
def test_no_stream_of_numeric_sparse_loses_more_than_epsilon(cutoff: int) -> None:
    version = SparseVectorVersion.of(numeric(cutoff, epsilon=cutoff))
    assert worst(version, neighbours(2), version.transcripts(2, range(-1, 3)), upper).loss <= cutoff


@pytest.mark.textbook("S8.3")
def test_the_loss_of_numeric_sparse_is_tight() -> None:
    length = 40
    pair, stream = ((1,) * length + (0,), (2,) * length + (-1,)), (None,) * length + (0,)
    version = SparseVectorVersion.of(numeric(1))
    assert 1 - Fraction(1, 10**6) < worst(version, [pair], [stream]).loss <= 1


def test_transcripts_are_all_that_can_happen() -> None:
    """Without this, the enumeration above could miss the worst one."""
    for mechanism in (above(), sparse(2), sparse(3)):
        version = SparseVectorVersion.of(mechanism)
        for questions in [(0, 0, 0), (2, -1, 3)]:
            with precise():
                total = sum(version.probability(questions, transcript) for transcript in version.transcripts(3))
                assert abs(upper(total) - 1) < Fraction(1, 10**18)


@pytest.mark.textbook("S6.7")
def test_two_interleaved_streams_lose_no_more_than_both() -> None:
    """The second stream's questions depend on the first one's answers and the other way round."""
    first, second = SparseVectorVersion.of(above("0.5")), SparseVectorVersion.of(above("0.7"))
    most = Fraction(0)
    for moves in product((-1, 1), repeat=4):
        for bits in product((None, 1), repeat=4):
            most = max(most, _interleaved(first, second, bits, moves))
    assert Fraction(2, 5) < most <= Fraction(6, 5)


def _interleaved(
    first: SparseVectorVersion, second: SparseVectorVersion, bits: tuple[int | None, ...], moves: tuple[int, ...]
) -> Fraction:
    """The loss of four answers, two of each stream in turn, to questions that follow the answers so far."""
    loss = Fraction(0)
    for version, places in ((first, (0, 2)), (second, (1, 3))):
        asked = tuple(1 if place and bits[place - 1] else 0 for place in places)
        moved = tuple(question + moves[place] for question, place in zip(asked, places, strict=True))
        told = (bits[places[0]],) if bits[places[0]] else tuple(bits[place] for place in places)
        loss += worst(version, [(asked, moved)], [told], upper).loss
    return loss


# Published versions that are not private (the claim is epsilon = 1)


@pytest.mark.textbook("S8.4")
@pytest.mark.parametrize(
    ("version", "length", "numbers", "least"),
    [
        (compared_value_told(ONE, 1), 3, (0, 1), "1.49"),
        (noise_without_c(ONE, 1), 2, (), "1.25"),
        (noise_without_c(ONE, 1), 3, (), "1.67"),
        (no_cutoff(ONE, 1), 3, (), "1.26"),
        (gap_told(ONE, 1), 3, (0, 1, 2), "1.29"),
    ],
)
def test_a_broken_version_is_caught_with_a_witness(
    version: SparseVectorVersion, length: int, numbers: tuple[int, ...], least: str
) -> None:
    witness = worst(version, neighbours(length, moves=(-1, 1)), version.transcripts(length, numbers))
    assert witness.loss is not None
    assert witness.loss > Fraction(least)


@pytest.mark.textbook("S8.4")
@pytest.mark.parametrize(("length", "loss"), [(3, "1.5"), (4, 2), (6, 3)])
def test_telling_the_compared_value_costs_half_an_epsilon_for_each_question(length: int, loss: str) -> None:
    version = compared_value_told(ONE, 1)
    pair = ((0,) * length, (1,) * (length - 1) + (-1,))
    found = worst(version, [pair], [(None,) * (length - 1) + (0,)])
    assert float(found.loss) == pytest.approx(float(Fraction(loss)), abs=1e-12)


@pytest.mark.textbook("S8.4")
def test_the_loss_of_a_stream_without_cutoff_has_no_bound() -> None:
    def loss(half: int) -> Fraction:
        pair = ((0,) * half + (1,) * half, (1,) * half + (0,) * half)
        found = worst(no_cutoff(ONE, 1), [pair], [(None,) * half + (1,) * half]).loss
        assert found is not None
        return found

    assert loss(8) > Fraction(13, 2)
    assert loss(16) > Fraction(27, 2)


@pytest.mark.textbook("S8.4")
def test_a_stream_without_noise_on_the_questions_gives_everything_away() -> None:
    version = no_query_noise(ONE, 1)
    assert worst(version, neighbours(2), version.transcripts(2)).loss is None


@pytest.mark.textbook("S8.5")
def test_branching_on_the_exact_value_gives_everything_away() -> None:
    version = exact_branch(ONE, 1)
    witness = worst(version, neighbours(1), version.transcripts(1, range(-1, 3)))
    assert witness.loss is None
    assert {question >= 0 for question in (*witness.questions, *witness.moved)} == {True, False}


@pytest.mark.textbook("S8.4")
def test_the_slides_algorithm_breaks_its_claim_and_ours_keeps_it() -> None:
    """Claim: (1, 10^-3) for k = 1 significant question, whatever the number of others.

    Each comparison at the threshold is a randomized response at 1 / scale, so 10^4 of them are what `optimal_delta`
    computes exactly. Nothing stops the stream.
    """
    log, asked = math.log(2 / 1e-3), 10_000
    scale = Fraction(math.ceil(8 * math.sqrt(2 * log * (4 + log))))
    version = slide(scale)
    below = [version.probability((question,), (None,)) for question in (0, -1)]
    kept = DiscreteLaplaceLaw(scale).tail(0)
    with precise():
        assert abs(upper(1 - below[0] - kept)) < Fraction(1, 10**30)
        assert abs(upper(below[1] - kept)) < Fraction(1, 10**30)
    assert optimal_delta(epsilon=1 / scale, count=asked, target_epsilon=1) > 100 * Fraction(1, 10**3)
    assert to_delta(sparse(1, 1, "1e-3").loss(sensitivity=1), epsilon=1) <= Fraction(1, 10**3)


@pytest.mark.textbook("S8.4")
def test_noise_grows_with_the_root_of_the_number_of_positives_and_not_in_proportion() -> None:
    """The slides say "linear in k" of a sigma that is a root of k; so is ours with a delta, and linear without."""
    log = math.log(2 / 1e-6)
    cutoffs = (100, 400, 1600)

    def slides(k: int) -> float:
        return 8 * math.sqrt(2 * log * (4 * k + log))

    def ours(k: int, delta: str | int) -> float:
        return float(sparse(k, 1, delta).rounds.query_scale)

    for few, many in pairwise(cutoffs):
        assert slides(many) / slides(few) == pytest.approx(2, rel=0.02)
        assert ours(many, "1e-6") / ours(few, "1e-6") == pytest.approx(2, rel=0.02)
        assert ours(many, 0) / ours(few, 0) == pytest.approx(4)


# Accuracy


@pytest.mark.textbook("S8.1")
def test_the_accuracy_of_above_threshold() -> None:
    figure = above_threshold_accuracy(epsilon="0.5", queries=1000, beta="0.05", sensitivity=2)
    assert float(figure) == pytest.approx(2 * 8 * (math.log(1000) + math.log(40)) / 0.5)


@pytest.mark.textbook("S8.2")
def test_the_accuracy_of_sparse() -> None:
    claim = {"epsilon": "0.5", "cutoff": 10, "queries": 1000, "beta": "0.05"}
    bracket = math.log(1000) + math.log(2 * 10 / 0.05)
    assert float(sparse_accuracy(**claim)) == pytest.approx(8 * 10 * bracket / 0.5)
    with_delta = bracket * math.sqrt(512 * 10 * math.log(1e6)) / 0.5
    assert float(sparse_accuracy(**claim, delta="1e-6")) == pytest.approx(with_delta)


@pytest.mark.textbook("S8.3")
def test_the_accuracy_of_numeric_sparse_without_delta() -> None:
    figure = numeric_sparse_accuracy(epsilon="0.5", cutoff=10, queries=1000, beta="0.05", sensitivity=3)
    assert float(figure) == pytest.approx(3 * 9 * 10 * (math.log(1000) + math.log(4 * 10 / 0.05)) / 0.5)


@pytest.mark.textbook("S8.3")
def test_the_accuracy_of_numeric_sparse_with_delta_covers_the_noise_of_the_numbers() -> None:
    """At c = k = 10 and beta = 0.05 the printed bracket is 9.0; numbers need 16.9, and 9.0 fails one run in three."""
    cutoff = queries = 10
    unit = math.sqrt(cutoff * math.log(2e6)) * (math.sqrt(512) + 1) / 0.5
    claim = {"epsilon": "0.5", "cutoff": cutoff, "queries": queries, "beta": "0.05"}
    corrected = float(numeric_sparse_accuracy(**claim, delta="1e-6")) / unit
    printed = math.log(queries) + math.log(4 * cutoff / 0.05)
    assert (round(printed, 1), round(corrected, 1)) == (9.0, 16.9)
    mechanism = NumericSparse.textbook(sensitivity=1, epsilon="0.5", delta="1e-6", cutoff=cutoff, neighbours=PEOPLE)
    law = LaplaceLaw(scale=mechanism.answers.scale)

    def failure(alpha: float) -> float:
        inside = 1 - float(law.outside(Fraction(alpha * unit) / mechanism.answers.scale))
        return 1 - inside**cutoff

    assert failure(printed) == pytest.approx(0.35, abs=0.005)
    assert failure(corrected) < 0.05 / 2


@pytest.mark.textbook("S8.3")
def test_the_printed_accuracy_holds_once_the_questions_outnumber_the_numbers() -> None:
    claim = {"epsilon": "0.5", "cutoff": 1, "queries": 10**9, "beta": "0.05"}
    unit = math.sqrt(math.log(2e6)) * (math.sqrt(512) + 1) / 0.5
    printed = math.log(10**9) + math.log(4 / 0.05)
    assert float(numeric_sparse_accuracy(**claim, delta="1e-6")) == pytest.approx(printed * unit)


@pytest.mark.textbook("S8.1", "S8.2", "S8.3")
@given(
    epsilon=epsilons, cutoff=st.integers(1, 20), queries=st.integers(1, 10**6), beta=st.sampled_from(["0.3", "0.01"])
)
def test_our_error_is_never_above_the_textbooks(epsilon: Fraction, cutoff: int, queries: int, beta: str) -> None:
    many = max(cutoff, queries)
    claim = {"epsilon": epsilon, "queries": many, "beta": beta}
    assert above(epsilon).error(beta, queries=many) <= above_threshold_accuracy(**claim) + 1
    assert sparse(cutoff, epsilon).error(beta, queries=many) <= sparse_accuracy(**claim, cutoff=cutoff) + 1
    figure = numeric_sparse_accuracy(**claim, cutoff=cutoff)
    assert numeric(cutoff, epsilon).error(beta, queries=many) <= figure + 1


@pytest.mark.textbook("S8.1")
@pytest.mark.parametrize("queries", [1, 5])
def test_wrong_answers_beyond_the_error_are_rare_and_not_too_rare(queries: int) -> None:
    """Exact: the questions lie one beyond the error, so that the first answer above among them is a failure."""
    mechanism, beta = above(), Fraction(1, 10)
    far = mechanism.error(beta, queries=queries) + 1
    quiet = SparseVectorVersion.of(mechanism).probability((-far,) * queries, (None,) * queries)
    assert beta / 50 < 1 - upper(quiet) <= beta


@pytest.mark.textbook("S8.1", "S8.2")
@pytest.mark.parametrize(("queries", "positives"), [(1, 1), (40, 1), (40, 7)])
def test_the_error_covers_the_noise_of_all_thresholds_and_all_questions(queries: int, positives: int) -> None:
    """Some way to share out the error keeps the two exact risks together within beta, and one less does not."""
    rounds, beta = above(), Fraction(1, 20)
    threshold, question = (DiscreteLaplaceLaw(scale) for scale in (rounds.threshold_scale, rounds.query_scale))

    def exceeds(law: DiscreteLaplaceLaw, far: int, count: int) -> float:
        return 1 - (1 - 2 * float(law.tail(far + 1))) ** count

    def risk(error: int) -> float:
        return min(exceeds(threshold, a, positives) + exceeds(question, error - a, queries) for a in range(error + 1))

    error = rounds.error(beta, queries=queries, positives=positives)
    assert risk(error) <= beta
    assert risk(error * 4 // 5) > beta


def test_more_positive_answers_make_the_error_larger() -> None:
    rounds = above("0.1")
    assert rounds.error("0.05", queries=10, positives=50) > rounds.error("0.05", queries=10)
    assert Sparse(rounds=rounds, cutoff=50).error("0.05", queries=10) == rounds.error("0.05", queries=10, positives=50)


def test_the_error_of_numbers_counts_when_it_is_larger() -> None:
    search = Sparse(rounds=above(100), cutoff=3)
    wide = NumericSparse(search=search, answers=DiscreteLaplace(Fraction(500), neighbours=PEOPLE))
    exceeds = stats.laplace(scale=500).sf(wide.error("0.1", queries=9)) * 2
    assert 1 - (1 - exceeds) ** 3 == pytest.approx(0.05, rel=0.01)


# What is refused


@pytest.mark.parametrize("make", MECHANISMS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"sensitivity": 0},
        {"sensitivity": -1},
        {"neighbours": None},
    ],
)
def test_bad_parameters_are_refused(make: type[Sparse], wrong: dict[str, object]) -> None:
    claim = {"sensitivity": 1, "epsilon": 1, "neighbours": PEOPLE} | ({} if make is AboveThreshold else {"cutoff": 2})
    make.calibrated(**claim)
    with pytest.raises(MissingNeighbours if "neighbours" in wrong else InvalidParameter):
        make.calibrated(**(claim | wrong))


@pytest.mark.parametrize("make", [Sparse, NumericSparse])
@pytest.mark.parametrize("wrong", [{"cutoff": 0}, {"cutoff": 1.5}, {"delta": 1}, {"delta": -1}])
def test_bad_cutoffs_and_deltas_are_refused(make: type[Sparse], wrong: dict[str, object]) -> None:
    claim = {"sensitivity": 1, "epsilon": 1, "cutoff": 2, "neighbours": PEOPLE}
    with pytest.raises(DaleniusError):
        make.calibrated(**(claim | wrong))


def test_the_search_and_the_numbers_must_be_for_the_same_neighbours() -> None:
    with pytest.raises(NeighbourMismatch):
        NumericSparse(search=sparse(1), answers=DiscreteLaplace(ONE, neighbours=Replace()))


def test_the_largest_move_of_any_entry_is_what_counts() -> None:
    wide = Sensitivity(linf=Fraction(3))
    assert above(sensitivity=3).loss(sensitivity=wide) == PureDP(ONE)
    assert numeric(2).loss(sensitivity=wide) == numeric(2).loss(sensitivity=3)


@pytest.mark.textbook("S8.3")
def test_numbers_cost_what_their_sensitivity_makes_of_them() -> None:
    mechanism = NumericSparse.calibrated(sensitivity=5, epsilon=9, cutoff=1, neighbours=Replace())
    assert to_pure(mechanism.loss(sensitivity=5)).epsilon == pytest.approx(9)
    assert to_pure(mechanism.loss(sensitivity=10)).epsilon == pytest.approx(18)
