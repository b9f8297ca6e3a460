"""The page of `python -m benchmarks learning`, and the figures that it has to keep."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.learning import DIFFPRIVLIB, INTERPRET, NOTHING, OPENDP, OURS, Fits
from benchmarks.limits import Limit
from benchmarks.report import paragraph, table

NAMES = {OURS: "Dalenius", DIFFPRIVLIB: "diffprivlib", OPENDP: "OpenDP", INTERPRET: "interpret"}
TITLES = {
    ("classes",): "Logistic regression on Adult",
    ("trees",): "Trees on Adult",
    ("bayes",): "Gaussian naive Bayes on Adult",
    ("income", "adassp"): "Income by linear regression, American Community Survey",
    ("deciles", "alone"): "Nine deciles of income, American Community Survey",
    ("clusters", "lloyd"): "Eight clusters on Adult",
    ("median",): "The median of a million amounts",
}
METHODS = {
    (NOTHING, "adassp"): "AdaSSP as published",
    (OURS, "alone"): "Dalenius, each decile alone",
    (OURS, "lloyd"): "Dalenius, the textbook's Lloyd",
    (DIFFPRIVLIB, "trees"): "diffprivlib's random forest",
    (INTERPRET, "trees"): "interpret's DP-EBM",
    (OURS, "trees"): "Dalenius, boosted trees",
    (NOTHING, "trees"): "no privacy (boosted trees)",
}
TIMED = {
    ("classes", 1): "logistic regression, epsilon 1",
    ("classes", 0.1): "logistic regression, epsilon 0.1",
    ("bayes", 1): "naive Bayes",
    ("income", 1): "linear regression, epsilon 1",
    ("deciles", 1): "nine deciles",
    ("clusters", 1): "k-means, epsilon 1",
    ("clusters", 0.1): "k-means, epsilon 0.1",
    ("median", 1): "median",
}
"""Fits that diffprivlib has too, at a pure price."""
WHAT = {
    "classes": "logistic regression",
    "trees": "trees",
    "income": "income",
    "deciles": "nine deciles",
    "clusters": "eight clusters",
}

DEFAULTS = """"""

Known = Mapping[tuple[str, str, float | None, str | None], Fits]
"""By library, task, epsilon and delta."""


def section(found: Sequence[Fits]) -> str:
    parts = [_part(title, [fits for fits in found if fits.job.task in tasks]) for tasks, title in TITLES.items()]
    told = [paragraph(_told(found)), paragraph(DEFAULTS)]
    return "\n\n".join(["# Models and statistics", *told, *filter(None, parts), ""])


def _part(title: str, found: Sequence[Fits]) -> str:
    if not found:
        return ""
    names = list(found[0].figures)
    rows = [
        [_method(fits), *_price(fits), *(f"{_digits(fits, name)}" for name in names), str(fits.job.runs), *_times(fits)]
        for fits in found
    ]
    return f"## {title}\n\n" + table(["method", "epsilon", "delta", *names, "runs", "time", "processor"], rows)


def _method(fits: Fits) -> str:
    plain = "no privacy" if fits.library == NOTHING else NAMES[fits.library]
    return METHODS.get((fits.library, fits.job.task), plain)


def _price(fits: Fits) -> tuple[str, str]:
    if fits.job.epsilon is None:
        return "–", "–"
    return f"{fits.job.epsilon:g}", fits.job.delta or "0"


def _digits(fits: Fits, figure: str) -> str:
    mean, spread = fits.mean(figure), fits.spread(figure)
    if abs(mean) >= 1e5:
        return f"{mean:.1e}"
    wide = 1 if mean >= 1 else 5 if figure == "cost" else 4
    return f"{mean:.{wide}f}" + (f" ± {spread:.{wide}f}" if fits.job.runs > 1 else "")


def _times(fits: Fits) -> tuple[str, str]:
    return f"{np.median(fits.seconds):.2f} s", f"{fits.typical_work:.2f} s"


def _told(found: Sequence[Fits]) -> str:
    versions = {NAMES[fits.library]: fits.version for fits in found if fits.library in NAMES}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"""Every figure is the mean of the runs, with their standard deviation, by the same code for all libraries
    ({listed}), measured in the same run of this benchmark. Bounds, the values of texts and the largest norm of a row
    are declared, and the same for all. Time and processor are the medians of a fit, with one thread and at a load of
    {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores. A delta of 0 is pure: diffprivlib has nothing else. Adult has
    its official split and 108 columns; the survey has its 22,062 adults in 46 columns, incomes from 0 to 200,000
    dollars, and every fifth row held out. Deciles are of exact incomes in whole dollars, and an error is the number of
    records between an answer and the quantile, with no error among equal ones. The cost of clusters is the mean squared
    distance of age, years of education and hours of work, each from 0 to 1, to the nearest centre. Amounts are
    log-normal, in cents from 0 to 10^6, eight sets in turn; OpenDP chooses among all whole amounts. Trees of interpret
    and ours get the same columns, each in the form that it wants. AdaSSP is as we wrote it, with NumPy's noise."""


def limits(found: Sequence[Fits]) -> list[Limit]:
    known = {(fits.library, fits.job.task, fits.job.epsilon, fits.job.delta): fits for fits in found}

    def figure(task: str, epsilon: float, delta: str | None, name: str, bound: float, *, at_least: bool) -> Limit:
        fits = known.get((OURS, task, epsilon, delta))
        price = f"({epsilon:g}, {delta})" if delta else f"pure {epsilon:g}"
        return Limit(f"{name}, {WHAT[task]}, {price}", fits and fits.mean(name), bound, at_least=at_least)

    return [
        figure("classes", 1, "1e-5", "accuracy", 0.846, at_least=True),
        figure("classes", 1, "1e-5", "AUC", 0.895, at_least=True),
        figure("classes", 0.1, "1e-5", "accuracy", 0.82, at_least=True),
        figure("classes", 0.1, "1e-5", "AUC", 0.857, at_least=True),
        figure("classes", 1, None, "accuracy", 0.835, at_least=True),
        figure("classes", 1, None, "AUC", 0.874, at_least=True),
        figure("trees", 1, "1e-5", "AUC", 0.891, at_least=True),
        Limit("AUC of trees above interpret's DP-EBM", _more(known), 0, at_least=True),
        figure("income", 1, "1e-6", "R2", 0.36, at_least=True),
        figure("deciles", 1, None, "rank error", 14, at_least=False),
        figure("clusters", 1, None, "cost", 0.0236, at_least=False),
        figure("clusters", 0.1, None, "cost", 0.0274, at_least=False),
        Limit("error of the median beside the best of OpenDP's and diffprivlib's", _beside_best(known), 1, " ×"),
        Limit("processor time of the median", _median_time(known), 1, " s"),
        *(
            Limit(f"time to fit beside diffprivlib's, {name}", _slower(known, *key), 2, " ×")
            for key, name in TIMED.items()
        ),
    ]


def _more(known: Known) -> float | None:
    ours, peer = known.get((OURS, "trees", 1, "1e-5")), known.get((INTERPRET, "trees", 1, "1e-5"))
    return ours.mean("AUC") - peer.mean("AUC") if ours and peer else None


def _beside_best(known: Known) -> float | None:
    ours, *others = (known.get((library, "median", 1, None)) for library in (OURS, OPENDP, DIFFPRIVLIB))
    best = min((fits.mean("error") for fits in others if fits), default=None)
    return ours.mean("error") / best if ours and best else None


def _median_time(known: Known) -> float | None:
    ours = known.get((OURS, "median", 1, None))
    return ours and ours.typical_work


def _slower(known: Known, task: str, epsilon: float) -> float | None:
    ours, peer = (known.get((library, task, epsilon, None)) for library in (OURS, DIFFPRIVLIB))
    return ours.typical_work / peer.typical_work if ours and peer else None
