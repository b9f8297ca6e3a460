"""An audit of any function by running it: a verdict, the event that shows it, the counts and a picture.

The outputs of two inputs side by side: as text, and as a chart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.conversion import to_approximate, to_pure
from dalenius.checks.sampling.outputs import NOT_A_NUMBER, PairedOutputs, gathered
from dalenius.checks.sampling.running import Progress, at_once, one_by_one, takes_size
from dalenius.checks.sampling.sampling import Gap, Violation, least_delta, least_epsilon
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.lazy import optional
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.session.answers.charts import Chart, drawn
from dalenius.verify.checked import Claim, stated_claim

Groups: TypeAlias = tuple[list[str], NDArray[np.intp]]
"""Names of groups, and in which of them each outcome is."""

_MOST_BARS = 15
_WIDTH = 24
_LONGEST = 28
_LARGEST = 1e300  # beyond it, widths of bins may be infinite


@dataclass(frozen=True)
class Picture:
    """How often each of a few kinds of outputs came, in parts of one, for the first and for the second input."""

    labels: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    def __str__(self) -> str:
        room = max(map(len, ("output", *self.labels)))
        peak = max((*self.first, *self.second, 1e-12))
        lines = [f"{'output':>{room}}  {'first':<{_WIDTH + 8}}  second"]
        for label, p, q in zip(self.labels, self.first, self.second, strict=True):
            bars = [f"{'█' * round(part / peak * _WIDTH) or '▏'} {part:.4f}" for part in (p, q)]
            lines.append(f"{label:>{room}}  {bars[0]:<{_WIDTH + 8}}  {bars[1]}")
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Chart:
        """Bars side by side, also written to `path` (.svg or .png) if there is one. Needs the extra `plot`."""
        figure = optional("matplotlib.figure", function="AuditReport.plot", extra="plot").Figure(
            figsize=(8, 3.6), layout="constrained"
        )
        axes = figure.subplots()
        places = range(len(self.labels))
        axes.bar([place - 0.2 for place in places], self.first, width=0.4, label="first input", color="#27566b")
        axes.bar([place + 0.2 for place in places], self.second, width=0.4, label="second input", color="#d08c3c")
        axes.set_xticks(list(places), self.labels, rotation=45, ha="right", fontsize=7)
        axes.set_ylabel("part of the outputs")
        axes.legend(frameon=False)
        return drawn(figure, path)


def picture(outputs: PairedOutputs) -> Picture:
    """Bins of single numbers; of anything else, the outputs that come most often, and the rest."""
    counts = outputs.counts(0, outputs.samples) / outputs.samples
    weights = counts.sum(axis=0)
    labels, groups = _bins(outputs, weights) or _commonest(outputs, weights)
    parts = [np.bincount(groups, weights=side, minlength=len(labels)) for side in counts]
    return Picture(tuple(label[:_LONGEST] for label in labels), *(tuple(part.tolist()) for part in parts))


def _commonest(outputs: PairedOutputs, weights: NDArray[np.float64]) -> Groups:
    shown = np.argsort(-weights, kind="stable")[: _MOST_BARS - 1]
    groups = np.full(len(outputs), len(shown), dtype=np.intp)
    groups[shown] = np.arange(len(shown))
    labels = [outputs.named(int(place)) for place in shown]
    return [*labels, "all others"] if len(shown) < len(outputs) else labels, groups


def _bins(outputs: PairedOutputs, weights: NDArray[np.float64]) -> Groups | None:
    """Bins of equal weight are hard to read, so of equal width, with what is far out in the outermost ones; nothing
    where outputs are not single numbers, or too large for a float to tell them apart."""
    numbers = _floats(outputs)
    if numbers is None:
        return None
    order = np.argsort(numbers, kind="stable")
    if len(outputs) <= _MOST_BARS:
        groups = np.empty(len(outputs), dtype=np.intp)
        groups[order] = np.arange(len(outputs))
        return [outputs.named(int(place)) for place in order], groups
    inside = order[np.isfinite(numbers[order])]
    total = np.cumsum(weights[inside])
    least, most = np.interp([0.005 * total[-1], 0.995 * total[-1]], total, numbers[inside]) if len(inside) else (0, 0)
    step = (most - least) / _MOST_BARS or 1.0
    whole = bool((numbers[inside] == np.round(numbers[inside])).all())
    start, step = (np.floor(least), np.ceil(step)) if whole else (least, step)
    edges = start + step * np.arange(1, _MOST_BARS)
    edges = edges[edges <= most]
    if not len(edges):
        return None
    return [f"below {edges[0]:.4g}", *(f"from {edge:.4g}" for edge in edges)], np.searchsorted(edges, numbers, "right")


def _floats(outputs: PairedOutputs) -> NDArray[np.float64] | None:
    if outputs.ranks.shape[1] != 1 or (outputs.ranks == NOT_A_NUMBER).any():
        return None
    try:
        numbers = np.asarray(outputs.numbers[0], dtype=np.float64)[outputs.ranks[:, 0]]
    except OverflowError:
        return None
    return None if (np.isfinite(numbers) & (np.abs(numbers) > _LARGEST)).any() else numbers


Input = TypeVar("Input")
Verdict: TypeAlias = Literal["refuted", "no violation found"]

BESIDE = Fraction(1, 100)
"""Where a claim states no epsilon, as zCDP does, its epsilon is taken at this much above the delta that it has."""


@dataclass(frozen=True)
class AuditReport:
    """What running a release proved about its claim.

    `epsilon` is a lower bound at the claim's delta; for a claim with a delta, `delta` is a lower bound at the claim's
    epsilon. Both hold together at the stated confidence. "no violation found" says that these samples on this pair show
    none, and never that the release is private.
    """

    claim: Loss
    tested: ApproximateDP
    finding: Violation
    gap: Gap | None
    confidence: Fraction
    samples: int
    picture: Picture = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        refuted = self.finding.refutes(epsilon=self.tested.epsilon)
        refuted = refuted or (self.gap is not None and self.gap.refutes(delta=self.tested.delta))
        return "refuted" if refuted else "no violation found"

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    @property
    def epsilon(self) -> Fraction:
        return self.finding.epsilon

    @property
    def delta(self) -> Fraction | None:
        return self.gap.delta if self.gap else None

    @property
    def _shown(self) -> Violation | Gap:
        """The part that tells most about the claim."""
        by_gap = self.gap is not None and self.gap.refutes(delta=self.tested.delta)
        return self.gap if self.gap is not None and by_gap else self.finding

    @property
    def event(self) -> str:
        """In words, the outputs that tell the two inputs apart best."""
        return self._shown.event

    @property
    def counts(self) -> tuple[int, int]:
        """How many tested outputs of the first and of the second input were in the event."""
        return self._shown.counts

    def plot(self, path: str | Path | None = None) -> Chart:
        """The two distributions as bars, also written to `path` (.svg or .png) if there is one.

        Needs the extra `plot`.
        """
        return self.picture.plot(path)

    def __str__(self) -> str:
        return "\n".join([*self._said(), "", str(self.picture)])

    def _repr_html_(self) -> str:
        said = "<br>".join(map(escape, self._said()))
        return f"<div><p>{said}</p><pre>{escape(str(self.picture))}</pre></div>"

    def _said(self) -> list[str]:
        found, claimed = self._shown, self.tested
        bound = f"epsilon is at least {float(self.epsilon):.4g}, claimed is {float(claimed.epsilon):.4g}"
        if self.gap is not None:
            bound += f" (at delta = {float(claimed.delta):.3g})"
        lines = [f"{self.verdict}: {bound}"]
        if self.gap is not None:
            least = f"delta is at least {float(self.gap.delta):.3g}, claimed is {float(claimed.delta):.3g}"
            lines.append(f"{least} (at epsilon = {float(claimed.epsilon):.4g})")
        p, q = (f"{count} of {found.samples}" for count in found.counts)
        lines.append(f"event: {found.event}; seen in {p} outputs of the first input and {q} of the second")
        lines.append(f"{self.samples} samples of each input, confidence {float(self.confidence):.10g}")
        return lines if self.refuted else [*lines, "this is a lower bound: it cannot show that the release is private"]


def audit(
    release: Callable[..., Any],
    first: Input,
    second: Input,
    *,
    claim: Claim,
    samples: int = 100_000,
    confidence: Number = "0.999",
    vectorised: bool | None = None,
    seconds: Number | None = None,
    progress: Progress = lambda percent: None,
) -> AuditReport:
    """Run `release` on two neighbouring inputs, and say whether its claim can be true.

    `release(data)` gives one output; if it is `vectorised`, `release(data, size)` gives `size` independent outputs,
    which is far quicker. Where `vectorised` is not said, a function that needs two arguments, or whose second one is
    called `size`, is taken to be so. Outputs may be of any kind: numbers, vectors, texts, None, tuples, dictionaries,
    objects by what they hold; an error counts as an output too, with its text. `claim` is a number (a pure epsilon), a
    pair (epsilon, delta), or a loss. `seconds` limits the time that single runs take, and is refused where it is too
    short for 40 of them.

    Guarantee: if the claim is true and the inputs are neighbours, the verdict is "refuted" with probability at most
    1 - confidence. Where epsilon and delta are both tested, each has half of that.
    Reference: see `sampling_audit`; Bichsel et al. 2021 (DP-Sniper) for the shape of the search.
    Textbook: S7.7.
    """
    size, sure = whole(4, samples=samples), inside_unit(confidence=confidence)
    if not callable(release):
        raise InvalidParameter("release", release, allowed="a function of the data")
    limit = None if seconds is None else float(positive(seconds=seconds))
    loss = stated_claim(claim)
    tested = tested_at(loss)
    if takes_size(release) if vectorised is None else vectorised:
        outputs = gathered(*at_once(release, first, second, size, seconds=limit, progress=progress))
    else:
        outputs = gathered(*one_by_one(release, first, second, size, seconds=limit, progress=progress))
    each = 1 - (1 - sure) / 2 if tested.delta else sure
    return AuditReport(
        claim=loss,
        tested=tested,
        finding=least_epsilon(outputs, delta=tested.delta, confidence=each),
        gap=least_delta(outputs, epsilon=tested.epsilon, confidence=each) if tested.delta else None,
        confidence=sure,
        samples=outputs.samples,
        picture=picture(outputs),
    )


def tested_at(loss: Loss) -> ApproximateDP:
    """The epsilon and delta that a claim is tested at."""
    if isinstance(loss, PureDP | ApproximateDP):
        return ApproximateDP(loss.epsilon, loss.delta)
    try:
        return ApproximateDP(to_pure(loss).epsilon, 0)
    except TheoremDoesNotApply:
        return to_approximate(loss, delta=loss.delta + BESIDE)
