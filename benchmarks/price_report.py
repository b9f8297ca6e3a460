"""The page of `python -m benchmarks prices`, and the figures that it has to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from benchmarks.limits import Limit
from benchmarks.prices import DRAWS, KEYS, PEOPLE, QUESTIONS, TOP, Beside, Buys, Ratio
from benchmarks.report import paragraph, table

Shown: TypeAlias = Callable[[Beside, Buys | None], str]

MOST = 1.05
"""The variance of ours beside the best of the others."""


def section(found: Sequence[Beside], versions: Mapping[str, str]) -> str:
    libraries = list(versions)
    ways = ["epsilon=1", "share=1"]
    errors = [each for each in found if each.task.kind != "keys"]
    keys = [each for each in found if each.task.kind == "keys"]
    head = ["budget", *(f"ours, {way}" for way in ways), *libraries]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    rest = ["ratio to the best", "interval", f"at most {MOST} (100 with a delta: 1)"]
    text = f"""Variances of the noise, lower is better, beside {listed}, in one run. The whole of a budget pays for one
    question; of {QUESTIONS} equal questions, asked one by one, each gets a hundredth (share='1%'). All promise the
    same: a person comes or goes, their number is not public, each has one row in each group, and values are whole
    numbers from 0 to {TOP}. A variance is in units of the square of the most that one person adds to a figure: of a
    count 1, of a sum {TOP}, of a mean {TOP // 2} / n, of a variance {TOP // 2}² / n, with n = {PEOPLE} people in a
    group. Without an interval it is exact, by the law of the noise that was really drawn; otherwise it is the mean
    squared error of {DRAWS:,} answers of ours and as many or more of the others', and the interval of the ratio, from
    2.5 to 97.5 %, is a bootstrap's; the verdict is about its lower end. The ratio is that of the worse way of paying.
    Expected numbers of keys are exact, for {KEYS:,} keys of which the k-th has {PEOPLE} / k^0.7 people."""
    how = """Each library does what is best of what it has for the task, and is told the price of the whole question.
    OpenDP chooses among discrete Laplace noise, canonical noise (of one number, and with a delta only: without one its
    draws end the process) and Gaussian noise under its zCDP, and for keys between thresholds on both; these are one
    higher than it asks for, since it shows counts that reach a threshold and states the delta of those that pass it
    (0.099 stated, 27 % of 40,000 lonely keys shown, with Laplace noise of scale 1 and a threshold of 2). SmartNoise
    chooses between its two mechanisms, with the scale that its reader sets up for the column; it bounds rows alone, so
    Gaussian noise gains nothing from many groups, and its odometer adds up questions by the theorem of Kairouz, Oh and
    Viswanath. diffprivlib's own functions take the number of rows as public, so these are its mechanisms: geometric,
    staircase with the best step, and the analytic Gaussian, added up by its accountant with the best slack of three. It
    finds no keys. Means and variances of the others are made of a noisy count and noisy sums of values and of squares,
    less their midpoints, with the split of epsilon that is best for both columns together."""
    return "\n\n".join(
        [
            "# What a price buys",
            table(["task", *head, *rest], [_row(each, libraries, _variance) for each in errors]),
            paragraph(text),
            "## Unknown keys shown",
            table(["task", *head, "ratio to the best", "interval", "at least 1"],
                  [_row(each, libraries, _count) for each in keys]),
            "## How",
            paragraph(how),
            table(["task", "budget", "ours", *libraries], [_how(each, libraries) for each in found]),
            "",
        ]
    )  # fmt: skip


def limits(found: Sequence[Beside]) -> list[Limit]:
    """Ours beside the best of the others; a question that we refuse is infinitely far off."""
    return [_limit(each) for each in found if each.best]


def _limit(each: Beside) -> Limit:
    ratio, keys = each.ratio, each.task.kind == "keys"
    assert ratio is not None
    refused = any(buys.gap for buys in each.ours.values())
    what = f"{'number' if keys else 'variance'} beside {each.best}, {each.task.name}, {each.budget}"
    figure = (0.0 if keys else float("inf")) if refused else ratio.high if keys else ratio.low
    return Limit(what, figure, 1 if keys else _most(each), " ×", at_least=keys)


def _most(each: Beside) -> float:
    """With a delta, many questions have to be below the best; without one, all libraries add up epsilons."""
    return 1 if each.task.questions > 1 and each.budget != "pure 1" else MOST


def _row(each: Beside, libraries: Sequence[str], shown: Shown) -> list[str]:
    ours = [shown(each, each.ours.get(way)) for way in ("epsilon", "share")]
    others = [shown(each, each.others[library]) for library in libraries]
    return [each.task.name, each.budget, *ours, *others, *_verdict(each)]


def _variance(each: Beside, buys: Buys | None) -> str:
    if buys is None or buys.gap:
        return "–" if buys is None else "refused" if buys.gap.startswith("refused") else buys.gap
    return f"{buys.figure / each.task.unit:,.4g}"


def _count(each: Beside, buys: Buys | None) -> str:
    return _variance(each, buys) if buys is None or buys.gap else f"{buys.figure:.1f}"


def _verdict(each: Beside) -> tuple[str, str, str]:
    ratio = each.ratio
    if ratio is None:
        return "–", "–", "not measured"
    limit = _limit(each)
    return f"{ratio.value:.3f} ({each.best})", _interval(ratio), "NO" if limit.missed else "yes"


def _interval(ratio: Ratio) -> str:
    return "exact" if ratio.exact else f"{ratio.low:.3f} to {ratio.high:.3f}"


def _how(each: Beside, libraries: Sequence[str]) -> list[str]:
    ours = "; ".join(dict.fromkeys(buys.how or buys.gap[:120] for buys in each.ours.values()))
    return [each.task.name, each.budget, ours, *(each.others[name].how or "–" for name in libraries)]
