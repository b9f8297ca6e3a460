"""The dear tests of `statistical/test_sparse_vector.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checks import ALARM, SeededEntropy, chi_square
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.verify.cases.sparse_vectors import Questions, SparseVectorVersion, Transcript
from tests.statistical.test_sparse_vector import FAR, RUNS, STILL, allowance, question, rounds

THRESHOLD = (("3", STILL), ("2.7", STILL), (-4, -1, 2))
QUERY = ((STILL, "3"), (STILL, "2.7"), (-6, -6, -6))
"""The right scales, one of them a tenth wrong, and questions whose answers depend on that scale."""


def transcripts(mechanism: AboveThreshold, questions: Questions) -> Iterator[Transcript]:
    """Many short streams out of one session, each with a threshold of its own: a sure answer above ends a stream."""
    search = Sparse(rounds=mechanism, cutoff=RUNS)
    session = search.start(allowance(search), SeededEntropy("sessions"))
    for _ in range(RUNS):
        told: Transcript = ()
        for value in questions:
            told = (*told, 1 if session.ask(question(value), threshold=0) else None)
            if told[-1]:
                break
        else:
            session.ask(question(FAR), threshold=0)
        yield told


def fit(drawn: AboveThreshold, law: AboveThreshold, questions: Questions) -> float:
    version = SparseVectorVersion.of(law)
    names = version.transcripts(len(questions))
    expected = [float(version.probability(questions, transcript)) for transcript in names]
    places = [names.index(told) for told in transcripts(drawn, questions)]
    return chi_square(places, lambda place: expected[place] if 0 <= place < len(expected) else 0.0)


@pytest.mark.textbook("S8.1", "S8.2")
@pytest.mark.parametrize(("right", "wrong", "questions"), [THRESHOLD, QUERY], ids=["threshold", "query"])
def test_answers_follow_the_exact_law_and_a_scale_that_is_a_tenth_wrong_is_noticed(
    right: tuple[str, str], wrong: tuple[str, str], questions: Questions
) -> None:
    assert fit(rounds(*right), rounds(*right), questions) > ALARM
    assert fit(rounds(*wrong), rounds(*right), questions) < ALARM
