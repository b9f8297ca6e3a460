"""Every estimator of `dalenius.learn`, in the forms in which its fits are checked.

Nothing of scikit-learn is loaded before a form is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias
from unittest.mock import patch

from dalenius import learn
from dalenius.learn.linear.gradient import Descent

Learns: TypeAlias = Literal["labels", "numbers", "nothing"]
BOUNDS, LABELS, THREE = (0, 1), (0, 1), (0, 1, 2)
DELTA = "1e-6"
DECLARED = ("bounds", "norm", "classes", "target_bounds", "groups", "categories", "step")
"""What is said of arrays, and what a catalog says of a private table."""
SHORT = 3
"""How many steps or rounds short trainings have."""


@dataclass(frozen=True)
class Form:
    """One way to make an estimator, from what is paid for a fit: epsilon, delta and neighbours.

    `learns` says what beside the features it takes; `relations` and `deltas` what it can be fitted for; `table` which
    column of a table it learns and from which, None where it takes no table; `free` that it loses nothing;
    `rows_of_unit` how many rows one person may have.
    """

    estimator: str
    how: str
    make: Callable[..., Any]
    learns: Learns = "nothing"
    relations: tuple[str, ...] = ("add_remove", "replace")
    deltas: tuple[str | None, ...] = (None, DELTA)
    table: tuple[str | None, tuple[str, ...]] | None = (None, ("age", "cost", "city"))
    free: bool = False
    rows_of_unit: int = 3

    def __str__(self) -> str:
        return f"{self.estimator} {self.how}".strip()

    def made(self, *, epsilon: Any = 1, delta: str | None = None, neighbours: str = "add_remove") -> Any:
        """The estimator, not fitted yet."""
        return self.make(epsilon=epsilon, delta=delta, neighbours=neighbours)

    def for_tables(self, *, epsilon: Any) -> Any:
        """The same without what a catalog declares."""
        made = self.made(epsilon=epsilon)
        return made.set_params(**{name: None for name in made.get_params() if name.split("__")[-1] in DECLARED})

    def ways(self, *, few: bool = False) -> Iterator[dict[str, Any]]:
        """Every relation with every delta; of few, each of them once."""
        for place, neighbours in enumerate(self.relations):
            for number, delta in enumerate(self.deltas):
                if not few or place == number:
                    yield {"neighbours": neighbours, "delta": delta}


def _classifier(name: str, **settings: Any) -> Callable[..., Any]:
    usual = {"bounds": BOUNDS, "classes": LABELS}
    return lambda **paid: getattr(learn, name)(**{**usual, **settings, **paid})


def _bounded(name: str, **settings: Any) -> Callable[..., Any]:
    return lambda **paid: getattr(learn, name)(bounds=BOUNDS, **settings, **paid)


def _plain(name: str, **settings: Any) -> Callable[..., Any]:
    return lambda **paid: getattr(learn, name)(classes=LABELS, **settings, **paid)


def _declared(**paid: Any) -> Any:
    return learn.StandardScaler(bounds=BOUNDS, neighbours=paid["neighbours"])


def _unbounded(**paid: Any) -> Any:
    return learn.StandardScaler(bounds="paid", **paid)


def _searched(make: Callable[..., Any], **grid: list[Any]) -> Callable[..., Any]:
    return lambda **paid: learn.PrivateGridSearch(make(**paid), grid)


_CITY: tuple[str, tuple[str, ...]] = ("city", ("age", "cost"))
_SMOKER: tuple[str, tuple[str, ...]] = ("smoker", ("city",))
_NUMBERS: tuple[None, tuple[str, ...]] = (None, ("age", "cost"))

FORMS = (
    Form("LogisticRegression", "by objective", _classifier("LogisticRegression", norm=1.0), "labels", table=_CITY),
    Form("LogisticRegression", "by output", _classifier("LogisticRegression", method="output"), "labels", table=_CITY),
    Form("LogisticRegression", "by gradient", _classifier("LogisticRegression", method="gradient", norm=1.0), "labels",
         table=_CITY),
    Form("LogisticRegression", "by batches", _classifier("LogisticRegression", method="gradient", batch=0.3), "labels",
         relations=("add_remove",), deltas=(DELTA,), table=_CITY, rows_of_unit=1),
    Form("LinearSVC", "of two labels", _classifier("LinearSVC", method="output"), "labels", table=("smoker", ("age",))),
    Form("LinearSVC", "of three labels", _classifier("LinearSVC", classes=THREE), "labels", table=_CITY),
    Form("LinearRegression", "", _bounded("LinearRegression", target_bounds=BOUNDS), "numbers",
         table=("cost", ("age", "smoker"))),
    Form("LinearRegression", "by objective", _bounded("LinearRegression", target_bounds=BOUNDS, method="objective"),
         "numbers", table=("cost", ("age", "smoker"))),
    Form("LinearRegression", "by AdaSSP", _bounded("LinearRegression", target_bounds=BOUNDS, method="adassp"),
         "numbers", relations=("add_remove", "replace"), deltas=(DELTA,), table=None),
    Form("Ridge", "", _bounded("Ridge", target_bounds=BOUNDS, norm=0.7), "numbers", table=("cost", ("age",))),
    Form("Ridge", "by objective", _bounded("Ridge", target_bounds=BOUNDS, method="objective"), "numbers",
         table=("cost", ("age",))),
    Form("Ridge", "by AdaSSP", _bounded("Ridge", target_bounds=BOUNDS, method="adassp"), "numbers",
         relations=("add_remove",), deltas=(DELTA,), table=("cost", ("age", "smoker"))),
    Form("MeanEstimator", "", _bounded("MeanEstimator", norm=0.9)),
    Form("StandardScaler", "", _bounded("StandardScaler"), table=_NUMBERS),
    Form("StandardScaler", "of paid bounds", _unbounded, table=None),
    Form("StandardScaler", "by bounds alone", _declared, table=None, free=True),
    Form("Covariance", "", _bounded("Covariance", norm=0.9)),
    Form("PCA", "", _bounded("PCA", n_components=1), table=_NUMBERS),
    Form("GaussianNB", "", _classifier("GaussianNB"), "labels", table=_CITY),
    Form("BernoulliNB", "", _plain("BernoulliNB", binarize=0.5), "labels", table=_SMOKER),
    Form("CategoricalNB", "", _plain("CategoricalNB", categories=2), "labels", table=_SMOKER),
    Form("KMeans", "from a grid", _bounded("KMeans", n_clusters=2), table=_NUMBERS),
    Form("KMeans", "by Lloyd", _bounded("KMeans", n_clusters=2, method="lloyd"), table=_NUMBERS),
    Form("QuantileEstimator", "", _bounded("QuantileEstimator", quantiles=(0.25, 0.5), step=0.01),
         table=_NUMBERS),
    Form("GradientBoostingClassifier", "of two labels",
         _classifier("GradientBoostingClassifier", groups=[[0, 1]]), "labels", table=("smoker", ("age", "city"))),
    Form("GradientBoostingClassifier", "of three labels",
         _classifier("GradientBoostingClassifier", classes=THREE), "labels", table=_CITY),
    Form("GradientBoostingRegressor", "", _bounded("GradientBoostingRegressor", target_bounds=BOUNDS), "numbers",
         table=("cost", ("age", "city"))),
    Form("PrivateGridSearch", "of norms", _searched(_classifier("LogisticRegression", method="output"), norm=[0.5, 1]),
         "labels", table=None),
    Form("PrivateGridSearch", "of methods", _searched(_classifier("LinearSVC"), method=["output", "gradient"]),
         "labels", table=_CITY),
    Form("PrivateGridSearch", "of bounds", _searched(_classifier("GaussianNB"), bounds=[(0, 1), (0, 2)]), "labels",
         table=None),
    Form("PrivateGridSearch", "of indicators", _searched(_plain("BernoulliNB"), alpha=[0.5, 2]), "labels",
         table=_SMOKER),
    Form("PrivateGridSearch", "of trees",
         _searched(_classifier("GradientBoostingClassifier"), groups=[None, ((0, 1),)]), "labels", table=None),
    Form("PrivateGridSearch", "of penalties", _searched(_bounded("Ridge", target_bounds=BOUNDS), alpha=[0.1, 10]),
         "numbers", table=("cost", ("age", "smoker"))),
)  # fmt: skip


def first_of_each() -> list[Form]:
    """One form of every estimator, those that lose nothing left out."""
    found: dict[str, Form] = {}
    for form in FORMS:
        if not form.free:
            found.setdefault(form.estimator, form)
    return list(found.values())


def estimators() -> list[str]:
    """The names of all estimators that can be had."""
    named = {name: getattr(learn, name) for name in dir(learn) if not name.startswith("_")}
    return sorted(name for name, kind in named.items() if isinstance(kind, type) and hasattr(kind, "fit"))


def left_out() -> list[str]:
    """The names of estimators without a form."""
    return sorted(set(estimators()) - {form.estimator for form in FORMS})


@contextmanager
def shortened(steps: int = SHORT) -> Iterator[None]:
    """Let descents and boosting take few steps: the same code, so that many trainings can be looked at."""

    def few(kind: Any, features: int, *, pure: bool) -> Any:
        return kind(rounds=steps, length=0.3, momentum=0.5)

    descent = patch("dalenius.learn.linear.classifiers.Descent", partial(Descent, steps=steps))
    with descent, patch("dalenius.learn.trees.boosting.Boosting.usual", classmethod(few)):
        yield
