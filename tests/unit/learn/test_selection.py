"""Choices among models are paid for; curves and cards show what was released."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.audit.replay.replaying import replay
from dalenius.errors import InvalidParameter, MissingExtra
from dalenius.learn import GaussianNB, LogisticRegression, PrivateGridSearch, learning_curve
from dalenius.learn.labels import PrivateClassifier

DRAWS = np.random.default_rng(0)
X = DRAWS.uniform(0, 1, (600, 2))
Y = (X[:, 0] > 0.5).astype(int)


def model(**settings: Any) -> LogisticRegression:
    return LogisticRegression(**{"epsilon": 5, "delta": "1e-6", "bounds": (0, 1), "classes": (0, 1), **settings})


def test_the_better_of_two_settings_is_chosen() -> None:
    search = PrivateGridSearch(model(epsilon=50), {"bounds": [(5, 6), (0, 1)]}).fit(X, Y)
    assert search.best_params_ == {"bounds": (0, 1)}
    assert search.score(X, Y) > 0.9
    assert "2 candidates" in str(search.guarantee_)


@pytest.mark.parametrize("grid", [{"norm": [1.0]}, {"epsilon": [1, 2]}, {"norm": list(range(1, 200))}])
def test_what_cannot_be_priced_is_refused(grid: dict[str, list[Any]]) -> None:
    with pytest.raises(InvalidParameter):
        PrivateGridSearch(model(), grid).fit(X, Y)


def test_models_without_an_exact_count_are_not_chosen_among() -> None:
    base = GaussianNB(epsilon=5, bounds=(0, 1), classes=(0, 1))
    with pytest.raises(InvalidParameter, match="linear"):
        PrivateGridSearch(base, {"bounds": [(0, 1), (0, 2)]}).fit(X, Y)


def searched(rows: tuple[np.ndarray, np.ndarray]) -> Any:
    search = PrivateGridSearch(model(), {"norm": [0.5, 1.0]}).fit(*rows)
    return search.best_index_, search.best_estimator_.coef_.tolist()


def test_neighbours_are_treated_alike() -> None:
    found = replay(searched, (X, Y), (X[1:], Y[1:]), charged=[])
    assert not [each for each in found.findings if each.kind != "charge"]
    assert [call for call in found.calls if "Exponential" in str(call)], "the choice is one of the calls"


def test_a_candidate_whose_count_moves_by_two_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PrivateClassifier._right
    monkeypatch.setattr(PrivateClassifier, "_right", lambda self, X, y: 2 * right(self, X, y))
    findings = [found for place in range(40) for found in replay(
        searched, (X[:30], Y[:30]), (np.delete(X[:30], place % 30, 0), np.delete(Y[:30], place % 30)), charged=[]
    ).findings]  # fmt: skip
    assert "sensitivity" in {each.kind for each in findings}


def test_a_curve_has_a_mean_for_every_epsilon(tmp_path: Path) -> None:
    curve = learning_curve(model(), X, Y, epsilons=("0.1", "50"), runs=2)
    assert curve.means[1] > curve.means[0] - 0.1
    assert str(curve).count("\n") == 2
    curve.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 0


def test_a_card_says_what_was_released() -> None:
    text = str(model().fit(X, Y).card())
    assert "epsilon = 5" in text
    assert "weights (3 numbers)" in text
    assert "Not for" in text


def test_without_scikit_learn_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import dalenius.learn

    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delattr(dalenius.learn, "KMeans", raising=False)
    for name in [name for name in sys.modules if name.startswith(("sklearn.", "dalenius.learn."))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtra, match="learn"):
        dalenius.learn.KMeans  # noqa: B018
