"""The outputs of two inputs side by side: as text, and as a chart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.outputs import NOT_A_NUMBER, Outputs
from dalenius.curator.answers.charts import Chart, drawn
from dalenius.curator.extras import optional

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


def picture(outputs: Outputs) -> Picture:
    """Bins of single numbers; of anything else, the outputs that come most often, and the rest."""
    counts = outputs.counts(0, outputs.samples) / outputs.samples
    weights = counts.sum(axis=0)
    labels, groups = _bins(outputs, weights) or _commonest(outputs, weights)
    parts = [np.bincount(groups, weights=side, minlength=len(labels)) for side in counts]
    return Picture(tuple(label[:_LONGEST] for label in labels), *(tuple(part.tolist()) for part in parts))


def _commonest(outputs: Outputs, weights: NDArray[np.float64]) -> Groups:
    shown = np.argsort(-weights, kind="stable")[: _MOST_BARS - 1]
    groups = np.full(len(outputs), len(shown), dtype=np.intp)
    groups[shown] = np.arange(len(shown))
    labels = [outputs.named(int(place)) for place in shown]
    return [*labels, "all others"] if len(shown) < len(outputs) else labels, groups


def _bins(outputs: Outputs, weights: NDArray[np.float64]) -> Groups | None:
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


def _floats(outputs: Outputs) -> NDArray[np.float64] | None:
    if outputs.ranks.shape[1] != 1 or (outputs.ranks == NOT_A_NUMBER).any():
        return None
    try:
        numbers = np.asarray(outputs.numbers[0], dtype=np.float64)[outputs.ranks[:, 0]]
    except OverflowError:
        return None
    return None if (np.isfinite(numbers) & (np.abs(numbers) > _LARGEST)).any() else numbers
