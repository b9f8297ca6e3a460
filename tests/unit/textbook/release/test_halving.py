"""The halving algorithm makes few mistakes, whoever chooses the examples."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.textbook.release.median import Halving

CONCEPTS = np.array([[(concept >> place) & 1 == 1 for place in range(5)] + [concept < 7] for concept in range(32)])


def mistakes(target: int) -> int:
    """The mistakes on an adversary's examples: always one on which the prediction is wrong, as long as there is one."""
    learner = Halving(CONCEPTS)
    while True:
        wrong = [example for example in range(6) if learner.predict(example) != CONCEPTS[target, example]]
        if not wrong or learner.mistakes > 40:
            return learner.mistakes
        learner.learn(wrong[0], bool(CONCEPTS[target, wrong[0]]))


@pytest.mark.textbook("S9.14")
@pytest.mark.parametrize("target", range(32))
def test_there_are_at_most_log2_mistakes(target: int) -> None:
    assert mistakes(target) <= Halving(CONCEPTS).most_mistakes == 5


@pytest.mark.textbook("S9.14")
def test_the_test_above_notices_a_prediction_by_minority(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Halving.predict
    monkeypatch.setattr(Halving, "predict", lambda self, example: not right(self, example))
    assert max(mistakes(target) for target in range(32)) > 5


@pytest.mark.textbook("S9.14")
def test_a_right_prediction_changes_nothing_and_labels_of_no_concept_are_refused() -> None:
    learner = Halving(np.array([[True, False], [True, True]]))
    learner.learn(0, True)
    assert len(learner.concepts) == 2
    with pytest.raises(InvalidParameter):
        learner.learn(0, False)
    with pytest.raises(InvalidParameter):
        Halving(np.zeros((2, 2)))
